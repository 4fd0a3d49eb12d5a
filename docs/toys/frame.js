// Of a page that may stand in another one. In a frame <html> has the class `embedded`; the page around it is told how high the
// content is at which width. It answers which theme it has. Alone a page has the theme that
// a reader has chosen on the site, as Furo keeps it. <html> has data-theme, light or dark; the event "theme" follows its change.
// Stands in <head>, so that nothing is drawn twice.
{
  const root = document.documentElement, embedded = window.parent !== window, dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = "auto";
  const show = theme => {
    chosen = theme || "auto";
    const now = chosen === "auto" ? dark.matches ? "dark" : "light" : chosen;
    if (now === root.dataset.theme) return;
    root.dataset.theme = root.style.colorScheme = now;
    dispatchEvent(new Event("theme"));
  };
  root.classList.toggle("embedded", embedded);
  dark.addEventListener("change", () => show(chosen));
  if (embedded) {
    show();
    addEventListener("message", e => { if (e.source === window.parent && e.data.theme) show(e.data.theme); });
    const tell = () => window.parent.postMessage(
      { width: innerWidth, height: Math.ceil(root.getBoundingClientRect().height) }, "*");
    new ResizeObserver(tell).observe(root);
  } else {
    try { show(localStorage.getItem("theme")); } catch { show(); }  // a browser may keep nothing
    addEventListener("storage", e => { if (e.key === "theme") show(e.newValue); });
  }
}
