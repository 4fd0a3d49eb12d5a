"""The pages of ./run view in a browser: they step, jump, show what the emulator counted, and say nothing on the console."""
import re
import sys

import pytest

import view
from browser import ask, chromium, click, errors, move, press, show  # noqa: F401
from records import STAGES, record_of
from support import ROOT, call

SHARED, RING = "03_shared_blocking", "11_wgmma.2_store"


@pytest.fixture
def shown(chromium, tmp_path):  # noqa: F811
    """Opens a page of records, and holds the console against errors at the end."""
    def opened(*records, **how):
        path = tmp_path / "page.html"
        path.write_text(view.page("test", records))
        assert path.stat().st_size < 2e6
        show(chromium, path, **how)
        assert ask(chromium, "disagreements()") == 0  # the page's own rule for each request against the emulator's count
        assert ask(chromium, "document.documentElement.scrollWidth") <= how.get("width", 1280)
        return chromium

    yield opened
    assert errors(chromium) == []


def what(page):
    return ask(page, "document.querySelector('.status').textContent")


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage(stage, shown):
    """Of a sample of its requests: each colours as many cells as its addresses say. Also on a phone."""
    m, n, k = view.usual_shape(stage)
    record = record_of(stage, (m, n, min(k, 64)))
    page = shown(record)
    chosen, right = ask(page, """(v => {
        const chosen = v.events.filter(e => e.access).filter((e, i) => i % 37 < 2);
        return [chosen.length, chosen.filter(e => {
            v.index = v.events.indexOf(e);
            v.draw();
            const cells = new Set();
            e.addresses.forEach(a => {
                for (let at = a; a !== null && at < a + e.width; at += 2)
                    cells.add(e.global ? JSON.stringify(v.placeOf(at)) : Math.floor(at / 4));
            });
            return cells.size === (e.global ? v.coloured : v.asked);
        }).length];
    })(views[0])""")
    assert chosen == right > 1
    shown(record, width=390, height=844)


def test_steps(shown):
    page = shown(record_of(SHARED))

    def pressed(*keys):
        """[warp, event, lane, its kind, whether it costs more than it must] after these keys."""
        press(page, *keys)
        return ask(page, "(v => [v.warp, v.index, v.lane, v.event.kind, isCostly(v.event)])(views[0])")

    last = ask(page, "views[0].events.length") - 1
    assert pressed("RIGHT")[:3] == [0, 1, 0] and pressed("LEFT")[:3] == [0, 0, 0]
    _, first, _, kind, _ = pressed("b")
    assert kind == "barrier"
    _, _, _, kind, costly = pressed("c")
    assert kind.startswith("shared") and costly and pressed("B")[1] == first  # with shift
    _, index, _, kind, costly = pressed("HOME", "u")
    assert index > 0 and kind.startswith("global") and costly
    assert pressed("DOWN", "END", "]")[:4] == [1, last, 1, "global store"]
    line = ask(page, "views[0].event.line")
    assert f"event {last + 1} of {last + 1}: global store, line {line}, " in what(page) and "lane 1: C[" in what(page)
    assert int(ask(page, "document.querySelector('.now').dataset.line")) == line
    press(page, "u")
    assert "No further uncoalesced request in this warp." in what(page)
    press(page, "HOME")
    for button in ("step", "step", "back"):
        click(page, f"[data-do={button}]")
    assert pressed()[1] == 1


def test_two_side_by_side(shown):
    page = shown(*map(record_of, STAGES[2:4]))
    click(page, ".view:last-child .together input")
    press(page, "RIGHT")
    assert ask(page, "views.map(view => view.index)") == [1, 1]


