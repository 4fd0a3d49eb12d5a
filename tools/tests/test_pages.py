"""The pages of ./run view in a browser: what they show is what the emulator counted, in each width, language and theme, and they can
be used. A test opens a page once, and asks it for many facts together."""
import re
import sys

import pytest

import view
from browser import DRAWN, ask, chromium, click, contrasts, drag, errors, move, press, resize, scheme, show, wait  # noqa: F401
from records import STAGES, record_of
from support import BUILD, ROOT, call, program

SHARED, TENSOR, RING = "03_shared_blocking", "06_wmma", "11_wgmma"


@pytest.fixture
def shown(chromium, tmp_path):  # noqa: F811
    """Opens a page of records, and holds the console against errors at the end."""
    def opened(*records, place="", **how):
        path = tmp_path / "page.html"
        path.write_text(view.page("test", records))
        show(chromium, f"{path}{place}", **how)
        assert ask(chromium, "disagreements()") == 0  # the page's own rule for each request against the emulator's count
        ask(chromium, "void (v = views[0])")
        return chromium

    yield opened
    assert errors(chromium) == []


# What the braces of a caption may stand for, of an event, without names of elements.
FACTS = """(v, e, note) => {
    const words = e.addresses?.map(a => a === null ? null : a >> 2), joined = e.access && wavefrontsOf({ ...e, width: 16 });
    const others = v.events.slice(v.index).findIndex(({ kind }) => kind !== e.kind), same = word => ranges([...words.keys()]
        .filter(each => words[each] === word));
    return { warp: v.warp, warps: v.blocks[0].length, run: others < 0 ? v.events.length - v.index : others, cost: e.cost, best: e.ideal,
        ...e.kind === "arrive" ? { bytes: note[3] } : ["wait", "look"].includes(note?.[0]) ? { phase: note[3] } : {},
        ...e.access && { width: e.width, lanes: words.filter(word => word !== null).length, bank: words[v.lane] % 32, wide: 16,
            words: new Set(wordsOf(e.addresses, e.width).map(([word]) => word)).size, joined: joined.count, least: joined.least,
            ...Object.fromEntries(words.flatMap((word, lane) => [[`bank ${lane}`, word % 32], [`same ${lane}`, same(word)]])) } };
}"""
# What is wrong with a kernel, in the first block; and its explanations: where they are, what they say, and from what.
KERNEL = """(v, facts) => {
    const wrong = [], hold = (right, ...what) => { if (!right) wrong.push(what.join(" ")); };
    const at = (index, warp = 0) => v.go(0, warp, index, 0), said = each => v.find(each).textContent, told = [];
    const C = v.data.matrices[2], K = v.data.shape[2], isProduct = e => e.kind === "tensor" || e.kind === "wgmma";
    for (let next = v.find("[data-tell='1']"), more = true; more && told.length < 20; more = !next.disabled) {
        if (told.length || v.captionHere < 0) next.click();
        told.push([v.warp, v.index, v.lane, v.place, said(".tale p"), facts(v, v.event, v.note)]);
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
    const all = v.events.flatMap((e, i) => e.kind === kind ? [i] : []), products = isProduct({ kind });
    for (const n of [0, all.length >> 1, all.length - 1]) {
        at(all[n]);
        hold(said(".sums").match(/\\d+/g).slice(0, 2).join() === [n + 1, all.length].join(), "sums");
    }

    // Each sum takes each k, also where the last tile is not full and its buffer still has what was there before.
    if (products) v.blocks[0].forEach((events, warp) => {
        at(events.length - 1, warp);
        hold([...v.sumsNow().values()].every(sum => sum.done === K), "sums of warp", warp);
    });
    if (!products || K % 32) return [wrong, told];

    // A part of C takes each k once, in order; a warp stores what it has summed; all parts are C.
    const every = [], sorted = list => list.sort((a, b) => a - b).join(), upTo = (from, to) => Array.from({ length: to + 1 - from },
        (_, i) => from + i);
    v.blocks[0].forEach((events, warp) => {
        const parts = {}, stored = events.filter(e => e.kind === "global store").flatMap(e => e.addresses.flatMap(a =>
            a === null ? [] : upTo((a - C.begin) / C.size, (a + e.width - C.begin) / C.size - 1)));
        for (const { rows, columns, ks } of events.filter(isProduct).map(e => v.productAt(e)))
            (parts[JSON.stringify([rows, columns])] ||= []).push(ks.join());
        const mine = Object.keys(parts).map(JSON.parse).flatMap(([rows, columns]) => upTo(...rows).flatMap(row =>
            upTo(...columns).map(column => row * C.cols + column)));
        hold(Object.values(parts).every(ks => ks.join() === upTo(0, K / 16 - 1).map(i => [16 * i, 16 * i + 15]).join()), "k of", warp);
        hold(!stored.length || sorted(stored) === sorted(mine), "what warp", warp, "stores");
        every.push(mine);
    });
    hold(sorted(every.flat()) === upTo(0, C.rows * C.cols - 1).join(), "parts");

    // At the last one its operands light up, and it is said what it multiplies.
    at(all.at(-1));
    const { a, b, rows, columns, ks } = v.product, span = list => `[${list.join("..")}]`, part = "C" + span(rows) + span(columns);
    for (const name of ["A" + span(rows) + span(ks), "B" + span(ks) + span(columns), part]) hold(said(".what").includes(name), name);
    hold(said(".sums").includes(part) && said(".sums").match(/\\d+/g).slice(-2).join() === [K, K].join(), "sums of", part);
    hold(v.pieces === a.pieces.length + b.pieces.length && v.pieces >= 48, v.pieces, "pieces");
    hold([...v.piecesNow().keys()].every(word => v.rows.some(row => row.line === word >> 5)), "rows of pieces");
    return [wrong, told];
}"""


