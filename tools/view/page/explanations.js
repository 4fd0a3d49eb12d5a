// The explanations of a kernel: its chapter's captions, each at an event of the first block.

addMethods(View, {
  // Where a caption stands: its warp, or else the first one that has such an event.
  placeOfCaption(caption) {
    const places = this.blocks[0].map((events, warp) => ({ warp, index: this.indexOfCaption(events, caption) }));
    return places.find(({ warp, index }) => index >= 0 && [null, warp].includes(caption.warp)) || { index: -1 };
  },

  // The first event of the caption's kind, statement and array, after the first one of the kind that it names.
  indexOfCaption(events, { kind, of, after, statement }) {
    const begin = after ? events.findIndex(e => e.kind === after) : 0;
    return begin < 0 ? -1 : events.findIndex((e, i) => {
      if (i < begin || e.kind !== kind) return false;
      const names = e.access ? [elementName(this.data, e.global, e.addresses.find(a => a !== null), 1)] : [];
      return (!of || names.some(name => name.match(/^\w+/)[0] === of)) &&
        this.data.sources[e.file]?.split("\n")[e.line - 1]?.includes(statement);
    });
  },

  // The text for {best}, or {lane 4}, in a caption.
  fieldText(field) {
    const [name, which] = field.split(" "), lane = which === undefined ? this.lane : +which;
    const e = this.event, [kind, at, ...rest] = this.note || [];
    const word = of => e.addresses[of] === null ? null : Math.floor(e.addresses[of] / WORD), lanes = Array.from({ length: 32 }, (_, i) => i);
    const run = () => {
      const end = this.events.findIndex((other, i) => i > this.index && other.kind !== e.kind);
      return (end < 0 ? this.events.length : end) - this.index;
    };
    const own = text => which === "each" ? text.replace(/^rank \d+ /, "") : text;  // as each CTA of a multicast calls it
    const joined = () => wavefrontsOf({ ...e, width: 16 });  // as if this lane's reads of adjacent words were one
    return {
      cost: () => e.cost, best: () => e.ideal, width: () => e.width, warp: () => this.warp, warps: () => this.blocks[this.block].length,
      lanes: () => e.addresses.filter(a => a !== null).length, words: () => new Set(wordsOf(e.addresses, e.width).map(([w]) => w)).size,
      lane: () => e.addresses[lane] === null ? say("nothing") : elementName(this.data, e.global, e.addresses[lane], e.width),
      to: () => elementName(this.data, false, e.to[lane], e.width),
      bank: () => which === undefined ? this.conflictingWords().bank : word(lane) % BANKS,
      same: () => ranges(lanes.filter(other => word(other) === word(lane))), run,
      conflicting: () => (list => list.length > 8 ? ranges(list) : list.join(", ").replace(/, (\d+)$/, say("andLast") + "$1"))(
        this.conflictingWords().words.map(each => each.lanes[0])),
      wide: () => 4 * e.width, joined: () => joined().count, least: () => joined().least,
      barrier: () => own(elementName(this.data, false, kind === "load" ? rest[0] : at, 8)), bytes: () => rest[1], phase: () => rest[1],
      part: () => this.product?.rows ? "C" + this.partOf(this.product) : "C",
      box: () => boxName([this.note]),
      place: () => own(boxPlace(this.data, placesOf(this.data, kind === "wgmma" ? rest[+which] : rest[6])[0])),
    }[name]();
  },

  // The bank whose words take a group of lanes the most wavefronts, and these words. That of the chosen lane, if it is
  // one of them.
  conflictingWords() {
    const { words, groups } = wavefrontsOf(this.event), banks = new Map();
    for (const each of words) {
      const key = Math.floor(each.lanes[0] * groups / 32) * BANKS + each.bank;
      if (!banks.has(key)) banks.set(key, { bank: each.bank, words: [] });
      banks.get(key).words.push(each);
    }
    const most = Math.max(...[...banks.values()].map(each => each.words.length));
    const worst = [...banks.values()].filter(each => each.words.length === most);
    return worst.find(each => each.words.some(({ lanes }) => lanes.includes(this.lane))) || worst[0];
  },

  // Goes to the previous or next explanation. If the event is none of them, goes back to the last one that was shown.
  goToCaption(by) {
    const away = this.captionHere < 0 && by < 0 ? 1 : 0;
    this.shownCaption = Math.max(0, Math.min(this.captions.length - 1, this.shownCaption + by + away));
    const { warp, index, lane } = this.captions[this.shownCaption];
    this.go(0, warp, index, lane);
    if (by > 0) this.fly();
  },

  // The number of this event's caption, or -1.
  get captionHere() {
    return this.captions.findIndex(({ warp, index }) => !this.block && warp === this.warp && index === this.index);
  },

  drawCaption() {
    const of = this.captions.length, here = this.captionHere, e = this.event;
    if (here >= 0) this.shownCaption = here;
    this.find("[data-caption='1']").disabled = this.shownCaption === of - 1;
    this.find("[data-caption='-1']").disabled = here >= 0 ? !here : this.shownCaption < 0;
    const fill = text => text.replace(/\{([^}]*)\}/g, (_, field) => this.fieldText(field));
    const text = here >= 0 ? say("captionOf", { here: here + 1, of }) + fill(this.captions[here].text[language])
      : WANTED.conflict(e) ? fill(WORDS.conflictHere[language]) : WANTED.uncoalesced(e) ? fill(WORDS.uncoalescedHere[language])
      : say("captionCount", { n: of });
    setText(this.find(".caption p"), text, this.known);
    return here >= 0 ? text : "";
  },
});
