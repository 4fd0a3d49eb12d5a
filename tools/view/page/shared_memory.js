// The panel of shared memory: banks, words and wavefronts.

// Of a kernel with more lines of shared memory than these only those that an event accesses are drawn, because browsers
// draw nothing on a canvas above 32,767 pixels. 384 lines are 48 KB, the most that a kernel can declare.
const MOST_LINES = 48 * 1024 / LINE;

addMethods(View, {
  // Replays one wavefront after the other, then shows all at once again. A further call goes on to the next one
  // immediately.
  replay() {
    clearTimeout(this.replaying);
    this.turn = this.turn < this.turns ? this.turn + 1 : 0;
    this.drawBanks();
    if (this.turn) this.replaying = setTimeout(() => this.replay(), 900);
  },

  // How many wavefronts can be replayed.
  get turns() {
    const e = this.event, { count } = e.access && !e.global ? wavefrontsOf(e) : { count: 0 };
    return count > 1 ? count : 0;
  },

  // Each word of shared memory that the event accesses: {lanes, wavefronts}. A copy's data arrive later, in wavefronts
  // that are not counted.
  wordsNow(event) {
    const now = new Map();
    const add = (word, lanes, wavefront) => {
      const known = now.get(word) || { lanes: [], wavefronts: [] };  // several groups of lanes may access it, one after the other
      if (wavefront && this.turn === wavefront) known.served = lanes;
      now.set(word, { ...known, lanes: [...known.lanes, ...lanes], wavefronts: [...known.wavefronts, ...wavefront ? [wavefront] : []] });
    };
    if (event.to) wordsOf(event.to, event.width).forEach(([word, lane]) => add(word, [lane]));
    if (event.access && !event.global) for (const each of wavefrontsOf(event).words) add(each.word, each.lanes, each.wavefront);
    return now;
  },

  // The chunks of 16 bytes that TMA or wgmma accesses at this event: Map of the first word to the chunk's number in its
  // row.
  piecesNow() {
    const now = new Map();
    const [kind, , ...rest] = this.note || [];
    if (kind === "load" || kind === "store") {
      const places = placesOf(this.data, rest[6]), of = places.length / rest[5];
      places.forEach((place, i) => now.set(place / WORD, i % of));
    } else if (kind === "wgmma" || kind === "mma") {
      for (const { places, pieces } of [this.product.a, this.product.b])
        places.forEach((place, i) => now.set(place / WORD, pieces[i]?.piece ?? ""));
    }
    return now;
  },

  // Draws all of shared memory: a row for each 128 bytes of an array, a column for each bank. The number is the
  // wavefront's.
  drawBanks() {
    const e = this.event, now = this.wordsNow(e), pieces = this.piecesNow();
    this.find(".replay").disabled = !this.turns;
    this.find(".cells select").disabled = !e.access || e.global;
    this.asked = now.size;
    this.pieces = pieces.size;
    const all = this.linesOfArrays(), short = this.folded || all.length > MOST_LINES;
    const words = [...pieces.keys(), ...short ? now.keys() : []];
    const lit = new Set(words.map(word => Math.floor(word * WORD / LINE)));
    if (this.hideBanks(all, lit, short)) return;
    this.tellBanks(now);
    this.rows = this.chosenRows(all, lit, pieces, short);
    const sheet = { now, pieces, earlier: this.wordsBefore(), shows: this.find(".cells select").value,
      ...this.measuredBanks(), names: this.rows.map(row => this.rowName(row)) };
    this.drawBankNumbers(sheet);
    const panel = this.find(".banks"), high = this.rows.length * sheet.high + 1;
    sheet.context = paint(panel.firstChild, sheet.label + BANKS * sheet.cell + 1, high, this.find(".banks-title").textContent);
    this.numbers = [];
    this.drawBankGrid(sheet);
    const asked = this.rows.map((_, row) => {
      if (!this.drawRowName(sheet, row)) return false;
      const ofWords = this.drawWords(sheet, row), ofPieces = this.drawPieces(sheet, row);
      return ofWords || ofPieces;
    });
    const first = asked.indexOf(true);
    if (first >= 0) panel.scrollTop = first * sheet.high - panel.clientHeight / 3;
  },

  // Each 128 bytes of shared memory that contain a part of an array.
  linesOfArrays() {
    return this.data.arrays.flatMap(array => {
      const first = Math.floor(array.begin / LINE), last = Math.floor((array.begin + array.bytes - 1) / LINE);
      return Array.from({ length: last - first + 1 }, (_, i) => ({ array, line: first + i }));
    });
  },

  // Hides the parts of the panel that have nothing to show. Returns whether it has no banks.
  hideBanks(all, lit, short) {
    const e = this.event, asks = e.access && !e.global, title = this.find(".banks-title");
    const hidden = !all.length || short && !lit.size;
    this.find(".banks").hidden = this.find(".bank-numbers").hidden = title.hidden = hidden;
    this.find(".turns").hidden = hidden || this.folded && !asks;
    this.find(".key").hidden = hidden && this.folded && !e.access && !this.product;
    return hidden;
  },

  // Writes the panel's title.
  tellBanks(now) {
    const e = this.event, asked = e.access && !e.global ? wavefrontsOf(e) : null, title = this.find(".banks-title");
    title.style.minHeight = this.turn ? title.getBoundingClientRect().height + "px" : "";  // keeps the place of what is below
    let text = say("banksTitle");
    if (this.pieces) {
      text = say("piecesTitle", { n: this.pieces });
    } else if (asked && this.turn) {
      const lanes = [...new Set(asked.words.flatMap(word => word.wavefront === this.turn ? word.lanes : []))];
      const named = many(lanes.length, "lanes") + say("comma") + ranges(lanes);
      text = say("turnTitle", { turn: this.turn, of: asked.count, lanes: named });
    } else if (asked) {
      text = say("wordsTitle", { wavefronts: many(asked.count, "wavefronts"), words: many(now.size, "words") });
      if (asked.words.length > now.size) text += say("again", { n: asked.words.length - now.size });
    }
    setText(title, text, this.known);
  },

  // The words that this warp has accessed before.
  wordsBefore() {
    const earlier = new Set();
    for (const past of this.events.slice(0, this.index)) {
      const list = past.global ? past.to : past.addresses;
      if (past.access && list) wordsOf(list, past.width).forEach(([word]) => earlier.add(word));
    }
    return earlier;
  },

  // Both operands of a product, close together; with `short` only rows that are accessed, and a few beside them. nth:
  // the row's place in its array.
  chosenRows(all, lit, pieces, short) {
    const asks = this.event.access && !this.event.global, beside = short && lit.size < 9 ? 2 : 0;
    const few = short ? all.length > 16 && lit.size : this.product && !asks;
    let rows = all.filter((_, i) =>
      !few || all.slice(Math.max(0, i - beside), i + beside + 1).some(({ line }) => lit.has(line)));
    if (this.folded && rows.length > 32) rows = this.onceOf(rows, pieces);
    let nth = 0;
    return rows.map((row, i) => {
      nth = row.array === rows[i - 1]?.array ? nth + 1 : 0;
      return { ...row, nth };
    });
  },

  rowName({ array, line, instead }) {
    return instead !== undefined ? "" : elementName(this.data, false, Math.max(array.begin, line * LINE), 1);
  },

  // The width of the rows' names, the width of a cell, and the height of a row.
  measuredBanks() {
    const label = this.bankLabel = roomFor([say("bank"), ...this.rows.map(row => this.rowName(row))]);
    const width = this.find(".banks").parentNode.clientWidth - (this.folded ? 1 : 16), count = this.rows.length;
    const cell = this.bankCell = Math.max(7, Math.floor((width - label) / BANKS)), square = Math.max(14, cell);
    let high = Math.min(square, count > 24 ? 14 : 20);
    if (this.folded) high = Math.max(3, Math.min(square, 16, Math.floor(300 / count)));
    else if (this.root.matches(".has-ring") && (!this.product || count < 25)) high = 12;
    this.bankHigh = high;
    return { label, cell, high };
  },

  drawBankNumbers({ label, cell }) {
    const numbers = paint(this.find(".bank-numbers"), label + BANKS * cell, 14);
    numbers.fillText(say("bank"), 0, 7);
    for (let bank = 0; bank < BANKS; bank += cell < 16 ? 4 : 1) numbers.fillText(bank, label + bank * cell + 1, 7);
  },

  drawBankGrid({ context, label, cell, high }) {
    context.strokeStyle = COLOURS.grid;
    context.beginPath();
    this.rows.forEach(({ array, line, instead }, row) => {
      if (instead !== undefined) return;
      const words = address => Math.max(0, Math.min(BANKS, Math.ceil((address - line * LINE) / WORD)));
      const from = label + words(array.begin) * cell, to = label + words(array.begin + array.bytes) * cell;
      for (const y of [row, row + 1]) {
        context.moveTo(from, y * high + .5);
        context.lineTo(to, y * high + .5);
      }
      for (let x = from; x <= to; x += cell) {
        context.moveTo(x + .5, row * high);
        context.lineTo(x + .5, (row + 1) * high);
      }
    });
    context.stroke();
  },

  // Returns whether the row has words, or else says what is left out.
  drawRowName({ context, label, cell, high, names }, row) {
    const { array, nth, instead } = this.rows[row], y = row * high;
    const every = Math.max(high < 12 ? 4 : 2, Math.ceil(11 / high)), ends = Math.ceil(11 / high) - 1;
    context.fillStyle = COLOURS.ink;
    if (instead !== undefined) {
      context.fillText(instead, label, y + 8);
      return false;
    }
    if (!nth) context.fillRect(0, y, label + BANKS * cell, 1);
    if (!nth || nth % every === 0 && this.rows[row + ends]?.array === array)
      context.fillText(names[row], 0, y + Math.max(7, high / 2));
    return true;
  },

  // A number in the middle of a cell that is so wide. A digit is about two thirds as wide as its letters are high.
  drawNumber({ context, high }, number, middle, y, colour, wide) {
    context.fillStyle = colour;
    context.font = FONT.replace("11", Math.min(13, high - 1, Math.floor(1.5 * wide / String(number).length)));
    context.textAlign = "center";
    context.fillText(number, middle, y + high / 2 + 1);
    context.font = FONT;
    context.textAlign = "start";
    this.numbers.push(number);
  },

  // Draws the words of a row. Adjacent words that the same lanes access together are one box. Returns whether the event
  // accesses one.
  drawWords(sheet, row) {
    const { context, label, cell, high, now, earlier, shows } = sheet, { array, line } = this.rows[row], y = row * high;
    const like = (word, found) => JSON.stringify(now.get(word)) === found && rangeAt([array], word * WORD);
    let asked = false;
    for (let bank = 0, run; bank < BANKS; bank += run) {
      const word = (line * LINE) / WORD + bank, x = label + bank * cell, found = now.get(word);
      const same = JSON.stringify(found);
      for (run = 1; found && bank + run < BANKS && like(word + run, same); ++run);
      if (!rangeAt([array], word * WORD)) continue;
      const wide = run * cell - 1;
      context.fillStyle = COLOURS.past;
      if (earlier.has(word)) context.fillRect(x + 1, y + 1, wide, high - 1);
      if (!found) continue;
      asked = true;
      const lanes = this.turn ? found.served : found.lanes;
      if (!lanes) {  // served before, or to come
        context.strokeStyle = COLOURS.line;
        context.fillStyle = COLOURS.past;
        context.lineWidth = 1;
        if (Math.min(...found.wavefronts) < this.turn) context.fillRect(x + 1, y + 1, wide, high - 1);
        else context.strokeRect(x + 2, y + 2, wide - 2, high - 3);
        continue;
      }
      box(context, x + 1, y + 1, wide, high - 1, lanes, this.lane);
      let number = String(this.turn || found.wavefronts[0] || "");
      if (shows === "lane") number = lanes.length > 1 ? lanes[0] + "+" : String(lanes[0]);
      if (high < 8) number = "";
      this.drawNumber(sheet, number, x + 1 + wide / 2, y, inkOn(lanes[0]), wide);
    }
    return asked;
  },

  // Draws the chunks of a row, of four words each. Returns whether the event accesses one.
  drawPieces(sheet, row) {
    const { context, label, cell, high, now, pieces } = sheet, { line } = this.rows[row], y = row * high;
    let any = false;
    for (let bank = 0; bank < BANKS; bank += 4) {
      const word = (line * LINE) / WORD + bank, x = label + bank * cell, asked = pieces.get(word);
      const piece = asked ?? this.state.held.get(word * WORD)?.piece;
      if (piece === undefined || now.has(word)) continue;
      context.fillStyle = asked === undefined ? COLOURS.paper : pieceColour(piece);
      context.fillRect(x + 1, y + 1, 4 * cell - 1, high - 1);
      if (asked !== undefined) any = true;
      if (high >= 8 && !now.size)  // a request shows its own numbers
        this.drawNumber(sheet, piece, x + 2 * cell, y, asked === undefined ? COLOURS.note : inkOn(4 * piece), 4 * cell - 1);
    }
    return any;
  },

  // A swizzle repeats itself after 8 rows. For an array with such chunks: its first 8 rows, and two for words on the
  // others.
  onceOf(rows, pieces) {
    const piecesOf = ({ line }) => Array.from({ length: BANKS / 4 }, (_, i) => pieces.get(line * LINE / WORD + 4 * i)).join();
    const of = [...new Set(rows.map(({ array }) => array))].map(array => rows.filter(row => row.array === array));
    if (!of.every(own => own.every((row, i) => piecesOf(row) === piecesOf(own[i % 8])))) return rows;
    return of.flatMap(own => own.length < 16 || own.length % 8 ? own : [...own.slice(0, 8),
      ...[say("soOn", { n: own.length / 8 }), ""].map(instead => ({ array: own[0].array, instead }))]);
  },

  wordAt(x, y) {
    const row = this.rows[Math.floor(y / this.bankHigh)], bank = Math.floor((x - this.bankLabel) / this.bankCell);
    return row && row.instead === undefined && bank >= 0 && bank < BANKS ? { begin: row.line * LINE + bank * WORD, bytes: WORD } : null;
  },
});
