"""The pages of ./run view in a browser: what they show is what the emulator counted, and they work in each language, on
a phone and in a lesson. A test opens a page once, and checks many facts together (lib/view_checks.js)."""
import pathlib
import re
import sys

import pytest

import view
from browser import DRAWN, ask, chromium, click, drag, emulate, errors, move, press, resize, show, wait  # noqa: F401
from records import STAGES, record_of
from support import BUILD, ROOT, call, program

SHARED, TENSOR, RING = "03_shared_blocking", "06_wmma", "11_wgmma"
EXPLAINED_STEPS = ("10_async_mma.1_mma_sync", "10_async_mma.3_tma", "10_async_mma.4_stages", "11_wgmma.1_wgmma",
                   "13_stream_k.3_fixup")
CHECKS = pathlib.Path(__file__).with_name("lib").joinpath("view_checks.js").read_text()


@pytest.fixture
def shown(chromium, tmp_path):  # noqa: F811
    """Opens a page of records, and at the end requires that the console has no errors."""
    def opened(*records, place="", **how):
        path = tmp_path / "page.html"
        path.write_text(view.page("test", records))
        show(chromium, f"{path}{place}", **how)
        # Compares the page's cost of each request with the emulator's count.
        assert ask(chromium, "disagreements()") == 0
        prepare(chromium)
        return chromium

    yield opened
    assert errors(chromium) == []


def prepare(page):
    """Loads the checks into the page, with its kernel as `v`."""
    page.execute_script(CHECKS)
    ask(page, "void (v = views[0])")


def test_kernels(shown):
    """All stages, steps with explanations of their own, and products at other shapes. Each explanation is found at the
    place that view.txt gives, and has the record's figures; the only numbers in view.txt are lanes."""
    records = [*map(record_of, STAGES + [*EXPLAINED_STEPS]), *(record_of(*each) for each in (
        (TENSOR, (64, 128, 104)), ("10_async_mma", (128, 256, 40)), (RING, (64, 128, 40))))]
    page = shown(*records, width=880)
    for at, record in enumerate(records):
        cut = record["name"].startswith(("13_stream_k", "14_fp32_accuracy"))  # 14 multiplies what registers hold
        wrong, told = ask(page, f"checks.kernel(views[{at}], {str(cut).lower()})")
        assert wrong == [], record["name"]
        pairs = zip(record["captions"], told, strict=True)
        for number, (caption, (warp, index, lane, place, said)) in enumerate(pairs, 1):
            site, cost, best, *_ = record["blocks"][0]["warps"][warp][index]
            kind, file, line, width = record["sites"][site]
            assert place == f"0/{warp}/{index + 1}/{lane}/{number}"
            assert (kind, lane) == (caption["kind"], caption["lane"]) and caption["warp"] in (warp, None)
            assert caption["statement"] in record["sources"][file].splitlines()[line - 1]
            text, known = caption["text"][0], {"warp": warp, "cost": cost, "best": best, "width": width}
            parts = re.split(r"{([^}]*)}", text)
            found = re.fullmatch(r"\d+ of \d+\. " + "".join(
                re.escape(part) if not i % 2 else str(known.get(part, rf"(?P<{part.replace(' ', '_')}_{i}>.+?)"))
                for i, part in enumerate(parts)), said)
            assert found and "undefined" not in said, (said, known)
            for at, part in enumerate(parts):  # no CTA of a multicast is told apart from the others
                assert not part.endswith(" each") or not found[f"{part.replace(' ', '_')}_{at}"].startswith("rank")
            if "conflicting" in parts:  # lanes that access other words of one bank
                assert len(re.findall(r"\d+", found[f"conflicting_{parts.index('conflicting')}"])) == cost
            assert not re.findall(r"\d", re.sub(r"{[^}]*}|[Ll]anes? \d+ ", "", text))