def test_kernels(shown):
    """All stages, and products at other shapes. Each explanation is found where view.txt says, and says what is in the record; no number
    stands in view.txt but a lane's."""
    records = [*map(record_of, STAGES), *(record_of(*each) for each in (
        (TENSOR, (64, 128, 104)), (TENSOR, (128, 128, 184)), ("10_async_mma", (128, 256, 40)), (RING, (64, 128, 40))))]
    page = shown(*records, width=880)
    for at, record in enumerate(records):
        wrong, told = ask(page, f"({KERNEL})(views[{at}], {FACTS})")
        assert wrong == [], record["name"]
        for number, (caption, (warp, index, lane, place, said, known)) in enumerate(zip(record["captions"], told, strict=True), 1):
            kind, file, line, _ = record["sites"][record["blocks"][0]["warps"][warp][index][0]]
            assert place == f"0/{warp}/{index + 1}/{lane}/{number}"
            assert (warp, kind, lane) == (caption["warp"], caption["kind"], caption["lane"])
            assert caption["statement"] in record["sources"][file].splitlines()[line - 1]
            text = caption["text"][0]
            parts = re.split(r"{([^}]*)}", text)
            pattern = "".join("(.+?)" if i % 2 and part not in known else re.escape(str(known[part]) if i % 2 else part)
                              for i, part in enumerate(parts))
            found = re.fullmatch(r"\d+ of \d+\. " + pattern, said)
            assert found and "undefined" not in said, (said, known)
            if "{rivals}" in text:  # lanes of one bank, each with another word
                rivals = re.findall(r"\d+", found[1 + [part for part in parts[1::2] if part not in known].index("rivals")])
                assert len(rivals) == known["cost"] and {known[f"bank {each}"] for each in rivals} == {known["bank"]}
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
# What is wrong at the event: what can't be done is off; the line is marked; an event is numbered; and one region speaks: of an
# explanation its text, elsewhere the event.
STATE = """(rest => Object.entries({ "[data-do=back]": !v.index, "[data-do=step]": !rest.length, ".play": !rest.length,
    "[data-do=conflict]": !rest.some(e => e.kind.startsWith("shared") && isCostly(e)), "[data-tell='1']": v.tale === v.tales.length - 1,
    "[data-tell='-1']": v.captionHere === 0, ".replay": !v.event.kind.startsWith("shared") || v.event.cost < 2 })
    .flatMap(([each, off]) => v.find(each).disabled === off ? [] : [each]).concat(
        v.find(".now").dataset.line === String(v.event.line) ? [] : ["line"],
        v.find(".what").textContent.match(/\\d+/g).slice(1, 3).join() === [v.index + 1, v.events.length].join() ? [] : ["number"],
        [...document.querySelectorAll("[aria-live], [role=status]")].map(each => each.textContent).join() ===
            v.find(v.captionHere < 0 ? ".status" : ".tale p").textContent || v.find(".none").textContent ? [] : ["heard"])
)(v.events.slice(v.index + 1))"""


