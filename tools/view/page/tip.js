// A tip beside the pointer, or beside a word that it explains: in the pages of ./run view and in those of the site.

function showTip(e, text) {
  let tip = document.getElementById("tip");
  if (!tip) {
    tip = document.createElement("div");
    tip.id = "tip";
    document.body.append(tip);
  }
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = Math.max(2, Math.min(e.clientX + 14, innerWidth - width - 4)) + "px";
  tip.style.top = (e.clientY + 18 + height > innerHeight ? Math.max(2, e.clientY - height - 12) : e.clientY + 18) + "px";
}

// Explains a word when it is pointed at, tapped or reached by the tab key.
function explain(word, meaning) {
  word.tabIndex = 0;
  word.setAttribute("role", "button");
  word.setAttribute("aria-description", meaning);
  const show = () => {
    const box = word.getBoundingClientRect();
    showTip({ clientX: box.left - 14, clientY: box.bottom - 12 }, meaning);
  };
  word.onfocus = word.onclick = word.onpointerenter = show;
  word.onblur = word.onpointerleave = e => { if (e.pointerType !== "touch") showTip(null, null); };
}
document.addEventListener("pointerdown", () => showTip(null, null), true);  // the next tap hides it
