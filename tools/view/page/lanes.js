// The colours of lanes, and how cells are drawn.

// Draws a cell that some lanes access: in the colour of the first of them, and in a frame if the chosen one is among
// them.
function box(context, x, y, size, height, lanes, chosen) {
  context.fillStyle = LANE_COLOURS[lanes[0]];
  context.fillRect(x, y, size, height);
  if (!lanes.includes(chosen)) return;
  // In two tones, of which one differs from any lane's colour.
  for (const [tone, inset] of [[COLOURS.ink, 0], [COLOURS.paper, 2]]) {
    context.strokeStyle = tone;
    context.lineWidth = 2 - inset / 2;
    context.strokeRect(x + inset, y + inset, size - 2 * inset, height - 2 * inset);
  }
}

addMethods(View, {
  drawKey() {
    const canvas = this.find(".lanes"), left = roomFor([say("lane")]);
    const cell = Math.min(11, Math.floor((canvas.parentNode.clientWidth - left - 6) / 32));
    this.key = { left, cell };
    const context = paint(canvas, left + 32 * cell + 2, 18, say("laneColours", { lane: this.lane }));
    const asks = this.event.access && !this.event.global, shows = this.find(".cells select").value === "turn" ? "keyTurn" : "keyLane";
    canvas.hidden = this.pieces > 0;
    this.find(".keys").textContent = this.pieces ? say("keyPiece") : say("key", { lane: this.lane }) + (asks ? say(shows) : "");
    context.fillStyle = COLOURS.ink;
    context.fillText(say("lane"), 0, 10);
    for (let lane = 0; lane < 32; ++lane) box(context, left + lane * cell, 2, cell - 1, 14, [lane], this.lane);
    for (let lane = 0; lane < 32; lane += cell < 16 ? 8 : 1) {
      context.fillStyle = inkOn(lane);
      context.fillText(lane, left + 1 + lane * cell, 10);
    }
  },
});