def test_steps(shown):
    page = shown(record_of(SHARED))
    for keys, fact, expected in STEPS:
        press(page, *keys)
        assert ask(page, f"[{fact}, {STATE}]") == [expected, []], (keys, fact)
    press(page, "HOME")
    for button in ("step", "step", "back"):
        click(page, f"[data-do={button}]")
    # Space plays, also after a click on another button, and stops; at the warp's end it stops by itself. It is silent meanwhile.
    ask(page, """void (v.find(".speed").value = 25, said = [], new MutationObserver(() => said.push(v.index))
        .observe(v.find(".heard"), { childList: true }))""")
    click(page, "[data-do=step]")
    press(page, " ")
    assert wait(page, "playing && v.index > 5")
    press(page, " ")
    at = ask(page, "playing === null && v.index")
    assert at and ask(page, "said") == [2, at]
    ask(page, "v.go(0, 1, v.events.length - 3, 0)")
    press(page, " ")
    assert wait(page, "playing === null") is True and ask(page, "[v.index, said.length]") == [ask(page, "v.events.length - 1"), 4]


def test_address(shown):
    """It says where one is, but not at the beginning; it leads there, also when it changes; a caption is found by its number alone."""
    page = shown(record_of(SHARED))
    assert ask(page, "new Promise(done => setTimeout(() => done(location.hash), 400))") == ""
    press(page, "c", "]")
    index, last = ask(page, "[v.index, v.events.length - 1]")
    address = f"#0/0/{index + 1}/1/5"
    assert wait(page, f"location.hash === '{address}'")
    where = "[v.block, v.warp, v.index, v.lane]"
    for place, to in (("#0/3/7/9/", [0, 3, 6, 9]), ("#////5", [0, 0, index, 0]), ("#9/99/99999/x/99", [0, 7, last, 0]),
                      (address, [0, 0, index, 1])):
        ask(page, f"new Promise(done => {{ addEventListener('hashchange', () => setTimeout(done)); location.hash = '{place}' }})")
        assert ask(page, where) == to, place
    ask(page, "location.reload()")
    assert wait(page, f"document.readyState === 'complete' && (v = views[0], {where})") == to


TIP = "(tip => tip && !tip.hidden ? tip.textContent : '')(document.getElementById('tip'))"


def test_pointer(shown):
    """A cell of a matrix says who touches it; one of a bank conflict its word and bank, its lanes and their turn, and three of the events
    that touched it. A tap lasts until the next one."""
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
    x, y = ask(page, "(scrollTo(0, 0), (r => [r.x + 4, r.y + 4])(v.find('h1').getBoundingClientRect()))")
    drag(page, (x, y), (x, y), finger=True)
    assert not ask(page, TIP)


