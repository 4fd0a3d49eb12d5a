// Explains words of the glossary at the pointer, at a touch and by the keyboard (tip.js). TERMS, at the top of site.js, has
// the explanations. Without scripts the words lead to them.
for (const word of document.querySelectorAll("article .term")) {
  const ids = word.dataset.terms?.split(" ") ?? [word.hash.slice(1)]
  explain(word, ids.map(id => TERMS[id]).join("\n"))
  word.addEventListener("click", event => event.preventDefault())
}

// On a phone the rows of these tables are entries (book.css).
for (const table of document.querySelectorAll("table.entries")) {
  const heads = [...table.tHead.rows[0].cells].map(cell => cell.textContent)
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, i) => { if (i && cell.textContent.trim()) cell.dataset.head = heads[i] })
  }
  table.classList.add("named")
}

// A page in a frame (docs/toys/frame.js) reports its height. The frame shrinks only when its width changes, so that the
// text below stays in place. The page in it has this page's theme.
const frames = [...document.querySelectorAll("article iframe")].map(frame => ({ frame, width: 0, height: 0 }))
const tell = frame => frame.contentWindow.postMessage({ theme: document.body.dataset.theme }, "*")
addEventListener("message", ({ source, data: { width, height } }) => {
  const of = frames.find(({ frame }) => frame.contentWindow === source)
  if (!of || !(height > 0)) return
  Object.assign(of, { width, height: of.width === width ? Math.max(height, of.height) : height })
  of.frame.style.height = `${of.height}px`
  tell(of.frame)
})
// A view, or a diff, is wider than the text where the window has room beside it, up to 1100 pixels.
const widen = () => document.querySelectorAll("article .wide").forEach(figure => {
  const [room, text] = [".main", "article"].map(each => document.querySelector(each).getBoundingClientRect())
  const width = Math.max(text.width, Math.min(1100, room.width - 32))
  const left = Math.min(Math.max(room.left + 16, text.left + (text.width - width) / 2), room.right - 16 - width)
  Object.assign(figure.style, { width: `${width}px`, marginLeft: `${Math.min(0, left - text.left)}px` })
})
addEventListener("resize", widen)
widen()
new MutationObserver(() => frames.forEach(({ frame }) => tell(frame))).observe(document.body, { attributeFilter: ["data-theme"] })

// A link into a folded diff opens it.
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const folded = target?.closest("details.change:not([open])")
  if (!folded) return
  folded.open = true
  target.scrollIntoView()
}
addEventListener("hashchange", unfold)
unfold()

addEventListener("click", event => {
  const link = event.target.closest("a")
  if (link?.target === "view") document.getElementById("view").scrollIntoView()
  if (link?.hreflang) link.hash = location.hash  // the same section in another language
  if (link) for (const drawer of document.querySelectorAll(".sidebar-toggle")) drawer.checked = false
})
