"""The pages of ./run view in a browser: they step, jump, show what the emulator counted, and say nothing on the console."""
import collections
import re
import sys

import pytest

import view
from browser import ask, chromium, click, errors, move, pause, press, show  # noqa: F401
from records import STAGES, record_of
from support import ROOT, call

SHARED, RING = "03_shared_blocking", "11_wgmma.2_store"


@pytest.fixture
def shown(chromium, tmp_path):  # noqa: F811
    """Opens a page of records, and holds the console against errors at the end."""
    def opened(*records, place="", **how):
        path = tmp_path / "page.html"
        path.write_text(view.page("test", records))
        assert path.stat().st_size < 2e6
        show(chromium, "dev/null")  # else another place on a page is no new one
        show(chromium, f"{path}{place}", **how)
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
    press(page, "c")  # a cell of a bank conflict: its word and bank, its lanes and their turn
    x, y, words = ask(page, """(v => {
        const box = v.find(".banks canvas").getBoundingClientRect(), row = v.rows.findIndex(each => each.array.name === "Bs");
        return [box.x + v.bankLabel, box.y + row * v.bankHigh, wavefrontsOf(v.event).words];
    })(views[0])""")
    cell, high = ask(page, "[views[0].bankCell, views[0].bankHigh]")
    begin = ask(page, "views[0].data.arrays.find(each => each.name === 'Bs').begin / 4")
    for each in words:
        at = each["word"] - begin
        move(page, x + cell * (at % 32) + 3, y + high * (at // 32) + 3)
        tip = ask(page, "document.getElementById('tip').textContent").splitlines()
        assert re.findall(r"\d+", tip[0]) == [str(number) for number in (at, at, each["bank"])]
        said = [int(number) for number in re.findall(r"\d+", tip[1])]
        assert said == [*each["lanes"], each["wavefront"]]
        assert len(tip) <= 6  # of the events that touched it three, and how many more


def test_problems(shown):
    """A race's buttons go to its two accesses."""
    record = record_of(SHARED)
    page = shown({**record, "problems": [{"text": "a race", "block": 0, "accesses": [[2, 3, 5], [1, 0, 7]]}]})
    for child, place in (("first", [2, 3, 5]), ("last", [1, 0, 7])):
        click(page, f".problem button:{child}-of-type")
        assert ask(page, "[views[0].warp, views[0].index, views[0].lane]") == place


def test_races_in_each_language(shown, tmp_path):
    """What the emulator says of them: in English as it says it, in the others with the same places and numbers."""
    source = (ROOT / SHARED / "matmul.cu").read_text().splitlines()
    last = max(i for i, line in enumerate(source) if "__syncthreads();" in line)
    (tmp_path / "mine.cu").write_text("\n".join(source[:last] + source[last + 1:]))
    call(sys.executable, "-B", ROOT / "tools/run.py", "view", tmp_path / "mine.cu", "--html", tmp_path / "mine.html")
    (race, *_), = re.findall(r'"text":"([^"]*race[^"]*)"', (tmp_path / "mine.html").read_text()),
    page = shown(record_of(SHARED))
    block = ": mine.cu:3 adds to what a.cu:4 reads (block (1,0) thread (0,2), block (2,0) thread 7's copy)"
    for text in (race, "race in global memory" + block,
                 "no fence_proxy_async() after mine.cu:3 writes what a.cu:4 reads asynchronously (block 0, threads 0 and 1's copy)",
                 "uninitialised shared memory: mine.cu:3 reads what no thread of the block has written (block 0, thread 3)"):
        said = [ask(page, f"(language = {each}, problemText({text!r}))") for each in range(3)]
        assert said[0] == text and len({*said}) == 3
        for other in said[1:]:
            assert sorted(re.findall(r"[\w/]+\.cu:\d+|\d+", other)) == sorted(re.findall(r"[\w/]+\.cu:\d+|\d+", text))
            assert not re.search("memory|what|block|thread|copy|reads|writes", re.sub(r"[\w/]+\.cu:", "", other))


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
    (_, bottom), (top, _) = ask(page, """[".strip", ".bar"].map(each => {
        const r = views[0].find(each).getBoundingClientRect();
        return [r.top, r.bottom];
    })""")
    assert bottom <= top or width < 1050
    assert ask(page, "views[0].bankCell") >= 8
    assert ask(page, """[...document.querySelectorAll("canvas")].filter(each => each.checkVisibility() &&
        !each.getAttribute("aria-label") && !each.getAttribute("aria-hidden")).length""") == 0


@pytest.mark.parametrize("width", (1280, 390))
@pytest.mark.parametrize("stage", (SHARED, RING))
def test_source(stage, width, shown):
    """No line of it is cut at the right, none has more than the file's words, and one further right in the file is no further left,
    as far as one sees without scrolling; where it is broken, it goes on right of its beginning."""
    page = shown(record_of(stage), width=width, height=800)
    lines, shown_ = ask(page, """(v => {
        const panel = v.find(".source"), edge = panel.getBoundingClientRect(), text = v.data.sources[v.event.file].split("\\n");
        return [text, [...panel.children].map(row => {
            const range = document.createRange();
            range.selectNodeContents(row);
            const boxes = [...range.getClientRects()].filter(each => each.width), tops = [...new Set(boxes.map(each => each.top))];
            const starts = tops.map(top => Math.min(...boxes.filter(each => each.top === top).map(each => each.left)));
            const { top, bottom } = row.getBoundingClientRect();
            return [row.textContent, starts, top >= edge.top && bottom <= edge.bottom];
        })];
    })(views[0])""")
    assert len(lines) == len(shown_) and any(len(starts) > 1 for _, starts, _ in shown_)
    assert ask(page, "(panel => panel.scrollWidth <= panel.clientWidth)(views[0].find('.source'))")
    seen = []
    for line, (text, starts, visible) in zip(lines, shown_):
        assert text.split() == line.split()
        assert all(each > starts[0] for each in starts[1:]), line
        if visible and line.strip() and not line.lstrip().startswith("#"):
            seen.append((len(line) - len(line.lstrip()), starts[0]))
    assert len(seen) > 3 and [left for _, left in sorted(seen)] == sorted(left for _, left in seen)


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
    press(page, "c")

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
    pause(page, 300)
    assert ask(page, "playing !== null && views[0].index") > 3
    press(page, " ")
    assert ask(page, "playing") is None
    ask(page, "views[0].go(0, 0, views[0].events.length - 3, 0)")
    press(page, " ")
    pause(page, 300)
    assert ask(page, "[playing, views[0].index - views[0].events.length]") == [None, -1]
    press(page, "c", "c")
    assert ask(page, "views[0].find('.status').textContent").count("No further bank conflict") == 1


def test_words(shown):
    """Each is explained once, where it comes first, when the tab key reaches it, or a finger; and no longer."""
    page = shown(record_of(SHARED))
    press(page, "c")
    marked = "[...views[0].root.querySelectorAll('.tale .word, .status .word, .memory .word')]"
    words = ask(page, f"{marked}.map(each => each.textContent)")
    plain = [word.lower().removesuffix("s") for word in words]
    assert {"lane", "bank", "bank conflict", "wavefront", "at best"} <= {*plain} and len({*plain}) == len(plain)
    for number, word in enumerate(plain):
        span = f"{marked}[{number}]"
        ask(page, f"{span}.focus()")
        assert ask(page, "(tip => tip.hidden || tip.textContent)(document.getElementById('tip'))") == view.words()[word]
        ask(page, f"{span}.blur()")
        assert ask(page, "document.getElementById('tip').hidden")
    for key in ("ESCAPE", "RIGHT"):
        ask(page, "(document.activeElement.blur(), views[0].find('.tale .word').focus())")
        assert not ask(page, "document.getElementById('tip').hidden")
        press(page, key)
        assert ask(page, "document.getElementById('tip').hidden && !document.activeElement.matches('.word')")


def test_what_cannot_be_done_is_off(shown):
    """Back at the first explanation and event, next at the last; turns where there is one; a jump to what does not come."""
    page = shown(record_of(SHARED))

    def off(*selectors):
        return [ask(page, f"views[0].find('{each}').disabled") for each in selectors]

    ends, steps = ('[data-tell="-1"]', '[data-tell="1"]'), ("[data-do=back]", "[data-do=step]", ".play")
    assert off(*ends) == [True, False] and off(*steps) == [True, False, False]
    for _ in range(ask(page, "views[0].tales.length - 1")):
        press(page, "n")
    assert off(*ends) == [False, True]
    last = ask(page, "views[0].place")
    press(page, "RIGHT")
    assert off(*ends) == [False, True]
    click(page, "[data-tell='-1']")  # back to where one was told
    assert ask(page, "views[0].place") == last
    press(page, "END")
    assert off(*steps) == [False, True, True] and off("[data-do=conflict]", "[data-do=barrier]") == [True, True]
    press(page, "HOME")
    for _ in range(30):
        count = ask(page, "(e => e.access && !e.global ? wavefrontsOf(e).count : 0)(views[0].event)")
        assert off(".replay") == [count < 2]
        press(page, "RIGHT")


def test_what_a_screen_reader_hears(shown):
    """One region speaks: of an explanation its text, elsewhere the event, and nothing while the page plays."""
    page = shown(record_of(SHARED))
    live = "[...document.querySelectorAll('[aria-live], [role=status]')].map(each => each.textContent)"
    assert ask(page, live) == [ask(page, "views[0].find('.tale p').textContent")]
    press(page, "RIGHT")
    heard = ask(page, live)
    assert heard == [what(page)]
    ask(page, "(views[0].find('.speed').value = 25, views[0].go(0, 0, views[0].events.length - 6, 0))")
    heard_now = "new MutationObserver(() => said.push(views[0].index)).observe(views[0].find('.heard'), { childList: true })"
    ask(page, f"(said = [], {heard_now})")
    press(page, " ")
    ask(page, "new Promise(done => (function wait() { playing ? setTimeout(wait, 25) : done(); })())")
    assert ask(page, "said") == [ask(page, "views[0].events.length") - 1] and ask(page, live) == [what(page)] != heard


@pytest.mark.parametrize("stage", STAGES[:4])
def test_what_costs_more_is_always_explained(stage, shown):
    """At requests that take more than they must, of each line, in each language, with the record's figures."""
    page = shown(record_of(stage))
    cost = ask(page, """(v => v.events.flatMap((e, i) => {
        if (!isCostly(e) || v.events.slice(0, i).filter(({ line }) => line === e.line).length % 50 !== 1) return [];
        v.go(0, 0, i, 0);
        return v.captionHere < 0 ? [[e.cost, e.ideal, ...[0, 1, 2].map(each => {
            language = each;
            v.draw();
            return v.find(".tale p").textContent;
        })]] : [];
    }))(views[0])""")
    assert cost or stage in (STAGES[0], STAGES[3])
    for count, best, *said in cost:
        assert len({*said}) == 3 and not re.search("[{}]|undefined", "".join(said))
        assert all({str(count), str(best)} <= {*re.findall(r"\d+", text)} for text in said)


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
    for width in (640, 390):  # and nothing moves
        page = shown(record_of(SHARED), width=width, height=800)
        ask(page, "views[0].go(0, 0, views[0].events.findIndex(e => e.access && !e.global && wavefrontsOf(e).count > 1), 0)")
        places = "['.banks', '.key', '.bar'].map(each => views[0].find(each).getBoundingClientRect().top)"
        before = ask(page, places)
        for _ in range(ask(page, "views[0].turns") + 1):
            ask(page, "views[0].replay()")
            assert ask(page, places) == before
    page = shown(record_of(SHARED))
    press(page, "c")
    ask(page, "views[0].drawBanks()")
    pixels = "views[0].find('.banks canvas').toDataURL()"
    turns = ask(page, pixels)
    ask(page, "(s => (s.value = 'lane', s.onchange()))(views[0].find('.cells select'))")
    assert ask(page, pixels) != turns


@pytest.mark.parametrize("stage, kind", ((STAGES[0], "global load"), (SHARED, "shared load"), ("06_wmma", "tensor"),
                                         ("10_async_mma", "tensor"), (RING, "wgmma")))
def test_sums_grow(stage, kind, shown):
    """C is as dark as the warp's products are many, where it stores them, and nowhere else."""
    record = record_of(stage)
    page = shown(record)
    events = [record["sites"][event[0]][0] for event in record["blocks"][0]["warps"][0]]
    at = [index for index, each in enumerate(events) if each == kind]
    c = record["matrices"][2]
    dark, corner = [], c["begin"] + (4 * (8 * c["cols"] + 4) if kind in ("tensor", "wgmma") else 0)  # within the part's frame
    rows, columns = (record["matrices"][2][name] - 4 for name in ("rows", "cols"))  # off the frame
    elsewhere = record["matrices"][2]["begin"] + 4 * (rows * (columns + 4) + columns)
    for index in (at[0], at[len(at) // 2], at[-1]):
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


# Of each warp: { part of C that tensor cores add to: the first k of each product, or "?" }, and the elements of C that it stores.
PRODUCTS = """(v => v.blocks[0].map((events, warp) => {
    v.go(0, warp, 0, 0);
    const parts = {}, C = v.data.matrices[2], stored = [];
    for (const e of events) {
        const product = v.productAt(e), known = product?.rows;
        if (e.kind === "tensor" || e.kind === "wgmma")
            (parts[known ? [...product.rows, ...product.columns].join(" ") : "?"] ||= []).push(known ? product.ks.join(" ") : "?");
        if (e.kind === "global store") e.addresses.forEach(a => {
            for (let at = a; a !== null && at < a + e.width; at += 4) stored.push((at - C.begin) / 4);
        });
    }
    return [parts, stored];
}))(views[0])"""


def products_are_right(record, found):
    """Each part takes each k once, in order; a warp stores the parts that it has summed; the parts are all of C."""
    (rows, columns), depth, every = (record["matrices"][2][name] for name in ("rows", "cols")), record["shape"][2], []
    for parts, stored in found:
        if "?" in parts or any(ks != [f"{k} {k + 15}" for k in range(0, depth, 16)] for ks in parts.values()):
            return False
        cells = [row * columns + column for part in parts for top, bottom, left, right in [map(int, part.split())]
                 for row in range(top, min(bottom + 1, rows)) for column in range(left, min(right + 1, columns))]
        if stored and sorted(stored) != sorted(cells):
            return False
        every += cells
    return sorted(every) == [*range(rows * columns)]


TENSORS = "06_wmma", "10_async_mma", RING


@pytest.mark.parametrize("stage", TENSORS)
def test_products(stage, shown):
    """At an mma or wgmma its operands light up in A, B and shared memory, and the part of C that it adds to is said."""
    record = record_of(stage)
    page = shown(record)
    assert products_are_right(record, ask(page, PRODUCTS))
    ask(page, "views[0].go(0, 0, views[0].blocks[0][0].findLastIndex(e => e.kind === 'tensor' || e.kind === 'wgmma'), 0)")
    k = record["shape"][2]
    ks, span = rf"\[{k - 16}..{k - 1}\]", r"(\[\d+..\d+\])"
    found = re.search(f": A{span}{ks} times B{ks}{span}, added to C(.*)", what(page))
    assert found and found[3] == found[1] + found[2], what(page)
    assert f"C{found[3]} has {k} of {k} values of k." in ask(page, "views[0].find('.sums').textContent")
    lit = ask(page, "views[0].pieces")
    assert lit == ask(page, "views[0].product.a.pieces.length + views[0].product.b.pieces.length") >= 48
    assert ask(page, "(v => [...v.piecesNow().keys()].every(word => v.rows.some(row => row.line === word >> 5)))(views[0])")


def another(record, kind, change):
    """The record with another first note of that kind."""
    block = record["blocks"][0]
    at = next(i for i, note in enumerate(block["notes"]) if note[0] == kind)
    notes = [change(note) if i == at else note for i, note in enumerate(block["notes"])]
    return {**record, "blocks": [{**block, "notes": notes}]}


@pytest.mark.parametrize("stage, kind, change", [
    ("06_wmma", "mma", lambda mma: [*mma[:2], [mma[2][0] + 16, mma[2][1]], mma[3]]), ("06_wmma", "mma", lambda mma: [*mma[:3], []]),
    ("06_wmma", "fill", lambda fill: [*fill[:2], [fill[2][0] + 16, fill[2][1]]]),
    ("10_async_mma", "mma", lambda mma: [*mma[:3], [mma[3][0] + 2, mma[3][1]]]), ("10_async_mma", "mma", lambda mma: ["other"]),
    ("10_async_mma", "fill", lambda fill: [*fill[:2], [fill[2][0] + 16, fill[2][1]]]),
    ("10_async_mma", "load", lambda load: [*load[:4], load[4] + 64, *load[5:]]),
    (RING, "wgmma", lambda wgmma: [*wgmma[:2], [wgmma[2][0] + 32, wgmma[2][1]], *wgmma[3:]]),
    (RING, "load", lambda load: [*load[:5], load[5] + 16, *load[6:]])])
def test_a_wrong_product_is_seen(stage, kind, change, shown):
    record = another(record_of(stage), kind, change)
    assert not products_are_right(record, ask(shown(record), PRODUCTS))


@pytest.mark.parametrize("stage, shape", (
    ("06_wmma", (128, 128, 24)), ("06_wmma", (64, 128, 104)), ("06_wmma", (128, 128, 184)), ("06_wmma.3_async", (128, 128, 72)),
    ("10_async_mma", (128, 256, 40)), (RING, (64, 128, 40))))
def test_sums_take_each_k(stage, shape, shown):
    """Also where the last tile is not full, and what its buffer held before is still there."""
    page = shown(record_of(stage, shape))
    done = ask(page, """(v => v.blocks[0].map((events, warp) => {
        v.go(0, warp, events.length - 1, 0);
        return [...v.sumsNow().values()].map(sum => sum.done);
    }))(views[0])""")
    assert any(done) and {*sum(done, [])} == {shape[2]}


def test_operands_that_nobody_knows(shown):
    """06's second step stores A and B to shared memory from registers: the page cannot say which elements an mma takes."""
    page = shown(record_of("06_wmma.2_fragments"))
    ask(page, "views[0].go(0, 0, views[0].events.findIndex(e => e.kind === 'tensor'), 0)")
    assert not re.search(r"times|\?|undefined|null", what(page)) and ask(page, "views[0].pieces") == 64


LANGUAGES = "en", "ja", "zh"
# Names of words that a language lacks, or in which it has other places, such as {cost}.
UNLIKE = """Object.keys(WORDS).filter(name => WORDS[name].length !== 3 || !WORDS[name].every(Boolean) ||
    new Set(WORDS[name].map(text => (text.match(/\\{[^}]*\\}/g) || []).sort().join())).size > 1)"""


def test_words_are_alike(shown):
    page = shown(record_of(SHARED))
    assert ask(page, UNLIKE) == []
    for name, wrong in (("event", "['{warp}', '{warp}', '{lane}']"), ("line", "['{line}', '{line} 行目']"), ("stop", "['a', '', 'b']")):
        assert ask(page, f"(WORDS.{name} = {wrong}, {UNLIKE})") == [name]
        show(page, page.current_url.removeprefix("file://"))


@pytest.mark.parametrize("stage", (SHARED, "06_wmma", RING))
@pytest.mark.parametrize("language", LANGUAGES)
def test_languages(language, stage, shown):
    """?ja is Japanese. Each word and caption is there, none is cut off, and a word of the glossary is explained."""
    at = LANGUAGES.index(language)
    for width in (1280, 350):
        page = shown(record_of(stage), width=width, height=800, place=f"?{language}#////2")
        assert ask(page, "[document.documentElement.lang, views[0].place.split('/')[4]]") == [language, "2"]
        for _ in range(ask(page, "views[0].tales.length")):
            text = "[...document.querySelectorAll('.status, .tale, h2, .sums, table, .legend')].map(each => each.textContent).join()"
            assert not re.search(r"undefined|[{}]", ask(page, text))
            ask(page, "views[0].find('.more').open = true")
            assert ask(page, "(p => p.scrollWidth <= p.clientWidth)(views[0].find('.counts-panel'))")
            ask(page, "views[0].find('.more').open = false")
            assert ask(page, "document.documentElement.scrollWidth") <= width
            click(page, "[data-tell='1']") if ask(page, "!views[0].find(\"[data-tell='1']\").disabled") else None
    other = LANGUAGES[at - 1]
    ask(page, f"(s => (s.value = {at - 1 if at else 2}, s.onchange({{ target: s }})))(views[0].find('.language'))")
    assert ask(page, "document.documentElement.lang") == other
    assert view.captions(stage)[-1]["text"][at - 1][:4].split("{")[0] in ask(page, "views[0].find('.tale p').textContent")
    word = "views[0].find('.tale p .word')"
    assert ask(page, f"({word}.focus(), Object.values(GLOSSARY[language]).includes(document.getElementById('tip').textContent))")


def test_in_a_frame(shown, tmp_path, chromium):  # noqa: F811
    """350 pixels wide, in another page: in its language, at its caption. It takes no key from that page, and does not scroll it."""
    shown(record_of(SHARED))
    room = "<p style='height: 900px'>text"
    (tmp_path / "outer.html").write_text(f"{room}<iframe src='page.html?ja#////5' width=350 height=700></iframe>{room}")
    show(chromium, tmp_path / "outer.html", height=800)
    press(chromium, "RIGHT", "n")
    chromium.switch_to.frame(0)
    pause(chromium, 400)
    place, wide = "views[0].place", "document.documentElement.scrollWidth"
    assert ask(chromium, f"[{place}.split('/')[4], document.documentElement.lang, {wide} <= 350]") == ["5", "ja", True]
    chromium.switch_to.default_content()
    assert ask(chromium, "scrollY") == 0
    chromium.switch_to.frame(0)
    click(chromium, ".more summary")
    click(chromium, "[data-do=step]")
    chromium.switch_to.default_content()
    at = ask(chromium, "scrollY")
    chromium.switch_to.frame(0)
    index = ask(chromium, "views[0].index")
    press(chromium, "RIGHT", "END", "n")
    assert ask(chromium, "views[0].index") != index
    pause(chromium, 400)
    chromium.switch_to.default_content()
    assert ask(chromium, "scrollY") == at


@pytest.mark.parametrize("stage, width", ((SHARED, 1100), (SHARED, 350), ("06_wmma", 740), (RING, 1100), (RING, 350)))
def test_in_a_lesson(stage, width, shown, tmp_path, chromium):  # noqa: F811
    """Of each explanation one sees its text, the source and pictures; the rest waits in a closed part. All take the same room,
    whatever the frame's height; nothing but the source scrolls in it, and what stands beside other columns stays where it is. On a
    phone next stands above the pictures."""
    shown(record_of(stage))
    heights, places = [], []
    for high in (1700, 2400):  # without a bar, which takes some of the width
        (tmp_path / "outer.html").write_text(f"<iframe src='page.html?en' width={width} height={high}></iframe>")
        show(chromium, tmp_path / "outer.html", width=1280, height=900)
        chromium.switch_to.frame(0)
        ask(chromium, "document.documentElement.classList.add('embedded')")
        heights.append([])
        for _ in range(ask(chromium, "views[0].tales.length")):
            heights[-1].append(ask(chromium, "document.documentElement.getBoundingClientRect().height"))
            seen = ask(chromium, """[".tale p", ".source", ".status", ".strip", ".steps", ".speed", ".warp", ".head"]
                .map(each => views[0].find(each).checkVisibility())""")
            assert seen == [True] * 2 + [False] * 6
            places.append(ask(chromium, """[".tale", ".code", ".matrices-panel", ".memory", ".key"].flatMap(each => {
                const at = views[0].find(each).getBoundingClientRect();
                return [at.left, at.width, at.top].map(Math.round);
            })"""))
            assert ask(chromium, """(v => { const [source, columns, key] = [".source", ".columns", ".key"].map(each =>
                v.find(each).getBoundingClientRect()); return columns.width < 600 || key.top - source.bottom; })(views[0])""") < 30
            assert ask(chromium, "views[0].find('.banks').hidden || views[0].bankHigh") in (True, *range(8, 17))  # for a number
            pictures = ask(chromium, "['.matrices', '.banks', '.ring'].some(each => views[0].find(each).checkVisibility())")
            assert pictures or not ask(chromium, "views[0].event.access")
            assert ask(chromium, """[...views[0].root.querySelectorAll("*")].filter(each => each.clientHeight &&
                each.scrollHeight > each.clientHeight + 1 && getComputedStyle(each).overflowY !== "visible" &&
                !each.matches(".source, .heard, select")).map(each => each.className)""") == []
            assert ask(chromium, """[...views[0].root.querySelectorAll(".columns canvas")].filter(each => each.checkVisibility() &&
                each.getBoundingClientRect().width < parseFloat(each.style.width) - 1).map(each => each.className)""") == []
            next_, picture = (ask(chromium, f"views[0].find(\"{each}\").getBoundingClientRect().{side}")
                              for each, side in (("[data-tell='1']", "bottom"), (".columns", "top")))
            assert next_ <= picture
            ask(chromium, "views[0].tell(1)")
        chromium.switch_to.default_content()
    assert max(map(max, heights)) - min(map(min, heights)) < 1, heights
    assert width < 600 or len({*map(tuple, places)}) == 1, places
    assert max(heights[0]) < (800 if width > 1050 else 1200), heights


def test_a_swizzle_repeats(shown):
    """On a narrow page, of a box its first 8 rows, if all others are like them; else all."""
    page = shown(record_of(RING), width=390, height=844)
    ask(page, "views[0].go(0, 8, views[0].blocks[0][8].findIndex(e => e.kind === 'bulk load'), 0)")
    rows, pieces = "views[0].rows.filter(row => row.line !== undefined).length", ask(page, "[...views[0].piecesNow()]")
    lines = sorted({word // 32 for word, _ in pieces})
    each = [{(word % 32, piece) for word, piece in pieces if word // 32 == line} for line in lines]
    assert len(each) > 32 and all(row == each[at % 8] for at, row in enumerate(each))
    assert ask(page, rows) == 8 and ask(page, "views[0].bankHigh") >= 8
    ask(page, """(v => {
        const right = v.piecesNow();
        v.piecesNow = () => new Map([...right].map(([word, piece], i) => [word, i === 300 ? piece + 1 : piece]));
        v.draw();
    })(views[0])""")
    assert ask(page, rows) == len(each)


def test_on_a_phone(shown):
    """The steps take one line, and the rest waits in a closed part. A kernel without explanations shows it."""
    page = shown(record_of(SHARED), width=390, height=844)
    press(page, "c")
    assert ask(page, "views[0].find('.bar').getBoundingClientRect().height") < 50
    seen = "['.steps', '.options', '.strip'].map(each => views[0].find(each).checkVisibility())"
    assert ask(page, seen) == [True, False, False]
    page = shown({**record_of(SHARED), "captions": []}, width=390, height=844)
    assert ask(page, seen) == [True, True, True]


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
        if kind == "shared load" and width == 4:  # four of the same site, joined: a quarter of the warp goes at a time
            quarters = [words[lane:lane + 8] for lane in range(0, 32, 8)]
            banks = [collections.Counter((word + i) % 32 for word in {*quarter} for i in range(4)) for quarter in quarters]
            found["wide"] = 4 * width
            found["joined"] = sum(max(each.values()) for each in banks)
            found["least"] = sum(-(-sum(each.values()) // 32) for each in banks)
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
        said, known, text = ask(page, "views[0].find('.tale p').textContent"), facts(record, warp, index), caption["text"][0]
        if "{bank}" in text:
            known["bank"] = known[f"bank {lane}"]
        parts = re.split(r"{([^}]*)}", text)
        pattern = "".join(known.get(part) or ".+?" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        assert re.fullmatch(r"\d+ of \d+\. " + pattern, said) and "undefined" not in said, (said, known)
        for lanes in re.findall(r"{rivals}", text):  # lanes of one bank, each with another word
            named = re.search(r"Lanes ([\d, and]+) want different", said)[1]
            rivals = [int(each) for each in re.findall(r"\d+", named)]
            assert len(rivals) == int(known["cost"]) and len({known[f"bank {each}"] for each in rivals}) == 1
        assert not re.findall(r"\d", re.sub(r"{[^}]*}|[Ll]anes? \d+ ", "", text))
    click(page, "[data-tell='-1']")
    press(page, "N" if len(captions) > 2 else "n")
    assert ask(page, "views[0].place").endswith(f"/{len(captions) - 2}")


def test_address(shown):
    """It says where one is; it leads there, also when it changes; a caption is found by its number alone."""
    page = shown(record_of(SHARED))
    pause(page, 400)
    assert ask(page, "location.hash") == ""
    press(page, "c", "]")
    pause(page, 400)
    index = ask(page, "views[0].index")
    address = f"#0/0/{index + 1}/1/5"
    assert ask(page, "location.hash") == address
    ask(page, "location.hash = '#0/3/7/9/'")
    where = "[views[0].block, views[0].warp, views[0].index, views[0].lane]"
    pause(page, 50)
    assert ask(page, where) == [0, 3, 6, 9]
    ask(page, "location.hash = '#////5'")
    pause(page, 50)
    assert ask(page, where) == [0, 0, index, 0]
    ask(page, "location.hash = '#9/99/99999/x/99'")  # as near as there is
    pause(page, 50)
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
