// The table of mbarriers, TMA and wgmma.

addMethods(View, {
  // Draws a row for each mbarrier of an array, with those of the same number side by side: full[1] and empty[1].
  drawRing() {
    const { barriers, loads, underWay, held } = this.state, places = list => placesOf(this.data, list);
    this.find(".ring-panel").hidden = !this.root.matches(".has-ring") || this.product && this.root.clientWidth < 600;
    const columns = this.data.arrays.filter(array => [...barriers.keys()].some(at => rangeAt([array], at)));
    const rows = Math.max(0, ...columns.map(array => array.bytes / 8));
    const barrierHere = this.note && !this.product && this.note[this.note[0] === "load" ? 2 : 1];
    const cell = at => {
      const b = barriers.get(at);
      if (!b) return "<td>";
      const parts = [say("phaseIs", b), say("arrived", { n: b.arrived.length, of: b.arrivals }) +
        (b.arrived.length ? say("comma") + warpsOf(b.arrived) : "")];
      if (b.bytes) parts.push(say(b.bytes > 0 ? "toCome" : "early", { n: Math.abs(b.bytes) }));
      if (b.waiting.size) parts.push(say("waiting") + warpsOf(b.waiting));
      return `<td${at === barrierHere ? " class=now" : ""}>${parts.join(say("semicolon"))}`;
    };
    const boxes = row => columns.flatMap(array => {
      const mine = loads.get(array.begin + 8 * row) || [], matrices = [...new Set(mine.map(load => load[3]))];
      return matrices.map(matrix => {
        const of = mine.filter(load => load[3] === matrix), coming = of.filter(load => underWay.has(load)).length;
        return boxName(of) + (coming ? ` <b>${say("coming")}</b>${of.length > 1 ? say("boxes", { n: coming, of: of.length }) : ""}` : "");
      });
    });
    const idle = at => (b => !b || at !== barrierHere && !b.phase && !b.arrived.length && !b.waiting.size)(barriers.get(at));
    const rowOf = ([, , first]) => {  // of a wgmma: the mbarrier that counted the bytes that it reads
      const load = first.length && held.get(places(first)[0])?.load;
      const array = load && rangeAt(columns, load[2]);
      return array ? (load[2] - array.begin) / 8 : -1;
    };
    const products = [...underWay].filter(([kind]) => kind === "wgmma"), stores = [...underWay].filter(([kind]) => kind === "store");
    const reads = row => {
      const warps = new Map();
      for (const note of products) if (rowOf(note) === row) warps.set(note[1], (warps.get(note[1]) || 0) + 1);
      const by = [...new Set(warps.values())].map(n =>
        say("by", { n, warps: warpsOf([...warps.keys()].filter(w => warps.get(w) === n)) }));
      return by.length ? "wgmma: " + by.join(say("comma")) : "";
    };
    const shown = Array.from({ length: rows }, (_, row) => row)
      .filter(row => !this.folded || columns.some(array => !idle(array.begin + 8 * row)));
    this.ring = shown.map(row =>
      `<tr><th>${row}${columns.map(array => cell(array.begin + 8 * row)).join("")}<td>${boxes(row).join(say("semicolon"))}` +
      `<td>${reads(row)}`);
    const list = stores.map(note => say("store", { place: boxPlace(this.data, places(note[8])[0]), box: boxName([note]) }));
    if (this.notes.some(([kind]) => kind === "store"))
      this.ring.push(`<tr><th>${say("stores")}<td colspan=${columns.length + 2}>` +
        (list.length ? say("toRead") + list.join(say("semicolon")) : say("none")));
    this.find(".ring").innerHTML = `<thead><tr><th>${say("buffer")}${columns.map(array => `<th>${array.name}`).join("")}` +
      `<th>${say("tiles")}<th>${say("underWay")}<tbody>` +
      this.ring.join("");
  },
});
