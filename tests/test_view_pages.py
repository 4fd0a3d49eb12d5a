"""The pages of ./run view and the toys of docs/toys in a browser: what they show is what the emulator counted, and they can be used, in
each language, on a phone and in a lesson. A test opens a page once, and asks it for many facts together."""
import csv
import itertools
import json
import re
import sys

import pytest

import view
from browser import DRAWN, ask, chromium, click, drag, errors, move, press, resize, show, wait  # noqa: F401
from records import STAGES, record_of
from support import BUILD, ROOT, call, program

SHARED, TENSOR, RING = "03_shared_blocking", "06_wmma", "11_wgmma"
TOYS = ROOT / "docs/toys"


@pytest.fixture
def shown(chromium, tmp_path):  # noqa: F811
    """Opens a page of records, or a toy, and holds the console against errors at the end."""
    def opened(*records, place="", **how):
        path = TOYS / records[0] if isinstance(records[0], str) else tmp_path / "page.html"
        if path.parent == tmp_path:
            path.write_text(view.page("test", records))
        show(chromium, f"{path}{place}", **how)
        if path.parent == tmp_path:
            assert ask(chromium, "disagreements()") == 0  # the page's own rule for each request against the emulator's count
            ask(chromium, "void (v = views[0])")
        return chromium

    yield opened
    assert errors(chromium) == []


# What is wrong with a kernel, in the first block; and its explanations: where they are, and what they say.
KERNEL = """v => {
    const wrong = [], hold = (right, ...what) => { if (!right) wrong.push(what.join(" ")); };
    const at = (index, warp = 0) => v.go(0, warp, index, 0), said = each => v.find(each).textContent, told = [];
    const C = v.data.matrices[2], K = v.data.shape[2], isProduct = e => e.kind === "tensor" || e.kind === "wgmma";
    v.place = "////1";
    for (let next = v.find("[data-tell='1']"), more = true; more && told.length < 20; more = !next.disabled) {
        if (told.length) next.click();
        told.push([v.warp, v.index, v.lane, v.place, said(".tale p")]);
    }
    // Of a sample of requests: each colours as many cells as its addresses say.
    v.events.forEach((e, i) => {
        if (!e.access || i % 61 > 1) return;
        at(i);
        const cells = new Set(e.addresses.flatMap(a => a === null ? [] : Array.from({ length: Math.ceil(e.width / 2) }, (_, n) =>
            e.global ? JSON.stringify(v.placeOf(a + 2 * n)) : a + 2 * n >> 2)));
        hold(cells.size === (e.global ? v.coloured : v.asked), "cells of event", i);
    });
    // What costs more than it must is explained on each line, in each language, with its figures.
    const lines = new Set();
    v.events.forEach((e, i) => {
        if (!isCostly(e) || lines.has(e.line) || v.tales.some(({ warp, index }) => !warp && index === i)) return;
        lines.add(e.line);
        at(i);
        const texts = [1, 2, 0].map(each => { language = each; v.draw(); return said(".tale p"); });
        hold(new Set(texts).size === 3 && texts.every(text => !/[{}]|undefined/.test(text) &&
            [e.cost, e.ideal].every(n => text.match(/\\d+/g).includes(String(n)))), "costs at event", i);
    });
    // It is said how many of the products, or of the loads nearest to them, the warp has done.
    const kind = ["wgmma", "tensor", "shared load", "global load"].find(each => v.events.some(e => e.kind === each));
    const all = v.events.flatMap((e, i) => e.kind === kind ? [i] : []);
    for (const n of [0, all.length >> 1, all.length - 1]) {
        at(all[n]);
        hold(said(".sums").match(/\\d+/g).slice(0, 2).join() === [n + 1, all.length].join(), "sums");
    }
    if (!isProduct({ kind })) return [wrong, told];

    // A part of C takes each k once, in order, also where the last tile is not full and its buffer still has what was there before. A
    // warp stores what it has summed; all parts are C.
    const every = [], sorted = list => list.sort((a, b) => a - b).join(), upTo = (from, to) => Array.from({ length: to + 1 - from },
        (_, i) => from + i);
    v.blocks[0].forEach((events, warp) => {
        const parts = {}, stored = events.filter(e => e.kind === "global store").flatMap(e => e.addresses.flatMap(a =>
            a === null ? [] : upTo((a - C.begin) / C.size, (a + e.width - C.begin) / C.size - 1)));
        for (const { rows, columns, ks } of events.filter(isProduct).map(e => v.productAt(e)).filter(({ rows }) => rows))
            (parts[JSON.stringify([rows, columns])] ||= []).push(...upTo(ks[0], Math.min(ks[1], K - 1)));
        hold(Object.values(parts).every(ks => ks.join() === upTo(0, K - 1).join()), "k of", warp);
        at(events.length - 1, warp);
        hold([...v.sumsNow().values()].every(sum => sum.done === K), "sums of warp", warp);
        const mine = Object.keys(parts).map(JSON.parse).flatMap(([rows, columns]) => upTo(...rows).flatMap(row =>
            upTo(...columns).map(column => row * C.cols + column)));
        hold(K % 32 || !stored.length || sorted(stored) === sorted(mine), "what warp", warp, "stores");
        every.push(mine);
    });
    if (K % 32) return [wrong, told];
    hold(sorted(every.flat()) === upTo(0, C.rows * C.cols - 1).join(), "parts");

    // At the last one its operands light up, and it is said what it multiplies.
    at(all.at(-1));
    const { a, b, rows, columns, ks } = v.product, span = list => `[${list.join("..")}]`, part = "C" + span(rows) + span(columns);
    for (const name of ["A" + span(rows) + span(ks), "B" + span(ks) + span(columns), part]) hold(said(".what").includes(name), name);
    hold(said(".sums").includes(part), "sums of", part);
    hold(v.pieces === a.pieces.length + b.pieces.length && v.pieces >= 48, v.pieces, "pieces");
    hold([...v.piecesNow().keys()].every(word => v.rows.some(row => row.line === word >> 5)), "rows of pieces");
    return [wrong, told];
}"""