# Keys, an expression, and its value after them.
STEPS = (
    ([], "v.place", "0/0/1/0/1"), (["RIGHT"], "v.place", "0/0/2/0/"), (["LEFT"], "v.place", "0/0/1/0/1"),
    (["b"], "[v.event.kind, at = v.index][0]", "barrier"),
    (["c"], "[v.event.kind, isCostly(v.event)]", ["shared load", True]),
    (["B"], "[v.event.kind, at === v.index]", ["barrier", True]), (["HOME"], "v.place", "0/0/1/0/1"),
    (["u"], "[v.event.kind, isCostly(v.event)]", ["global load", True]),
    (["n"] * 9, "v.captionHere === v.captions.length - 1", True),
    (["N"], "v.captionHere === v.captions.length - 2", True),
    (["RIGHT", "N"], "v.captionHere === v.captions.length - 2", True),
    (["UP", "["], "[v.warp, v.lane]", [7, 31]), (["DOWN", "DOWN", "]", "]"], "[v.warp, v.lane]", [1, 1]),
    (["END"], "v.event === v.events.at(-1)", True), (["u"], "v.find('.none').textContent !== ''", True))


def test_steps(shown):
    """A reader steps by keys and buttons, and the line is marked. Space plays, and stops; at the warp's end it stops by
    itself. The address contains the position, and leads there."""
    page = shown(record_of(SHARED))
    for keys, fact, expected in STEPS:
        press(page, *keys)
        assert ask(page, fact) == expected, (keys, fact)
        assert ask(page, "v.find('.now').dataset.line === String(v.event.line)"), keys
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
        ask(page, "new Promise(done => { addEventListener('hashchange', () => setTimeout(done));"
                  f"location.hash = '{place}' }})")
        assert ask(page, where) == to, place


TIP = "(tip => tip && !tip.hidden ? tip.textContent : '')(document.getElementById('tip'))"


def test_pointer(shown):
    """A cell of a matrix shows which lanes access it; one of a bank conflict its word and bank, its lanes and their
    wavefront, and three of the events that accessed it. After a tap the tip stays until the next tap. Each wavefront
    serves its own lanes, and a bank serves one word in it."""
    page = shown(record_of(SHARED))
    x, y = ask(page, "(r => [r.x, r.y])(v.find('.matrices').getBoundingClientRect())")
    left, top = ask(page, "v.corners[0].slice(1)")
    move(page, x + left + 1, y + top + 1)
    name, first, *_ = ask(page, TIP).splitlines()
    assert name == "A[0][0]" and re.findall(r"\d+", first)[:2] == ["0", "1"]
    press(page, "c")
    cells = """(box => wavefrontsOf(v.event).words.map(({ word, bank, lanes, wavefront }) => {
        const row = v.rows.findIndex(row => row.line === word >> 5), at = word - v.rows[row].array.begin / 4;
        const x = box.x + v.bankLabel + v.bankCell * bank + 3, y = box.y + v.bankHigh * row + 3;
        return [x, y, [at, at, bank, ...lanes, wavefront]];
    }))(v.find(".banks canvas").getBoundingClientRect())"""
    for x, y, expected in ask(page, cells):
        move(page, x, y)
        tip = ask(page, TIP).splitlines()
        assert [int(number) for number in re.findall(r"\d+", " ".join(tip[:2]))] == expected and len(tip) <= 6
    resize(page, 390, 844)
    ask(page, f"{DRAWN}.then(() => v.find('.banks canvas').scrollIntoView({{ block: 'center' }}))")
    x, y, _ = ask(page, f"{cells}[0]")
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




def test_a_broadcast_has_the_colour_of_its_first_lane(shown):
    """Whichever lane is chosen; and if each lane has an element of its own, each has its colour."""
    page = shown(record_of(STAGES[0]))
    for lane in (0, 5):
        for event, lanes in ((0, [0]), (1, [*range(32)])):
            ask(page, f"v.go(0, 0, {event}, {lane})")
            assert ask(page, "['.sectors', '.matrices'].map(each => checks.lanesIn(v, each))") == [lanes, lanes], lane


