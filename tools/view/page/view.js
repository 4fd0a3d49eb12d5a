// One kernel on the page: its reader's position, and what follows from it. Each panel is drawn in a file of its own.

const EMBEDDED = window !== window.parent;  // in a lesson
const FOLDED = [".steps", ".options", ".status", ".cells", ".order", ".counts-panel", ".head"];

// Adds methods to a class from another file, also getters.
function addMethods(type, methods) { Object.defineProperties(type.prototype, Object.getOwnPropertyDescriptors(methods)); }

class View {
  constructor(data, parent) {
    this.data = data;
    this.root = document.createElement("section");
    this.root.className = "view";
    this.root.append(document.getElementById("view").content.cloneNode(true));
    parent.append(this.root);
    this.block = this.warp = this.index = this.lane = 0;
    this.corners = [];
    this.find = selector => this.root.querySelector(selector);
    this.find("h1").textContent = data.name;
    this.root.classList.toggle("has-ring", data.blocks.some(({ notes }) =>
      notes.some(([kind]) => kind !== "fill" && kind !== "mma")));
    if (this.root.matches(".has-ring")) this.find(".order").after(this.find(".counts-panel"));  // below what is more important
    this.find(".shape").textContent = `${data.shape.join(" x ")} (M x N x K)`;
    this.find(".language").innerHTML = languageOptions();
    this.products = data.blocks.map(() => null);
    this.notes = data.blocks[0].notes;
    this.blocks = data.blocks.map(block => block.warps.map(warp => warp.map(event => decode(data, event))));
    this.captions = data.captions.map(caption => ({ ...caption, ...this.placeOfCaption(caption) })).filter(({ index }) => index >= 0);
    this.shownCaption = -1;  // the last one that was shown
    this.find(".caption").hidden = !this.captions.length;
    this.find(".more").open = !this.captions.length;
    this.homes = FOLDED.map(selector => {
      const part = this.find(selector), home = new Comment();
      part.before(home);
      return { part, home };
    });
    this.fillSelects();
    this.listen();
    this.fold();
    this.translate();
    this.setBlock(0);
  }

  // Opens at the first explanation of an event that shows in A, B or C.
  begin() {
    const seen = this.captions.findIndex(({ warp, index }) => this.touches(this.blocks[0][warp][index]));
    if (this.captions.length) this.place = "////" + (Math.max(0, seen) + 1);
  }

  get events() { return this.blocks[this.block][this.warp]; }
  // A warp whose threads all return at once has no events.
  get event() { return this.events[this.index] || { kind: "nothing", line: 0, file: "", access: false }; }

  // In a lesson a view tells its explanations, with the source and the pictures; all else is for the page that a reader
  // opens alone. On a phone that is folded into a part below, except for its title and the steps.
  fold() {
    const folded = EMBEDDED || this.root.clientWidth < 600;
    if (folded === this.folded) return;
    this.folded = folded;
    this.root.classList.toggle("folded", this.folded);
    this.find(".more").hidden = !this.folded || EMBEDDED && this.captions.length > 0;
    for (const { part, home } of this.homes)
      if (this.folded && (EMBEDDED || !part.matches(".head, .steps"))) this.find(".more").append(part);
      else home.after(part);
    this.find(".bar").hidden = this.folded && EMBEDDED;
  }

  // In a lesson the buttons stay where they are from one explanation to the next, and so does the text below the frame:
  // the sentence has the room of the longest one, and the page that of the highest one.
  reserve() {
    const parts = [this.find(".caption"), this.root];
    for (const part of parts) part.style.minHeight = "";
    if (!EMBEDDED || !this.captions.length || !this.root.clientWidth) return;
    const { block, warp, index, lane, shownCaption } = this;
    for (const part of parts)
      part.style.minHeight = Math.max(...this.captions.map(each => {
        this.go(0, each.warp, each.index, each.lane);
        return part.getBoundingClientRect().height;
      })) + "px";
    this.shownCaption = shownCaption;
    this.go(block, warp, index, lane);
  }

  // Writes all words that do not change with the event.
  translate() {
    for (const each of this.root.querySelectorAll("[data-say]")) each.textContent = say(each.dataset.say, each.dataset);
    for (const each of this.root.querySelectorAll("[data-label]")) each.setAttribute("aria-label", say(each.dataset.label));
    this.find(".language").value = language;
    this.find(".legend").dataset.drawn = "";
    setText(this.find(".ring-title"), say("ring"));
    this.showProblems();
  }

  fillSelects() {
    const fill = (selector, texts) => this.find(selector).replaceChildren(...texts.map((text, i) => new Option(text, i)));
    fill(".blocks select", this.data.blocks.map(block => block.name.replace("block ", "")));
    this.find(".blocks").hidden = this.blocks.length < 2;
    fill(".lane", Array.from({ length: 32 }, (_, lane) => lane));
  }

  showProblems() {
    this.find(".problems").replaceChildren(...this.data.problems.map(problem => {
      const row = document.createElement("div");
      row.className = "problem";
      row.textContent = problemText(problem.text) + (problem.accesses ? say("show") : "");
      (problem.accesses || []).forEach(access => {
        const button = document.createElement("button");
        const [warp, index, lane] = access, event = this.blocks[problem.block][warp][index];
        button.textContent = say("access", { kind: kindName(event.kind), warp, lane });
        button.onclick = () => this.go(problem.block, warp, index, lane);
        row.append(button);
      });
      return row;
    }));
  }

