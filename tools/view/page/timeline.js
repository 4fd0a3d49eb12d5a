// The program order of all warps, or of those beside the chosen one.

const MOST_WARPS = 12;

addMethods(View, {
  // Warps align at their barriers, and nowhere else.
  columns() {
    const warps = this.blocks[this.block], starts = warps.map(() => 0), columns = warps.map(() => []);
    for (let begin = 0; warps.some((events, w) => starts[w] < events.length);) {
      const ends = warps.map((events, w) => {
        const end = events.findIndex((e, i) => i >= starts[w] && e.kind === "barrier");
        return end < 0 ? events.length : end + 1;
      });
      const length = Math.max(...ends.map((end, w) => end - starts[w]));
      ends.forEach((end, w) => {
        for (let i = starts[w]; i < end; ++i)
          columns[w].push(warps[w][i].kind === "barrier" ? begin + length - 1 : begin + i - starts[w]);
        starts[w] = end;
      });
      begin += length;
    }
    return columns;
  },

  drawStrip() {
    const canvas = this.find(".strip"), width = this.root.clientWidth - 16, warps = this.blocks[this.block];
    const named = warp => `${say("warp")} ${warp}`, pitch = warps.length > 8 ? 10 : 15, wide = 8;
    const top = Math.max(0, Math.min(this.warp - MOST_WARPS / 2, warps.length - MOST_WARPS));  // the first warp that is drawn
    const shown = warps.slice(top, top + MOST_WARPS);
    const label = roomFor([named(warps.length - 1)]) + 4, visible = Math.floor((width - label) / wide);
    if (this.columnsOf !== this.block) this.columnsOf = this.block, this.cols = this.columns();
    const last = Math.max(...this.cols.map(c => c[c.length - 1] || 0)), now = this.cols[this.warp][this.index] ?? 0;
    const first = Math.max(0, Math.min(now - Math.floor(visible / 2), last - visible + 1));
    const context = paint(canvas, width, shown.length * pitch + 4,
      say("stripAlt", { warps: many(warps.length, "warps"), warp: this.warp, at: this.index + 1, of: this.events.length }));
    const accesses = this.data.problems.flatMap(problem => problem.block === this.block ? problem.accesses : []);
    this.places = [];
    shown.forEach((events, row) => {
      const warp = top + row, y = 2 + row * pitch;
      context.fillStyle = COLOURS.ink;
      context.font = `${warp === this.warp ? "bold " : ""}${Math.min(11, pitch)}px system-ui, sans-serif`;
      context.fillText(named(warp), 0, y + pitch / 2);
      events.forEach((e, index) => {
        const column = this.cols[warp][index] - first;
        if (column < 0 || column >= visible) return;
        const x = label + column * wide, place = { x, y, w: wide, h: pitch, warp, index };
        this.places.push(place);
        drawMark(context, e.kind, x, y, wide - 2, pitch - 4);
        if (isCostly(e)) { context.fillStyle = COLOURS.costly; context.fillRect(x, y + pitch - 3, wide - 1, 2); }
        const accused = accesses.some(a => a[0] === warp && a[1] === index), now = warp === this.warp && index === this.index;
        context.strokeStyle = now ? COLOURS.ink : COLOURS.costly;
        context.lineWidth = 2;
        if (accused || now) context.strokeRect(x - 2, y - 1, wide + 2, pitch - 1);
      });
    });
    this.drawLegend();
  },

  drawLegend() {
    const legend = this.find(".legend");
    if (legend.dataset.drawn === String(DARK.matches)) return;
    legend.dataset.drawn = DARK.matches;
    legend.replaceChildren();
    const kinds = [...new Set(this.data.sites.map(site => site[0]))];
    for (const kind of kinds) {
      const canvas = document.createElement("canvas");
      canvas.style.display = "inline-block";
      drawMark(paint(canvas, 12, 13), kind, 2, 1, 6, 11);
      legend.append(canvas, ` ${kindName(kind)}   `);
    }
    const line = document.createElement("span");
    line.style.marginLeft = "8px";
    line.style.borderBottom = `2px solid ${COLOURS.costly}`;
    setText(line, say("costlier"));
    legend.append(line);
  },
});

// Marks differ in shape, so that they can be told apart in grey, too: global tall, shared low, bulk copies triangles;
// loads filled, stores hollow.
function drawMark(context, kind, x, y, wide, high) {
  const half = Math.floor(high / 2), global = kind.startsWith("global");
  context.fillStyle = context.strokeStyle = global || kind === "copy" || /^(bulk|shared)/.test(kind) ? COLOURS.full : COLOURS.ink;
  context.lineWidth = 1;
  const top = global ? y : y + half, tall = global ? high : high - half;
  if (kind === "copy" || kind.startsWith("bulk")) {
    context.beginPath();
    context.moveTo(x + .5, y);
    context.lineTo(x + wide, y + high);
    context.lineTo(x + .5, y + high);
    context.closePath();
    if (kind.endsWith("store")) context.stroke();
    else context.fill();
  } else if (kind.endsWith("load")) context.fillRect(x, top, wide, tall);
  else if (kind.endsWith("store")) context.strokeRect(x + .5, top + .5, wide - 1, tall - 1);
  else if (kind === "barrier") context.fillRect(x + wide / 2 - 1, y - 2, 3, high + 4);
  else if (kind === "tensor" || kind === "wgmma") {
    context.beginPath();
    context.arc(x + wide / 2, y + high / 2, wide / 2, 0, 7);
    context.fill();
  } else context.fillRect(x + wide / 2, y + half / 2, 1, half);
}