def test_turn_by_turn(shown):
    """Each wavefront of a bank conflict serves its own lanes, and all of them every one; a bank delivers one word at a time. Then all
    are shown again. Nothing moves meanwhile. Cells can show lanes."""
    page = shown(record_of(SHARED))
    for width in (1280, 640, 390):
        resize(page, width, 800)
        press(page, "HOME", "c")
        before, *turns, after = ask(page, f"""{DRAWN}.then(() => Array.from({{ length: v.event.cost + 2 }}, (_, i) => {{
            if (i) v.replay();
            const served = [...v.wordsNow(v.event)].filter(([, found]) => found.served);
            return {{ turn: v.turn, title: v.find(".banks-title").textContent.match(/\\d+/g).map(Number),
                lanes: served.flatMap(([, found]) => found.served), banks: served.map(([word]) => word % 32),
                places: [".banks", ".key", ".bar"].map(each => innerWidth < 700 && v.find(each).getBoundingClientRect().top) }};
        }}))""")
        assert before == after and not before["turn"] and len(turns) > 1
        assert sorted(sum((turn["lanes"] for turn in turns), [])) == [*range(32)]
        for number, turn in enumerate(turns, 1):
            assert len({*turn["banks"]}) == len(turn["banks"]) and turn["places"] == before["places"], width
            assert turn["turn"] == number and turn["title"][:3] == [number, len(turns), len(turn["lanes"])]
    press(page, "HOME", "c", "t")
    assert ask(page, "v.turn") == 1 and wait(page, "v.turn === 2")  # by itself
    press(page, "LEFT", "c")
    assert ask(page, """((picture, select) => { const turns = picture(); select.value = "lane"; select.onchange();
        return v.turn === 0 && picture() !== turns; })(() => v.find(".banks canvas").toDataURL(), v.find(".cells select"))""")


def test_words(shown):
    """Those of the glossary are explained once, where they come first, when the tab key reaches one; and no longer. The page has each
    of its own in three languages, with the same places in braces."""
    page = shown(record_of(SHARED))
    assert ask(page, """Object.keys(WORDS).filter(name => WORDS[name].length !== 3 || !WORDS[name].every(Boolean) ||
        new Set(WORDS[name].map(text => (text.match(/\\{[^}]*\\}/g) || []).sort().join())).size > 1)""") == []
    press(page, "c")
    words = ask(page, f"""[...v.root.querySelectorAll(".tale .word, .status .word, .memory .word")].map(each =>
        [each.textContent.toLowerCase().replace(/s$/, ""), (each.focus(), {TIP}), (each.blur(), {TIP})])""")
    assert words == [[word, view.words()[word], ""] for word, *_ in words] and len({word for word, *_ in words}) == len(words) > 2
    for key in ("ESCAPE", "RIGHT"):
        assert ask(page, f"(v.find('.tale .word').focus(), {TIP})")
        press(page, key)
        assert ask(page, f"[{TIP}, document.activeElement.matches('.word')]") == ["", False]