def test_ring(shown):
    """11: what each event does to mbarriers, TMA and wgmma, in words and in the table."""
    page = shown(record_of(RING))
    for warp, kind, said, cell in (
            (0, "wait", "waits until phase 0 of full[0] is complete", "0 of 1 arrived; waiting: warps 0..7"),
            (8, "arrive", "bytes more", "bytes to come; waiting: warps 0..7"),
            (8, "bulk load", "to As[0], which full[0] is told of", "coming"),
            (3, "wgmma", "reads As[0] and Bs[0][0]", "wgmma: "),
            (3, "arrive", "at empty[0]", "of 8 arrived, warps 0.."),
            (0, "bulk store", "to C[0..63][0..31]", "TMA is to read Cs[0][0][0] to C[0..63][0..31]")):
        ask(page, f"views[0].go(0, {warp}, views[0].blocks[0][{warp}].findIndex(e => e.kind === '{kind}'), 0)")
        assert said in what(page) and cell in ask(page, "document.querySelector('.ring').textContent")
        assert (ask(page, "views[0].piecesNow().size") > 0) == (kind in ("bulk load", "wgmma", "bulk store"))
    for step in range(4):  # the first tiles of 64 k, one wgmma after the other
        ask(page, f"views[0].go(0, 0, views[0].blocks[0][0].findIndex(e => e.kind === 'wgmma') + {step}, 0)")
        k = f"[{16 * step}..{16 * step + 15}]"
        assert re.search(rf": A\[0\.\.\d+\]{re.escape(k)} times B{re.escape(k)}\[0\.\.\d+\]", what(page)), what(page)


def test_hover(shown):
    page = shown(record_of(SHARED))
    x, y = ask(page, "(r => [r.x, r.y])(document.querySelector('.matrices').getBoundingClientRect())")
    _, left, top = ask(page, "views[0].corners[0]")
    move(page, x + left + 1, y + top + 1)
    tip = ask(page, "document.getElementById('tip').textContent").splitlines()
    assert tip[0] == "A[0][0]" and tip[1].startswith("warp 0, event 1: global load, line ")


def test_problems(shown):
    """A race's buttons go to its two accesses."""
    record = record_of(SHARED)
    page = shown({**record, "problems": [{"text": "a race", "block": 0, "accesses": [[2, 3, 5], [1, 0, 7]]}]})
    for child, place in (("first", [2, 3, 5]), ("last", [1, 0, 7])):
        click(page, f".problem button:{child}-of-type")
        assert ask(page, "[views[0].warp, views[0].index, views[0].lane]") == place


@pytest.mark.parametrize("width, height", ((1280, 800), (830, 800), (390, 844)))
@pytest.mark.parametrize("stage", (SHARED, STAGES[5], RING))
def test_layout(stage, width, height, shown):
    """The line is there as a whole at each of the warp's sites; the timeline above what it is stepped with, on a wide page; each
    canvas has words; a number fits its cell."""
    page = shown(record_of(stage), width=width, height=height)
    assert ask(page, """(v => v.data.sites.filter((_, site) => {
        const at = v.data.blocks[0].warps[0].findIndex(e => e[0] === site);
        if (at < 0 || !v.data.sites[site][2]) return false;
        v.go(0, 0, at, 0);
        const [line, panel] = [".now", ".source"].map(each => v.find(each).getBoundingClientRect()), now = v.find(".now");
        return line.top < panel.top || line.bottom > panel.bottom || line.right > panel.right ||
            now.scrollWidth > now.clientWidth || v.find(".source").scrollLeft > 0;
    }))(views[0])""") == []
    (_, bottom), (top, _) = ask(page, """[".strip", ".controls"].map(each => {
        const r = views[0].find(each).getBoundingClientRect();
        return [r.top, r.bottom];
    })""")
    assert bottom <= top or width < 1050
    assert ask(page, "views[0].bankCell") >= 8
    assert ask(page, """[...document.querySelectorAll("canvas")].filter(each => each.checkVisibility() &&
        !each.getAttribute("aria-label") && !each.getAttribute("aria-hidden")).length""") == 0


@pytest.mark.parametrize("theme", ("light", "dark"))
def test_contrast(theme, shown):
    """Of each lane's colour, and of each other one, on the page: 3:1; of the number in a lane's cell 4.5:1."""
    page = shown(record_of(SHARED))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
    ask(page, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def luminance(colour):
        context = "document.createElement('canvas').getContext('2d')"
        rgb = ask(page, f"(c => (c.fillStyle = {colour}, c.fillRect(0, 0, 1, 1), [...c.getImageData(0, 0, 1, 1).data]))({context})")
        linear = [(c / 255 + .055) ** 2.4 / 1.055 ** 2.4 if c > 10 else c / 255 / 12.92 for c in rgb]
        return .05 + .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2]

    def contrast(*colours):
        low, high = sorted(map(luminance, colours))
        return high / low

    paper = "getComputedStyle(document.body).backgroundColor"
    assert (luminance(paper) < .1) == (theme == "dark")
    for lane in range(32):
        assert contrast(f"LANE_COLOURS[{lane}]", paper) >= 3 and contrast(f"LANE_COLOURS[{lane}]", f"inkOn({lane})") >= 4.3
    for name in ("ink", "note", "line", "costly", "global", "shared"):
        assert contrast(f"COLOURS.{name}", paper) >= 3
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_tap_lasts(shown):
    """And the next one, elsewhere, ends it."""
    page = shown(record_of(SHARED), width=390, height=844)

    def tapped(at):
        x, y = ask(page, f"({at})(views[0])")
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        return ask(page, "document.getElementById('tip') && !document.getElementById('tip').hidden")

    assert tapped("""v => { const canvas = v.find(".banks canvas"); canvas.scrollIntoView({ block: "center" });
        const r = canvas.getBoundingClientRect(); return [r.x + v.bankLabel + 4, r.y + 4]; }""")
    assert not tapped("v => (r => [r.x + 4, r.y + 4])((scrollTo(0, 0), v.find('h1').getBoundingClientRect()))")


