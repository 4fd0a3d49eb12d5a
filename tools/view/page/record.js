// Reads a record. docs/toys/rules.js, which comes before, computes the cost of its requests.

// "3 lanes" for the word "lanes", or "1 lane".
const many = (n, of) => say(of, { n }).replace(/^(1 \w+)s$/, "$1");

// The rows of events or notes with their own numbers: html_page.py writes the differences from the row before that has the
// same first cell.
function withNumbers(rows) {
  const last = new Map();
  const sum = (value, before) => typeof value === "number" && typeof before === "number" ? value + before :
    Array.isArray(value) && Array.isArray(before) && value.length === before.length ? value.map((each, i) => sum(each, before[i])) : value;
  return rows.map(([key, ...cells]) => {
    last.set(key, sum(cells, last.get(key)));
    return [key, ...last.get(key)];
  });
}

// An event as an object. addresses: of each lane, or null; to: a copy's destinations in shared memory.
function decode(data, [site, cost, ideal, moment, base, pattern, toBase, toPattern]) {
  const [kind, file, line, width] = data.sites[site];
  const spread = (first, list) => list === undefined ? null : data.patterns[list].map(d => d === null ? null : first + d);
  return { kind, file, line, width, cost, ideal, moment, addresses: spread(base, pattern), to: spread(toBase, toPattern),
    global: kind.startsWith("global") || kind === "copy", store: kind.endsWith("store"), access: pattern !== undefined };
}

// [word, lane] for each 4-byte word that holds bytes of a lane.
function wordsOf(addresses, width) {
  const words = [];
  addresses.forEach((address, lane) => {
    if (address === null) return;
    for (let word = Math.floor(address / WORD); word * WORD < address + width; ++word) words.push([word, lane]);
  });
  return words;
}

const isCostly = event => event.access && event.cost > event.ideal;
const WANTED = {  // the events to which a reader can jump
  barrier: event => event.kind === "barrier",
  uncoalesced: event => event.global && isCostly(event),
  conflict: event => !event.global && isCostly(event),
};

const bytesOf = range => range.rows ? range.rows * range.cols * range.size : range.bytes;
// The matrix or array that contains the address.
const rangeAt = (ranges, address) => ranges.find(each => address >= each.begin && address < each.begin + bytesOf(each));

// A[3][5], or As[1][0..3]: the elements in these bytes.
function elementName(data, global, address, width) {
  const range = rangeAt(global ? data.matrices : data.arrays, address);
  if (!range) return say("other");
  const at = Math.floor((address - range.begin) / range.size), more = Math.ceil(width / range.size) - 1;
  const lengths = global ? [range.rows, range.cols] : range.lengths.length ? range.lengths : [0];
  const places = lengths.map((length, i) => {
    const below = lengths.slice(i + 1).reduce((a, b) => a * b, 1), index = Math.floor(at / below);
    return i ? index % length : index;
  });
  return range.name + places.map((p, i) => `[${p}${i === places.length - 1 && more > 0 ? ".." + (p + more) : ""}]`).join("");
}

// ---- Beside the warps: mbarriers, TMA, and what tensor cores take. A note is as recording.py writes it. ----

const placesOf = (data, [first, pattern]) => first === undefined ? [] : data.patterns[pattern].map(distance => first + distance);
const NOTES = { wait: ["wait", "look"], arrive: ["arrive"], "bulk load": ["load"], "bulk store": ["store"], wgmma: ["wgmma"],
  tensor: ["mma"], "shared load": ["fill"] };

// The note of the event itself; undefined for events without one.
function noteOf(notes, event) {
  const note = notes[event.moment - 1];
  return note && NOTES[event.kind]?.includes(note[0]) ? note : undefined;
}

// The state after so many notes. Phases are counted as an mbarrier does; `wrong` are the notes that give another phase.
//   barriers: Map of address to { arrivals, pending, bytes (expected less transferred), phase, arrived (warps), waiting (warps) }
//   loads: those of each mbarrier's last phases; underWay: Set of notes; held: see hold()
function stateAfter(data, notes, count) {
  const barriers = new Map(), loads = new Map(), underWay = new Set(), held = new Map();
  let wrong = 0;
  const settle = b => {
    if (b.pending > 0 || b.bytes !== 0) return;
    Object.assign(b, { phase: b.phase + 1, pending: b.arrivals, arrived: [] });
  };
  for (const note of notes.slice(0, count)) {
    const [kind, at] = note, b = barriers.get(at);
    if (kind === "barrier") {
      barriers.set(at, { arrivals: note[2], pending: note[2], bytes: 0, phase: 0, arrived: [], waiting: new Set() });
    } else if (kind === "arrive") {
      const [, , thread, bytes, phase] = note;
      wrong += phase !== b.phase;
      if (bytes) loads.set(at, []);
      b.arrived.push(Math.floor(thread / 32));
      b.bytes += bytes;
      --b.pending;
      settle(b);
    } else if (kind === "wait" || kind === "look") {
      wrong += note[3] !== b.phase - (kind === "look");
      if (kind === "wait") b.waiting.add(note[2]);
    } else if (kind === "pass") {
      wrong += b.phase <= note[3];
      b.waiting.delete(note[2]);
    } else if (kind === "done") {
      const ended = notes[at];
      underWay.delete(ended);
      if (ended[0] !== "load") continue;
      const whose = barriers.get(ended[2]);
      whose.bytes -= placesOf(data, ended[8]).length * 16;
      settle(whose);
    } else if (kind === "load" || kind === "store" || kind === "wgmma") {
      underWay.add(note);
      if (kind !== "load") continue;
      if (!loads.has(note[2])) loads.set(note[2], []);
      loads.get(note[2]).push(note);
      hold(data, held, note);
    }
  }
  return { barriers, loads, underWay, held, wrong };
}