# What is wrong with the look of a page at this width: in all languages, and at each line of the source that the warp comes to.
LOOKS = """wide => {
    const wrong = [], hold = (right, ...what) => { if (!right) wrong.push([wide, ...what].join(" ")); };
    const box = each => v.find(each).getBoundingClientRect(), source = v.find(".source"), select = v.find(".language");
    for (const each of [1, 2, 0]) {
        select.value = each;
        select.onchange({ target: select });
        hold(document.documentElement.lang === ["en", "ja", "zh"][each], "language");
        v.tales.forEach((tale, i) => {
            v.place = "////" + (i + 1);
            v.find(".more").open = true;
            const words = [...document.querySelectorAll(".status, .tale, h2, .sums, table, .legend")].map(each => each.textContent)
                .join();
            hold(!/undefined|[{}]/.test(words) && words.includes(tale.text[each].split("{")[0].slice(0, 4)), "words", words);
            hold(document.documentElement.scrollWidth <= wide, "sideways");
            hold(v.find(".counts-panel").scrollWidth <= v.find(".counts-panel").clientWidth, "counts");
            v.find(".more").open = !v.folded;
        });
        const word = v.find(".tale p .word");
        word?.focus();
        hold(!word || Object.values(GLOSSARY[each]).includes(document.getElementById("tip").textContent), "glossary");
    }
    v.data.sites.forEach(([kind, file, line], site) => {
        const at = v.data.blocks[0].warps[0].findIndex(e => e[0] === site), now = () => v.find(".now");
        if (at < 0 || !line) return;
        v.go(0, 0, at, 0);
        const [row, panel] = [".now", ".source"].map(box);
        hold(row.top >= panel.top && row.bottom <= panel.bottom && now().scrollWidth <= now().clientWidth && !source.scrollLeft, kind);
    });
    // No line of the source is cut, or has other words than the file; where one is broken, it goes on right of its beginning. One
    // further right in the file is no further left, as far as one sees without scrolling.
    const lines = v.data.sources[v.event.file].split("\\n"), edge = box(".source"), seen = [], bare = text => text.replace(/\\s+/g, "");
    hold(source.scrollWidth <= source.clientWidth && lines.length === source.children.length, "source");
    lines.forEach((line, i) => {
        const row = source.children[i], range = document.createRange(), { top, bottom } = row.getBoundingClientRect();
        range.selectNodeContents(row);
        const [first, ...others] = [...range.getClientRects()].filter(each => each.width);
        hold(bare(row.textContent) === bare(line) && others.every(each => each.left > first.left), "source line", i + 1);
        if (top >= edge.top && bottom <= edge.bottom && /^\\s*[^\\s#]/.test(line)) seen.push([line.search(/\\S/), first.left]);
    });
    hold(seen.length > 3 && seen.every(([indent, left]) => seen.every(other => other[0] <= indent || other[1] >= left)), "indents");
    hold(wide < 1050 || box(".strip").bottom <= box(".bar").top, "timeline");
    hold([...document.querySelectorAll("canvas")].every(each => !each.checkVisibility() || each.ariaLabel || each.ariaHidden), "canvas");
    v.go(0, 0, 0, 0);
    hold([".steps", ".options", ".strip"].map(each => v.find(each).checkVisibility()).join() ===
        [true, wide > 600, wide > 600].join() && (wide > 600 || box(".bar").height < 50), "bar");
    return wrong;
}"""


@pytest.mark.parametrize("stage", (SHARED, TENSOR, RING))
def test_looks(stage, shown):
    """?ja#////2 is Japanese, at the second explanation."""
    page = shown(record_of(stage), place="?ja#////2")
    assert ask(page, "[document.documentElement.lang, v.captionHere]") == ["ja", 1]
    for width, height in ((1280, 800), (830, 800), (390, 844)):
        resize(page, width, height)
        assert ask(page, f"{DRAWN}.then(() => ({LOOKS})({width}))") == []


def test_colours(shown):
    """Each lane's, and each other one, stands out from the page, and the number from a lane's cell."""
    page = shown(record_of(SHARED))
    for theme, white in (("light", "#fff"), ("dark", "#000")):
        scheme(page, theme)
        paper, inks, lanes, others = ask(page, """[getComputedStyle(document.body).backgroundColor, LANE_COLOURS.map((_, i) => inkOn(i)),
            LANE_COLOURS, ["ink", "note", "line", "costly", "global", "shared"].map(each => COLOURS[each])]""")
        assert contrasts(page, [(white, paper)])[0] < 2
        assert min(contrasts(page, [(colour, paper) for colour in lanes + others])) >= 3 and min(contrasts(page, zip(lanes, inks))) >= 4.3


