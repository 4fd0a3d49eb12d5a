"""The pages of ./run view in a browser: they step, jump, show what the emulator counted, and say nothing on the console."""
import csv
import re
import sys

import pytest

import browser
import mutate
import view
from records import STAGES, built, record_of
from support import ROOT, call


@pytest.fixture(scope="module")
def chromium():
    opened = browser.Browser()
    yield opened
    opened.close()


@pytest.fixture
def shown(chromium, tmp_path):
    """Opens a page of records, and holds the console against errors at the end."""
    def show(*records, **how):
        path = tmp_path / "page.html"
        path.write_text(view.page("test", records))
        assert path.stat().st_size < 2e6
        chromium.open(path, **how)
        assert chromium.ask("disagreements()") == 0  # the page's own rule for each request against the emulator's count
        return chromium

    yield show
    assert chromium.errors() == []


def what(page):
    return page.ask("document.querySelector('.what').textContent")


def test_steps(shown):
    page = shown(record_of(STAGES[2]))
    assert what(page).startswith("Warp 0, event 1 of 304: global load, line 37, 4 bytes a lane, 32 lanes: 32 sectors, 4 at best")
    assert page.ask("views[0].coloured") == 32 and page.ask("document.querySelector('.now').dataset.line") == "37"
    page.press("ArrowRight")
    assert "shared store, line 37" in what(page) and page.ask("views[0].asked") == 32
    page.press("ArrowLeft")
    page.press("c")
    assert "4 wavefronts, 1 at best" in what(page)
    page.press("b")
    assert "barrier, line 48" in what(page)
    page.press("b", shift=True)
    assert "event 3 of 304: barrier, line 41" in what(page)
    page.press("u")
    assert "event 2 of 304" not in what(page) and "32 sectors, 4 at best" in what(page)
    for key in ("ArrowDown", "End", "]"):
        page.press(key)
    assert what(page).startswith("Warp 1, event 304 of 304: global store") and "lane 1: C[" in what(page)
    page.press("u")
    assert "No further uncoalesced request in this warp." in what(page)
    page.press("Home")
    for button in ("step", "step", "back", "barrier"):
        page.click(f"[data-do={button}]")
    assert "barrier, line 41" in what(page)
    page.click("[data-do=play]")
    assert page.ask("new Promise(done => setTimeout(() => done(views[0].index), 500))") > 2


def test_each_stage_in_a_browser(shown):
    """All requests, and the cells that each colours: those of the addresses."""
    for stage in STAGES:
        page = shown(record_of(stage, (48, 40, 24)))
        checked, right = page.ask("""(v => {
            const chosen = v.events.filter(e => e.access).filter((e, i) => i % 37 < 2);
            return [chosen.length, chosen.filter(e => {
                v.index = v.events.indexOf(e);
                e.global ? v.drawMatrices() : v.drawBanks();
                const cells = new Set();
                e.addresses.forEach(a => {
                    for (let at = a; a !== null && at < a + e.width; at += 2)
                        cells.add(e.global ? JSON.stringify(v.placeOf(at)) : Math.floor(at / 4));
                });
                return cells.size === (e.global ? v.coloured : v.asked);
            }).length];
        })(views[0])""")
        assert checked == right > 1, stage