def test_kernels(shown):
    """All stages, and products at other shapes. Each explanation is found where view.txt says, and says what is in the record; no number
    stands in view.txt but a lane's."""
    records = [*map(record_of, STAGES), *(record_of(*each) for each in (
        (TENSOR, (64, 128, 104)), ("10_async_mma", (128, 256, 40)), (RING, (64, 128, 40))))]
    page = shown(*records, width=880)
    for at, record in enumerate(records):
        wrong, told = ask(page, f"({KERNEL})(views[{at}])")
        assert wrong == [], record["name"]
        for number, (caption, (warp, index, lane, place, said)) in enumerate(zip(record["captions"], told, strict=True), 1):
            site, cost, best, *_ = record["blocks"][0]["warps"][warp][index]
            kind, file, line, width = record["sites"][site]
            assert place == f"0/{warp}/{index + 1}/{lane}/{number}"
            assert (warp, kind, lane) == (caption["warp"], caption["kind"], caption["lane"])
            assert caption["statement"] in record["sources"][file].splitlines()[line - 1]
            text, known = caption["text"][0], {"warp": warp, "cost": cost, "best": best, "width": width}
            parts = re.split(r"{([^}]*)}", text)
            found = re.fullmatch(r"\d+ of \d+\. " + "".join(
                re.escape(part) if not i % 2 else str(known.get(part, rf"(?P<{part.replace(' ', '_')}_{i}>.+?)"))
                for i, part in enumerate(parts)), said)
            assert found and "undefined" not in said, (said, known)
            if "rivals" in parts:  # lanes that want other words of one bank
                assert len(re.findall(r"\d+", found[f"rivals_{parts.index('rivals')}"])) == cost
            assert not re.findall(r"\d", re.sub(r"{[^}]*}|[Ll]anes? \d+ ", "", text))


# Keys, a fact, and what it is then.
STEPS = (
    ([], "v.place", "0/0/1/0/1"), (["RIGHT"], "v.place", "0/0/2/0/"), (["LEFT"], "v.place", "0/0/1/0/1"),
    (["b"], "[v.event.kind, at = v.index][0]", "barrier"), (["c"], "[v.event.kind, isCostly(v.event)]", ["shared load", True]),
    (["B"], "[v.event.kind, at === v.index]", ["barrier", True]), (["HOME"], "v.place", "0/0/1/0/1"),
    (["u"], "[v.event.kind, isCostly(v.event)]", ["global load", True]), (["n"] * 9, "v.captionHere === v.tales.length - 1", True),
    (["N"], "v.captionHere === v.tales.length - 2", True), (["RIGHT", "N"], "v.captionHere === v.tales.length - 2", True),
    (["UP", "["], "[v.warp, v.lane]", [7, 31]), (["DOWN", "DOWN", "]", "]"], "[v.warp, v.lane]", [1, 1]),
    (["END"], "v.event === v.events.at(-1)", True), (["u"], "v.find('.none').textContent !== ''", True))