def test_ring(shown):
    """11: what each event does to mbarriers, TMA and wgmma, in words and in the table. On a phone, of a box its first 8 rows, if all
    others are like them."""
    page = shown(record_of(RING))
    for kind, warp, said, in_ring in (
            ("wait", 0, "full[0]", "0..3"), ("arrive", 4, "24576", "24576"), ("bulk load", 4, "As[0]", "A[0..63][0..63]"),
            ("bulk load", 4, "full[0]", "24576"), ("wgmma", 3, "Bs[0][0]", "0..3"), ("arrive", 3, "empty[0]", "B[64..127][0..127]"),
            ("bulk store", 0, "Cs[0][0][0]", "C[0..63][0..31]"), ("bulk store", 0, "C[0..63][0..31]", "Cs[0][0][0]")):
        what, ring, marked, pieces = ask(page, f"""(v.go(0, {warp}, v.blocks[0][{warp}].findIndex(e => e.kind === "{kind}"), 0),
            [v.find(".what").textContent, v.find(".ring tbody").textContent, !!v.find(".ring .now"), v.piecesNow().size])""")
        assert said in what and in_ring in ring, (kind, what, ring)
        assert (pieces > 0) == (kind in ("bulk load", "wgmma", "bulk store")) and marked == (kind in ("wait", "arrive", "bulk load"))
    resize(page, 390, 844)
    rows = "v.rows.filter(row => row.line !== undefined).length"
    touched, few, high = ask(page, f"""{DRAWN}.then(() => (v.go(0, 4, v.blocks[0][4].findIndex(e => e.kind === "bulk load"), 0),
        [new Set([...v.piecesNow().keys()].map(word => word >> 5)).size, {rows}, v.bankHigh]))""")
    all_ = ask(page, f"""(right => (v.piecesNow = () => new Map(right.map(([word, piece], i) => [word, i === 300 ? piece + 1 : piece])),
        v.draw(), {rows}))([...v.piecesNow()])""")
    assert touched > 32 and (few, all_) == (8, touched) and high >= 8


def test_two(shown):
    """Side by side, on a phone below each other; they step together."""
    page = shown(*map(record_of, STAGES[2:4]))
    places = "views.map(view => (r => [r.left, r.right, r.top, r.bottom].map(Math.round))(view.root.getBoundingClientRect()))"
    first, second = ask(page, places)
    assert first[2] == second[2] and first[1] <= second[0]
    click(page, ".view:last-child .together input")
    press(page, "RIGHT")
    assert ask(page, "views.map(view => view.index)") == [1, 1]
    resize(page, 390, 844)
    first, second = ask(page, f"{DRAWN}.then(() => {places})")
    assert first[:2] == second[:2] and first[3] <= second[2]


def racing():
    """The record of 03 without its last barrier, which is compiled when 03 was."""
    source, built = BUILD / "own/race.cu", [*BUILD.glob("own/race-*/trace")]
    if not built or built[0].stat().st_mtime < program(f"{SHARED}_cpu_trace").stat().st_mtime:
        source.parent.mkdir(exist_ok=True)
        source.write_text("".join((ROOT / SHARED / "matmul.cu").read_text().rpartition("__syncthreads();")[::2]))
        call(sys.executable, "-B", ROOT / "tools/run.py", "view", source, "--html", BUILD / "own/race.html")
        built = [*BUILD.glob("own/race-*/trace")]
    return view.read(view.record(built[0], view.usual_shape(SHARED)), "race", view.usual_shape(SHARED))


def test_races(shown):
    """A button for each of its accesses leads there. What the emulator says is told in each language, with the same places and
    numbers."""
    page = shown(record := racing())
    problem = record["problems"][0]
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
    """Of a warp that accesses nothing, lines that the compiler does not name, and operands that come through registers: 06's second
    step."""
    record = record_of(STAGES[0], (1, 1, 3))
    blocks = [{**record["blocks"][0], "warps": [*record["blocks"][0]["warps"], []]}]
    page = shown({**record, "blocks": blocks, "sites": [(what, "", 0, width) for what, _, _, width in record["sites"]]})
    assert not re.search("line 0|undefined", ask(page, "v.find('.what').textContent"))
    press(page, "UP", "END")
    assert re.findall(r"\d+|undefined", ask(page, "v.find('.what').textContent")) == ["1"]
    page = shown(record_of("06_wmma.2_fragments"))
    what, pieces = ask(page, "(v.go(0, 0, v.events.findIndex(e => e.kind === 'tensor'), 0), [v.find('.what').textContent, v.pieces])")
    assert not re.search(r"[AB]\[|\?|undefined|null", what.partition("multipl")[2]) and pieces == 64