def test_two_on_a_phone(shown):
    page = shown(*map(record_of, STAGES[2:4]), width=390, height=844)
    first, second = ask(page, "views.map(view => (r => [r.left, r.right, r.top, r.bottom])(view.root.getBoundingClientRect()))")
    assert first[:2] == second[:2] and first[3] <= second[2]


def test_play(shown):
    """Space plays, too after a click on another button, and stops. It stops at the warp's end by itself."""
    page = shown(record_of(SHARED))
    ask(page, "views[0].find('.speed').value = 25")
    click(page, "[data-do=step]")
    press(page, " ")
    ask(page, "new Promise(done => setTimeout(done, 300))")
    assert ask(page, "playing !== null && views[0].index") > 3
    press(page, " ")
    assert ask(page, "playing") is None
    ask(page, "views[0].go(0, 0, views[0].events.length - 3, 0)")
    press(page, " ")
    ask(page, "new Promise(done => setTimeout(done, 300))")
    assert ask(page, "[playing, views[0].index - views[0].events.length]") == [None, -1]
    press(page, "c", "c")
    assert ask(page, "views[0].find('.status').textContent").count("No further bank conflict") == 1


def test_words(shown):
    """Each is explained where it stands, as in the glossary, when the tab key reaches it, or a finger; and no longer."""
    page = shown(record_of(SHARED))
    press(page, "c")
    for word, where in (("wavefront", ".what"), ("at best", ".what"), ("bank conflict", ".tale p"), ("wavefront", ".banks-title")):
        span = f"[...views[0].find('{where}').querySelectorAll('.word')].find(each => each.textContent.startsWith('{word}'))"
        ask(page, f"{span}.focus()")
        assert ask(page, "(tip => tip.hidden || tip.textContent)(document.getElementById('tip'))") == view.words()[word]
        ask(page, f"{span}.blur()")
        assert ask(page, "document.getElementById('tip').hidden")
    ask(page, "views[0].find('.what .word').focus()")
    press(page, "RIGHT")
    assert ask(page, "document.getElementById('tip').hidden") and "wavefront" in what(page)
    assert ask(page, "views[0].find('.what').querySelectorAll('.word').length") <= 4  # each word once


def test_turn_by_turn(shown):
    """Each wavefront of a bank conflict serves its own lanes, all together every one; then all are shown again.
    Cells can show lanes."""
    page = shown(record_of(SHARED))
    press(page, "c")
    title, served, cost = "views[0].find('.banks-title').textContent", [], ask(page, "views[0].event.cost")
    assert cost > 1
    for turn in range(1, cost + 1):
        press(page, "t")
        said = re.fullmatch(r"Turn (\d+) of (\d+): (\d+) lanes, (.*)", ask(page, title))
        spans = re.findall(r"(\d+)(?:\.\.(\d+))?", said[4])
        lanes = [lane for first, last in spans for lane in range(int(first), int(last or first) + 1)]
        assert (int(said[1]), int(said[2]), int(said[3])) == (turn, cost, len(lanes))
        banks = ask(page, "[...views[0].wordsNow(views[0].event)].filter(([, found]) => found.served).map(([word]) => word % 32)")
        assert banks and len(banks) == len({*banks})  # a bank delivers one word at a time
        served += lanes
    assert sorted(served) == [*range(32)]
    press(page, "t")
    assert ask(page, "views[0].turn") == 0 and ask(page, title).startswith("Shared memory: ")
    click(page, ".replay")
    assert ask(page, "new Promise(done => setTimeout(() => done(views[0].turn), 1000))") == 2  # by itself
    press(page, "RIGHT")
    assert ask(page, "views[0].turn") == 0
    ask(page, "views[0].drawBanks()")
    pixels = "views[0].find('.banks canvas').toDataURL()"
    turns = ask(page, pixels)
    ask(page, "(s => (s.value = 'lane', s.onchange()))(views[0].find('.cells'))")
    assert ask(page, pixels) != turns