@pytest.mark.parametrize("stage", ("10_async_mma", RING, "12_clusters", "13_stream_k"))
def test_opens_where_there_is_something_to_see(stage, shown):
    """The page opens at an explanation of something in the matrices and in shared memory. At each explanation the
    mbarriers and the program order are above the controls, no row of the mbarriers is told twice, and no column has a
    heading alone. A reader can't jump to an event that the kernel never has."""
    page = shown(record_of(stage), height=800)
    assert ask(page, "[v.captionHere >= 0, !!v.touches(v.event), v.pieces > 0]") == [True] * 3
    assert ask(page, """v.captions.map((_, i) => (v.place = "////" + (i + 1),
        [".ring-panel", ".order", ".bar"].map(each => v.find(each).getBoundingClientRect())))
        .every(([ring, order, bar]) => ring.bottom <= order.top && order.bottom <= bar.top + 1)""")
    assert ask(page, """v.captions.flatMap((_, i) => {
        v.place = "////" + (i + 1);
        const rows = [...v.find(".ring").rows].map(row => [...row.cells].slice(1));
        const others = rows.filter(row => !row.some(cell => cell.matches(".now")));
        const texts = others.map(row => row.map(cell => cell.textContent).join("|"));
        const empty = [...rows[0].keys()].filter(column => !rows.slice(1).some(row => row[column]?.textContent));
        return [...texts.filter((text, at) => texts.indexOf(text) < at), ...empty];
    })""") == []
    assert ask(page, """Object.keys(WANTED).every(kind =>
        v.find(`[data-do=${kind}]`).hidden !== v.blocks.flat(2).some(WANTED[kind]))""")


@pytest.mark.parametrize("stage", STAGES)
def test_a_canvas_is_no_higher_than_browsers_draw(stage, shown):
    """At each explanation, and at the first event of each kind. Above 32,767 pixels some browsers draw nothing."""
    page = shown(record_of(stage))
    assert ask(page, """v.blocks.flatMap((warps, block) => warps.flatMap((events, warp) => {
        const firsts = [...new Set(events.map(e => e.kind))].map(kind => events.findIndex(e => e.kind === kind));
        const explained = v.captions.flatMap(each => !block && each.warp === warp ? [each.index] : []);
        return (warp % 4 ? explained : [...firsts, ...explained]).flatMap(index => {
            v.go(block, warp, index, 0);
            return [...v.root.querySelectorAll("canvas")].filter(each => each.height > 32000).map(each => each.height);
        });
    }))""") == []


# The flights of this event: from where and to where, as the name of what lies in the middle of the place.
ROUTES = """v.flights().map(flight => ["from", "to"].map(end => {
    const { x, y, width, height } = flight[end];
    const on = selector => (box => [x + Math.min(width, 5) / 2 - box.x, y + height / 2 - box.y])(
        v.find(selector).getBoundingClientRect());
    const inside = selector => (box => x >= box.x - 1 && x < box.right && y >= box.y - 1 && y < box.bottom)(
        v.find(selector).getBoundingClientRect());
    if (inside(".matrices")) return ["global", v.elementAt(...on(".matrices")).begin];
    if (inside(".banks")) return ["shared", v.wordAt(...on(".banks canvas")).begin];
    return ["lane", Math.round((on(".lanes")[0] - v.key.left - v.key.cell / 2) / v.key.cell)];
}))"""