// Notes which chunk of which matrix a bulk load writes where. held: Map of the address of 16 bytes to { matrix, row,
// column, columns, piece (number of the chunk in its row of the box), load }
function hold(data, held, load) {
  const [, , , matrix, x, y, wide, rows, list] = load, places = placesOf(data, list), across = places.length / rows;
  places.forEach((place, i) => held.set(place, { matrix, row: y + Math.floor(i / across), column: x + i % across * wide / across,
    columns: wide / across, piece: i % across, load }));
}

// What tensor cores multiply, and which elements a fragment is filled with: Map of a note's number to { a, b: { places,
// pieces (as in `held`, or null if unknown) } and, if they are known, rows and columns of C, and ks: [first, last] }.
// An operand comes from the last load that filled its registers, and that load's data from the last copy to the same
// memory.
function productsOf(data, block) {
  const notes = data.blocks[block].notes, held = new Map(), found = new Map();
  const copies = data.blocks[block].warps.flat().map(event => decode(data, event)).filter(e => e.to && e.width === 16)
    .sort((a, b) => a.moment - b.moment);
  let copied = 0;
  // Past the last k a copy writes zeros, which no event shows: entries much older than the newest one in their buffer
  // are outdated.
  const newest = new Map();
  const isB = piece => piece.matrix === data.matrices[1].name, kOf = piece => isB(piece) ? piece.row : piece.column;
  const bufferOf = place => {
    const array = rangeAt(data.arrays, place);
    const size = array.bytes / (array.lengths[0] || 1);
    return { array, at: array.begin + Math.floor((place - array.begin) / size) * size };
  };
  const there = place => {
    const piece = held.get(place), { array, at } = bufferOf(place), deep = piece && array.lengths.at(isB(piece) ? -2 : -1);
    return piece && !(newest.get(at) - kOf(piece) >= deep) ? piece : null;
  };
  const bring = e => e.to.forEach((place, lane) => {
    const address = e.addresses[lane];
    const m = rangeAt(data.matrices, address);
    if (place === null || !m || address === null) return;
    const at = (address - m.begin) / m.size, columns = 16 / m.size, column = at % m.cols;
    const piece = { matrix: m.name, row: Math.floor(at / m.cols), column, columns, piece: column / columns % 8 };
    const buffer = bufferOf(place).at;
    held.set(place, piece);
    newest.set(buffer, Math.max(newest.get(buffer) ?? 0, kOf(piece)));
  });
  const operand = places => ({ places, pieces: places.map(there) });
  const taken = list => placesOf(data, list).map(number => {  // from fills: 4 * the note's number + which 8 of its places
    const { places, pieces } = found.get(number >> 2)?.a || { places: [], pieces: [] }, part = (number & 3) * 8;
    return { places: places.slice(part, part + 8), pieces: pieces.slice(part, part + 8) };
  }).reduce((all, each) => ({ places: [...all.places, ...each.places], pieces: [...all.pieces, ...each.pieces] }),
    { places: [], pieces: [] });
  const span = (pieces, from, size) =>
    [Math.min(...pieces.map(p => p[from])), Math.max(...pieces.map(p => p[from] + (p[size] || 1))) - 1];
  const area = ([from, to], [low, high]) => (to - from + 1) * (high - low + 1);
  notes.forEach((note, i) => {
    while (copied < copies.length && copies[copied].moment <= i) bring(copies[copied++]);
    if (note[0] === "load") hold(data, held, note);
    if (note[0] === "fill") found.set(i, { a: operand(placesOf(data, note[2])), b: operand([]) });
    if (note[0] !== "mma" && note[0] !== "wgmma") return;
    const operands = note.slice(2, 4).map(note[0] === "mma" ? taken : list => operand(placesOf(data, list)));
    const transposed = operands[0].pieces.some(piece => piece && isB(piece));  // computes the transpose
    const [a, b] = transposed ? operands.reverse() : operands;
    const [of, by] = [a, b].map(each => each.pieces.filter(Boolean)), product = { a, b };
    found.set(i, product);
    if (!of.length || !by.length) return;
    const rows = span(of, "row"), ks = span(of, "column", "columns"), columns = span(by, "column", "columns");
    if (area(rows, ks) === of.length * of[0].columns && area(ks, columns) === by.length * by[0].columns)  // otherwise they are no rectangles
      Object.assign(product, { rows, ks, columns });
  });
  return found;
}

// "0..3, 8"
function ranges(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  return sorted.flatMap((n, i) => sorted[i - 1] === n - 1 ? [] : [[n, sorted.slice(i).find((m, j) => sorted[i + j + 1] !== m + 1)]])
    .map(([from, to]) => from === to ? from : `${from}..${to}`).join(", ");
}
const warpsOf = numbers => say(new Set(numbers).size > 1 ? "warpsNamed" : "warpNamed", { n: ranges(numbers) });
// A[0..127][64..127]: what some loads of one matrix copy, or what a store writes.
function boxName(notes) {
  const span = (at, size) => [Math.min(...notes.map(n => n[at])), Math.max(...notes.map(n => n[at] + n[size])) - 1].join("..");
  return `${notes[0][3]}[${span(5, 7)}][${span(4, 6)}]`;
}
// As[1]: the array that a box begins in, without the box's own two dimensions.
function boxPlace(data, address) {
  return elementName(data, false, address, 1).replace(/(\[[^\]]*\]){1,2}$/, "");
}