def test_steps(shown):
    """By keys and buttons; the line is marked. Space plays, and stops; at the warp's end it stops by itself. The address says where
    one is, and leads there."""
    page = shown(record_of(SHARED))
    for keys, fact, expected in STEPS:
        press(page, *keys)
        assert ask(page, f"[{fact}, v.find('.now').dataset.line]") == [expected, str(ask(page, "v.event.line"))], (keys, fact)
    click(page, "[data-do=back]")
    assert ask(page, "v.index") == ask(page, "v.events.length - 2")
    press(page, "HOME", " ")
    assert wait(page, "playing && v.index > 2")
    press(page, " ")
    assert ask(page, "playing") is None
    ask(page, "v.go(0, 1, v.events.length - 3, 0)")
    press(page, " ")
    assert wait(page, "playing === null && v.index === v.events.length - 1")

    press(page, "HOME", "c", "]")
    address = ask(page, "'#' + v.place")
    assert wait(page, f"location.hash === '{address}'")
    where, last = "[v.block, v.warp, v.index, v.lane]", ask(page, "v.events.length - 1")
    there = ask(page, where)
    for place, to in (("#0/3/7/9/", [0, 3, 6, 9]), ("#9/99/99999/x/99", [0, 7, last, 0]), (address, there)):
        ask(page, f"new Promise(done => {{ addEventListener('hashchange', () => setTimeout(done)); location.hash = '{place}' }})")
        assert ask(page, where) == to, place


TIP = "(tip => tip && !tip.hidden ? tip.textContent : '')(document.getElementById('tip'))"


def test_pointer(shown):
    """A cell of a matrix says who touches it; one of a bank conflict its word and bank, its lanes and their turn, and three of the events
    that touched it. A tap lasts until the next one. Turn by turn each wavefront serves its own lanes, and a bank one word."""
    page = shown(record_of(SHARED))
    move(page, *ask(page, "(r => [r.x + v.corners[0][1] + 1, r.y + v.corners[0][2] + 1])(v.find('.matrices').getBoundingClientRect())"))
    name, first, *_ = ask(page, TIP).splitlines()
    assert name == "A[0][0]" and re.findall(r"\d+", first)[:2] == ["0", "1"]
    press(page, "c")
    cells = """(box => wavefrontsOf(v.event).words.map(({ word, bank, lanes, wavefront }) => {
        const row = v.rows.findIndex(row => row.line === word >> 5), at = word - v.rows[row].array.begin / 4;
        return [box.x + v.bankLabel + v.bankCell * bank + 3, box.y + v.bankHigh * row + 3, [at, at, bank, ...lanes, wavefront]];
    }))(v.find(".banks canvas").getBoundingClientRect())"""
    for x, y, expected in ask(page, cells):
        move(page, x, y)
        tip = ask(page, TIP).splitlines()
        assert [int(number) for number in re.findall(r"\d+", " ".join(tip[:2]))] == expected and len(tip) <= 6
    resize(page, 390, 844)
    x, y, _ = ask(page, f"{DRAWN}.then(() => (v.find('.banks canvas').scrollIntoView({{ block: 'center' }}), {cells}[0]))")
    drag(page, (x, y), (x, y), finger=True)
    assert ask(page, TIP)
    drag(page, (2, y), (2, y), finger=True)
    assert not ask(page, TIP)
    before, *turns, after = ask(page, """Array.from({ length: v.event.cost + 2 }, (_, i) => {
        if (i) v.replay();
        const served = [...v.wordsNow(v.event)].filter(([, found]) => found.served);
        return [v.turn, served.flatMap(([, found]) => found.served), served.map(([word]) => word % 32)];
    })""")
    assert before == after == [0, [], []] and [turn for turn, *_ in turns] == [*range(1, len(turns) + 1)]
    assert sorted(sum((lanes for _, lanes, _ in turns), [])) == [*range(32)]
    assert all(len({*banks}) == len(banks) for *_, banks in turns)
    # Cells can show lanes.
    assert ask(page, """((picture, select) => { const turns = picture(); select.value = "lane"; select.onchange();
        return picture() !== turns; })(() => v.find(".banks canvas").toDataURL(), v.find(".cells select"))""")
    # A click on the timeline leads to the event of another warp.
    resize(page, 1280)
    x, y = ask(page, f"""{DRAWN}.then(() => (v.find(".strip").scrollIntoView({{ block: "center" }}),
        ((r, at) => [r.x + at.x + 2, r.y + at.y + 2])(v.find(".strip").getBoundingClientRect(),
            v.places.find(({{ warp, index }}) => warp === 5 && index === v.index))))""")
    drag(page, (x, y), (x, y))
    assert ask(page, "v.warp") == 5


# Lanes whose colour a picture has. What is further on, or further back, is paler.
LANES_IN = """selector => (canvas => {
    const { width, height } = canvas, found = new Set();
    const other = Object.assign(document.createElement("canvas"), { width, height });
    const copy = other.getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    for (let i = 0; i < data.length; i += 4) found.add(`rgb(${data.slice(i, i + 3)})`);
    return LANE_COLOURS.flatMap((colour, lane) => found.has(colour) ? [lane] : []);
})(v.find(selector))"""


