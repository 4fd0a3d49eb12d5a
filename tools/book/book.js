// A view takes the room beside the navigation, also that of the table of contents, which hides as long as it is on the screen.
const view = document.getElementById("view")
function widen() {
  const room = document.querySelector(".main").getBoundingClientRect(), width = Math.min(room.width, 1240)
  view.style.width = `${width}px`
  view.style.marginLeft = `${room.left + (room.width - width) / 2 - view.parentElement.getBoundingClientRect().left}px`
}
if (view) {
  widen()
  addEventListener("resize", widen)
  new IntersectionObserver(seen => document.body.classList.toggle("wide", seen.pop().isIntersecting)).observe(view)
}

// A page in a frame (docs/toys/frame.js) says how high it is. Once a reader has been in it, it shrinks only when its width changes,
// so that the text below stays where it is. If it rises again and again by the same factor, it does so because its frame does (a
// zoomed page whose parts are shares of the window): then it stays. It has this page's theme, and of the links into it the one that
// is shown is marked.
const frames = [...document.querySelectorAll("article iframe")].map(frame =>
  ({ frame, width: 0, height: 0, rises: 0, factor: 1, used: false }))
const tell = frame => frame.contentWindow.postMessage({ theme: document.body.dataset.theme }, "*")
const captionOf = hash => hash && (hash.split("/")[4] || "none")
addEventListener("message", ({ source, data: { width, height, place } }) => {
  const of = frames.find(({ frame }) => frame.contentWindow === source)
  if (!of || !(height > 0)) return
  const same = of.width === width, factor = height / of.height
  if (!same || factor > 1.1) {
    of.rises = same && Math.abs(factor - of.factor) < .02 ? of.rises + 1 : 0
    of.factor = factor
    if (of.rises > 2) return
  }
  of.used ||= document.activeElement === of.frame
  Object.assign(of, { width, height: same && of.used ? Math.max(height, of.height) : height })
  of.frame.style.height = `${of.height}px`
  dispatchEvent(new Event("scroll"))  // the contents mark the heading that is now at the top
  tell(of.frame)
  if (of.frame.name) for (const link of document.querySelectorAll(`article a[target="${of.frame.name}"]`))
    link.ariaCurrent = captionOf(link.hash) === captionOf(place) ? "true" : null
})
new MutationObserver(() => frames.forEach(({ frame }) => tell(frame))).observe(document.body, { attributeFilter: ["data-theme"] })

// The heading that is read: the address's if it is on the screen, or else the last that has reached the top.
function place() {
  const top = each => each.getBoundingClientRect().top, chosen = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (chosen && top(chosen) >= 0 && top(chosen) < innerHeight) return location.hash
  const under = document.querySelector(".mobile-header").offsetHeight + 24
  const read = [...document.querySelectorAll("article section section[id]")].filter(each => top(each) < under).pop()
  return read ? `#${read.id}` : ""
}

// The switch for the dark stands beside the search, which does not scroll, and a picture of characters says how wide it is.
const theme = document.querySelector(".theme-toggle-content")
theme.querySelector("button").type = "button"
document.querySelector(".sidebar-search-container").append(theme)
for (const pre of document.querySelectorAll("article pre")) {
  const columns = Math.max(...pre.textContent.split("\n").map(line => line.length))
  pre.classList.toggle("picture", columns < 54)
  pre.style.setProperty("--columns", columns)
}

addEventListener("click", event => {
  const link = event.target.closest("a")
  if (link?.target === "view") view.scrollIntoView()
  if (link?.hreflang) link.hash = place()  // the same in another language
  if (link) for (const drawer of document.querySelectorAll(".sidebar-toggle")) drawer.checked = false
})
addEventListener("keydown", event => { if (event.key === "Escape") document.activeElement.blur() })  // closes an explanation
