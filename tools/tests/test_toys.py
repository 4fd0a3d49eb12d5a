"""The toys in docs/toys: what they say of a request is what the emulator counts, for each setting, and they can be used. A page is
opened once for each test."""
import csv
import itertools
import json
import re

import pytest

from browser import ask, chromium, click, contrasts, drag, errors, move, press, resize, scheme, show, wait, DRAWN  # noqa: F401
from records import record_of
from support import ROOT, call, program

TOYS = ROOT / "docs/toys"
PAGES = sorted(path.name for path in TOYS.glob("*.html"))


@pytest.fixture
def shown(chromium):  # noqa: F811
    """Opens a toy at an address, and holds the console against errors at the end."""
    def opened(page, place="", **how):
        show(chromium, f"{TOYS / page}#{place}", **how)
        return chromium

    yield opened
    assert errors(chromium) == []


def go(page, place):
    """To another address of a toy."""
    ask(page, f"location.hash === '#{place}' || new Promise(done => {{ addEventListener('hashchange', () => setTimeout(done), "
              f"{{ once: true }}); location.hash = '{place}' }})")


def settings_of(page):
    """Those of banks.html, and a third of coalescing.html's."""
    for bytes_, stride in itertools.product((4, 8, 16), range(0, 65)):
        for who, pad in itertools.product((32, 16, 8, 2), (0, 1, 2, 4, 8)) if page == "banks.html" else ():
            if (who == 2 or stride % (bytes_ // 4) == 0) and pad % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "pad": pad, "who": who}
        for offset in range(0, 32, 3 * bytes_ // 4) if page == "coalescing.html" else ():
            if stride % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "offset": offset}


@pytest.mark.parametrize("name, kinds", [("banks.html", ("shared", "store")), ("coalescing.html", ("global",))])
def test_counts_are_the_emulators(name, kinds, shown):
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


def test_presets(shown):
    """A chapter's costs what the emulator counted for the costliest request of its kind there. The page opens with a conflict; 03's
    wide read has none; a column, all lanes apart, half of them alike, and with a pad."""
    page = shown("banks.html")
    for place, expected in (
            ("", [4, 1]), ("stride=4&bytes=16", [4, 4]), ("apart", [1, 1]), ("column", [32, 1]), ("alike", [16, 1]),
            ("column_padded", [1, 1]),
            ("bs", ("03_shared_blocking", "shared load")), ("wide", ("04_unroll.2_wide_loads", "shared load")),
            ("old", ("04_unroll.2_wide_loads", "shared load")), ("store", ("04_unroll.2_wide_loads", "shared store")),
            ("padded", ("04_unroll", "shared store")), ("places", ("04_unroll", "shared load"))):
        go(page, place)
        if isinstance(expected, tuple):
            record, width = record_of(expected[0]), ask(page, "+find('#bytes').value")
            requests = {site for site, (kind, _, _, wide) in enumerate(record["sites"]) if (kind, wide) == (expected[1], width)}
            expected = max([cost, least] for warp in record["blocks"][0]["warps"] for site, cost, least, *_ in warp if site in requests)
        assert said(page) == expected, place


def test_banks(shown):
    """Turns and strides by button, key and click; what a cell says; what is pointed at stands out."""
    page = shown("banks.html", "wide")
    for button, turn, lanes in (("next", "1", [0, 1, 2, 3]), ("next", "2", [4, 5, 6, 7]), ("back", "1", [0, 1, 2, 3])):
        click(page, f"#{button}")
        numbers = [int(word) for word in re.findall(r"\d+", ask(page, "find('#says').textContent"))]
        assert ask(page, "turn.value") == turn and numbers[-5:] == [int(turn), *lanes], numbers
    ask(page, "find('#stride').focus()")
    press(page, "LEFT")  # 4 words: lanes side by side
    assert (said(page), ask(page, "turn.value")) == ([4, 4], "0")
    click(page, "#figure [data-turn='3']")
    assert ask(page, "turn.value") == "3"

    go(page, "bs")  # a finger on lane 4 of 03's read of 4 bytes, on a turn of bank 8, on an idle bank, and elsewhere
    for cell, numbers in (("#figure rect:nth-of-type(9)", [4, 32, 0, 2]), ("#figure [data-turn='2'][y='181']", [5, 21, 40, 8, 2]),
                          ("#figure rect:nth-of-type(4)", [1]), ("h1", [])):
        tip = ask(page, f"(find(`{cell}`).dispatchEvent(new PointerEvent('pointerdown', {{ bubbles: true }})), find('#tip').textContent)")
        assert [int(word) for word in re.findall(r"\d+", tip)] == numbers
    # The mouse on it: the lane, its line, its bank and its word stand out, and the tip leaves the other lanes in sight.
    strong = "[...document.querySelectorAll('#figure [data-of]')].filter(each => getComputedStyle(each).opacity === '1').length"
    all_ = ask(page, strong)
    move(page, *ask(page, "(r => [r.x + 5, r.y + 5])((figure.scrollIntoView(), find('#figure rect:nth-of-type(9)')"
                          ".getBoundingClientRect()))"))
    assert ask(page, strong) == 4 < all_ and ask(page, """(tip => [...document.querySelectorAll("#figure rect:nth-of-type(-2n + 63)")]
        .filter(each => (r => r.x < tip.right && r.right > tip.x && r.y < tip.bottom && r.bottom > tip.y)(each.getBoundingClientRect()))
        .length)(find("#tip").getBoundingClientRect())""") == 0
    move(page, 1200, 5)
    assert ask(page, strong) == all_

    # A bar for each stride is as high as its turns, and says so; a click sets it, and it is marked.
    for changes, strides in (({"who": 32, "pad": 0, "bytes": 4}, 65), ({"pad": 1}, 65), ({"bytes": 16, "pad": 0}, 17),
                             ({"who": 2, "bytes": 4}, 65)):
        rows = ask(page, f"""(set({changes}), (state => [...document.querySelectorAll("#strip [data-stride]")].map(each =>
            [+each.dataset.stride, each.previousElementSibling.height.baseVal.value, costOf({{ ...state, stride: +each.dataset.stride }})
            .count, each.dataset.tip.match(/\\d+/g).map(Number)]))(
            Object.fromEntries(["who", "pad", "bytes"].map(name => [name, +find("#" + name).value]))))""")
        assert len(rows) == strides and all(numbers == [stride, count] for stride, _, count, numbers in rows)
        assert all((a[1] > b[1]) == (a[2] > b[2]) for a in rows for b in rows)
    ask(page, "set({ who: 32, pad: 0, bytes: 4, stride: 32 })")
    assert re.findall(r"\d+", ask(page, "find('#strip').ariaLabel")) == "1 32 0 1 3 5 7 9 63 32 64".split()
    click(page, "#strip [data-stride='33']")
    assert (said(page), ask(page, "stride.value")) == ([1, 1], "33")
    assert ask(page, "[...document.querySelectorAll('#strip .now + [data-stride]')].map(each => each.dataset.stride)") == ["33"]


# The tile's corner on the screen, and pixels an element; and the three settings that are dragged.
PLACE = "(r => [r.x + place.left, r.y + place.top, place.scale])(find('#figure svg').getBoundingClientRect())"
EDGES = "[bm, bn, tm].map(each => each.nextElementSibling.value)"


def test_roofline(shown):
    """Its presets are the chapters' predictions, but for the bytes of C. Corners are dragged with the mouse, a finger and keys, without
    moving the page or choosing words; the pointer gets hold of all of them, at each width."""
    page = shown("roofline.html")
    rows = [*csv.DictReader((ROOT / "docs/results/h200/ladder.csv").open())]
    for place, stage in (("naive", "01_naive"), ("registers", "02_register_blocking"), ("shared", "03_shared_blocking"),
                         ("unroll", "04_unroll")):
        go(page, place)
        predicted, = (float(row["predicted_gflops"]) for row in rows if (row["stage"], row["n"]) == (stage, "8192"))
        tera = float(re.search(r"\d+\.\d", ask(page, "find('#says strong').textContent"))[0])
        assert tera == pytest.approx(predicted / 1000, rel=.05, abs=.05), place
        assert ask(page, "document.querySelectorAll('#figure :is(circle.now, path.to)').length") > 0
    # Nothing is marked as reached while not one block fits on an SM.
    ask(page, "set({ bm: 8, bn: 8, tm: 3, tn: 3, depth: 32, others: 128 })")
    assert ask(page, "[blockOf({ bm: 256, bn: 256, tm: 8, tn: 8, depth: 32, others: 128 }).blocks, "
                     "document.querySelectorAll('#figure :is(circle.now, path.to)').length]") == [0, 0]
    for width in (390, 830, 1280):
        resize(page, width, 1000)
        ask(page, f"(set({{ bm: 8, bn: 8, tm: 3, tn: 3 }}), {DRAWN})")
        assert ask(page, """(figure.scrollIntoView({ block: "end" }), ["b", "t"].flatMap(name => {
            const grip = find(`[data-grip=${name}]`), { left, right, top, bottom } = grip.getBoundingClientRect();
            const ends = [[left + 2, (top + bottom) / 2], [right - 2, (top + bottom) / 2], [(left + right) / 2, top + 2],
                [(left + right) / 2, bottom - 2]];
            return ends.filter(([x, y]) => document.elementFromPoint(x, y) !== grip);
        }))""") == [], width
        ask(page, f"(set({{ bm: 7, bn: 7 }}), figure.scrollIntoView({{ block: 'end' }}), {DRAWN})")
        x, y, by = ask(page, PLACE)
        top = ask(page, "scrollY")
        drag(page, (x + 128 * by, y + 128 * by), (x + 64 * by, y + 32 * by), finger=width == 390)
        assert ask(page, EDGES) == ["32", "64", "8"] and ask(page, "scrollY") == top, width
    ask(page, "find('#tm').focus()")
    press(page, "LEFT")
    assert "#bm=5&bn=6&tm=2&tn=3" in ask(page, "location.hash")
    drag(page, (x - 200, y - 50), (x + 200, y + 100))  # across words
    assert ask(page, "getSelection().toString()") == ""


# Texts in the picture that run over each other, over its edge or under a box that is drawn later.
OVERLAPS = """(all => all.flatMap((a, i) => a.t === "" ? [] : (a.r.right > all.edge + .5 ? [a.t] : []).concat(
    all.slice(i + 1).filter(b =>
        a.r.x < b.r.right - .5 && b.r.x < a.r.right - .5 && a.r.y < b.r.bottom - 4 && b.r.y < a.r.bottom - 4)
    .map(b => a.t + "|" + b.t))))(Object.assign([...document.querySelectorAll("#figure :is(text, rect)")]
    .map(each => ({ r: each.getBoundingClientRect(), t: each.textContent })),
    { edge: document.querySelector("#figure svg").getBoundingClientRect().right }))"""


def test_no_words_run_together(shown):
    """At strides of each kind, and at the last of many turns; and of the words either each says a lane or none does. Of 32 lanes
    sectors name each eighth."""
    page = shown("banks.html")
    for width in (366, 736, 1280):
        resize(page, width, 900)
        ask(page, f"(document.documentElement.classList.toggle('embedded', innerWidth < 1000), {DRAWN})")
        strides = 0, 1, 2, 3, 4, 5, 8, 12, 16, 24, 31, 32, 48, 63, 64
        assert ask(page, f"""[32, 16].flatMap(who => {[*strides]}.flatMap(stride => [0, 99].map(turn => {{
            set({{ who, stride, turn }});
            const [boxes, named] = ["", " + text"].map(each => document.querySelectorAll("#figure [data-turn]" + each).length);
            return [who, stride, ...{OVERLAPS}, ...[0, boxes].includes(named) ? [] : [`${{named}} of ${{boxes}}`]];
        }}))).filter(each => each.length > 2)""") == [], width
        ask(page, "set({ who: 32, stride: 32, turn: 0 })")
        heads = ask(page, "[...document.querySelectorAll('#figure text.lesser')].map(each => each.textContent)")
        assert {"1", "8", "16"} <= set(heads)
    page = shown("coalescing.html")
    for width, place in itertools.product((390, 1280), ("row", "shifted", "column", "wide", "stride=1&offset=3", "stride=2", "stride=3")):
        resize(page, width, 900)
        go(page, place)
        overlaps, labels = ask(page, f"{DRAWN}.then(() => [{OVERLAPS}, [...document.querySelectorAll('#figure .now ~ text')]"
                                     ".map(each => parseInt(each.textContent))])")
        assert overlaps == [] and {0, 8, 16, 24} <= set(labels), (width, place)


SEEN = "[...document.querySelectorAll({})].filter(each => each.checkVisibility() && each.getClientRects().length).map(each => {})"


@pytest.mark.parametrize("name", PAGES)
def test_in_a_lesson(name, shown, tmp_path):
    """In a frame that is hidden at first the picture has its width once it is shown. There is what the lesson does not say itself: of
    the banks a chapter's presets, three controls, the picture and the sentence."""
    (tmp_path / "frame.html").write_text(f'<!DOCTYPE html><iframe style="display: none" width="736" height="900"'
                                         f' src="file://{TOYS / name}#wide"></iframe>')
    page = shown(tmp_path / "frame.html")
    page.switch_to.frame(0)
    assert wait(page, "!!find('#says').textContent")
    for width in (736, 366):
        page.switch_to.default_content()
        ask(page, f"Object.assign(document.querySelector('iframe'), {{ width: {width}, style: 'display: block' }}) && {DRAWN}")
        page.switch_to.frame(0)
        assert wait(page, f"innerWidth === {width} && figure.clientWidth > 300")
        wide, picture, sideways = ask(page, f"{DRAWN}.then(() => [figure.clientWidth, find('#figure svg').clientWidth, "
                                            "document.documentElement.scrollWidth])")
        assert wide * (.5 if name == "banks.html" else .9) < picture <= wide and sideways <= width
        for place, chapter in (("bs", "03"), ("wide", "03"), ("store", "04"), ("places", "04")) * (name == "banks.html"):
            go(page, place)
            assert ask(page, SEEN.format("'[role=group]'", "each.ariaLabel")) == [chapter]
            assert ask(page, SEEN.format("'#controls input, #controls select'", "each.id")) == ["stride", "pad", "bytes"]
            assert ask(page, SEEN.format("'p, h1, details, header, #steps, #strip'", "each.id")) == ["about", "says", "strip"]
    page.switch_to.default_content()


@pytest.mark.parametrize("name", PAGES)
def test_looks(name, shown):
    """On a phone, in each language and in the dark, too: each word is there, no text is cut off, and all can be told apart. A preset is
    shown as chosen while the settings are its own. On a phone all that is chosen stands above the picture, but for the roofline's
    sliders: there one drags in it."""
    page = shown(name)
    for number in range(ask(page, "presets.querySelectorAll('button').length")):
        pressed = ask(page, f"(presets.querySelectorAll('button')[{number}].click(), [...presets.querySelectorAll('button')]"
                            ".map(each => [each.ariaPressed, each.dataset.set]))")
        assert {query for state, query in pressed if state == "true"} == {pressed[number][1]} and pressed[number][0] == "true"
    ask(page, "set({ stride: 13, bytes: 4, others: 88 })")
    assert ask(page, "presets.querySelector('[aria-pressed=true]')") is None
    assert ask(page, "Object.values(WORDS).every(each => each.length === 3 && each.every(Boolean))")
    for width in (390, 1280):
        resize(page, width, 800)
        assert ask(page, f"""{DRAWN}.then(() => [0, 1, 2].flatMap(each => {{
            find("#language").value = each;
            find("#language").dispatchEvent(new Event("input"));
            const cut = [...document.querySelectorAll("svg text")].filter(text => ((box, frame) => box.left < frame.left - 1 ||
                box.right > frame.right + 1)(text.getBoundingClientRect(), text.closest("svg").getBoundingClientRect()));
            const root = document.documentElement, wrong = {{ sideways: root.scrollWidth > {width},
                words: /undefined|[{{}}]/.test(document.body.innerText), language: root.lang !== ["en", "ja", "zh"][each] }};
            return Object.keys(wrong).filter(each => wrong[each]).concat(cut.map(text => text.textContent));
        }}))""") == [], width
        if width == 390:
            above = "#presets, #steps, #says" + (", #controls" if name != "roofline.html" else "")
            assert ask(page, f"""[...document.querySelectorAll("{above}")].every(each =>
                each.offsetTop + each.offsetHeight <= figure.offsetTop)""")
            assert ask(page, "[...document.querySelectorAll('button')].every(each => each.getBoundingClientRect().right <= 390)")
    pairs = ("ink", "paper", 4.5), ("lesser", "paper", 4.5), ("ink", "fill", 4.5), ("ink", "done", 4.5), ("on-now", "now", 4.5), \
        ("edge", "paper", 3), ("now", "paper", 3), ("now", "done", 3)
    for theme in ("light", "dark"):
        scheme(page, theme)
        colours = ask(page, f"{[pair[:2] for pair in map(list, pairs)]}.map(pair => pair.map(each => "
                            "getComputedStyle(document.documentElement).getPropertyValue('--' + each).trim()))")
        assert [pair for pair, found in zip(pairs, contrasts(page, colours)) if found < pair[2]] == [], theme
        assert (contrasts(page, [("#000", colours[0][1])])[0] < 2) == (theme == "dark")
    scheme(page, "")