def test_a_broadcast_has_the_colour_of_its_first_lane(shown):
    """Whichever lane is chosen; and where each lane has an element of its own, each has its colour."""
    page = shown(record_of(STAGES[0]))
    for lane in (0, 5):
        for event, lanes in ((0, [0]), (1, [*range(32)])):
            ask(page, f"v.go(0, 0, {event}, {lane})")
            assert ask(page, f"['.sectors', '.matrices'].map({LANES_IN})") == [lanes, lanes], lane


@pytest.mark.parametrize("stage", ("10_async_mma", RING, "12_stream_k"))
def test_opens_where_there_is_something_to_see(stage, shown):
    """At an explanation of what it shows in the matrices and in shared memory. At each the mbarriers stand above the controls.
    What a kernel never does can't be jumped to."""
    page = shown(record_of(stage), height=800)
    assert ask(page, "[v.captionHere >= 0, !!v.touches(v.event), v.pieces > 0]") == [True] * 3
    assert ask(page, """v.tales.map((_, i) => (v.place = "////" + (i + 1), [".ring-panel", ".bar"].map(each =>
        v.find(each).getBoundingClientRect()))).every(([ring, bar]) => ring.bottom <= bar.top)""")
    assert ask(page, """Object.keys(WANTED).every(kind =>
        v.find(`[data-do=${kind}]`).hidden !== v.blocks.flat(2).some(WANTED[kind]))""")