def test_words_fly(shown):
    """After a step forward each lane's words fly from where it reads to where they go, and a box of TMA's from its
    matrix to shared memory. The next step ends it, and a step back has none."""
    flying = "v.root.getAnimations({ subtree: true }).length"
    page = shown(record_of(SHARED), record_of("10_async_mma"), width=1280, height=1400)
    for kind, store, where in (("global load", False, "global"), ("shared store", True, "shared"),
                               ("shared load", False, "shared"), ("global store", True, "global")):
        ask(page, f"v.go(0, 0, v.events.findLastIndex(e => e.kind === '{kind}') - 1, 0)")
        press(page, "RIGHT")
        kind_now, addresses, routes = ask(page, f"[v.event.kind, v.event.addresses, {ROUTES}]")
        expected = [[[where, address], ["lane", lane]] for lane, address in enumerate(addresses) if address is not None]
        assert kind_now == kind and routes == [each[::-1] if store else each for each in expected], kind
    assert ask(page, f"(act('back'), act('step'), {flying})") == 32
    assert ask(page, f"(act('back'), {flying})") == 0 == ask(page, "document.querySelectorAll('.flying').length")
    ask(page, "void (v = views[1], v.place = '////' + (v.captions.findIndex(({ kind }) => kind === 'bulk load') + 1))")
    places = ask(page, f"{ROUTES}.map(([from, to]) => [from, to, v.heldAt(to[1]), v.data.matrices[0].begin])")
    assert len(places) >= 64
    for (kind, address), (to, _), of, begin in places:
        assert (kind, to, of["matrix"]) == ("global", "shared", "A")
        assert 0 <= address - begin - 2 * (384 * of["row"] + of["column"]) < 16  # in the middle of a chunk
    emulate(page, prefers_reduced_motion="reduce")
    assert ask(page, f"(v.goToCaption(-1), v.goToCaption(1), {flying})") == 0
    emulate(page)
    assert ask(page, f"(v.goToCaption(-1), v.goToCaption(1), {flying})") >= 64


