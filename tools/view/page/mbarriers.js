// The table of mbarriers, TMA and wgmma.

addMethods(View, {
  // Draws a row for each stage of a pipeline, with its mbarriers side by side: full[1] and empty[1]. Of a cluster it is
  // a row for each rank, with the mbarrier that the event is about. Equal rows are one.
  drawRing() {
    const { barriers, loads, underWay } = this.state, places = list => placesOf(this.data, list);
    this.find(".ring-panel").hidden = !this.root.matches(".has-ring") || this.product && this.root.clientWidth < 600;
    const arrays = this.data.arrays.filter(array => [...barriers.keys()].some(at => rangeAt([array], at))).map(array => {
      const [, rank, name] = array.name.match(/^(?:rank (\d+) )?(.*)$/);
      return { ...array, rank: +(rank || 0), name };
    });
    const ranks = [...new Set(arrays.map(({ rank }) => rank))], ofCluster = ranks.length > 1, barrierHere = this.barrierOf(this.event);
    const last = ofCluster && this.lastBarrier(), of = ofCluster && (rangeAt(arrays, last) || arrays[0]);
    // In a lesson and on a phone those of which nothing has happened yet are left out, and tiles of stages at rest.
    const isIdle = (b, address) => address !== barrierHere && !b.phase && !b.arrived.length && !b.waiting.size;
    const inUse = array => !this.folded || [...barriers].some(([address, b]) => rangeAt([array], address) && !isIdle(b, address));
    const names = ofCluster ? [of.name] : [...new Set(arrays.filter(inUse).map(({ name }) => name))];
    const stageHere = ofCluster ? Math.max(0, (last - of.begin) / 8 || 0) : 0;
    const at = (name, rank, stage) => {
      const array = arrays.find(each => each.name === name && each.rank === rank);
      return array && 8 * stage < array.bytes ? array.begin + 8 * stage : undefined;
    };
    const named = warps => ofCluster ? many(new Set(warps).size, "warps") : warpsOf(warps);  // each rank's have other numbers
    const cell = address => {
      const b = barriers.get(address);
      if (!b) return "";
      const parts = [say("phaseIs", b), say("arrived", { n: b.arrived.length, of: b.arrivals }) +
        (b.arrived.length && !ofCluster ? say("comma") + warpsOf(b.arrived) : "")];
      if (b.bytes) parts.push(say(b.bytes > 0 ? "toCome" : "early", { n: Math.abs(b.bytes) }));
      if (b.waiting.size) parts.push(say("waiting") + named(b.waiting));
      return parts.join(say("semicolon"));
    };
    const boxes = addresses => addresses.flatMap(address => {
      const mine = loads.get(address) || [], matrices = [...new Set(mine.map(load => load[3]))];
      return matrices.map(matrix => {
        const of = mine.filter(load => load[3] === matrix), coming = of.filter(load => underWay.has(load)).length;
        return boxName(of) + (coming ? ` <b>${say("coming")}</b>${of.length > 1 && !ofCluster ? say("boxes", { n: coming, of: of.length }) : ""}` : "");
      });
    }).join(say("semicolon"));
    const products = [...underWay].filter(([kind]) => kind === "wgmma"), stores = [...underWay].filter(([kind]) => kind === "store");
    const reads = addresses => {
      const warps = new Map();
      for (const note of products)
        if (addresses.includes(this.loadOf(note)?.[2])) warps.set(note[1], (warps.get(note[1]) || 0) + 1);
      const by = [...new Set(warps.values())].map(n =>
        say("by", { n, warps: named([...warps.keys()].filter(w => warps.get(w) === n)) }));
      return by.length ? "wgmma: " + by.join(say("comma")) : "";
    };
    const count = Math.max(0, ...arrays.map(array => array.bytes / 8)), rows = [];
    for (const label of ofCluster ? ranks : Array.from({ length: count }, (_, stage) => stage)) {
      const addresses = names.map(name => ofCluster ? at(name, label, stageHere) : at(name, 0, label));
      const marked = barrierHere === undefined ? -1 : addresses.indexOf(barrierHere), reading = reads(addresses);
      const moves = marked >= 0 || reading || addresses.some(address => (loads.get(address) || []).some(load => underWay.has(load)));
      const cells = [...addresses.map(cell), !this.folded || moves ? boxes(addresses) : "", reading];
      const equal = rows.find(row => marked < 0 && row.marked < 0 && row.cells.join() === cells.join());
      if (equal) equal.labels.push(label);
      else rows.push({ labels: [label], cells, marked });
    }
    const heads = [...names.map(name => ofCluster ? `${name}[${stageHere}]` : name), say("tiles"), say("underWay")];
    const used = heads.flatMap((_, i) => rows.some(({ cells }) => cells[i]) ? [i] : []);  // no heading over nothing
    this.ring = rows.map(({ labels, cells, marked }) => `<tr><th>${ranges(labels)}` +
      used.map(i => `<td${i === marked ? " class=now" : ""}>${cells[i]}`).join(""));
    const list = stores.map(note => say("store", { place: boxPlace(this.data, places(note[8])[0]), box: boxName([note]) }));
    if (list.length)
      this.ring.push(`<tr><th>${say("stores")}<td colspan=${used.length}>` + say("toRead") + list.join(say("semicolon")));
    this.find(".ring").innerHTML = `<thead><tr><th>${say(ofCluster ? "rank" : "buffer")}` +
      `${used.map(i => `<th>${heads[i]}`).join("")}<tbody>` + this.ring.join("");
  },

  // The bulk load that brought what a wgmma reads.
  loadOf([, , first]) {
    const [place] = placesOf(this.data, first);
    return this.state.held.get(place)?.load;
  },

  // The address of the mbarrier that an event waits for, arrives on, or has count its bytes.
  barrierOf(event) {
    const [kind, ...cells] = noteOf(this.notes, event) || [];
    return { wait: cells[0], look: cells[0], arrive: cells[0], load: cells[1] }[kind];
  },

  // The mbarrier of the event, of the load whose data its product reads, or else of the last event before it that has one.
  lastBarrier() {
    for (let i = this.index; i >= 0; --i) {
      const note = noteOf(this.notes, this.events[i]);
      const at = note?.[0] === "wgmma" ? this.loadOf(note)?.[2] : this.barrierOf(this.events[i]);
      if (at !== undefined) return at;
    }
  },
});
