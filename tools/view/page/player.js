// Steps through the kernels, by button, key and address.

const views = [];
const places = () => "#" + views.map(view => view.place).join("&");
let keeping = null;  // browsers accept only a few changes a second
function keepPlace() {
  keeping ||= setTimeout(() => {
    keeping = null;
    if (location.hash || places() !== start) history.replaceState(null, "", places());
  }, 300);
}
function goToPlaces() {
  if (location.hash) location.hash.slice(1).split("&").forEach((place, i) => { if (views[i]) views[i].place = place; });
}
let active = null, together = false;

function activate(view) {
  active = view;
  for (const each of views) each.root.classList.toggle("active", each === view);
}

// Steps on by itself, to the end of the warp or until it is stopped.
let playing = null;
function stop() {
  const was = playing;
  clearTimeout(playing);
  playing = null;
  for (const each of views) each.find(".play").textContent = say("play");
  if (was) for (const each of views) each.draw();
}
function play(view = active) {
  if (playing) return stop();
  const next = () => {
    const moved = (together ? views : [view]).map(each => each.step(1));
    if (!moved.includes(true)) return stop();
    playing = setTimeout(next, view.find(".speed").value);
  };
  view.find(".play").textContent = say("stop");
  playing = setTimeout(next, 0);
}

function act(what, back = false, view = active) {
  stop();
  for (const each of together ? views : [view]) {
    if (what in WANTED) each.jump(what, back);
    else each.step(what === "back" ? -1 : 1);
  }
}

function onKey(e) {
  if (e.ctrlKey || e.altKey || e.metaKey || e.target.matches("select, input[type=range]") && e.key.startsWith("Arrow")) return;
  if (e.key === " " && e.target.matches("button, select, input")) return;  // the key belongs to an element that has the focus
  const turn = (number, by, of) => (number + by + of) % of;
  const actions = {
    t: () => active.replay(), n: () => { stop(); active.goToCaption(e.shiftKey ? -1 : 1); }, " ": () => play(),
    ArrowRight: () => act("step"), ArrowLeft: () => act("back"),
    b: () => act("barrier", e.shiftKey), u: () => act("uncoalesced", e.shiftKey), c: () => act("conflict", e.shiftKey),
    ArrowDown: () => active.setWarp(turn(active.warp, 1, active.blocks[active.block].length)),
    ArrowUp: () => active.setWarp(turn(active.warp, -1, active.blocks[active.block].length)),
    "]": () => { active.lane = turn(active.lane, 1, 32); active.draw(); },
    "[": () => { active.lane = turn(active.lane, -1, 32); active.draw(); },
    Escape: () => { document.activeElement.blur(); showTip(null, null); },
    Home: () => active.step(-active.index), End: () => active.step(active.events.length - 1 - active.index),
  };
  const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  if (!action) return;
  e.preventDefault();
  action();
}

// The events for which the page computes another cost than the emulator counted, and phases that differ: there should
// be none.
function disagreements() {
  const wrong = view => view.data.blocks.reduce((sum, { notes }) => sum + stateAfter(view.data, notes, notes.length).wrong, 0);
  return views.reduce((sum, view) => sum + wrong(view) + view.blocks.flat(2).filter(e =>
    e.access && (e.global ? sectorsOf(e) : wavefrontsOf(e)).count !== e.cost).length, 0);
}

function speak(chosen) {
  stop();
  language = chosen;
  document.documentElement.lang = Object.keys(LANGUAGES)[language];
  for (const view of views) {
    view.translate();
    view.reserve();
    view.draw();
  }
}

for (const { blocks } of RECORDS)
  for (const block of blocks) Object.assign(block, { warps: block.warps.map(withNumbers), notes: withNumbers(block.notes) });
for (const data of RECORDS) views.push(new View(data, document.getElementById("views")));
document.getElementById("views").classList.toggle("several", views.length > 1);
for (const box of document.querySelectorAll(".together")) {
  box.hidden = views.length < 2;
  box.firstChild.onchange = e => {
    together = e.target.checked;
    for (const other of document.querySelectorAll(".together input")) other.checked = together;
  };
}
document.addEventListener("keydown", onKey);
document.addEventListener("click", e => { if (e.detail) e.target.closest("button")?.blur(); });  // so that the space key plays
onColours(() => views.forEach(view => view.draw()));
speak(language);
for (const view of views) view.begin();
const start = places();
goToPlaces();
addEventListener("hashchange", goToPlaces);
activate(views[0]);
