// Describes an event in words; and finds which lanes access given bytes, and when.

addMethods(View, {
  // Whether it shows in A, B or C.
  touches(event) {
    return event.global && event.access || this.productAt(event) || ["load", "store"].includes(noteOf(this.notes, event)?.[0]);
  },

  drawWhat() {
    const e = this.event, { known } = this;
    showTip(null, null);
    let text = say("event", { warp: this.warp, at: this.index + 1, of: this.events.length, kind: kindName(e.kind),
      line: e.line ? say("line", { line: e.line }) : say("noLine") });
    if (!this.events.length) text = say("idle", { warp: this.warp });
    const filled = this.note?.[0] === "fill" && this.product?.a.pieces.every(Boolean);
    if (this.note && (this.note[0] !== "fill" || filled)) text += say("colon") + this.noteText(this.note);
    this.find(".none").textContent = "";
    if (e.access) {
      const lanes = e.addresses.filter(a => a !== null).length, unit = e.global ? "sectors" : "wavefronts";
      text += say("request", { width: e.width, lanes: many(lanes, "lanes"), cost: many(e.cost, unit) }) +
        (isCostly(e) ? say("atBest", { best: e.ideal }) : "");
    }
    setText(this.find(".what"), text, known);
    const address = e.access ? e.addresses[this.lane] : undefined;
    setText(this.find("small"), address === undefined ? "" : ` · ${say("laneNamed", { lane: this.lane })}` + (address === null
      ? say("noPart") : say("colon") + elementName(this.data, e.global, address, e.width) +
      (e.to && e.to[this.lane] !== null ? " → " + elementName(this.data, false, e.to[this.lane], e.width) : "")), known);
  },

  noteText([kind, at, ...rest]) {
    const name = address => elementName(this.data, false, address, 8);
    const begin = list => boxPlace(this.data, placesOf(this.data, list)[0]);
    if (kind === "wait" || kind === "look")
      return say(kind === "look" && rest[1] < 0 ? "lookFirst" : kind, { phase: rest[1], barrier: name(at) });
    if (kind === "arrive") return say(rest[1] ? "arriveBytes" : "arrive", { barrier: name(at), bytes: rest[1] });
    if (kind === "load") return say("load", { box: boxName([this.note]), place: begin(rest[6]), barrier: name(rest[0]) });
    if (kind === "store") return say("store", { box: boxName([this.note]), place: begin(rest[6]) });
    const part = ({ pieces }) => {  // of a matrix; unknown if no copy has written the memory
      const known = pieces.filter(Boolean), span = (from, more) =>
        [Math.min(...known.map(from)), Math.max(...known.map(piece => from(piece) + more(piece)))].join("..");
      return known.length && `${known[0].matrix}[${span(p => p.row, () => 0)}][${span(p => p.column, p => p.columns - 1)}]`;
    };
    if (kind === "fill") return say("fill", { a: part(this.product.a) });
    const operands = [this.product.a, this.product.b], read = operands.filter(({ places }) => places.length);
    if (!read.length) return say("unknown");
    const [a, b] = operands.map(part);
    return say(kind, { places: read.map(({ places }) => boxPlace(this.data, places[0])).join(say("and")) }) +
      (a && b ? say("product", { a, b }) : "") +
      (this.product.rows ? say("addedTo", { c: "C" + this.partOf(this.product) }) : "");
  },

  // All accesses of the block to these bytes: by which lanes, and when.
  whoTouches(global, range) {
    if (!range) return null;
    const found = [];
    const touches = (list, width) => list ? list.flatMap((a, lane) =>
      a !== null && a < range.begin + range.bytes && range.begin < a + width ? [lane] : []) : [];
    this.blocks[this.block].forEach((events, warp) => events.forEach((e, index) => {
      const lanes = e.access ? touches(e.global === global ? e.addresses : global ? null : e.to, e.width) : [];
      if (lanes.length) found.push(say("toucher", { warp, at: index + 1, kind: kindName(e.kind), line: e.line,
        lanes: lanes.length > 4 ? many(lanes.length, "lanes") : say("laneNamed", { lane: lanes.join(", ") }) }));
    }));
    const more = found.length > 3 ? [say("more", { n: found.length - 3 })] : found.length ? [] : [say("untouched")];
    const heads = [elementName(this.data, global, range.begin, range.bytes)], of = global ? null : this.heldAt(range.begin);
    if (!global) {
      const { begin } = rangeAt(this.data.arrays, range.begin) || {};
      if (begin === undefined) return null;  // between arrays
      heads[0] += say("comma") + say("cell", { word: (range.begin - begin) / WORD, bank: range.begin / WORD % BANKS });
      for (const each of this.event.access && !this.event.global ? wavefrontsOf(this.event).words : [])
        if (each.word * WORD === range.begin) heads.push(say("cellNow", { lanes: ranges(each.lanes), turn: each.wavefront }));
    }
    if (of) heads.push(`${say("piece")} ${of.piece}: ${of.matrix}[${of.row}][${of.column}..${of.column + of.columns - 1}]`);
    return [...heads, ...found.slice(0, 3), ...more].join("\n");
  },

  // The chunk of the matrix that TMA has written there, or is writing there.
  heldAt(address) {
    return this.state.held.get(address - address % 16);
  },
});
