// The sectors of global memory that a request touches.

addMethods(View, {
  // Draws the accessed sectors, four in each 128-byte line; bytes that no lane accesses stay white.
  drawSectors() {
    const canvas = this.find(".sectors"), title = this.find(".sectors-title"), e = this.event;
    const width = canvas.parentNode.clientWidth;
    canvas.hidden = title.hidden = !(e.global && e.access);
    if (canvas.hidden) return;
    const { sectors, count } = sectorsOf(e), lines = new Map(), wanted = new Map();  // wanted: the lanes that access each address
    e.addresses.forEach((address, lane) => { if (address !== null) wanted.set(address, [...wanted.get(address) || [], lane]); });
    for (const [sector, lanes] of sectors) {
      const line = Math.floor(sector * SECTOR / LINE);
      if (!lines.has(line)) lines.set(line, []);
      lines.get(line).push([sector, lanes]);
    }
    setText(title, say("sectorsTitle", { sectors: many(sectors.size, "sectors"), lines: many(lines.size, "lines") }) +
      (count === sectors.size ? "" : say("askedTwice", { count })), this.known);
    const across = lines.size > 8 ? 2 : 1, rows = Math.ceil(lines.size / across);
    const label = roomFor([...lines.keys()].map(line => elementName(this.data, true, line * LINE, 1)));
    const unit = (width / across - label - 14) / LINE, height = rows > 20 ? 9 : 14;  // unit: pixels per byte
    const context = paint(canvas, width, rows * (height + 3) + 4, title.textContent);
    [...lines.keys()].sort((a, b) => a - b).forEach((line, i) => {
      const x = label + Math.floor(i / rows) * width / across, y = i % rows * (height + 3) + 2;
      context.fillStyle = COLOURS.ink;
      context.fillText(elementName(this.data, true, line * LINE, 1), x - label, y + height / 2);
      for (let part = 0; part < LINE / SECTOR; ++part) {  // a sector without an access is dashed
        const touched = sectors.has(line * LINE / SECTOR + part);
        context.setLineDash(touched ? [] : [2, 3]);
        context.strokeStyle = touched ? COLOURS.ink : COLOURS.line;
        context.lineWidth = 1;
        context.strokeRect(x + part * (SECTOR * unit + 2), y, SECTOR * unit - 1, height);
      }
      context.setLineDash([]);
      for (const [address, lanes] of wanted) {
        const begin = address - line * LINE;
        if (begin >= 0 && begin < LINE)
          box(context, x + Math.floor(begin / SECTOR) * (SECTOR * unit + 2) + begin % SECTOR * unit + 1, y + 1,
            Math.max(1, e.width * unit - 1.5), height - 2, lanes, this.lane);
      }
    });
  },
});