def test_numbers_are_of_one_kind(shown):
    """Those of a request are its turns, one for each 16 bytes that a lane gets; those of a copy, or of what tensor cores read, are
    the pieces."""
    page = shown(record_of("10_async_mma"))
    ask(page, "void (v.place = '////' + (v.tales.findIndex(tale => tale.kind === 'shared load') + 1))")
    lanes, cost, numbers, high = ask(page, "[v.event.addresses.length, v.event.cost, v.numbers.map(Number), v.bankHigh]")
    assert sorted(numbers) == sorted([*range(1, cost + 1)] * (lanes // cost)) and high >= 11
    ask(page, "void (v.place = '////' + (v.tales.findIndex(tale => tale.kind === 'bulk load') + 1))")
    assert {*ask(page, "v.numbers.map(Number)")} == {*range(8)}


# What is wrong with the words and the width of a page, at each explanation, in each language. Words of the glossary are explained
# where they come first.
LOOKS = """[1, 2, 0].flatMap(each => {
    v.find(".language").value = each;
    v.find(".language").onchange({ target: v.find(".language") });
    return v.tales.flatMap((tale, i) => {
        v.place = "////" + (i + 1);
        const words = [...document.querySelectorAll(".status, .tale, h2, .sums, table, .legend")].map(each => each.textContent).join();
        const source = v.find(".source"), now = v.find(".now").getBoundingClientRect(), panel = source.getBoundingClientRect();
        const explained = [...v.root.querySelectorAll(":is(.tale, .status, .memory) .word")].filter(each => each.checkVisibility());
        const tips = explained.map(each => (each.focus(), document.getElementById("tip").textContent));
        return Object.entries({ words: !/undefined|[{}]/.test(words) && words.includes(tale.text[each].split("{")[0].slice(0, 4)),
            language: document.documentElement.lang === ["en", "ja", "zh"][each],
            glossary: tips.every(tip => Object.values(GLOSSARY[each]).includes(tip)) &&
                new Set(explained.map(word => word.textContent.toLowerCase().replace(/s$/, ""))).size === tips.length,
            sideways: document.documentElement.scrollWidth <= innerWidth && source.scrollWidth <= source.clientWidth,
            line: now.top >= panel.top && now.bottom <= panel.bottom + 1 }).flatMap(([what, right]) => right ? [] : [[what, each, i]]);
    });
})"""


@pytest.mark.parametrize("stage", (SHARED, RING))
def test_looks(stage, shown):
    """On a screen and on a phone, where the rest waits until it is asked for. ?ja#////2 is Japanese, at the second explanation. Each
    word of the page is there in three languages, with the same places in braces."""
    page = shown(record_of(stage), place="?ja#////2")
    assert ask(page, "[document.documentElement.lang, v.captionHere]") == ["ja", 1]
    assert ask(page, """Object.keys(WORDS).filter(name => WORDS[name].length !== 3 || !WORDS[name].every(Boolean) ||
        new Set(WORDS[name].map(text => (text.match(/\\{[^}]*\\}/g) || []).sort().join())).size > 1)""") == []
    for width in (1280, 390):
        resize(page, width, 844)
        assert ask(page, f"{DRAWN}.then(() => {LOOKS})") == [], width
    assert ask(page, "document.querySelectorAll('.word').length") > 2
    parts = "[...document.querySelectorAll('.options, .status, .counts-panel, .strip')].map(each => each.checkVisibility())"
    assert ask(page, parts) == [False] * 4
    ask(page, "v.find('.more summary').click()")
    assert ask(page, parts) == [True] * 4 and ask(page, "document.documentElement.scrollWidth") <= 390


def test_ring(shown):
    """11: what each event does to mbarriers, TMA and wgmma, in words and in the table."""
    page = shown(record_of(RING))
    for kind, warp, said, in_ring in (
            ("wait", 0, "full[0]", "0..3"), ("arrive", 4, "24576", "24576"), ("bulk load", 4, "As[0]", "A[0..63][0..63]"),
            ("bulk load", 4, "full[0]", "24576"), ("wgmma", 3, "Bs[0][0]", "0..3"), ("arrive", 3, "empty[0]", "B[64..127][0..127]"),
            ("bulk store", 0, "Cs[0][0][0]", "C[0..63][0..31]"), ("bulk store", 0, "C[0..63][0..31]", "Cs[0][0][0]")):
        what, ring, marked, pieces = ask(page, f"""(v.go(0, {warp}, v.blocks[0][{warp}].findIndex(e => e.kind === "{kind}"), 0),
            [v.find(".what").textContent, v.find(".ring tbody").textContent, !!v.find(".ring .now"), v.piecesNow().size])""")
        assert said in what and in_ring in ring, (kind, what, ring)
        assert (pieces > 0) == (kind in ("bulk load", "wgmma", "bulk store")) and marked == (kind in ("wait", "arrive", "bulk load"))


def test_two(shown):
    """Side by side they step together."""
    page = shown(*map(record_of, STAGES[2:4]))
    first, second = ask(page, "views.map(view => (r => [r.left, r.right])(view.root.getBoundingClientRect()))")
    assert first[1] <= second[0]
    click(page, ".view:last-child .together input")
    press(page, "RIGHT")
    assert ask(page, "views.map(view => view.index)") == [1, 1]


def racing():
    """The record of 03 without its last barrier, which is compiled when 03 was."""
    source, built = BUILD / "user_kernels/without_barrier.cu", [*BUILD.glob("user_kernels/without_barrier-*/trace")]
    if not built or built[0].stat().st_mtime < program(f"{SHARED}_cpu_trace").stat().st_mtime:
        source.parent.mkdir(exist_ok=True)
        source.write_text("".join((ROOT / SHARED / "matmul.cu").read_text().rpartition("__syncthreads();")[::2]))
        call(sys.executable, "-B", ROOT / "tools/run.py", "view", source, "--html", BUILD / "user_kernels/without_barrier.html")
        built = [*BUILD.glob("user_kernels/without_barrier-*/trace")]
    return view.read(view.record(built[0], view.usual_shape(SHARED)), "race", view.usual_shape(SHARED))


def test_races(shown):
    """A button for each of its accesses leads there. What the emulator says is told in each language, with the same places and
    numbers."""
    page = shown(record := racing())
    problem = record["problems"][0]
    assert problem["text"] in ask(page, "document.querySelector('.problem').textContent")
    for number, access in enumerate(problem["accesses"]):
        ask(page, f"document.querySelectorAll('.problem button')[{number}].click()")
        assert ask(page, "[v.block, v.warp, v.index, v.lane]") == [problem["block"], *access]
    texts = [problem["text"],
             "race in global memory: a.cu:3 adds to what b.cu:4 reads (block (1,0) thread (0,2), block (2,0) thread 7's copy)",
             "no fence_proxy_async() after a.cu:3 writes what b.cu:4 reads asynchronously (block 0, threads 0 and 1's copy)",
             "uninitialised shared memory: a.cu:3 reads what no thread of the block has written (block 0, thread 3)"]
    for text, said in zip(texts, ask(page, f"{texts}.map(text => [0, 1, 2].map(each => (language = each, problemText(text))))")):
        assert said[0] == text and len({*said}) == 3
        for each in said[1:]:
            assert sorted(re.findall(r"[\w/]+\.cu:\d+|\d+", each)) == sorted(re.findall(r"[\w/]+\.cu:\d+|\d+", text))
            assert not re.search("memory|what|block|thread|copy|reads|writes", re.sub(r"[\w/]+\.cu:", "", each))


def test_little_is_known(shown):
    """Of a warp that accesses nothing, and of lines that the compiler does not name."""
    record = record_of(STAGES[0], (1, 1, 3))
    blocks = [{**record["blocks"][0], "warps": [*record["blocks"][0]["warps"], []]}]
    page = shown({**record, "blocks": blocks, "sites": [(what, "", 0, width) for what, _, _, width in record["sites"]]})
    assert not re.search("line 0|undefined", ask(page, "v.find('.what').textContent"))
    press(page, "UP", "END")
    assert re.findall(r"\d+|undefined", ask(page, "v.find('.what').textContent")) == ["1"]


# Words of the source in sight, or numbers, that stand in two lines, or over the number of the line.
BROKEN = """(source => [...source.children].filter(row => row.offsetTop >= source.scrollTop &&
    row.offsetTop + row.offsetHeight <= source.scrollTop + source.clientHeight))(v.find(".source")).flatMap(row =>
    [...row.childNodes].flatMap(node => [...(node.data || "").matchAll(/\\w+/g)].filter(({ 0: word, index }) => {
        const range = new Range();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        return new Set([...range.getClientRects()].map(each => each.top)).size > 1;
    }).map(([word]) => word)).concat(((style, number) => parseFloat(number.width) > parseFloat(style.paddingLeft) +
        parseFloat(style.textIndent) ? [row.dataset.line] : [])(getComputedStyle(row), getComputedStyle(row, "::before"))))"""


@pytest.mark.parametrize("stage", (SHARED, RING))
def test_in_a_lesson(stage, shown, chromium, tmp_path):  # noqa: F811
    """In a frame it is at its caption, takes no key from the page around it, and is no wider than the frame. One sees the text, the
    source and pictures; the rest waits until it is asked for. All explanations take the same room."""
    shown(record_of(stage))
    room = "<p style='height: 900px'>text"
    (tmp_path / "outer.html").write_text(f"{room}<iframe src='page.html?ja#////5' width=350 height=1700></iframe>{room}")
    page = chromium
    show(page, tmp_path / "outer.html", height=800)
    wait(page, "document.readyState === 'complete'")
    press(page, "RIGHT", "n")
    assert ask(page, "scrollY") == 0
    for width in (20, 350, 740, 1100):
        ask(page, f"void (document.querySelector('iframe').width = {width})")
        page.switch_to.frame(0)
        if width == 20:  # too narrow for any picture
            wait(page, f"innerWidth === {width}")
            ask(page, DRAWN)
            page.switch_to.default_content()
            continue
        wait(page, f"innerWidth === {width} && views[0].root.clientWidth && (v = views[0], true)")
        parts = [".tale p", ".source", ".status", ".steps", ".speed", ".head", ".strip"]
        assert ask(page, f"{DRAWN}.then(() => [v.captionHere, document.documentElement.lang, document.documentElement.scrollWidth <= "
                         f"{width}, ...{parts}.map(each => v.find(each).checkVisibility())])") == [4, "ja"] + 3 * [True] + 5 * [False]
        heights = ask(page, """v.tales.map((_, i) => (v.place = "////" + (i + 1),
            document.documentElement.getBoundingClientRect().height)).concat((v.place = "////5", []))""")
        assert max(heights) - min(heights) < 1, width
        # Nothing is dimmed until it can't be read, and no line of the source ends within a word.
        assert ask(page, "[...v.root.querySelectorAll('.columns *')].filter(each => !each.disabled && "
                         "getComputedStyle(each).opacity < 1).map(each => each.className)") == []
        assert ask(page, f"v.tales.flatMap((_, i) => (v.place = '////' + (i + 1), {BROKEN}))") == [], width
        ask(page, "void (v.place = '////5')")
        page.switch_to.default_content()


def test_fragments(chromium, tmp_path):  # noqa: F811
    """Each choice of 07's page: a lane's framed elements are those of the chapter's tables."""
    path = tmp_path / "page.html"
    made = call(sys.executable, "-B", ROOT / "tools/run.py", "view", "07", "--html", path)
    assert made.returncode == 0 and made.stdout == f"{path}\n"
    show(chromium, path)
    choices = [(chips, name, places) for chips, tables in view.fragments().items() for name, places in tables.items()]
    all_held = ask(chromium, f"""{[[*name.split(), chips] for chips, name, _ in choices]}.map((values, i) => {{
        ["use", "type", "layout", "architecture"].forEach((select, i) => {{ find(select).value = values[i]; refill(); }});
        choose(5 * i % 32);
        return [...document.querySelectorAll(".grid div")].flatMap((cell, i) =>
            cell.className === "held" ? [...cell.children].map(x => [i, +x.textContent.slice(1)]) : []);
    }})""")
    for i, ((_, name, places), held) in enumerate(zip(choices, all_held, strict=True)):
        lane, each = 5 * i % 32, len(places) // 32
        assert sorted(held) == sorted([place, i] for i, place in enumerate(places[each * lane:each * (lane + 1)])), name
    ask(chromium, "choose(0)")
    press(chromium, "LEFT")
    assert ask(chromium, "document.querySelector('.chosen').textContent") == "31" and errors(chromium) == []


# The toys.

def go(page, place):
    """To another address of a toy."""
    ask(page, f"location.hash === '#{place}' || new Promise(done => {{ addEventListener('hashchange', () => setTimeout(done), "
              f"{{ once: true }}); location.hash = '{place}' }})")


def settings_of(page):
    """A third of them."""
    for bytes_, stride in itertools.product((4, 8, 16), range(0, 65)):
        for who, pad in itertools.product((32, 16, 8, 2), (0, 1, 2, 4, 8)) if page == "banks.html" else ():
            if (who == 2 or stride % (bytes_ // 4) == 0) and pad % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "pad": pad, "who": who}
        for offset in range(0, 32, 3 * bytes_ // 4) if page == "coalescing.html" else ():
            if stride % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "offset": offset}


@pytest.mark.parametrize("name, kinds", [("banks.html", ("shared", "store")), ("coalescing.html", ("global",))])
def test_toys_count_as_the_emulator_does(name, kinds, shown):
    settings = list(settings_of(name))
    events, costs = ask(shown(name), f"(all => [all.map(eventOf), all.map(costOf).map(each => [each.count, each.least])])"
                                     f"({json.dumps(settings)})")
    lines = (" ".join(map(str, (kinds[bool(event.get("store"))], event["width"], *event["addresses"]))) for event in events)
    run = call(program("emulator_requests_of"), stdin=None, input="\n".join(lines))
    assert run.returncode == 0, run.stderr
    counted = [[int(word) for word in line.split()] for line in run.stdout.splitlines()]
    assert len(counted) == len(settings) > 500
    assert [setting for setting, ours, theirs in zip(settings, costs, counted) if ours[:len(theirs)] != theirs] == []


def said(page):
    """The numbers of the toy's first sentence."""
    return ask(page, "find('#says strong').textContent.match(/\\d+/g).map(Number)")


def test_banks(shown):
    """A chapter's preset costs what the emulator counted for the costliest request of its kind there. Turns and strides by button, key
    and click; the bar of each stride is as high as its turns."""
    page = shown("banks.html")
    for place, step, kind in (
            ("bs", "03_shared_blocking", "shared load"), ("wide", "04_unroll.2_wide_loads", "shared load"),
            ("old", "04_unroll.2_wide_loads", "shared load"), ("store", "04_unroll.2_wide_loads", "shared store"),
            ("padded", "04_unroll", "shared store"), ("places", "04_unroll", "shared load")):
        go(page, place)
        record, width = record_of(step), ask(page, "+find('#bytes').value")
        requests = {site for site, (what, _, _, wide) in enumerate(record["sites"]) if (what, wide) == (kind, width)}
        assert said(page) == max([cost, least] for warp in record["blocks"][0]["warps"] for site, cost, least, *_ in warp
                                 if site in requests), place
    go(page, "wide")
    for button, turn, lanes in (("next", "1", [0, 1, 2, 3]), ("next", "2", [4, 5, 6, 7]), ("back", "1", [0, 1, 2, 3])):
        click(page, f"#{button}")
        numbers = [int(word) for word in re.findall(r"\d+", ask(page, "find('#says').textContent"))]
        assert ask(page, "turn.value") == turn and numbers[-5:] == [int(turn), *lanes], numbers
    rows = ask(page, """(set({ who: 32, pad: 1, bytes: 4 }), [...document.querySelectorAll("#strip [data-stride]")].map(each =>
        [each.previousElementSibling.height.baseVal.value, costOf({ who: 32, pad: 1, bytes: 4, stride: +each.dataset.stride }).count]))""")
    assert len(rows) == 65 and all((a[0] > b[0]) == (a[1] > b[1]) for a in rows for b in rows)
    click(page, "#strip [data-stride='32']")
    assert (said(page), ask(page, "stride.value")) == ([1, 1], "32")


@pytest.mark.parametrize("name", ("banks.html#bs", "coalescing.html#column", "roofline.html#naive"))
def test_toys_in_a_lesson(name, chromium, tmp_path):  # noqa: F811
    """No choice is cut off. At 03 one can choose which lanes want the same, so that 32 lanes a row apart take 32 turns."""
    (tmp_path / "outer.html").write_text(f"<iframe src='{TOYS}/{name.replace('#', '?en#')}' width=740 height=900></iframe>")
    page = chromium
    show(page, tmp_path / "outer.html", width=800, height=950)
    page.switch_to.frame(0)
    wait(page, "document.readyState === 'complete' && find('#says strong')")
    assert ask(page, """[0, 1, 2].flatMap(each => {
        find("#language").value = each;
        find("#language").dispatchEvent(new Event("input"));
        const shown = [...document.querySelectorAll("#controls select")].filter(each => each.checkVisibility());
        const room = select => [select.clientWidth - 36, parseFloat(getComputedStyle(select).fontSize)];
        return shown.flatMap(select => [...select.options].map(({ text }) => text).filter(text =>
            (([wide, size]) => long(text, size) > wide)(room(select))));
    })""") == []
    if name == "banks.html#bs":
        costs = []
        for who in ("16", "32"):
            ask(page, f"(find('#who').value = '{who}', find('#who').dispatchEvent(new Event('input')))")
            ask(page, "set({ stride: 32 })")
            costs.append(ask(page, "+find('#says strong').textContent.match(/\\d+/)[0]"))
        assert costs == [16, 32] and page.find_element("css selector", "#who").is_displayed()
    page.switch_to.default_content()
    assert errors(page) == []


def test_banks_fit_a_screen(shown):
    """On a screen of 800 all that one uses; on a phone the picture and what changes it. Each lane's number stands in the picture,
    also at the strides at which many take turns."""
    page = shown("banks.html", place="?en#alike", height=800)
    assert ask(page, "document.documentElement.scrollHeight") <= 800
    for width, height in ((1280, 800), (390, 844)):
        resize(page, width, height)
        ask(page, f"{DRAWN}.then(() => find('#figure').scrollIntoView())")
        for part in ("#figure", "#controls"):
            top, bottom = ask(page, f"(box => [box.top, box.bottom])(find('{part}').getBoundingClientRect())")
            assert 0 <= top and bottom <= height, (part, width)
        for stride in (8, 16, 32):
            ask(page, f"set({{ who: 16, stride: {stride}, pad: 0 }})")
            assert ask(page, """(left => new Set([...document.querySelectorAll("#figure text")].filter(each =>
                each.getBBox().x > left && each.getBBox().y > 30).flatMap(each => each.textContent.split(",").map(Number))).size)(
                find("#figure [data-turn]").getBBox().x)""") == 32, (width, stride)


def test_roofline(shown):
    """Its presets are the chapters' predictions, but for the bytes of C. Corners are dragged with the mouse and with a finger."""
    page = shown("roofline.html")
    rows = [*csv.DictReader((ROOT / "docs/results/h200/ladder.csv").open())]
    for place, stage in (("naive", "01_naive"), ("registers", "02_register_blocking"), ("shared", "03_shared_blocking"),
                         ("unroll", "04_unroll")):
        go(page, place)
        predicted, = (float(row["predicted_gflops"]) for row in rows if (row["stage"], row["n"]) == (stage, "8192"))
        tera = float(re.search(r"\d+\.\d", ask(page, "find('#says strong').textContent"))[0])
        assert tera == pytest.approx(predicted / 1000, rel=.05, abs=.05), place
    # Nothing is marked as reached while not one block fits on an SM.
    assert ask(page, "(set({ bm: 8, bn: 8, tm: 3, tn: 3, depth: 32, others: 128 }), "
                     "document.querySelectorAll('#figure :is(circle.now, path.to)').length)") == 0
    for width in (390, 1280):
        resize(page, width, 1000)
        ask(page, f"(set({{ bm: 7, bn: 7, tm: 3, tn: 3 }}), figure.scrollIntoView({{ block: 'end' }}), {DRAWN})")
        x, y, by = ask(page, "(r => [r.x + place.left, r.y + place.top, place.scale])(find('#figure svg').getBoundingClientRect())")
        drag(page, (x + 128 * by, y + 128 * by), (x + 64 * by, y + 32 * by), finger=width == 390)
        assert ask(page, "[bm, bn, tm].map(each => each.nextElementSibling.value)") == ["32", "64", "8"], width


@pytest.mark.parametrize("name", sorted(path.name for path in TOYS.glob("*.html")))
def test_toys_on_a_phone(name, shown):
    """In each language each word is there, nothing is wider than the screen and no text of the picture is cut off."""
    page = shown(name, width=390)
    assert ask(page, "Object.values(WORDS).every(each => each.length === 3 && each.every(Boolean))")
    assert ask(page, f"""{DRAWN}.then(() => [0, 1, 2].flatMap(each => {{
        find("#language").value = each;
        find("#language").dispatchEvent(new Event("input"));
        const cut = [...document.querySelectorAll("svg text")].filter(text => ((box, frame) => box.left < frame.left - 1 ||
            box.right > frame.right + 1)(text.getBoundingClientRect(), text.closest("svg").getBoundingClientRect()));
        const root = document.documentElement, wrong = {{ sideways: root.scrollWidth > 390,
            words: /undefined|[{{}}]/.test(document.body.innerText), language: root.lang !== ["en", "ja", "zh"][each] }};
        return Object.keys(wrong).filter(each => wrong[each]).concat(cut.map(text => text.textContent));
    }}))""") == []