def test_numbers_are_of_one_kind(shown):
    """The numbers of a request are its wavefronts, one for each 16 bytes that a lane accesses; those of a copy, or of
    what tensor cores read, are the chunks."""
    page = shown(record_of("10_async_mma"))
    ask(page, "void (v.place = '////' + (v.captions.findIndex(caption => caption.kind === 'shared load') + 1))")
    lanes, cost = ask(page, "[v.event.addresses.length, v.event.cost]")
    numbers, high = ask(page, "[v.numbers.map(Number), v.bankHigh]")
    assert sorted(numbers) == sorted([*range(1, cost + 1)] * (lanes // cost)) and high >= 11
    ask(page, "void (v.place = '////' + (v.captions.findIndex(caption => caption.kind === 'bulk load') + 1))")
    assert {*ask(page, "v.numbers.map(Number)")} == {*range(8)}




@pytest.mark.parametrize("stage", (SHARED, RING))
def test_looks(stage, shown):
    """On a screen and on a phone, where the less important part is folded. ?ja#////2 is Japanese, at the second
    explanation. Each word of the page exists in three languages, with the same places in braces."""
    page = shown(record_of(stage), place="?ja#////2")
    assert ask(page, "[document.documentElement.lang, v.captionHere]") == ["ja", 1]
    assert ask(page, """Object.keys(WORDS).filter(name => WORDS[name].length !== 3 || !WORDS[name].every(Boolean) ||
        new Set(WORDS[name].map(text => (text.match(/\\{[^}]*\\}/g) || []).sort().join())).size > 1)""") == []
    for width in (1280, 390):
        resize(page, width, 844)
        assert ask(page, f"{DRAWN}.then(() => checks.looks(v))") == [], width
    assert ask(page, "document.querySelectorAll('.word').length") > 2
    parts = ("[...document.querySelectorAll('.options, .status, .counts-panel, .strip')]"
             ".map(each => each.checkVisibility())")
    assert ask(page, parts) == [False] * 4
    ask(page, "v.find('.more summary').click()")
    assert ask(page, parts) == [True] * 4 and ask(page, "document.documentElement.scrollWidth") <= 390


def test_code_has_the_colours_of_the_matrices(shown):
    """Of names of A, B and C, in light and in dark."""
    page = shown(record_of(SHARED))
    for theme in ("light", "dark"):
        ask(page, f"(document.documentElement.dataset.theme = '{theme}', v.place = '////4')")
        for name, token in (("As", "a"), ("Bs", "b"), ("acc", "c")):
            assert ask(page, f"""(() => {{
                const of = [...v.find(".source").querySelectorAll("div:not(.now) span")]
                    .find(each => each.textContent === "{name}");
                const is = document.body.appendChild(document.createElement("i"));
                is.style.color = "var(--{token})";
                return getComputedStyle(of).color === getComputedStyle(is).color;
            }})()"""), (theme, name)


def test_ring(shown):
    """11 shows what each event does to mbarriers, TMA and wgmma, in words and in the table."""
    page = shown(record_of(RING))
    for kind, warp, said, in_ring in (
            ("wait", 0, "full[0]", "0..3"), ("arrive", 4, "24576", "24576"),
            ("bulk load", 4, "As[0]", "A[0..63][0..63]"), ("bulk load", 4, "full[0]", "24576"),
            ("wgmma", 3, "Bs[0][0]", "0..3"), ("arrive", 3, "empty[0]", "B[64..127][0..127]"),
            ("bulk store", 0, "Cs[0][0][0]", "C[0..63][0..31]"), ("bulk store", 0, "C[0..63][0..31]", "Cs[0][0][0]")):
        ask(page, f"v.go(0, {warp}, v.blocks[0][{warp}].findIndex(e => e.kind === '{kind}'), 0)")
        what, ring = ask(page, "['.what', '.ring tbody'].map(each => v.find(each).textContent)")
        marked, pieces = ask(page, "[!!v.find('.ring .now'), v.piecesNow().size]")
        assert said in what and in_ring in ring, (kind, what, ring)
        assert (pieces > 0) == (kind in ("bulk load", "wgmma", "bulk store"))
        assert marked == (kind in ("wait", "arrive", "bulk load"))


def test_two(shown):
    """Two kernels side by side step together."""
    page = shown(*map(record_of, STAGES[2:4]))
    first, second = ask(page, "views.map(view => (r => [r.left, r.right])(view.root.getBoundingClientRect()))")
    assert first[1] <= second[0]
    click(page, ".view:last-child .together input")
    press(page, "RIGHT")
    assert ask(page, "views.map(view => view.index)") == [1, 1]


def racing():
    """The record of 03 without its last barrier, which is compiled as 03 was."""
    source, built = BUILD / "user_kernels/without_barrier.cu", [*BUILD.glob("user_kernels/without_barrier-*/trace")]
    if not built or built[0].stat().st_mtime < program(f"{SHARED}_cpu_trace").stat().st_mtime:
        source.parent.mkdir(exist_ok=True)
        source.write_text("".join((ROOT / SHARED / "matmul.cu").read_text().rpartition("__syncthreads();")[::2]))
        html = BUILD / "user_kernels/without_barrier.html"
        call(sys.executable, "-B", ROOT / "tools/run.py", "view", source, "--html", html)
        built = [*BUILD.glob("user_kernels/without_barrier-*/trace")]
    return view.read(view.record(built[0], view.usual_shape(SHARED)), "race", view.usual_shape(SHARED))


def test_races(shown):
    """A race has a button for each of its accesses, which leads there. The emulator's message is shown in each
    language, with the same places and numbers."""
    page = shown(record := racing())
    problem = record["problems"][0]
    assert problem["text"] in ask(page, "document.querySelector('.problem').textContent")
    for number, access in enumerate(problem["accesses"]):
        ask(page, f"document.querySelectorAll('.problem button')[{number}].click()")
        assert ask(page, "[v.block, v.warp, v.index, v.lane]") == [problem["block"], *access]
    texts = [problem["text"],
             "race in global memory: a.cu:3 adds to what b.cu:4 reads (block (1,0) thread (0,2), "
             "block (2,0) thread 7's asynchronous read)",
             "a.cu:3 writes what b.cu:4 reads asynchronously, without a fence_proxy_async() between "
             "(block 0, thread 0 and thread 1's asynchronous write)",
             "uninitialised shared memory: a.cu:3 reads what no thread of the block has written (block 0, thread 3)",
             "race in shared memory: a.cu:3 writes what a.cu:5 reads (block 0, threads 0 and 1); the same between "
             "a.cu:4 and a.cu:6, within a.cu:7 and 2 more pairs of lines; so a.cu:5 also reads uninitialised shared "
             "memory"]
    of_all = ask(page, f"{texts}.map(text => [0, 1, 2].map(each => (language = each, problemText(text))))")
    for text, said in zip(texts, of_all):
        assert said[0] == text and len({*said}) == 3
        for each in said[1:]:
            assert sorted(re.findall(r"[\w/]+\.cu:\d+|\d+", each)) == sorted(re.findall(r"[\w/]+\.cu:\d+|\d+", text))
            assert not re.search("memory|what|block|thread|copy|reads|writes", re.sub(r"[\w/]+\.cu:", "", each))


def test_little_is_known(shown):
    """A warp that accesses nothing, and lines that the compiler does not name, are shown without failing."""
    record = record_of(STAGES[0], (1, 1, 3))
    blocks = [{**record["blocks"][0], "warps": [*record["blocks"][0]["warps"], []]}]
    page = shown({**record, "blocks": blocks, "sites": [(what, "", 0, width) for what, _, _, width in record["sites"]]})
    assert not re.search("line 0|undefined", ask(page, "v.find('.what').textContent"))
    press(page, "UP", "END")
    assert re.findall(r"\d+|undefined", ask(page, "v.find('.what').textContent")) == ["1"]




@pytest.mark.parametrize("stage", (SHARED, RING))
def test_in_a_lesson(stage, shown, chromium, tmp_path):  # noqa: F811
    """In a frame the page is at its caption, takes no key from the page around it, and is no wider than the frame. The
    text, the source and pictures are visible; the rest is folded. All explanations take the same room."""
    shown(record_of(stage))
    room = "<p style='height: 900px'>text"
    frame = "<iframe src='page.html?ja#////5' width=350 height=1700></iframe>"
    (tmp_path / "outer.html").write_text(room + frame + room)
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
        wait(page, f"innerWidth === {width} && views[0].root.clientWidth")
        prepare(page)
        parts = [".caption p", ".source", ".status", ".steps", ".speed", ".head", ".strip"]
        assert ask(page, f"{DRAWN}.then(() => [v.captionHere, document.documentElement.lang])") == [4, "ja"]
        assert ask(page, "document.documentElement.scrollWidth") <= width
        assert ask(page, f"{parts}.map(each => v.find(each).checkVisibility())") == 2 * [True] + 5 * [False]
        heights = ask(page, """v.captions.map((_, i) => (v.place = "////" + (i + 1),
            document.documentElement.getBoundingClientRect().height)).concat((v.place = "////5", []))""")
        assert max(heights) - min(heights) < 1, width
        # What the event does not touch is not there, and ten lines of the source are.
        assert ask(page, """v.captions.flatMap((_, i) => (v.place = "////" + (i + 1),
            v.find(".matrices-panel").checkVisibility() === Boolean(v.touches(v.event)) &&
            v.find(".banks").checkVisibility() === v.asked + v.pieces > 0 && !v.find(".more").checkVisibility() &&
            Math.round((each => each.clientHeight / parseFloat(getComputedStyle(each).lineHeight))(
                v.find(".source"))) === 10 ? [] : [i]))""") == [], width
        # Nothing is too pale to be read, and no line of the source ends within a word.
        assert ask(page, "[...v.root.querySelectorAll('.columns *')].filter(each => !each.disabled && "
                         "getComputedStyle(each).opacity < 1).map(each => each.className)") == []
        assert ask(page, f"v.captions.flatMap((_, i) => (v.place = '////' + (i + 1), checks.broken(v)))") == [], width
        ask(page, "void (v.place = '////5')")
        page.switch_to.default_content()


def test_fragments(chromium, tmp_path):  # noqa: F811
    """For each choice on 07's page a lane's framed elements are those of the chapter's tables."""
    path = tmp_path / "page.html"
    made = call(sys.executable, "-B", ROOT / "tools/run.py", "view", "07", "--html", path)
    assert made.returncode == 0 and made.stdout == f"{path}\n"
    show(chromium, path)
    choices = [(chips, name, places) for chips, tables in view.fragments().items() for name, places in tables.items()]
    all_held = ask(chromium, f"""{[[*name.split(), chips] for chips, name, _ in choices]}.map((values, i) => {{
        ["use", "type", "layout", "architecture"].forEach((select, i) => {{
            find(select).value = values[i];
            refill();
        }});
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
