// Links to a lesson, of a source's lines or of a toy, lead to the one in the language of the reader, who came from there.
{
  const [, own] = location.search.match(/^\?(\w\w)$/) ?? []
  const links = document.querySelectorAll(":is(.linenos, #more) a")
  if (own) for (const link of links) link.href = link.href.replace("/en/", `/${own}/`)
}
