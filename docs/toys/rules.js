// What a request of a warp costs, where operands lie, and what a tile takes: the rules of the emulator and of the kernels once more, to
// show each step of them; tests/test_toys.py compares the two. The pages of ./run view use them, too.

const SECTOR = 32, LINE = 128, BANKS = 32, WORD = 4;

// event: { addresses (of each lane, or null), width (bytes per lane), store, to (where in shared memory a copy goes, or null) }

// The 32-byte pieces of global memory that a request touches, each with its lanes, and how many the emulator counts. A copy of 16
// bytes bypasses L1: of each line of 128 bytes it asks once for each sector of shared memory that the line goes to.
function sectorsOf(event) {
  const sectors = new Map(), asked = new Set();
  event.addresses.forEach((address, lane) => {
    if (address === null) return;
    for (let s = Math.floor(address / SECTOR); s * SECTOR < address + event.width; ++s) {
      if (!sectors.has(s)) sectors.set(s, []);
      sectors.get(s).push(lane);
    }
    if (event.to && event.width === 16) asked.add(Math.floor(address / LINE) + " " + Math.floor(event.to[lane] / SECTOR));
  });
  return { sectors, count: asked.size || sectors.size };
}

// Into how many groups of lanes a request to shared memory falls. 128 bytes are served at a time: a whole warp of 4 bytes per lane,
// half a warp of 8, a quarter of 16. Two groups of a load go together if pairs of lanes all through the warp access the same bytes:
// lanes 0 and 1, 2 and 3, ..., or else lanes 0 and 2, 1 and 3, ...
function groupsOf({ addresses, width, store }) {
  const groups = width <= 4 ? 1 : width <= 8 ? 2 : 4;
  const agree = distance => addresses.every((a, lane) => a === null || [a, null].includes(addresses[lane ^ distance]));
  return !store && groups > 1 && (agree(1) || agree(2)) ? groups / 2 : groups;
}

// Each word of shared memory of a request, with its bank, the wavefront that serves it and the lanes that access it.
// least: the wavefronts if no banks conflict.
function wavefrontsOf(event) {
  const { addresses, width } = event, groups = groupsOf(event), words = [];
  let count = 0, least = 0;
  for (let group = 0; group < groups; ++group) {
    const banks = Array.from({ length: BANKS }, () => []);
    for (let lane = group * 32 / groups; lane < (group + 1) * 32 / groups; ++lane) {
      if (addresses[lane] === null) continue;
      for (let word = Math.floor(addresses[lane] / WORD); word * WORD < addresses[lane] + width; ++word) {
        const bank = banks[word % BANKS], known = bank.find(each => each.word === word);
        if (known) { known.lanes.push(lane); continue; }  // one word serves all lanes that access it
        const fresh = { word, bank: word % BANKS, wavefront: count + bank.length + 1, lanes: [lane] };
        bank.push(fresh);
        words.push(fresh);
      }
    }
    count += Math.max(...banks.map(bank => bank.length));
    least += Math.ceil(banks.flat().length / BANKS);
  }
  return { words, count, least, groups };
}

// Where chunk `chunk` of row `row` of a tile begins, by layout. A row has eight chunks of 16 bytes. pad: an unused chunk follows each
// row; xor: swizzled() of 10_async_mma/2_swizzle.cu.
const CHUNK = 16, CHUNKS = 8;
const PLACES = {
  none: (row, chunk) => (row * CHUNKS + chunk) * CHUNK,
  pad: (row, chunk) => (row * (CHUNKS + 1) + chunk) * CHUNK,
  xor: (row, chunk) => (row * CHUNKS + (chunk ^ row % 8)) * CHUNK,
};

// The unit of 16 bytes from which wgmma reads the element in row r of A, or column r of B, at k, with its neighbours along the row of
// shared memory: Operand::chunk() of emulator/hopper/wgmma_operands.cpp. start, lbo, sbo: fields of the descriptor, in units; swizzle:
// bytes, or 0; transposed: MN-major.
function operandUnit({ start, lbo, sbo, swizzle }, transposed, r, k) {
  const row = swizzle ? swizzle / CHUNK : 1, values = 8 * row, [along, across] = transposed ? [r, k] : [k, r];
  let at = start + across % 8 * row + Math.floor(along % values / 8);
  if (!swizzle) return at + Math.floor(r / 8) * sbo + Math.floor(k / 8) * lbo;
  at += Math.floor(across / 8) * sbo + Math.floor(along / values) * lbo;
  return at ^ at >> 3 & row - 1;
}
// The four fields, 16 bits each, from the highest to the lowest: swizzle, SBO, LBO, start.
const descriptorOf = ({ start, lbo, sbo, swizzle }) => [{ 0: 0, 128: 1, 64: 2, 32: 3 }[swizzle] << 14, sbo, lbo, start];

