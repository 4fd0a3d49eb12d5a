// What an event moves, on its way: words of a matrix to shared memory, or to the lane that takes them, and back. It is
// shown after a step forward, ends at the next one, and is left out for a reader who wants no motion.

const FLIGHT = 450, MOST_FLIGHTS = 128;  // milliseconds; of more chunks than these only some are shown
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

addMethods(View, {
  fly() {
    this.land();
    if (STILL.matches || playing && this.find(".speed").value < FLIGHT) return;
    const frame = this.root.getBoundingClientRect();
    this.flying = this.flights().map(({ from, to, colour }) => {
      const word = document.createElement("i");
      word.className = "flying";
      Object.assign(word.style, { left: `${from.x - frame.x}px`, top: `${from.y - frame.y}px`, width: `${from.width}px`,
        height: `${from.height}px`, background: colour });
      this.root.append(word);
      const there = `translate(${to.x - from.x}px, ${to.y - from.y}px) scale(${to.width / from.width}, ${to.height / from.height})`;
      word.animate({ transform: ["none", there], opacity: [1, .4] }, { duration: FLIGHT, easing: "ease-in-out" }).onfinish = () => word.remove();
      return word;
    });
  },

  land() {
    for (const word of this.flying || []) word.remove();
    this.flying = [];
  },

  // [{ from, to, colour }] of the event, where both places are in sight.
  flights() {
    const e = this.event, kind = this.note?.[0], all = e.access ? this.flightsOfLanes(e, kind === "fill") : [];
    if (kind === "load" || kind === "store") all.push(...this.flightsOfBox(this.note, kind === "load"));
    if (kind === "wgmma" && this.product.rows) {
      const C = this.corners[2], { rows: [top, bottom], columns: [left, right] } = this.product;
      const to = this.onMatrix(C, top, left, right - left + 1, bottom - top + 1);
      for (const { places, pieces } of [this.product.a, this.product.b])
        places.forEach((place, i) => all.push({ from: this.onBanks(place, 16), to, colour: pieceColour(pieces[i]?.piece ?? 0) }));
    }
    const seen = all.filter(({ from, to }) => from && to), every = Math.ceil(seen.length / MOST_FLIGHTS);
    return seen.filter((_, i) => i % every === 0);
  },

  // toAll: the lanes have the addresses of rows, whose elements go to all lanes.
  flightsOfLanes({ addresses, to, width, global, store }, toAll) {
    return addresses.flatMap((address, lane) => {
      if (address === null) return [];
      const at = global ? this.onMatrices(address, width) : this.onBanks(address, width);
      const other = to ? to[lane] !== null && this.onBanks(to[lane], width) : this.onLanes(toAll ? null : lane);
      return [{ from: store ? other : at, to: store ? at : other, colour: LANE_COLOURS[lane] }];
    });
  },

  // The chunks of a box that TMA copies to shared memory, or from there.
  flightsOfBox([, , , matrix, x, y, wide, rows, list], isLoad) {
    const corner = this.corners.find(([{ name }]) => name === matrix), places = placesOf(this.data, list);
    const across = places.length / rows, columns = wide / across;
    return !corner ? [] : places.map((place, i) => {
      const at = this.onMatrix(corner, y + Math.floor(i / across), x + i % across * columns, columns, 1), other = this.onBanks(place, 16);
      return { from: isLoad ? at : other, to: isLoad ? other : at, colour: pieceColour(isLoad ? i % across : 4) };
    });
  },

  // ---- places on the page; null if they are not in sight ----

  onCanvas(canvas, x, y, width, height) {
    const box = canvas.getBoundingClientRect(), frame = canvas.parentNode.getBoundingClientRect();
    const place = new DOMRect(box.x + x, box.y + y, width, height);
    return canvas.checkVisibility() && place.top >= frame.top && place.bottom <= frame.bottom + 1 ? place : null;
  },

  onMatrix([matrix, left, top], row, column, columns, rows) {
    const { cell } = this, inside = row < matrix.rows && column < matrix.cols;
    return inside ? this.onCanvas(this.find(".matrices"), left + column * cell, top + row * cell, columns * cell, rows * cell) : null;
  },

  onMatrices(address, bytes) {
    const corner = this.corners.find(([matrix]) => rangeAt([matrix], address));
    if (!corner) return null;
    const [{ begin, size, cols }] = corner, at = Math.floor((address - begin) / size);
    return this.onMatrix(corner, Math.floor(at / cols), at % cols, Math.max(1, bytes / size), 1);
  },

  onBanks(address, bytes) {
    const canvas = this.find(".banks canvas");
    if (!canvas.checkVisibility()) return null;
    const row = this.rows.findIndex(({ line, instead }) => instead === undefined && line === Math.floor(address / LINE));
    if (row < 0) return null;
    const { bankLabel, bankCell, bankHigh } = this, bank = Math.floor(address % LINE / WORD), cells = Math.max(1, bytes / WORD);
    return this.onCanvas(canvas, bankLabel + bank * bankCell, row * bankHigh, cells * bankCell, bankHigh);
  },

  // The cell of a lane in the legend; of null all of them.
  onLanes(lane) {
    const { left, cell } = this.key, [from, lanes] = lane === null ? [0, 32] : [lane, 1];
    return this.onCanvas(this.find(".lanes"), left + from * cell, 2, lanes * cell, 14);
  },
});