@pytest.mark.parametrize("stage, kind", ((STAGES[0], "global load"), (SHARED, "shared load"), (STAGES[5], "tensor")))
def test_sums_grow(stage, kind, shown):
    """C is as dark as the warp's products are many, where it stores them, and nowhere else."""
    record = record_of(stage)
    page = shown(record)
    events = [record["sites"][event[0]][0] for event in record["blocks"][0]["warps"][0]]
    dark, corner = [], ask(page, "views[0].events.find(e => e.kind === 'global store').addresses[0]")
    rows, columns = (record["matrices"][2][name] - 4 for name in ("rows", "cols"))  # off the frame
    elsewhere = record["matrices"][2]["begin"] + 4 * (rows * (columns + 4) + columns)
    for index in (events.index(kind), len(events) // 2, events.index("global store") - 1):
        ask(page, f"views[0].go(0, 0, {index}, 0)")
        assert f"{events[:index + 1].count(kind)} of {events.count(kind)} " in ask(page, "views[0].find('.sums').textContent")
        own, other = ask(page, f"""[{corner}, {elsewhere}].map(address => {{
            const at = views[0].placeOf(address), cell = views[0].cell, context = new OffscreenCanvas(1, 1).getContext("2d");
            context.drawImage(views[0].find(".matrices"), at.x + cell / 2, at.y + cell / 2, 1, 1, 0, 0, 1, 1);
            return context.getImageData(0, 0, 1, 1).data[3];
        }})""")
        assert other == 0
        dark.append(own)
    assert 0 < dark[0] < dark[1] < dark[2] < 200


def facts(record, warp, index):
    """What the braces of a caption may stand for, of the record's event: {field: text}, without names of elements."""
    events = record["blocks"][0]["warps"][warp]
    site, cost, best, moment, *lists = events[index]
    kind, _, _, width = record["sites"][site]
    note = record["blocks"][0]["notes"][moment - 1] if moment else [None]
    run = next((i for i, event in enumerate(events[index:]) if record["sites"][event[0]][0] != kind), len(events) - index)
    found = {"cost": cost, "best": best, "width": width, "warp": warp, "warps": len(record["blocks"][0]["warps"]), "run": run}
    if lists:
        words = [None if offset is None else (lists[0] + offset) // 4 for offset in record["patterns"][lists[1]]]
        found["lanes"] = sum(word is not None for word in words)
        found["words"] = len({word + i for word in words if word is not None for i in range(width // 4 or 1)})
        for lane, word in enumerate(words):
            found[f"bank {lane}"] = word and word % 32
            same = [each for each, other in enumerate(words) if other == word]
            spans = [(each, next(end for end in range(each, 33) if end + 1 not in same)) for each in same if each - 1 not in same]
            found[f"same {lane}"] = ", ".join(f"{first}..{last}" if last > first else str(first) for first, last in spans)
    if note[0] == "arrive":
        found["bytes"] = note[3]
    if note[0] in ("wait", "look"):
        found["phase"] = note[3]
    return {field: str(value) for field, value in found.items()}


@pytest.mark.parametrize("stage", [stage for stage in STAGES if view.captions(stage)])
def test_captions(stage, shown):
    """Each is found; next and back lead through them; what they say is the record's. No number stands in view.txt but a lane's."""
    record = record_of(stage)
    captions = view.captions(stage)
    assert 3 <= len(captions) <= 7
    page = shown(record)
    for number, caption in enumerate(captions, 1):
        if ask(page, "views[0].place") != "0/0/1/0/1" or number > 1:  # where the page begins
            click(page, "[data-tell='1']")
        assert ask(page, "views[0].place").endswith(f"/{number}")
        warp, index, lane = ask(page, "[views[0].warp, views[0].index, views[0].lane]")
        site = record["sites"][record["blocks"][0]["warps"][warp][index][0]]
        assert (warp, site[0], lane) == (caption["warp"], caption["kind"], caption["lane"])
        assert caption["statement"] in record["sources"][site[1]].splitlines()[site[2] - 1]
        said, known = ask(page, "views[0].find('.tale p').textContent"), facts(record, warp, index)
        if "{bank}" in caption["text"]:
            known["bank"] = known[f"bank {lane}"]
        parts = re.split(r"{([^}]*)}", caption["text"])
        pattern = "".join(known.get(part) or ".+?" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        assert re.fullmatch(r"\d+ of \d+\. " + pattern, said) and "undefined" not in said, (said, known)
        for lanes in re.findall(r"{rivals}", caption["text"]):  # lanes of one bank, each with another word
            named = re.search(r"Lanes ([\d, and]+) want different", said)[1]
            rivals = [int(each) for each in re.findall(r"\d+", named)]
            assert len(rivals) == int(known["cost"]) and len({known[f"bank {each}"] for each in rivals}) == 1
        assert not re.findall(r"\d", re.sub(r"{[^}]*}|[Ll]anes? \d+ ", "", caption["text"]))
    click(page, "[data-tell='-1']")
    press(page, "N" if len(captions) > 2 else "n")
    assert ask(page, "views[0].place").endswith(f"/{len(captions) - 2}")


def test_address(shown):
    """It says where one is; it leads there, also when it changes; a caption is found by its number alone."""
    page = shown(record_of(SHARED))
    ask(page, "new Promise(done => setTimeout(done, 400))")
    assert ask(page, "location.hash") == ""
    press(page, "c", "]")
    ask(page, "new Promise(done => setTimeout(done, 400))")
    index = ask(page, "views[0].index")
    address = f"#0/0/{index + 1}/1/5"
    assert ask(page, "location.hash") == address
    ask(page, "location.hash = '#0/3/7/9/'")
    where = "[views[0].block, views[0].warp, views[0].index, views[0].lane]"
    ask(page, "new Promise(done => setTimeout(done, 50))")
    assert ask(page, where) == [0, 3, 6, 9]
    ask(page, "location.hash = '#////5'")
    ask(page, "new Promise(done => setTimeout(done, 50))")
    assert ask(page, where) == [0, 0, index, 0]
    ask(page, "location.hash = '#9/99/99999/x/99'")  # as near as there is
    ask(page, "new Promise(done => setTimeout(done, 50))")
    assert ask(page, where) == [0, 7, ask(page, "views[0].events.length") - 1, 0]
    ask(page, f"(location.hash = '{address}', location.reload())")
    assert ask(page, where) == [0, 0, index, 1]


def test_a_warp_that_accesses_nothing(shown):
    """And lines that the compiler does not name."""
    record = record_of(STAGES[0], (1, 1, 3))
    block = {**record["blocks"][0], "warps": [*record["blocks"][0]["warps"], []]}
    page = shown({**record, "blocks": [block], "sites": [(what, "", 0, width) for what, _, _, width in record["sites"]]})
    assert "global load, line unknown, 4 bytes a lane, 1 lane: 1 sector" in what(page)
    press(page, "UP")
    assert "accesses nothing: its threads return at once." in what(page)
    press(page, "END")


def test_fragments(chromium, tmp_path):  # noqa: F811
    """Each choice of 07's page: a lane's framed elements are those of the chapter's tables."""
    path = tmp_path / "page.html"
    made = call(sys.executable, "-B", ROOT / "tools/run.py", "view", "07", "--html", path)
    assert made.returncode == 0 and made.stdout == f"{path}\n"
    show(chromium, path)
    lane = 0
    for architecture, tables in view.fragments().items():
        for name, places in tables.items():
            lane, each = (lane + 5) % 32, len(places) // 32
            choices = dict(zip(("use", "type", "layout"), name.split()), architecture=architecture)
            held = ask(chromium, f"""(() => {{
                for (const [select, value] of Object.entries({choices})) find(select).value = value, refill();
                choose({lane});
                return [...document.querySelectorAll(".grid div")].flatMap((cell, i) =>
                    [...cell.children].filter(() => cell.className === "held").map(x => [i, +x.textContent.slice(1)]));
            }})()""")
            assert sorted(held) == sorted([place, i] for i, place in enumerate(places[each * lane:each * (lane + 1)])), name
    ask(chromium, "choose(0)")
    press(chromium, "LEFT")
    assert ask(chromium, "document.querySelector('.chosen').textContent") == "31" and errors(chromium) == []
