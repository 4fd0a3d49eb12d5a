"""The toys in docs/toys: what they say of a request is what the emulator counts, for each setting, and they can be used."""
import csv
import itertools
import json
import re

import pytest

from browser import ask, chromium, click, errors, move, pause, press, show  # noqa: F401
from records import record_of
from support import ROOT, call, program
from test_pictures import light

TOYS = ROOT / "docs/toys"
PAGES = sorted(path.name for path in TOYS.glob("*.html"))


@pytest.fixture
def shown(chromium):  # noqa: F811
    """Opens a toy at an address, and holds the console against errors at the end."""
    def opened(page, place="", folder=TOYS, **how):
        show(chromium, "dev/null")
        show(chromium, f"{folder / page}#{place}", **how)
        assert ask(chromium, "document.documentElement.scrollWidth") <= how.get("width", 1280)
        return chromium

    yield opened
    assert errors(chromium) == []


def emulated(requests):
    """What the emulator counts for these: (kind, bytes a lane, 32 addresses)."""
    lines = "\n".join(" ".join(map(str, (kind, width, *addresses))) for kind, width, addresses in requests)
    run = call(program("emulator_requests_of"), stdin=None, input=lines)
    assert run.returncode == 0, run.stderr
    return [[int(word) for word in line.split()] for line in run.stdout.splitlines()]