// Flop for each byte of a tile of m x n: m n multiply-adds for m + n floats, at each k.
const intensity = (m, n) => 2 * m * n / (WORD * (m + n));

// An SM of Hopper, by NVIDIA's CUDA C++ Programming Guide. A block takes 1 KB of shared memory besides its own.
const SM = { registers: 65536, threads: 2048, blocks: 32, shared: 233472, reserved: 1024, perThread: 255, perBlock: 1024 };

// What a block of bm x bn elements takes whose threads have tm x tn each, with `others` registers besides accumulators and operands,
// and with `depth` values of k of A and B in shared memory. blocks: as many as an SM holds; by: what limits their number.
function blockOf({ bm, bn, tm, tn, depth, others }) {
  const threads = bm * bn / (tm * tn), registers = tm * tn + tm + tn + others, shared = WORD * depth * (bm + bn);
  const allocated = Math.ceil(registers / 8) * 8 * Math.ceil(threads / 32) * 32;  // a warp's are a multiple of 256
  const fits = { threads: Math.floor(SM.threads / threads), registers: Math.floor(SM.registers / allocated),
    shared: Math.floor(SM.shared / (shared + SM.reserved)), blocks: SM.blocks };
  if (threads > SM.perBlock) fits.threads = 0;
  if (registers > SM.perThread) fits.registers = 0;
  const by = Object.keys(fits).reduce((least, each) => fits[each] < fits[least] ? each : least);
  return { threads, registers, shared, blocks: fits[by], by };
}

// What the SMs compute where an SM holds one block and no clusters are formed: of each block, in order, { tile, first, kTiles }. Work
// and Units of 13_stream_k/2_stream_k.cu, and Work of its choice.h for slices. division: "whole", "slices" or "shares".
const MANY_WAVES = 32, MIN_SAVED = 4;
function unitsOf({ tiles, kTiles, division, sms }) {
  const waves = Math.ceil(tiles / sms), slices = Math.min(Math.floor(sms / tiles), kTiles);
  const wholeWaves = Math.max(0, Math.floor(tiles / sms) - 1), rest = tiles - wholeWaves * sms;
  let blocks = waves < MANY_WAVES ? Math.ceil(tiles / waves) : sms, shared = 0, begin = () => 0;
  if (division === "slices" && slices > 1) {
    [blocks, shared] = [tiles * slices, tiles];
    begin = block => Math.floor(block / slices) * kTiles + Math.floor(block % slices * kTiles / slices);
  }
  if (division === "shares" && (waves - wholeWaves) * kTiles - Math.ceil(rest * kTiles / sms) >= MIN_SAVED) {
    [blocks, shared] = [Math.min(sms, rest * kTiles), rest];
    begin = block => Math.floor(shared * kTiles * block / blocks);
  }
  return Array.from({ length: blocks }, (_, block) => {
    const units = [], end = begin(block + 1);
    for (let at = begin(block); at < end; at += units[units.length - 1].kTiles) {
      const tile = Math.floor(at / kTiles), first = at - tile * kTiles;
      units.push({ tile, first, kTiles: Math.min(kTiles - first, end - at) });
    }
    for (let tile = shared + block; tile < tiles; tile += blocks) units.push({ tile, first: 0, kTiles });
    return units;
  });
}
// Where a tile lies: TileScheduler of common/tile_scheduler.h, groups of eight rows of tiles.
const GROUP = 8;
function tilePlace({ tilesM, tilesN }, tile) {
  const group = Math.floor(tile / (GROUP * tilesN)), within = tile - group * GROUP * tilesN, rows = Math.min(GROUP, tilesM - group * GROUP);
  return { m: group * GROUP + within % rows, n: Math.floor(within / rows) };
}

// When each k-tile of a circular buffer is loaded and multiplied, as in 10_async_mma/4_stages.cu: a load is issued when its stage is
// empty, takes `latency`, and does not delay others; products begin when it has arrived and the k-tile before is done.
function pipelineOf({ stages, latency, compute }, tiles) {
  const found = [];
  for (let tile = 0; tile < tiles; ++tile) {
    const issued = tile < stages ? 0 : found[tile - stages].done, arrived = issued + latency;
    const begun = Math.max(arrived, tile ? found[tile - 1].done : 0);
    found.push({ tile, stage: tile % stages, parity: Math.floor(tile / stages) % 2, issued, arrived, begun, done: begun + compute });
  }
  return found;
}

