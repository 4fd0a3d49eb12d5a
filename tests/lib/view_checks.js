// Checks of a page of ./run view, which has its kernel as `v`. Each function returns what is wrong.

const upTo = (from, to) => Array.from({ length: to + 1 - from }, (_, i) => from + i);
const isProduct = e => e.kind === "tensor" || e.kind === "wgmma";

const checks = {
  // What is wrong with a kernel in the first block; and its explanations: their places, and their texts. cut: its warps
  // have products of a part of K alone, which others add up.
  kernel(v, cut) {
    const wrong = [], told = [];
    const hold = (right, ...what) => { if (!right) wrong.push(what.join(" ")); };
    const said = selector => v.find(selector).textContent;
    v.place = "////1";
    for (let next = v.find("[data-caption='1']"), more = true; more && told.length < 20; more = !next.disabled) {
      if (told.length) next.click();
      told.push([v.warp, v.index, v.lane, v.place, said(".caption p")]);
    }
    checks.cells(v, hold);
    checks.costs(v, hold, said);
    const kind = checks.progress(v, hold, said);
    if (isProduct({ kind }) && !cut) checks.products(v, hold, said);
    return [wrong, told];
  },

  // In a sample of requests, each colours as many cells as its addresses say.
  cells(v, hold) {
    v.events.forEach((e, i) => {
      if (!e.access || i % 61 > 1) return;
      v.go(0, 0, i, 0);
      const halves = upTo(0, Math.ceil(e.width / 2) - 1);
      const cellOf = address => e.global ? JSON.stringify(v.placeOf(address)) : address >> 2;
      const cells = new Set(e.addresses.flatMap(a => a === null ? [] : halves.map(n => cellOf(a + 2 * n))));
      hold(cells.size === (e.global ? v.coloured : v.asked), "cells of event", i);
    });
  },

  // Each cost above the minimum is explained on its line, in each language, with its figures.
  costs(v, hold, said) {
    const lines = new Set();
    v.events.forEach((e, i) => {
      if (!isCostly(e) || lines.has(e.line) || v.captions.some(({ warp, index }) => !warp && index === i)) return;
      lines.add(e.line);
      v.go(0, 0, i, 0);
      const texts = [1, 2, 0].map(each => { language = each; v.draw(); return said(".caption p"); });
      const hasFigures = text => [e.cost, e.ideal].every(n => text.match(/\d+/g).includes(String(n)));
      hold(new Set(texts).size === 3 && texts.every(text => !/[{}]|undefined/.test(text) && hasFigures(text)),
        "costs at event", i);
    });
  },

  // The page says how many of the products, or of the loads nearest to them, the warp has done. Returns their kind.
  progress(v, hold, said) {
    const kind = ["wgmma", "tensor", "shared load", "global load"].find(each => v.events.some(e => e.kind === each));
    const all = v.events.flatMap((e, i) => e.kind === kind ? [i] : []);
    for (const n of [0, all.length >> 1, all.length - 1]) {
      v.go(0, 0, all[n], 0);
      hold(said(".sums").match(/\d+/g).slice(0, 2).join() === [n + 1, all.length].join(), "sums");
    }
    return kind;
  },

  // Each k is added once to a part of C, in order, also where the last tile is partial and its buffer still has old
  // data. A warp stores its accumulators; all parts together are C. At the last product its operands are highlighted,
  // and the page says what is multiplied.
  products(v, hold, said) {
    const C = v.data.matrices[2], K = v.data.shape[2], every = [];
    const sorted = list => list.sort((a, b) => a - b).join();
    v.blocks[0].forEach((events, warp) => {
      const parts = {};
      const elements = ({ addresses, width }) => addresses.flatMap(a =>
        a === null ? [] : upTo((a - C.begin) / C.size, (a + width - C.begin) / C.size - 1));
      const stored = events.filter(e => e.kind === "global store").flatMap(elements);
      for (const product of events.filter(isProduct).map(e => v.productAt(e)))
        if (product.rows)
          (parts[JSON.stringify([product.rows, product.columns])] ||= []).push(
            ...upTo(product.ks[0], Math.min(product.ks[1], K - 1)));
      hold(Object.values(parts).every(ks => ks.join() === upTo(0, K - 1).join()), "k of", warp);
      v.go(0, warp, events.length - 1, 0);
      hold([...v.sumsNow().values()].every(sum => sum.done === K), "sums of warp", warp);
      const mine = Object.keys(parts).map(JSON.parse).flatMap(([rows, columns]) =>
        upTo(...rows).flatMap(row => upTo(...columns).map(column => row * C.cols + column)));
      hold(K % 32 || !stored.length || sorted(stored) === sorted(mine), "what warp", warp, "stores");
      every.push(mine);
    });
    if (K % 32) return;
    hold(sorted(every.flat()) === upTo(0, C.rows * C.cols - 1).join(), "parts");

    v.go(0, 0, v.blocks[0][0].findLastIndex(isProduct), 0);
    const { a, b, rows, columns, ks } = v.product, span = list => `[${list.join("..")}]`;
    const part = "C" + span(rows) + span(columns);
    for (const name of ["A" + span(rows) + span(ks), "B" + span(ks) + span(columns), part])
      hold(said(".what").includes(name), name);
    hold(said(".sums").includes(part), "sums of", part);
    hold(v.pieces === a.pieces.length + b.pieces.length && v.pieces >= 48, v.pieces, "pieces");
    hold([...v.piecesNow().keys()].every(word => v.rows.some(row => row.line === word >> 5)), "rows of pieces");
  },

  // The lanes whose colours a picture has. Earlier and later elements are paler.
  lanesIn(v, selector) {
    const canvas = v.find(selector), { width, height } = canvas, found = new Set();
    const copy = Object.assign(document.createElement("canvas"), { width, height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    for (let i = 0; i < data.length; i += 4) found.add(`rgb(${data.slice(i, i + 3)})`);
    return LANE_COLOURS.flatMap((colour, lane) => found.has(colour) ? [lane] : []);
  },

  // What is wrong with the words and the width of a page, at each explanation, in each language. Words of the glossary
  // are explained where they come first.
  looks(v) {
    const textOf = selector => [...document.querySelectorAll(selector)].map(each => each.textContent).join();
    return [1, 2, 0].flatMap(each => {
      v.find(".language").value = each;
      v.find(".language").onchange({ target: v.find(".language") });
      return v.captions.flatMap((caption, i) => {
        v.place = "////" + (i + 1);
        const words = textOf(".status, .caption, h2, .sums, table, .legend");
        const begin = caption.text[each].split("{")[0].slice(0, 4);
        const source = v.find(".source"), panel = source.getBoundingClientRect();
        const now = v.find(".now").getBoundingClientRect();
        const explained = [...v.root.querySelectorAll(":is(.caption, .status, .memory) .word")]
          .filter(word => word.checkVisibility());
        const tips = explained.map(word => (word.focus(), document.getElementById("tip").textContent));
        const terms = new Set(explained.map(word => word.textContent.toLowerCase().replace(/s$/, "")));
        const right = {
          words: !/undefined|[{}]/.test(words) && words.includes(begin),
          language: document.documentElement.lang === ["en", "ja", "zh"][each],
          glossary: tips.every(tip => Object.values(GLOSSARY[each]).includes(tip)) && terms.size === tips.length,
          sideways: document.documentElement.scrollWidth <= innerWidth && source.scrollWidth <= source.clientWidth,
          line: now.top >= panel.top && now.bottom <= panel.bottom + 1,
        };
        return Object.keys(right).filter(what => !right[what]).map(what => [what, each, i]);
      });
    });
  },

  // Visible words of the source, or numbers, that are split over two lines, or lie over a line's number.
  broken(v) {
    const source = v.find(".source");
    const inSight = [...source.children].filter(row => row.offsetTop >= source.scrollTop &&
      row.offsetTop + row.offsetHeight <= source.scrollTop + source.clientHeight);
    const isBroken = (node, { 0: word, index }) => {
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      return new Set([...range.getClientRects()].map(each => each.top)).size > 1;
    };
    return inSight.flatMap(row => {
      const texts = [], walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) texts.push(walker.currentNode);
      const words = texts.flatMap(node =>
        [...node.data.matchAll(/\w+/g)].filter(word => isBroken(node, word)).map(([word]) => word));
      const style = getComputedStyle(row), room = parseFloat(style.paddingLeft) + parseFloat(style.textIndent);
      return parseFloat(getComputedStyle(row, "::before").width) > room ? [...words, row.dataset.line] : words;
    });
  },
};
window.checks = checks;
