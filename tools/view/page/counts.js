// The table of counts.

// Adds up events as the emulator does: [requests, sectors or wavefronts, fewest possible] by kind.
function sumOf(lists) {
  const sums = {};
  for (const list of lists)
    for (const e of list) {
      const sum = sums[e.kind] ||= [0, 0, 0];
      [1, e.cost, e.ideal].forEach((n, i) => sum[i] += n);
    }
  return sums;
}

addMethods(View, {
  drawCounts() {
    const soFar = sumOf([this.events.slice(0, this.index + 1)]), all = sumOf(this.blocks[this.block]);
    const rows = Object.keys(all).map(kind => {
      const unit = kind.startsWith("global") || kind === "copy" ? say("unitSectors")
        : kind.startsWith("shared") ? say("unitWavefronts") : "";
      const cells = sums => { const s = sums[kind] || [0, 0, 0]; return `<td>${s[0]}<td>${unit && s[1]}<td>${unit && s[2]}`; };
      return `<tr><th>${kindName(kind)}<td class=unit>${unit}${cells(soFar)}${cells(all)}`;
    });
    this.find(".counts").innerHTML =
      `<thead><tr><th><th class=unit><th colspan=3>${say("soFar")}<th colspan=3>${say("wholeBlock")}` +
      `<tr><th><th class=unit>${`<th>${say("times")}<th>${say("cost")}<th>${say("best")}`.repeat(2)}<tbody>` + rows.join("");
  },
});