// What the warps of one scheduler of an SM do, two of each block, in cycles: of each warp { kind, from, to, tile }. At each k-tile a
// block loads and multiplies `depth` values of k, 64 cycles each; then its warps wait for one another at a barrier. With one buffer the
// next load begins after that barrier, with two it is in flight during the products before. The warp that
// has been ready for longest multiplies.
const MULTIPLY = 64, WARPS_OF_BLOCK = 2;
function barrierTimeline({ blocks, depth, buffers, latency }, until) {
  const warps = Array.from({ length: blocks * WARPS_OF_BLOCK }, (_, i) =>
    ({ block: Math.floor(i / WARPS_OF_BLOCK), tile: 0, left: depth, ready: latency, parts: [{ kind: "load", from: 0, to: latency, tile: 0 }] }));
  const issued = Array(blocks).fill(latency);  // of the load that comes during the products, with two buffers
  for (let free = 0; free < until;) {
    const warp = warps.filter(each => each.left).reduce((first, each) => each.ready < first.ready ? each : first);
    const from = Math.max(free, warp.ready), of = warps.filter(each => each.block === warp.block);
    if (from > warp.ready) warp.parts.push({ kind: "ready", from: warp.ready, to: from, tile: warp.tile });
    free = warp.ready = from + MULTIPLY;
    warp.parts.push({ kind: "multiply", from, to: free, tile: warp.tile });
    if (--warp.left) continue;
    const arrival = buffers > 1 ? issued[warp.block] + latency : 0;
    if (arrival > free) {
      warp.parts.push({ kind: "load", from: free, to: arrival, tile: warp.tile + 1 });
      warp.ready = arrival;
    }
    if (of.some(each => each.left)) continue;
    const together = Math.max(...of.map(each => each.ready)), next = buffers > 1 ? together : together + latency;
    for (const each of of) {
      if (together > each.ready) each.parts.push({ kind: "barrier", from: each.ready, to: together, tile: each.tile });
      if (next > together) each.parts.push({ kind: "load", from: together, to: next, tile: each.tile + 1 });
      Object.assign(each, { tile: each.tile + 1, left: depth, ready: next });
    }
    issued[warp.block] = together;
  }
  return warps;
}

// The half nearest to a float; of two the one whose last bit is 0.
function halfOf(x) {
  if (!Number.isFinite(x) || !x) return x;
  let exponent = -14;  // below 2^-14 halves are as far apart as there
  while (Math.abs(x) >= 2 ** (exponent + 1)) ++exponent;
  const units = Math.abs(x) / 2 ** (exponent - 10), below = Math.floor(units), rest = units - below;
  const nearest = (rest > .5 || rest === .5 && below % 2 ? below + 1 : below) * 2 ** (exponent - 10);
  return Math.sign(x) * (nearest > 65504 ? Infinity : nearest);
}
// A float as two halves. how 0: as they are; 1: lo times 2^11, 14_fp32_accuracy/2_three_products.cu; 2: x times the power of two that
// 14_fp32_accuracy/split.cuh takes if x is the largest of its row. up, scale: exponents. kept: what both stand for.
function splitOf(x, how) {
  const up = how === 1 ? 11 : 0;
  let scale = 0;
  if (how === 2 && x && Number.isFinite(x)) while (scale < 127 && Math.abs(x) * 2 ** scale < 2 ** 14) ++scale;
  if (how === 2) while (Math.abs(x) * 2 ** scale >= 2 ** 15) --scale;
  const scaled = Math.fround(x * 2 ** scale), hi = halfOf(scaled);
  const lo = Number.isFinite(hi) ? halfOf(Math.fround((scaled - hi) * 2 ** up)) : 0;
  return { hi, lo, up, scale, scaled, kept: (hi + lo / 2 ** up) / 2 ** scale };
}

// Which lane holds an element of an operand of mma.m16n8k16, A, B or C (0, 1, 2), and as which of its elements: two adjacent ones of a
// row of A or C, or of a column of B, are in one register of A or B. 07_fragment_probe/layouts.inc has the same.
function fragmentOf(operand, row, column) {
  const [across, along] = operand === 1 ? [column, row] : [row, column];  // eight of the one, and pairs of the other
  const lane = across % 8 * 4 + Math.floor(along % 8 / 2), half = Math.floor(across / 8), right = Math.floor(along / 8);
  return { lane, element: along % 2 + 2 * half + (operand === 1 ? 2 : 4) * right };
}
