// The panel of A, B and C.

addMethods(View, {
  // A lies left of C and B above it, as in the chapters' diagrams.
  drawMatrices() {
    const canvas = this.find(".matrices"), [A, B, C] = this.data.matrices, gap = 16, margin = 14;
    if (this.find(".matrices-panel").hidden) return;
    const width = canvas.parentNode.clientWidth, share = this.root.clientWidth < 1050 || this.root.matches(".has-ring") ? .36 : .5;
    const height = this.folded ? Math.min(width, this.root.clientWidth < 600 ? 180 : 250) : Math.max(220, Math.min(width, innerHeight * share));
    const scale = Math.min((width - gap - margin - 2) / (A.cols + C.cols), (height - gap - margin - 2) / (B.rows + C.rows));
    if (!(scale > 0)) return;  // in a frame that has no room yet
    const cell = this.cell = scale >= 4 ? Math.floor(scale) : scale;
    const left = margin + A.cols * cell + gap, top = margin + B.rows * cell + gap;
    this.corners = [[A, margin, top], [B, left, margin], [C, left, top]];
    const touched = this.event.global && this.event.access || this.product ? this.find(".what").textContent : say("noneOfThem");
    const wide = left + C.cols * cell + 2, tall = top + C.rows * cell + 2;
    const context = paint(canvas, wide, tall, "A, B, C: " + touched);
    for (const [matrix, x, y] of this.corners) {
      context.strokeStyle = COLOURS.line;
      context.strokeRect(x - .5, y - .5, matrix.cols * cell + 1, matrix.rows * cell + 1);
      context.fillStyle = COLOURS.ink;
      const size = `${matrix.name}, ${matrix.rows} x ${matrix.cols}`, fits = matrix !== A || A.cols * cell > 70;
      context.fillText(fits ? size : matrix.name, x, y - 8);
    }
    const size = Math.max(1, cell);
    // Each element that an event touches, once, with its lanes. That of the chosen lane is the last, so that no other covers its frame.
    const each = (event, draw) => {
      const touched = new Map();
      event.addresses.forEach((address, lane) => {
        if (address === null) return;
        for (let at = address; at < address + event.width;) {
          const place = this.placeOf(at);
          if (!place) return;
          if (!touched.has(at)) touched.set(at, { ...place, lanes: [] });
          touched.get(at).lanes.push(lane);
          at += place.size;
        }
      });
      const found = [...touched.values()], mine = ({ lanes }) => lanes.includes(this.lane);
      for (const { x, y, lanes } of [...found.filter(of => !mine(of)), ...found.filter(mine)]) draw(x, y, lanes);
    };
    const sums = this.sums(), parts = this.sumsNow(), part = this.product?.rows && parts.get(this.partOf(this.product));
    tell(this.find(".sums"),
      (sums ? say(sums.products ? "sumsProducts" : "sumsLoads", { ...sums, kind: kindName(sums.kind) }) : "") +
      (part ? say("partDone", { c: "C" + this.partOf(part), done: part.done, of: this.data.shape[2] }) : ""), this.known);
    const rectangle = ({ rows, columns }, draw) => {  // of C, as far as it lies in it
      const [matrix, left, top] = this.corners[2], wide = Math.min(columns[1] + 1, matrix.cols) - columns[0];
      const high = Math.min(rows[1] + 1, matrix.rows) - rows[0];
      if (wide > 0 && high > 0) draw(left + columns[0] * cell, top + rows[0] * cell, wide * cell, high * cell);
    };
    for (const each of parts.values()) {
      context.globalAlpha = .1 + .4 * each.done / this.data.shape[2];
      context.fillStyle = COLOURS.line;
      rectangle(each, (...place) => context.fillRect(...place));
      context.globalAlpha = 1;
    }
    if (sums && sums.done && !parts.size) {
      const layer = document.createElement("canvas"), under = paint(layer, wide, tall);
      under.fillStyle = COLOURS.line;
      for (const e of sums.stores) each(e, (x, y, lanes) => {
        if (!sums.products) under.fillStyle = LANE_COLOURS[lanes[0]];  // else the lane that stores it may be another
        under.fillRect(x, y, size, size);
      });
      context.globalAlpha = .1 + .4 * sums.done / sums.all;
      context.drawImage(layer, 0, 0, wide, tall);
      context.globalAlpha = 1;
    }
    context.fillStyle = COLOURS.past;  // touched earlier by this warp
    for (const e of this.events.slice(0, this.index))
      if (e.global && e.access) each(e, (x, y) => context.fillRect(x, y, size, size));
    this.coloured = 0;
    const fill = (name, x, y, columns, rows, piece) => {  // as far as that lies in the matrix
      const corner = this.corners.find(([matrix]) => matrix.name === name);
      if (!corner) return;
      const [matrix, left, top] = corner, right = Math.min(x + columns, matrix.cols), bottom = Math.min(y + rows, matrix.rows);
      context.fillStyle = pieceColour(piece);
      context.fillRect(left + x * cell, top + y * cell, Math.max(0, right - x) * cell, Math.max(0, bottom - y) * cell);
    };
    if (this.note?.[0] === "store") fill(...this.note.slice(3, 8), 4);
    const loaded = this.note?.[0] === "load" ? placesOf(this.data, this.note[8]).map(place => this.heldAt(place)) : [];
    for (const of of [...loaded, ...this.product ? [...this.product.a.pieces, ...this.product.b.pieces] : []])
      if (of) fill(of.matrix, of.column, of.row, of.columns, 1, of.piece);
    if (part) {
      context.strokeStyle = COLOURS.ink;
      context.lineWidth = 2;
      rectangle(part, (x, y, w, h) => context.strokeRect(x - 1, y - 1, w + 2, h + 2));
    }
    if (this.event.global && this.event.access) {
      each(this.event, (x, y, lanes) => {
        box(context, x, y, size, size, lanes, this.lane);
        ++this.coloured;
      });
    }
  },

  placeOf(address) {
    for (const [m, x, y] of this.corners) {
      if (!rangeAt([m], address)) continue;
      const at = Math.floor((address - m.begin) / m.size);
      return { x: x + at % m.cols * this.cell, y: y + Math.floor(at / m.cols) * this.cell, size: m.size };
    }
    return null;
  },

  elementAt(x, y) {
    for (const [m, left, top] of this.corners) {
      const col = Math.floor((x - left) / this.cell), row = Math.floor((y - top) / this.cell);
      const inside = row >= 0 && col >= 0 && row < m.rows && col < m.cols;
      if (inside) return { begin: m.begin + (row * m.cols + col) * m.size, bytes: m.size };
    }
    return null;
  },
});
