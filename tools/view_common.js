// What the pages of ./run view share: lanes' colours, sharp canvases, the tip beside the pointer.

// Dark to light, so that the order of lanes is seen in grey, too.
function laneColour(lane) {
  const stops = [[48, 18, 90], [50, 85, 150], [30, 140, 140], [80, 180, 100], [180, 215, 60], [253, 235, 90]];
  const at = lane / 31 * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
  return `rgb(${stops[i].map((from, c) => Math.round(from + (stops[i + 1][c] - from) * (at - i)))})`;
}
const LANE_COLOURS = Array.from({ length: 32 }, (_, lane) => laneColour(lane));
const pieceColour = piece => LANE_COLOURS[4 * piece];
const inkOn = lane => lane < 13 ? "#fff" : "#000";

// A canvas as sharp as the screen.
function paint(canvas, width, height) {
  const sharp = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(height * sharp);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.scale(sharp, sharp);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return context;
}

function showTip(e, text) {
  let tip = document.getElementById("tip");
  if (!tip) {
    tip = document.createElement("div");
    tip.id = "tip";
    document.body.append(tip);
  }
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = Math.max(2, Math.min(e.clientX + 14, innerWidth - width - 4)) + "px";
  tip.style.top = (e.clientY + 18 + height > innerHeight ? Math.max(2, e.clientY - height - 12) : e.clientY + 18) + "px";
}
