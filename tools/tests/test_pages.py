"""The pages of ./run view in a browser: they step, jump, show what the emulator counted, and say nothing on the console."""
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
    return ask(page, "document.querySelector('.what').textContent")


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