  listen() {
    this.find(".language").onchange = e => speak(+e.target.value);
    this.find(".blocks select").onchange = e => this.setBlock(+e.target.value);
    this.find(".warp").onchange = e => this.setWarp(+e.target.value);
    this.find(".lane").onchange = e => { this.lane = +e.target.value; this.draw(); };
    this.find(".play").onclick = () => play(this);
    this.find(".replay").onclick = () => this.replay();
    this.find(".cells select").onchange = () => { this.drawBanks(); this.drawKey(); };
    for (const button of this.root.querySelectorAll("[data-caption]"))
      button.onclick = () => { stop(); this.goToCaption(+button.dataset.caption); };
    this.find(".position").oninput = e => { this.index = +e.target.value; this.draw(); };
    for (const what in WANTED) this.find(`[data-do=${what}]`).hidden = !this.blocks.flat(2).some(WANTED[what]);
    for (const button of this.root.querySelectorAll("[data-do]")) button.onclick = () => act(button.dataset.do, false, this);
    this.root.addEventListener("pointerdown", () => activate(this));
    const hover = (selector, at) => {
      const canvas = this.find(selector);
      const show = e => showTip(e, at(e.offsetX, e.offsetY));
      canvas.onpointermove = canvas.onpointerdown = show;
      canvas.onpointerleave = e => { if (e.pointerType === "mouse") showTip(null, null); };  // a tip opened by touch stays until the next tap
    };
    hover(".matrices", (x, y) => this.whoTouches(true, this.elementAt(x, y)));
    hover(".banks canvas", (x, y) => this.whoTouches(false, this.wordAt(x, y)));
    this.find(".strip").onclick = e => {
      const place = this.places?.find(p => e.offsetX >= p.x && e.offsetX < p.x + p.w && e.offsetY >= p.y && e.offsetY < p.y + p.h);
      if (place) this.go(this.block, place.warp, place.index, this.lane);
    };
    this.find(".source").onscroll = ({ target }) => this.indentLess([...target.children].filter(row =>
      row.offsetTop < target.scrollTop + target.clientHeight && row.offsetTop + row.offsetHeight > target.scrollTop));
    let width = 0;
    new ResizeObserver(() => {
      if (width === this.root.clientWidth) return;
      width = this.root.clientWidth;
      this.fold();
      this.reserve();
      this.draw();
    }).observe(this.root);
  }

  setBlock(block) {
    this.block = block;
    this.find(".blocks select").value = block;
    this.find(".warp").replaceChildren(...this.blocks[block].map((_, warp) => new Option(warp, warp)));
    this.setWarp(Math.min(this.warp, this.blocks[block].length - 1));
  }

  setWarp(warp) {
    this.warp = warp;
    this.index = Math.max(0, Math.min(this.index, this.events.length - 1));
    this.find(".warp").value = warp;
    this.find(".position").max = this.events.length - 1;
    this.draw();
  }

  go(block, warp, index, lane) {
    if (block !== this.block) this.setBlock(block);
    this.index = index;
    this.lane = lane;
    this.setWarp(warp);
  }

  // Returns false at the end.
  step(by) {
    const to = this.index + by;
    if (to < 0 || to >= this.events.length) return false;
    this.index = to;
    this.draw();
    if (by === 1) this.fly();
    return true;
  }

  jump(kind, back) {
    const by = back ? -1 : 1;
    for (let i = this.index + by; i >= 0 && i < this.events.length; i += by) {
      if (!WANTED[kind](this.events[i])) continue;
      this.index = i;
      return this.draw();
    }
    this.find(".none").textContent = " " + say(back ? "noneBefore" : "noneAfter",
      { what: say(kind === "uncoalesced" ? "uncoalescedRequest" : kind) });
  }

  // ---- the position in the address: #block/warp/event/lane/caption ----

  get place() {
    return [this.block, this.warp, this.index + 1, this.lane, this.captionHere + 1 || ""].join("/");
  }

  // A caption alone, #////3, is found wherever its event has moved.
  set place(text) {
    const [block, warp, event, lane, caption] = text.split("/").map(part => /^\d+$/.test(part) ? +part : null);
    if (caption && event === null && this.captions.length) {
      this.shownCaption = Math.min(caption, this.captions.length) - 1;
      return this.goToCaption(0);
    }
    const within = (number, of) => Math.max(0, Math.min(number || 0, of - 1)), b = within(block, this.blocks.length);
    const w = within(warp, this.blocks[b].length);
    this.go(b, w, within((event || 1) - 1, this.blocks[b][w].length), within(lane, 32));
  }

  // ---- drawing ----

  draw() {
    if (!this.root.clientWidth) return;
    clearTimeout(this.replaying);
    this.land();
    this.turn = 0;  // the wavefront that is replayed; 0: all
    this.find(".lane").value = this.lane;
    this.find(".position").value = this.index;
    this.notes = this.data.blocks[this.block].notes;
    this.state = stateAfter(this.data, this.notes, this.event.moment || 0);
    this.note = noteOf(this.notes, this.event);
    this.product = this.productAt(this.event);
    this.known = new Map();
    const touches = this.touches(this.event), panel = this.find(".matrices-panel");
    panel.hidden = this.folded && !touches;  // before anything measures the width
    panel.firstChild.textContent = say(touches ? "touches" : "touchesNone");
    const caption = this.drawCaption();
    this.drawSectors();
    this.drawBanks();
    this.drawWhat();
    this.drawMatrices();
    this.drawKey();
    this.drawRing();
    this.drawSource();
    this.drawCounts();
    this.drawStrip();
    for (const [what, off] of [["back", !this.index], ["step", this.index >= this.events.length - 1]])
      this.find(`[data-do=${what}]`).disabled = off;
    this.find(".play").disabled = !playing && this.index >= this.events.length - 1;
    for (const what in WANTED)
      this.find(`[data-do=${what}]`).disabled = !this.events.some((e, i) => i > this.index && WANTED[what](e));
    if (!playing) this.find(".heard").textContent = caption || this.find(".status").textContent;
    keepPlace();
  }
}