def test_ring(shown):
    """11: phases, arrivals, bytes, who waits, what is under way; and where the swizzle has put the pieces."""
    page = shown(record_of("11_wgmma.2_store"))
    rows = "[...document.querySelectorAll('.ring tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"

    def at(warp, kind, number=0):
        """Goes to the warp's event of that kind. Gives the table."""
        index = page.ask(f"views[0].blocks[0][{warp}].map((e, i) => e.kind === '{kind}' ? i : -1).filter(i => i >= 0).at({number})")
        page.ask(f"views[0].go(0, {warp}, {index}, 0)")
        return page.ask(rows)

    def pieces():
        return page.ask("[...views[0].piecesNow()].map(([word, piece]) => [word * 4, piece])")

    expects = (128 + 256) * 64 * 2
    first = at(0, "wait")
    assert what(page).endswith("waits until phase 0 of full[0] is complete") and len(first) == 3 + 1
    assert first[0][1:3] == ["phase 0; 0 of 1 arrived; waiting: warps 0..7", "phase 0; 0 of 8 arrived"]
    arrived = at(8, "arrive")
    assert what(page).endswith(f"at full[0], which expects {expects} bytes more")
    assert arrived[0][1] == f"phase 0; 1 of 1 arrived, warp 8; {expects} bytes to come; waiting: warps 0..7"
    assert page.ask("document.querySelector('.ring .now').textContent") == arrived[0][1]
    loaded = at(8, "bulk load")
    assert what(page).endswith("A[0..127][0..63] to As[0], which full[0] is told of") and loaded[0][3] == "A[0..127][0..63] coming"
    assert pieces() == [[128 * row + 16 * (piece ^ row % 8), piece] for row in range(128) for piece in range(8)]
    product = at(3, "wgmma", 1)
    assert what(page).endswith("reads As[0] and Bs[0][0]") and product[0][1] == "phase 1; 0 of 1 arrived"
    assert product[0][3] == "A[0..127][0..63]; B[0..63][0..255]" and "coming" in product[1][3] and "coming" in product[2][3]
    assert re.match(r"wgmma: 2 by warps 0\.\.3, \d by warps 4\.\.7$", product[0][4])
    a = pieces()[:32]
    assert {piece for _, piece in a} == {2, 3} and len({place // 16 % 8 for place, _ in a}) == 8
    assert at(0, "wgmma wait")[0][4] == "wgmma: 4 by warps 0..7" and at(0, "arrive")[0][4] == ""
    assert re.match(r"phase 0; \d of 8 arrived, warps 0\.\.", at(3, "arrive")[0][2])
    assert at(0, "bulk store")[-1][1].startswith("TMA is to read Cs[0][0] to C[0..63][0..31]")
    assert at(0, "store wait", -1)[-1][1] != "none" and at(0, "wait")[-1][1] == "none"
    again = at(8, "arrive", 3)  # the first buffer once more
    assert again[0][1].startswith("phase 1; 1 of 1 arrived") and again[0][2] == "phase 1; 0 of 8 arrived"
    at(3, "arrive")
    page.ask("document.querySelector('.banks').scrollTop = 0")
    x, y, high = page.ask("(r => [r.x, r.y, views[0].bankHigh])(document.querySelector('.banks canvas').getBoundingClientRect())")
    page.move(x + page.ask("BANK_LABEL") + 1, y + high + 3)
    tip = page.ask("document.getElementById('tip').textContent").splitlines()
    assert tip[:2] == ["As[0][1][0..1]", "piece 1: A[1][8..15]"]


def test_a_warp_that_accesses_nothing(shown):
    """And lines that the compiler does not name."""
    record = record_of(STAGES[0], (1, 1, 3))
    block = {**record["blocks"][0], "warps": [*record["blocks"][0]["warps"], []]}
    page = shown({**record, "blocks": [block], "sites": [(what, "", 0, width) for what, _, _, width in record["sites"]]})
    assert "1 of 7: global load, line unknown, 4 bytes a lane, 1 lane: 1 sector" in what(page)
    page.press("ArrowUp")
    assert "accesses nothing: its threads return at once." in what(page)
    page.press("End")


def test_hover(shown):
    page = shown(record_of(STAGES[2]))
    page.press("u")
    x, y = page.ask("(r => [r.x, r.y])(document.querySelector('.matrices').getBoundingClientRect())")
    a, left, top = page.ask("views[0].corners[0]")
    page.move(x + left + 1, y + top + 1)
    tip = page.ask("document.getElementById('tip').textContent").splitlines()
    assert tip == ["A[0][0]", "warp 0, event 1: global load, line 37, lane 0"]


@pytest.mark.parametrize("width, height", [(1280, 720), (390, 844)])
def test_two_side_by_side_and_on_a_phone(shown, width, height):
    records = [record_of(stage) for stage in STAGES[2:4]]
    page = shown(*records[:2 if width > 1000 else 1], width=width, height=height, phone=width < 1000)
    assert page.ask("document.documentElement.scrollWidth") <= width
    if width > 1000:
        page.click(".view:last-child .together input")
        page.press("ArrowRight")
        assert page.ask("views.map(view => view.index)") == [1, 1]


def test_fragments(chromium, tmp_path):
    """Each choice of 07's page: a lane's framed elements are those of the chapter's tables."""
    path = tmp_path / "page.html"
    made = call(sys.executable, "-B", ROOT / "tools/run.py", "view", "07", "--html", path)
    assert made.returncode == 0 and made.stdout == f"{path}\n"
    chromium.open(path)
    for number, table in enumerate(sorted((ROOT / "07_fragment_probe/layouts").glob("sm*.csv"))):
        architecture, use, kind, layout = re.match(r"(sm70|sm75_and_later)_(\w+)_(\w+)_(\w+)", table.stem).groups()
        choices = {"use": use, "type": kind, "layout": layout, "architecture": architecture.replace("_", " ")}
        lane = 2 * number + 1
        held = chromium.ask(f"""(() => {{
            for (const [select, value] of Object.entries({choices})) find(select).value = value, refill();
            choose({lane});
            return [...document.querySelectorAll(".grid div")].flatMap((cell, i) =>
                [...cell.children].filter(() => cell.className === "held").map(x => [i, +x.textContent.slice(1)]));
        }})()""")
        rows = csv.DictReader(table.read_text().splitlines())
        assert sorted(held) == sorted([16 * int(row["row"]) + int(row["col"]), int(row["element"])]
                                      for row in rows if int(row["lane"]) == lane), table
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
        chromium.press(key)
    assert chromium.ask("document.querySelector('.chosen').textContent") == "30" and chromium.errors() == []


def test_race(shown):
    """The accesses of a broken kernel, 03 without its first barrier: those that the emulator's line names."""
    chapter, shape = STAGES[2], (128, 128, 4)
    built(chapter)
    barrier = mutate.Fault("", "matmul.cu", "__syncthreads();  // the tiles are complete", "")
    folder = mutate.tree(chapter, [barrier])
    record = view.read(view.record(mutate.build(folder, chapter, chapter, "trace"), shape), chapter, shape, folder)
    does = {"reads": "shared load", "writes": "shared store"}
    for problem in record["problems"]:
        said = [(does[verb], int(line)) for line, verb in re.findall(r"matmul.cu:(\d+) (reads|writes)", problem["text"])]
        events = [record["blocks"][problem["block"]]["warps"][warp][event] for warp, event, lane in problem["accesses"]]
        sites = [record["sites"][event[0]] for event in events]
        assert said == [(what, line) for what, _, line, _ in sites]
        touched = {event[4] + record["patterns"][event[5]][lane] for event, (_, _, lane) in zip(events, problem["accesses"])}
        assert len(touched) == 1
    kinds = {problem["text"].partition(":")[0] for problem in record["problems"]}
    assert kinds == {"race in shared memory", "uninitialised shared memory"}
    page, seen = shown(record), []
    race = [problem["text"].startswith("race") for problem in record["problems"]].index(True) + 1
    for child in ("first", "last"):
        page.click(f".problem:nth-child({race}) button:{child}-of-type")
        seen.append(what(page))
    assert "shared load, line 44" in seen[0] and "shared store, line 37" in seen[1]
    assert seen[0].split(": As[")[1] == seen[1].split(": As[")[1]
