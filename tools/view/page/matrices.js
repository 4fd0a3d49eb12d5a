// The panel of A, B and C.

addMethods(View, {
  // A lies left of C and B above it, as in the chapters' diagrams.
  drawMatrices() {
    if (this.find(".matrices-panel").hidden || !this.placeMatrices()) return;
    const { event, cell } = this, [, left, top] = this.corners[2], C = this.data.matrices[2];
    const wide = left + Math.max(C.cols * cell + 2, roomFor(this.corners.slice(1).map(([matrix]) => this.nameOf(matrix)))), tall = top + C.rows * cell + 2, size = Math.max(1, cell);
    const touches = event.global && event.access;
    const says = touches || this.product ? this.find(".what").textContent : say("noneOfThem");
    const context = paint(this.find(".matrices"), wide, tall, "A, B, C: " + says);
    this.drawFrames(context);
    const parts = this.sumsNow(), part = this.product?.rows && parts.get(this.partOf(this.product));
    this.drawSums(context, parts, part, wide, tall);
    context.fillStyle = COLOURS.past;  // accessed earlier by this warp
    for (const e of this.events.slice(0, this.index))
      if (e.global && e.access) this.eachElement(e, (x, y) => context.fillRect(x, y, size, size));
    this.drawBoxes(context);
    if (part) {
      context.strokeStyle = COLOURS.ink;
      context.lineWidth = 2;
      this.rectangleInC(part, (x, y, w, h) => context.strokeRect(x - 1, y - 1, w + 2, h + 2));
    }
    this.coloured = 0;
    if (touches)
      this.eachElement(event, (x, y, lanes) => {
        box(context, x, y, size, size, lanes, this.lane);
        ++this.coloured;
      });
  },

  // Computes where each matrix begins on the canvas, and the size of an element. Returns false in a frame that has no
  // size yet.
  placeMatrices() {
    const [A, B, C] = this.data.matrices, gap = 16, margin = 14, across = this.root.clientWidth;
    const width = this.find(".matrices").parentNode.clientWidth;
    const share = this.root.matches(".has-ring") ? .25 : across < 1050 ? .36 : .5;
    let height = Math.max(180, Math.min(width, innerHeight * share));
    if (this.folded) height = Math.min(width, across < 600 ? 180 : 250);
    const scale = Math.min((width - gap - margin - 2) / (A.cols + C.cols), (height - gap - margin - 2) / (B.rows + C.rows));
    if (!(scale > 0)) return false;
    const cell = this.cell = scale >= 4 ? Math.floor(scale) : scale;
    const left = margin + A.cols * cell + gap, top = margin + B.rows * cell + gap;
    this.corners = [[A, margin, top], [B, left, margin], [C, left, top]];
    return true;
  },

  nameOf({ name, rows, cols }) { return `${name}, ${rows} x ${cols}`; },

  drawFrames(context) {
    for (const [matrix, x, y] of this.corners) {
      context.strokeStyle = COLOURS.line;
      context.strokeRect(x - .5, y - .5, matrix.cols * this.cell + 1, matrix.rows * this.cell + 1);
      context.fillStyle = COLOURS.ink;
      const fits = matrix !== this.data.matrices[0] || matrix.cols * this.cell > 70;  // A may be narrow
      context.fillText(fits ? this.nameOf(matrix) : matrix.name, x, y - 8);
    }
  },

  // Visits each element that an event accesses once, with its lanes. The chosen lane's comes last, so that no other
  // covers its frame.
  eachElement(event, draw) {
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
  },

  // Draws a part of C, as far as it lies inside C.
  rectangleInC({ rows, columns }, draw) {
    const [matrix, left, top] = this.corners[2], { cell } = this;
    const wide = Math.min(columns[1] + 1, matrix.cols) - columns[0], high = Math.min(rows[1] + 1, matrix.rows) - rows[0];
    if (wide > 0 && high > 0) draw(left + columns[0] * cell, top + rows[0] * cell, wide * cell, high * cell);
  },

  // Shows how much of the warp's accumulation is done, in words and as grey in C. parts: those that its products have
  // begun; part: the one of this product.
  drawSums(context, parts, part, wide, tall) {
    const sums = this.sums(), size = Math.max(1, this.cell);
    let text = "";
    if (sums) text += say(sums.products ? "sumsProducts" : "sumsLoads", { ...sums, kind: kindName(sums.kind) });
    if (part) text += say("partDone", { c: "C" + this.partOf(part), done: part.done, of: this.data.shape[2] });
    setText(this.find(".sums"), text, this.known);
    for (const each of parts.values()) {
      context.globalAlpha = .1 + .4 * each.done / this.data.shape[2];
      context.fillStyle = COLOURS.line;
      this.rectangleInC(each, (...place) => context.fillRect(...place));
      context.globalAlpha = 1;
    }
    if (!sums?.done || parts.size) return;
    const layer = document.createElement("canvas"), under = paint(layer, wide, tall);
    under.fillStyle = COLOURS.line;
    for (const e of sums.stores) this.eachElement(e, (x, y, lanes) => {
      if (!sums.products) under.fillStyle = LANE_COLOURS[lanes[0]];  // otherwise another lane may store it
      under.fillRect(x, y, size, size);
    });
    context.globalAlpha = .1 + .4 * sums.done / sums.all;
    context.drawImage(layer, 0, 0, wide, tall);
    context.globalAlpha = 1;
  },

  // Draws what TMA copies at this event, and what tensor cores multiply, in the colours of its chunks.
  drawBoxes(context) {
    const { note, product } = this;
    const fill = (name, x, y, columns, rows, piece) => {  // the part inside the matrix
      const corner = this.corners.find(([matrix]) => matrix.name === name);
      if (!corner) return;
      const [matrix, left, top] = corner, { cell } = this;
      const right = Math.min(x + columns, matrix.cols), bottom = Math.min(y + rows, matrix.rows);
      context.fillStyle = pieceColour(piece);
      context.fillRect(left + x * cell, top + y * cell, Math.max(0, right - x) * cell, Math.max(0, bottom - y) * cell);
    };
    if (note?.[0] === "store") fill(...note.slice(3, 8), 4);
    const pieces = note?.[0] === "load" ? placesOf(this.data, note[8]).map(place => this.heldAt(place)) : [];
    if (product) pieces.push(...product.a.pieces, ...product.b.pieces);
    for (const of of pieces.filter(Boolean)) fill(of.matrix, of.column, of.row, of.columns, 1, of.piece);
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
