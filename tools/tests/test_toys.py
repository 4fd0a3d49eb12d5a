"""The toys in docs/toys: what they say of a request is what the emulator counts, for each setting, and they can be used."""
import csv
import itertools
import json

import pytest

from browser import ask, chromium, click, errors, press, show  # noqa: F401
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
    ("store", "04_unroll.2_wide_loads", "shared store"), ("padded", "04_unroll", "shared store"),
    ("places", "04_unroll", "shared load")])
def test_presets_are_the_chapters(preset, step, kind, shown):
    """Each costs what the emulator counted for the costliest request of its kind in that kernel."""
    page, record = shown("banks.html", preset), record_of(step)
    width, (cost, least) = ask(page, "[+find('#bytes').value, find('#says strong').textContent.match(/\\d+/g).map(Number)]")
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


def test_drag(shown):
    """The corner of the block's tile, to half its edges; then a key on a thread's."""
    page = shown("roofline.html")
    x, y, by = ask(page, "(r => [r.x + place.left, r.y + place.top, place.scale])(find('#figure svg').getBoundingClientRect())")
    drag(page, (x + 128 * by, y + 128 * by), (x + 64 * by, y + 32 * by))
    assert ask(page, "[bm, bn, tm].map(each => each.nextElementSibling.value)") == ["32", "64", "8"]
    ask(page, "find('#tm').focus()")
    press(page, "LEFT")
    assert "#bm=5&bn=6&tm=2&tn=3" in ask(page, "location.hash")


def drag(page, begin, end):
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    actions = ActionBuilder(page)
    actions.pointer_action.move_to_location(*map(round, begin)).pointer_down().move_to_location(*map(round, end)).pointer_up()
    actions.perform()


def test_turns(shown):
    page = shown("banks.html", "wide")
    for button, turn, lanes in (("next", "1", "0, 1, 2"), ("next", "2", "4, 5, 6"), ("back", "1", "0, 1, 2")):
        click(page, f"#{button}")
        assert ask(page, "turn.value") == turn and f"Turn {turn} serves lanes {lanes}" in ask(page, "find('#says').textContent")
    ask(page, "find('#stride').focus()")
    press(page, "LEFT")  # 4 words: lanes side by side
    assert "Wavefronts: 4. At best: 4." in ask(page, "find('#says').textContent") and ask(page, "turn.value") == "0"


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
        assert ask(page, """(frame => [...document.querySelectorAll("svg text")].filter(text => (box =>
            box.left < frame.left - 1 || box.right > frame.right + 1)(text.getBoundingClientRect())).map(text => text.textContent)
            )(find("svg").getBoundingClientRect())""") == []
    for scheme in ("light", "dark"):
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        colours = {each: light(ask(page, f"getComputedStyle(document.documentElement).getPropertyValue('--{each}').trim()"))
                   for each in "paper ink lesser edge fill done now on-now".split()}
        for on, under, least in (("ink", "paper", 4.5), ("lesser", "paper", 4.5), ("ink", "fill", 4.5), ("ink", "done", 4.5),
                                 ("on-now", "now", 4.5), ("edge", "paper", 3), ("now", "paper", 3), ("now", "done", 3)):
            assert max(colours[on] / colours[under], colours[under] / colours[on]) > least, (scheme, on, under)
