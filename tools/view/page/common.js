// What the pages of ./run view share: lanes' colours, sharp canvases, the tip beside the pointer.

// From dark to light, so that the order of lanes can also be seen in grey; all colours stand out from a light page, or
// from a dark one.
const DARK = { get matches() { return document.documentElement.dataset.theme === "dark"; } };  // frame.js
const STOPS = { light: [[55, 12, 85], [34, 42, 136], [9, 80, 116], [12, 110, 85], [51, 136, 34], [171, 139, 9]],
  dark: [[155, 55, 226], [115, 124, 220], [27, 167, 236], [23, 206, 160], [154, 226, 140], [251, 235, 173]] };
function laneColour(lane) {
  const stops = STOPS[DARK.matches ? "dark" : "light"];
  const at = lane / 31 * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
  return `rgb(${stops[i].map((from, c) => Math.round(from + (stops[i + 1][c] - from) * (at - i)))})`;
}
const LANE_COLOURS = [], COLOURS = {};
function readColours() {
  for (let lane = 0; lane < 32; ++lane) LANE_COLOURS[lane] = laneColour(lane);
  for (const name of ["paper", "ink", "note", "line", "grid", "past", "costly", "full"])
    COLOURS[name] = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
readColours();
// Calls `redraw` when the page turns dark or light.
const onColours = redraw => addEventListener("theme", () => { readColours(); redraw(); });
const pieceColour = piece => LANE_COLOURS[4 * piece];
const inkOn = lane => lane < (DARK.matches ? 4 : 25) ? "#fff" : "#000";

const FONT = "11px system-ui, sans-serif", ruler = document.createElement("canvas").getContext("2d");
ruler.font = FONT;
// The width that the longest of these labels needs.
const roomFor = labels => Math.ceil(Math.max(0, ...labels.map(label => ruler.measureText(label).width))) + 6;

// Makes a canvas as sharp as the screen. words: the text that a screen reader reads instead.
function paint(canvas, width, height, words) {
  canvas.setAttribute("role", "img");
  canvas.setAttribute(words ? "aria-label" : "aria-hidden", words || "true");
  const sharp = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(height * sharp);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.scale(sharp, sharp);
  context.font = FONT;
  context.textBaseline = "middle";
  context.fillStyle = COLOURS.ink;
  return context;
}