def settings_of(page):
    """Those of banks.html, and a third of coalescing.html's."""
    for bytes_, stride in itertools.product((4, 8, 16), range(0, 65)):
        for who, pad in itertools.product((32, 16, 8, 2), (0, 1, 2, 4, 8)) if page == "banks.html" else ():
            if (who == 2 or stride % (bytes_ // 4) == 0) and pad % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "pad": pad, "who": who}
        for offset in range(0, 32, 3 * bytes_ // 4) if page == "coalescing.html" else ():
            if stride % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "offset": offset}


def disagreements(page, name):
    """Settings at which a toy counts otherwise than the emulator."""
    settings = list(settings_of(name))
    events, costs = ask(page, f"(all => [all.map(eventOf), all.map(costOf).map(each => [each.count, each.least])])"
                              f"({json.dumps(settings)})")
    kinds = {"banks.html": ("shared", "store"), "coalescing.html": ("global",)}[name]
    counted = emulated((kinds[bool(event.get("store"))], event["width"], event["addresses"]) for event in events)
    assert len(counted) == len(settings) > 500
    return [setting for setting, ours, theirs in zip(settings, costs, counted) if ours[:len(theirs)] != theirs]


@pytest.mark.parametrize("page", ("banks.html", "coalescing.html"))
def test_counts_are_the_emulators(page, shown):
    assert disagreements(shown(page), page) == []


@pytest.mark.parametrize("page, rule, wrong", [
    ("banks.html", "width <= 8 ? 2", "width <= 8 ? 1"), ("banks.html", "agree(1) || agree(2)", "agree(1)"),
    ("banks.html", "!store &&", ""), ("banks.html", "if (known)", "if (false)"), ("banks.html", "BANKS = 32", "BANKS = 16"),
    ("coalescing.html", "SECTOR = 32", "SECTOR = 64"),
    ("coalescing.html", "Math.floor(address / SECTOR)", "Math.round(address / SECTOR)")])
def test_a_wrong_rule_is_seen(page, rule, wrong, shown, tmp_path):
    for file in TOYS.iterdir():
        text = file.read_text()
        assert file.name != "rules.js" or rule in text
        (tmp_path / file.name).write_text(text.replace(rule, wrong) if file.name == "rules.js" else text)
    assert disagreements(shown(page, folder=tmp_path), page)


@pytest.mark.parametrize("preset, step, kind", [
    ("bs", "03_shared_blocking", "shared load"), ("wide", "04_unroll.2_wide_loads", "shared load"),
    ("old", "04_unroll.2_wide_loads", "shared load"),
    ("store", "04_unroll.2_wide_loads", "shared store"), ("padded", "04_unroll", "shared store"),
    ("places", "04_unroll", "shared load")])
def test_presets_are_the_chapters(preset, step, kind, shown):
    """Each costs what the emulator counted for the costliest request of its kind in that kernel."""
    page, record = shown("banks.html", preset), record_of(step)
    width, (cost, least) = ask(page, "+find('#bytes').value"), said(page)
    events = [event for block in record["blocks"] for warp in block["warps"] for event in warp]
    assert max((cost, least) for site, cost, least, *_ in events if record["sites"][site][0] == kind
               and record["sites"][site][3] == width) == (cost, least)


@pytest.mark.parametrize("preset, stage", [
    ("naive", "01_naive"), ("registers", "02_register_blocking"), ("shared", "03_shared_blocking"), ("unroll", "04_unroll")])
def test_roofs_are_the_chapters(preset, stage, shown):
    """But for the bytes of C, which the page leaves out."""
    rows = csv.DictReader((ROOT / "docs/results/h200/ladder.csv").open())
    predicted, = (float(row["predicted_gflops"]) for row in rows if (row["stage"], row["n"]) == (stage, "8192"))
    said = ask(shown("roofline.html", preset), "find('#says strong').textContent")
    assert float(said.split()[2]) == pytest.approx(predicted / 1000, rel=.05, abs=.05)


# The tile's corner on the screen, and pixels an element.
PLACE = "(r => [r.x + place.left, r.y + place.top, place.scale])(find('#figure svg').getBoundingClientRect())"


def test_drag(shown):
    """The corner of the block's tile, to half its edges; then a key on a thread's."""
    page = shown("roofline.html")
    x, y, by = ask(page, PLACE)
    drag(page, (x + 128 * by, y + 128 * by), (x + 64 * by, y + 32 * by))
    assert ask(page, "[bm, bn, tm].map(each => each.nextElementSibling.value)") == ["32", "64", "8"]
    ask(page, "find('#tm').focus()")
    press(page, "LEFT")
    assert "#bm=5&bn=6&tm=2&tn=3" in ask(page, "location.hash")


    drag(page, (x - 200, y - 50), (x + 200, y + 100))  # across words
    assert ask(page, "getSelection().toString()") == ""


def test_drag_by_finger(shown):
    """As the mouse does, and the page stays where it is."""
    page = shown("roofline.html", width=390, height=800)
    ask(page, "figure.scrollIntoView({ block: 'end' })")
    from_top = ask(page, "scrollY")
    x, y, by = ask(page, PLACE)
    finger(page, (x + 128 * by, y + 128 * by), (x + 64 * by, y + 32 * by))
    assert ask(page, "[bm, bn, tm].map(each => each.nextElementSibling.value)") == ["32", "64", "8"]
    assert ask(page, "scrollY") == from_top


@pytest.mark.parametrize("width", (390, 830, 1280))
def test_corners_are_whole(width, shown):
    """Also those of the largest tile: the pointer gets hold of a corner's upper, lower, left and right end."""
    page = shown("roofline.html", "bm=8&bn=8&tm=3&tn=3", width=width, height=1000)
    ask(page, "figure.scrollIntoView({ block: 'end' })")
    assert ask(page, """["b", "t"].map(name => (cell => (({ left, right, top, bottom }) => [[left + 2, (top + bottom) / 2],
        [right - 2, (top + bottom) / 2], [(left + right) / 2, top + 2], [(left + right) / 2, bottom - 2]]
        .filter(([x, y]) => document.elementFromPoint(x, y) !== cell))(cell.getBoundingClientRect()))(
        find(`[data-grip=${name}]`)))""") == [[], []]


def test_no_block_has_no_place_on_the_roof(shown):
    """Nothing is marked as reached while not one block fits on an SM."""
    page = shown("roofline.html", "registers")
    marked = "document.querySelectorAll('#figure :is(circle.now, path.to)').length"
    assert ask(page, marked) == 2
    ask(page, "set({ bm: 8, bn: 8, depth: 32, others: 128 })")
    assert ask(page, "blockOf({ bm: 256, bn: 256, tm: 8, tn: 8, depth: 32, others: 128 }).blocks") == 0
    assert ask(page, marked) == 0


def finger(page, begin, end, steps=8):
    """A drag by touch."""
    def touch(kind, *points):
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    touch("touchStart", begin)
    for step in range(1, steps + 1):
        touch("touchMove", [a + (b - a) * step / steps for a, b in zip(begin, end)])
        ask(page, "new Promise(done => requestAnimationFrame(done))")
    touch("touchEnd")


def drag(page, begin, end):
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    actions = ActionBuilder(page)
    actions.pointer_action.move_to_location(*map(round, begin)).pointer_down().move_to_location(*map(round, end)).pointer_up()
    actions.perform()


def said(page):
    """The numbers of the toy's first sentence."""
    return ask(page, "find('#says strong').textContent.match(/\\d+/g).map(Number)")


def test_turns(shown):
    page = shown("banks.html", "wide")
    for button, turn, lanes in (("next", "1", "0, 1, 2"), ("next", "2", "4, 5, 6"), ("back", "1", "0, 1, 2")):
        click(page, f"#{button}")
        assert ask(page, "turn.value") == turn and f"Turn {turn} serves lanes {lanes}" in ask(page, "find('#says').textContent")
    ask(page, "find('#stride').focus()")
    press(page, "LEFT")  # 4 words: lanes side by side
    assert (said(page), ask(page, "turn.value")) == ([4, 4], "0")
    click(page, "#figure [data-turn='3']")
    assert ask(page, "turn.value") == "3"


@pytest.mark.parametrize("place, expected", [
    ("", [4, 1]), ("stride=4&bytes=16", [4, 4]), ("apart", [1, 1]), ("column", [32, 1]), ("alike", [16, 1]),
    ("column_padded", [1, 1])])
def test_turns_without_a_chapter(place, expected, shown):
    """It opens with a conflict; 03's wide read without one; a column, all lanes apart, half of them alike, and with a pad."""
    assert said(shown("banks.html", place)) == expected


@pytest.mark.parametrize("name", PAGES)
def test_pressed(name, shown):
    """A preset is shown as chosen while the settings are its own."""
    page = shown(name)
    for number in range(ask(page, "presets.querySelectorAll('button').length")):
        ask(page, f"presets.querySelectorAll('button')[{number}].click()")
        pressed = ask(page, "[...presets.querySelectorAll('button')].map(each => [each.ariaPressed, each.dataset.set])")
        assert pressed[number][0] == "true"
        assert {query for state, query in pressed if state == "true"} == {pressed[number][1]}
    ask(page, "set({ stride: 13, bytes: 4, others: 88 })")
    assert ask(page, "presets.querySelector('[aria-pressed=true]')") is None


def test_a_cell_says(shown):
    """A finger on lane 4 of 03's read of 4 bytes, on a turn of bank 8, and on an idle bank."""
    page = shown("banks.html", "bs")
    for cell, numbers in (("rect:nth-of-type(9)", [4, 32, 0, 2]), ("[data-turn='2'][y='181']", [5, 21, 40, 8, 2]),
                          ("rect:nth-of-type(4)", [1])):
        ask(page, f"find(`#figure {cell}`).dispatchEvent(new PointerEvent('pointerdown', {{ bubbles: true }}))")
        assert [int(word) for word in re.findall(r"\d+", ask(page, "find('#tip').textContent"))] == numbers
    ask(page, "document.body.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))")
    assert ask(page, "find('#tip').textContent") == ""


def test_pointed_at(shown):
    """The line and the box of lane 4 stand out, and the tip leaves the other lanes and the banks' names in sight."""
    page = shown("banks.html", "bs")
    ask(page, "figure.scrollIntoView()")
    strong = "[...document.querySelectorAll('#figure [data-of]')].filter(each => getComputedStyle(each).opacity === '1').length"
    all_ = ask(page, strong)
    move(page, *ask(page, "(r => [r.x + 5, r.y + 5])(find('#figure rect:nth-of-type(9)').getBoundingClientRect())"))
    assert ask(page, "find('#tip').textContent").startswith("lane 4 ")
    assert ask(page, strong) == 4 < all_  # the lane, its line, its bank, its word
    assert ask(page, """(tip => [...document.querySelectorAll("#figure rect:nth-of-type(-2n + 63)")].filter(each =>
        (r => r.x < tip.right && r.right > tip.x && r.y < tip.bottom && r.bottom > tip.y)(each.getBoundingClientRect())).length
        )(find("#tip").getBoundingClientRect())""") == 0
    move(page, 1200, 5)
    assert ask(page, strong) == all_


# Texts in the picture that run over each other, over its edge or under a box that is drawn later.
OVERLAPS = """(all => all.flatMap((a, i) => a.t === "" ? [] : (a.r.right > all.edge + .5 ? [a.t] : []).concat(
    all.slice(i + 1).filter(b =>
        a.r.x < b.r.right - .5 && b.r.x < a.r.right - .5 && a.r.y < b.r.bottom - 4 && b.r.y < a.r.bottom - 4)
    .map(b => a.t + "|" + b.t))))(Object.assign([...document.querySelectorAll("#figure :is(text, rect)")]
    .map(each => ({ r: each.getBoundingClientRect(), t: each.textContent })),
    { edge: document.querySelector("#figure svg").getBoundingClientRect().right }))"""


@pytest.mark.parametrize("width", (366, 736, 1280))
@pytest.mark.parametrize("who", (32, 16))
def test_no_words_run_together(who, width, shown):
    """At each stride, and at the last of many turns; and of the words either each says a lane or none does."""
    page = shown("banks.html", f"who={who}", width=width, height=900)
    ask(page, "document.documentElement.classList.toggle('embedded', innerWidth < 1000)")
    seen = ask(page, f"""[...Array(65).keys()].flatMap(stride => [0, 99].map(turn => {{
        set({{ stride, turn }});
        const boxes = document.querySelectorAll("#figure [data-turn]").length;
        return [stride, {OVERLAPS}, boxes, document.querySelectorAll("#figure [data-turn] + text").length]; }}))""")
    assert [(stride, overlaps) for stride, overlaps, *_ in seen if overlaps] == []
    assert [row for row in seen if row[3] not in (0, row[2])] == []
    ask(page, "set({ stride: 32, turn: 0 })")
    heads = ask(page, "[...document.querySelectorAll('#figure text.lesser')].map(each => each.textContent)")
    assert {"1", "8", "16"} <= set(heads)


@pytest.mark.parametrize("place", ("row", "shifted", "column", "wide", "stride=1&offset=3", "stride=2", "stride=3"))
@pytest.mark.parametrize("width", (390, 1280))
def test_lanes_have_labels(place, width, shown):
    page = shown("coalescing.html", place, width=width, height=900)
    assert ask(page, OVERLAPS) == []
    labels = ask(page, "[...document.querySelectorAll('#figure .now ~ text')].map(each => parseInt(each.textContent))")
    assert {0, 8, 16, 24} <= set(labels)


def test_strip(shown):
    """A bar for each stride is as high as its turns; a click sets it, and it is marked. It says in words what it shows."""
    page = shown("banks.html", "column")
    bars = "[...document.querySelectorAll('#strip [data-stride]')]"
    for changes, strides in (("{}", 65), ("{ pad: 1 }", 65), ("{ bytes: 16, pad: 0 }", 17), ("{ who: 2, bytes: 4 }", 65)):
        rows = ask(page, f"""(set({changes}), (state => {bars}.map(each => [each.dataset.stride, each.previousElementSibling.height
            .baseVal.value, costOf({{ ...state, stride: +each.dataset.stride }}).count, each.dataset.tip]))(
            Object.fromEntries(["who", "pad", "bytes"].map(name => [name, +find("#" + name).value]))))""")
        assert len(rows) == strides
        assert all(f"{count} turn" in tip and f"stride {stride}:" in tip for stride, _, count, tip in rows)
        assert all((a[1] > b[1]) == (a[2] > b[2]) for a in rows for b in rows)
    ask(page, "set({ who: 32, pad: 0, bytes: 4, stride: 32 })")
    assert re.findall(r"\d+", ask(page, "find('#strip').ariaLabel")) == "1 32 0 1 3 5 7 9 63 32 64".split()
    click(page, "#strip [data-stride='33']")
    assert (said(page), ask(page, "stride.value")) == ([1, 1], "33")
    assert ask(page, "[...document.querySelectorAll('#strip .now + [data-stride]')].map(each => each.dataset.stride)") == ["33"]


@pytest.mark.parametrize("name", PAGES)
def test_drawn_before_it_has_room(name, shown, tmp_path):
    """In a frame that is hidden at first; the picture has its width once it is shown."""
    (tmp_path / "frame.html").write_text(f'<!DOCTYPE html><iframe style="display: none" width="700" height="500"'
                                         f' src="file://{TOYS / name}"></iframe>')
    page = shown("frame.html", folder=tmp_path)
    page.switch_to.frame(0)
    assert ask(page, "!!find('#says').textContent")
    page.switch_to.default_content()
    ask(page, "(document.querySelector('iframe').style.display = 'block')")
    pause(page, 200)
    page.switch_to.frame(0)
    wide = ask(page, "figure.clientWidth")
    assert wide > 300 and wide * .5 < ask(page, "find('#figure svg').clientWidth") <= wide
    page.switch_to.default_content()


SEEN = "[...document.querySelectorAll({})].filter(each => each.checkVisibility() && each.getClientRects().length).map(each => {})"


@pytest.mark.parametrize("place, chapter", [("bs", "03"), ("wide", "03"), ("store", "04"), ("places", "04")])
@pytest.mark.parametrize("width", (366, 736))
def test_embedded(place, chapter, width, shown):
    """In a lesson: its presets, three controls, the picture and the sentence; nothing that the lesson says itself."""
    page = shown("banks.html", place, width=width)
    ask(page, "document.documentElement.classList.add('embedded'), set({})")
    assert ask(page, SEEN.format("'[role=group]'", "each.ariaLabel")) == [chapter]
    assert ask(page, SEEN.format("'#controls input, #controls select'", "each.id")) == ["stride", "pad", "bytes"]
    assert ask(page, SEEN.format("'p, h1, details, header, #steps'", "each.id")) == ["about", "says"]
    assert ask(page, SEEN.format("'#strip'", "each.id")) == ["strip"]
    assert ask(page, "document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone(name, shown):
    """All that is chosen stands above the picture, but for the roofline's sliders: there one drags in it."""
    page = shown(name, width=390, height=800)
    above = "#presets, #steps, #says" + (", #controls" if name != "roofline.html" else "")
    ends = ask(page, f"[...document.querySelectorAll('{above}')].map(each => each.offsetTop + each.offsetHeight)")
    assert ends and max(ends) <= ask(page, "figure.offsetTop")
    assert ask(page, "Math.max(...[...document.querySelectorAll('button')].map(each => each.getBoundingClientRect().right))") <= 390


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("language", range(3))
def test_looks(name, language, shown):
    """On a phone, in each language and in the dark, too: each word is there, no text is cut off, and all can be told apart."""
    for width in (390, 1280):
        page = shown(name, width=width, height=800)
        ask(page, f"(language = {language}, set({{}}))")
        assert ask(page, "Object.values(WORDS).every(each => each.length === 3 && each.every(Boolean))")
        assert ask(page, "document.documentElement.scrollWidth") <= width
        assert "undefined" not in ask(page, "document.body.innerText")
        assert ask(page, """[...document.querySelectorAll("svg text")].filter(text => ((box, frame) =>
            box.left < frame.left - 1 || box.right > frame.right + 1)(text.getBoundingClientRect(),
            text.closest("svg").getBoundingClientRect())).map(text => text.textContent)""") == []
    for scheme in ("light", "dark"):
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        ask(page, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        colours = {each: light(ask(page, f"getComputedStyle(document.documentElement).getPropertyValue('--{each}').trim()"))
                   for each in "paper ink lesser edge fill done now on-now".split()}
        for on, under, least in (("ink", "paper", 4.5), ("lesser", "paper", 4.5), ("ink", "fill", 4.5), ("ink", "done", 4.5),
                                 ("on-now", "now", 4.5), ("edge", "paper", 3), ("now", "paper", 3), ("now", "done", 3)):
            assert max(colours[on] / colours[under], colours[under] / colours[on]) > least, (scheme, on, under)