@pytest.fixture
def framed(shown, tmp_path, chromium):  # noqa: F811
    """A page in another one, between texts as high as the window. around(): what that one answers."""
    def opened(record, place):
        shown(record)
        room = "<p style='height: 900px'>text"
        (tmp_path / "outer.html").write_text(f"{room}<iframe src='page.html{place}' width=350 height=700></iframe>{room}")
        show(chromium, tmp_path / "outer.html", height=800)
        assert around("document.readyState === 'complete'") and wait(chromium, "views[0].root.clientWidth && (v = views[0], true)")
        return chromium, around

    def around(expression="", keys=()):
        chromium.switch_to.default_content()
        press(chromium, *keys)
        found = ask(chromium, expression)
        chromium.switch_to.frame(0)
        return found

    yield opened
    chromium.switch_to.default_content()


def test_in_a_frame(framed):
    """It is in its language and at its caption, takes no key from the page around it until one is in it, and does not scroll that."""
    page, around = framed(record_of(SHARED), "?ja#////5")
    assert around("scrollY", ["RIGHT", "n"]) == 0
    assert ask(page, "[v.captionHere, document.documentElement.lang, document.documentElement.scrollWidth <= 350]") == [4, "ja", True]
    click(page, ".more summary")
    click(page, "[data-do=step]")
    at, index = around("scrollY"), ask(page, "v.index")
    press(page, "RIGHT", "END", "n")
    assert ask(page, f"{DRAWN}.then(() => v.index)") != index and around("scrollY") == at


# Of each explanation in a lesson: what is wrong with it, how high the page is, and where its parts are.
LESSON = """v.tales.map((tale, i) => {
    v.place = "////" + (i + 1);
    const box = each => v.find(each).getBoundingClientRect(), all = each => [...v.root.querySelectorAll(each)], shows = each =>
        v.find(each).checkVisibility();
    const wrong = all("*").filter(each => each.clientHeight && each.scrollHeight > each.clientHeight + 1 && !each.matches(
        ".source, .heard, select") && getComputedStyle(each).overflowY !== "visible").concat(all(".columns canvas").filter(each =>
        each.checkVisibility() && each.getBoundingClientRect().width < parseFloat(each.style.width) - 1)).map(each => each.className);
    const hidden = [".status", ".strip", ".steps", ".speed", ".warp", ".head"].filter(shows);
    wrong.push(...hidden, ...[".tale p", ".source"].filter(each => !shows(each)));
    if (box(".columns").width > 600 && box(".key").top - box(".source").bottom > 30) wrong.push("room below the source");
    if (shows(".banks") && v.bankHigh < 8 || v.event.access && !shows(".matrices") && !shows(".banks")) wrong.push("pictures");
    if (box("[data-tell='1']").bottom > box(".columns").top) wrong.push("next");
    return [wrong, document.documentElement.getBoundingClientRect().height, [".tale", ".code", ".matrices-panel", ".memory", ".key"]
        .map(each => (r => [r.left, r.width, r.top].map(Math.round).join(" "))(box(each))).join()];
})"""


@pytest.mark.parametrize("stage", (SHARED, TENSOR, RING))
def test_in_a_lesson(stage, framed):
    """Of each explanation one sees its text, the source and pictures; the rest waits in a closed part. All take the same room, whatever
    the frame's height; nothing but the source scrolls in it, and what stands beside other columns stays where it is. On a phone next
    stands above the pictures."""
    page, around = framed(record_of(stage), "?en")
    for width in (1100, 740, 350):
        found = []
        for high in (1700, 2400):  # without a bar, which takes some of the width
            around(f"Object.assign(document.querySelector('iframe'), {{ width: {width}, height: {high} }}) && {DRAWN}")
            wait(page, f"innerWidth === {width} && innerHeight === {high}")
            found += ask(page, f"{DRAWN}.then(() => {LESSON})")
        wrong, heights, places = zip(*found)
        assert not any(wrong) and max(heights) - min(heights) < 1 and max(heights) < high / 2, (width, wrong, heights)
        assert width < 600 or len({*places}) == 1, places


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
