// What is in a record. docs/toys/rules.js stands before it: what its requests cost.

// An event as an object. addresses: of each lane, or null; to: where in shared memory a copy goes.
function decode(data, [site, cost, ideal, moment, base, pattern, toBase, toPattern]) {
  const [kind, file, line, width] = data.sites[site];
  const spread = (first, list) => list === undefined ? null : data.patterns[list].map(d => d === null ? null : first + d);
  return { kind, file, line, width, cost, ideal, moment, addresses: spread(base, pattern), to: spread(toBase, toPattern),
    global: kind.startsWith("global") || kind === "copy", store: kind.endsWith("store"), access: pattern !== undefined };
}

// [word, lane] of each 4-byte word that the lanes' bytes lie in.
function wordsOf(addresses, width) {
  const words = [];
  addresses.forEach((address, lane) => {
    if (address === null) return;
    for (let word = Math.floor(address / WORD); word * WORD < address + width; ++word) words.push([word, lane]);
  });
  return words;
}

const isCostly = event => event.access && event.cost > event.ideal;
const WANTED = {  // where one can jump to
  barrier: event => event.kind === "barrier",
  uncoalesced: event => event.global && isCostly(event),
  conflict: event => !event.global && isCostly(event),
};

// A[3][5], or As[1][0..3]: the elements in these bytes.
function elementName(data, global, address, width) {
  const range = (global ? data.matrices : data.arrays).find(each => address >= each.begin && address < each.begin + bytesOf(each));
  if (!range) return "other memory";
  const at = Math.floor((address - range.begin) / range.size), more = Math.ceil(width / range.size) - 1;
  const lengths = global ? [range.rows, range.cols] : range.lengths.length ? range.lengths : [0];
  const places = lengths.map((length, i) => {
    const below = lengths.slice(i + 1).reduce((a, b) => a * b, 1), index = Math.floor(at / below);
    return i ? index % length : index;
  });
  return range.name + places.map((p, i) => `[${p}${i === places.length - 1 && more > 0 ? ".." + (p + more) : ""}]`).join("");
}

// ---- Beside the warps: mbarriers, TMA and wgmma. A note is as view.py writes it. ----

const placesOf = (data, [first, pattern]) => first === undefined ? [] : data.patterns[pattern].map(distance => first + distance);
const NOTES = { wait: ["wait", "look"], arrive: ["arrive"], "bulk load": ["load"], "bulk store": ["store"], wgmma: ["wgmma"] };

// What the event itself does there; undefined for other events.
function noteOf(notes, event) {
  const note = notes[event.moment - 1];
  return note && NOTES[event.kind]?.includes(note[0]) ? note : undefined;
}

// How things are after so many notes. Phases are counted as an mbarrier does; `wrong` are the notes that say another one.
//   barriers: Map of address: { arrivals, pending, bytes (expected less come), phase, arrived (warps), waiting (warps) }
//   loads: those of each mbarrier's last phases; underWay: Set of notes; held: Map of 16 bytes' address: { load, row of its box, piece }
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
    } else {  // load, store, wgmma
      underWay.add(note);
      if (kind !== "load") continue;
      if (!loads.has(note[2])) loads.set(note[2], []);
      loads.get(note[2]).push(note);
      const places = placesOf(data, note[8]);
      places.forEach((place, i) => held.set(place, { load: note, row: Math.floor(i * note[7] / places.length),
        piece: i % (places.length / note[7]) }));
    }
  }
  return { barriers, loads, underWay, held, wrong };
}

// "0..3, 8"
function ranges(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  return sorted.flatMap((n, i) => sorted[i - 1] === n - 1 ? [] : [[n, sorted.slice(i).find((m, j) => sorted[i + j + 1] !== m + 1)]])
    .map(([from, to]) => from === to ? from : `${from}..${to}`).join(", ");
}
const warpsOf = numbers => `warp${new Set(numbers).size > 1 ? "s" : ""} ${ranges(numbers)}`;
// A[0..127][64..127]: what some loads of one matrix bring, or a store takes.
function boxName(notes) {
  const span = (at, size) => [Math.min(...notes.map(n => n[at])), Math.max(...notes.map(n => n[at] + n[size])) - 1].join("..");
  return `${notes[0][3]}[${span(5, 7)}][${span(4, 6)}]`;
}
// As[1]: the array that a box begins in, without the box's own two dimensions.
function boxPlace(data, address) {
  return elementName(data, false, address, 1).replace(/(\[[^\]]*\]){1,2}$/, "");
}

const plural = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
const bytesOf = range => range.rows ? range.rows * range.cols * range.size : range.bytes;
