"""The toys of docs/toys in a browser: they count what the emulator counts, and work in each language, on a phone and in
a lesson."""
import csv
import itertools
import json
import re
from random import Random

import pytest

import view
from browser import DRAWN, ask, chromium, click, drag, errors, nameless, press, resize, show, wait  # noqa: F401
from mutate import how
from records import record_of
from support import ROOT, call, program

TOYS = ROOT / "docs/toys"


@pytest.fixture
def shown(chromium):  # noqa: F811
    """Opens a toy, and at the end requires that the console has no errors."""
    def opened(name, place="", **how):
        show(chromium, f"{TOYS / name}{place}", **how)
        return chromium

    yield opened
    assert errors(chromium) == []


def go(page, place):
    """Goes to another address of a toy."""
    ask(page, f"""location.hash === "#{place}" || new Promise(done => {{
        addEventListener("hashchange", () => setTimeout(done), {{ once: true }});
        location.hash = "{place}";
    }})""")


def settings_of(page):
    """All settings of a toy, or a third of them."""
    for bytes_, stride in itertools.product((4, 8, 16), range(0, 65)):
        for who, pad in itertools.product((32, 16, 8, 2), (0, 1, 2, 4, 8)) if page == "banks.html" else ():
            if (who == 2 or stride % (bytes_ // 4) == 0) and pad % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "pad": pad, "who": who}
        for offset in range(0, 32, 3 * bytes_ // 4) if page == "coalescing.html" else ():
            if stride % (bytes_ // 4) == 0:
                yield {"bytes": bytes_, "stride": stride, "offset": offset}
    if page == "swizzle.html":
        for layout, along, which in itertools.product(range(3), range(2), range(8)):
            yield {"layout": layout, "along": along, "which": which}


@pytest.mark.parametrize("name, kinds", [("banks.html", ("shared", "store")), ("coalescing.html", ("global",)),
                                         ("swizzle.html", ("shared",))])
def test_toys_count_as_the_emulator_does(name, kinds, shown):
    settings = list(settings_of(name))
    counts = "(all => [all.map(eventOf), all.map(costOf).map(each => [each.count, each.least])])"
    events, costs = ask(shown(name), f"{counts}({json.dumps(settings)})")
    lines = []
    for event in events:
        kind = kinds[1] if event.get("store") else kinds[0]
        addresses = ("null" if each is None else each for each in event["addresses"])
        lines.append(" ".join(map(str, (kind, event["width"], *addresses))))
    run = call(program("toy_rules"), stdin=None, input="\n".join(lines))
    assert run.returncode == 0, run.stderr
    counted = [[int(word) for word in line.split()] for line in run.stdout.splitlines()]
    assert len(counted) == len(settings) >= 48
    assert [setting for setting, ours, theirs in zip(settings, costs, counted) if ours[:len(theirs)] != theirs] == []


def test_descriptor(shown):
    """At every setting the toy reads the units that the emulator's wgmma reads. What 11 passes to it is right."""
    page = shown("descriptor.html")
    settings = """[0, 1].flatMap(operand => [0, 32, 64, 128].flatMap(swizzle =>
        Array.from({ length: 257 * 121 }, (_, i) => ({
            operand, swizzle, start: i % 257 * 2, lbo: Math.floor(i / 257) % 11, sbo: Math.floor(i / 257 / 11) }))))"""
    read = ask(page, f"""{settings}.map(each => [
        descriptorOf(fieldsOf(each)).reduce((all, bits) => all * 65536n + BigInt(bits), 0n).toString(),
        TILES[each.operand].size * (TILES[each.operand].transposed ? -1 : 1),
        readOf(each).reduce((all, {{ unit }}) => (all * 31 + unit) % 1000003, 0)])""")
    run = call(program("toy_rules"), stdin=None, input="\n".join(f"operand {bits} {rows}" for bits, rows, _ in read))
    assert [*map(int, run.stdout.split())] == [units for _, _, units in read] and len(read) == 2 * 4 * 257 * 121
    a, b = ask(page, "[[0, 2, 0, 6], [1, 128, 9, 6]].map(([operand, start, lbo, sbo]) =>"
                     " solved({ operand, start, lbo, sbo, swizzle: 128 }))")
    assert a and b
    for name in ("a", "b", "plain"):
        go(page, name)
        assert ask(page, "find('#task').classList.contains('done')") is False, name


# Prints for each line of the input, "whole", "slices" or "shares", the number of SMs, M, N, K and a tile's rows and
# columns, what 13's blocks compute in which order, and where the tiles lie, as one number.
SHARES = """
#include <iostream>
#include "common/tile_scheduler.h"

int at_once;
int clusters_at_once(int) { return at_once; }
namespace shares {
%s
}
namespace slices {
%s
}
// Adds what the cluster computes next.
template <class Work, class Unit>
void add(const Work& work, const Unit& unit, unsigned long long& all) {
    const auto at = work.scheduler.position(unit.tile);
    for (int x : {unit.tile, unit.first, unit.k_tiles, at.m, at.n}) all = (all * 31 + x) %% 1000003;
}
template <bool kCut>
unsigned long long all_of(const shares::Work& work) {
    unsigned long long all = work.clusters;
    for (int cluster = 0; cluster < work.clusters; ++cluster) {
        shares::Unit unit;
        for (shares::Units<kCut> units(work, cluster); units.next(unit);) add(work, unit, all);
    }
    return all;
}
unsigned long long all_of(const slices::Work& work) {
    unsigned long long all = work.clusters;
    for (int cluster = 0; cluster < work.clusters; ++cluster)
        for (int i = cluster; i < work.units(); i += work.clusters) add(work, work.unit(i), all);
    return all;
}
int main() {
    std::string division;
    for (int M, N, K, m, n; std::cin >> division >> at_once >> M >> N >> K >> m >> n;) {
        if (division == "shares") {
            const shares::Work work(M, N, K, {m, n, false, 1, 1, 1});
            std::cout << (work.stream_k_tiles ? all_of<true>(work) : all_of<false>(work)) << std::endl;
        } else {
            const slices::Work work(M, N, K, {m, n, false, 1, 1, 1, division == "slices"});
            std::cout << all_of(work) << std::endl;
        }
    }
}
"""


def shares_of(file):
    """What divides the work in a program of 13: its constants and types, without the kernel."""
    text = (ROOT / file).read_text()
    pipeline = (ROOT / "common/cluster_pipeline.cuh").read_text()
    constants = re.findall(r"(?m)^constexpr int (?:kTileK|kGroup|kManyWaves|kMinSaved) = .*", pipeline + text)
    types = re.finditer(r"(?ms)^(template <bool kCut>\n)?(struct|class) (Tiling|Unit|Work|Units) {.*?^};", text)
    return "\n".join(constants + [each[0] for each in types])


def test_waves(shown, tmp_path):
    """What each SM computes, in which order, is what 13's programs compute, and a tile lies where their scheduler puts
    it, at 1200 settings."""
    random = Random(7)
    settings = [(division, *random.choice([(132, 16384), (132, 3000), (132, 640), (8, 640), (3, 500)]))
                for division in ("whole", "slices", "shares") for _ in range(400)]
    settings = [(division, sms, random.randint(1, most), random.randint(1, most), random.randint(1, 20000),
                 *random.choice([(128, 256), (128, 192), (128, 128), (128, 64), (64, 128)]))
                for division, sms, most in settings]
    source, made, with_ = tmp_path / "shares.cpp", tmp_path / "shares", how()
    source.write_text(SHARES % tuple(map(shares_of, ("13_stream_k/2_stream_k.cu", "13_stream_k/choice.h"))))
    includes = [f"-I{path}" for path in with_["includes"]]
    call(with_["compiler"], "-std=c++17", "-w", *includes, source, "-o", made, *with_["link"]["plain"], check=True)
    run = call(made, stdin=None, input="\n".join(" ".join(map(str, each)) for each in settings))
    ours = ask(shown("waves.html"), f"""{json.dumps(settings)}.map(([division, sms, m, n, k, tm, tn]) => {{
        const tiles = {{ tilesM: Math.ceil(m / tm), tilesN: Math.ceil(n / tn) }};
        const blocks = unitsOf({{ tiles: tiles.tilesM * tiles.tilesN, kTiles: Math.ceil(k / K_TILE), division, sms }});
        return blocks.flat().reduce((all, {{ tile, first, kTiles }}) => {{
            const at = tilePlace(tiles, tile);
            return [tile, first, kTiles, at.m, at.n].reduce((sum, each) => (sum * 31 + each) % 1000003, all);
        }}, blocks.length);
    }})""")
    assert [*map(int, run.stdout.split())] == ours and len(ours) == 1200


def test_waves_show_what_is_lost(shown):
    """The lines of the SMs are red, or hatched in red, for as much of their length as the sentence says."""
    page = shown("waves.html", width=1280)
    for place in ("", "m=2504&n=2504&k=2504", "m=1792&n=1280&k=4096&tile=128128&division=2", "m=1&n=1&k=9000",
                  "m=16384&n=16000&k=64&tile=64128"):
        go(page, place)
        said, full, lost, room = ask(page, """(idle => {
            const lines = [...document.querySelectorAll("#figure rect")].map(each => [each, each.getBBox()])
                .filter(([each, { x, width }]) => each !== idle &&
                    x + width <= idle.getBBox().x + idle.getBBox().width + 1);
            const long = kinds => lines.filter(([each]) => each.matches(kinds))
                .reduce((sum, [, box]) => sum + box.width, 0);
            return [+find("#says strong").textContent.match(/\\d+/)[0], long(".tile0, .tile1"), long(".lost"),
                132 * idle.getBBox().width];
        })(find("#figure .waste"))""")
        assert abs(100 * (full - lost) / room - said) < 1.5, place


# Prints for each line of the input, how a float is split and its bits, the bits of hi and of lo, and the exponent of
# the scale.
SPLITS = """
#include <cstring>
#include <iostream>
#include "common/stage.h"

%s
int main() {
    unsigned bits;
    for (int how; std::cin >> how >> bits;) {
        float x;
        std::memcpy(&x, &bits, 4);
        const int exponent = how == 2 ? exponent_of(magnitude(x)) : 0;
        const float scale = std::ldexp(1.0f, exponent);
        alignas(8) half hi[4], lo[4];
        split4({x, x, x, x}, {scale, scale, scale, scale}, hi, lo);
        if (how == 1 && std::isfinite(float(hi[0]))) lo[0] = (x - float(hi[0])) * 2048;
        for (float each : {float(hi[0]), std::isfinite(float(hi[0])) ? float(lo[0]) : 0.0f}) {
            std::memcpy(&bits, &each, 4);
            std::cout << bits << ' ';
        }
        std::cout << exponent << std::endl;
    }
}
"""


def test_split(shown, tmp_path):
    """The halves and the scale of each float are those of 14's programs, in the three ways, also of subnormal floats,
    of halves that are subnormal or lie between two others, and of floats that no half can hold."""
    random = Random(7)
    floats = [0, 1, 0x007fffff, 0x00800000, 0x477fe000, 0x477fefff, 0x477ff000, 0x7f7fffff, 0x33000000, 0x33000001]
    floats += [random.randrange(0x7f800000) for _ in range(400)]
    floats += [exponent << 23 | random.randrange(1 << 23) for exponent in range(100, 145) for _ in range(12)]
    floats += [bits | 0x80000000 for bits in floats[:300]]
    settings = [(how_, bits) for how_ in range(3) for bits in floats]
    source, made, with_ = tmp_path / "splits.cpp", tmp_path / "splits", how()
    text = (ROOT / "14_fp32_accuracy/split.cuh").read_text()
    parts = [re.search(r"(?m)^constexpr int kLargest = .*", text)[0], *(
        re.search(rf"(?ms)^inline __device__ \w+ {name}\((?:[^\n]*}}$|.*?^}}$)", text)[0]
        for name in ("magnitude", "exponent_of", "split4"))]
    source.write_text(SPLITS % "\n".join(parts))
    includes = [f"-I{path}" for path in with_["includes"]]
    call(with_["compiler"], "-std=c++17", "-w", *includes, source, "-o", made, *with_["link"]["plain"], check=True)
    run = call(made, stdin=None, input="\n".join(f"{way} {bits}" for way, bits in settings))
    ours = ask(shown("split.html"), f"""{json.dumps(settings)}.map(([how, bits]) => {{
        const number = new Float32Array(1), word = new Uint32Array(number.buffer);
        const bitsOf = x => (number[0] = x, word[0]);
        word[0] = bits;
        const {{ hi, lo, scale }} = splitOf(number[0], how);
        return [bitsOf(hi), bitsOf(lo), scale];
    }})""")
    theirs = [[*map(int, line.split())] for line in run.stdout.splitlines()]
    assert [(setting, a, b) for setting, a, b in zip(settings, ours, theirs, strict=True) if a != b][:5] == []


def test_fragments(shown):
    """Each element of A, B and C of an mma is held by the lane, and as the element, of 07's table, which a GPU and the
    emulator have filled."""
    page, tables = shown("fragments.html"), view.layouts.maps()["sm_80 and later"]
    for operand, (name, columns) in enumerate((("A", 16), ("B", 8), ("C", 8))):
        ours = ask(page, f"""Array.from({{ length: 16 * {columns} }}, (_, at) =>
            fragmentOf({operand}, Math.floor(at / {columns}), at % {columns}))
            .map(each => [each.lane, each.element])""")
        places = tables[f"mma_m16n8k16 {name}"]
        held = {place: [at // (len(places) // 32), at % (len(places) // 32)] for at, place in enumerate(places)}
        assert [held[at // columns * 16 + at % columns] for at in range(16 * columns)] == ours, name


def test_pipeline(shown):
    """At every setting each k-tile is done when a formula says: a stage is used again after a load and its products, or
    after the products of all stages, whichever is later. Its stage and parity are those that the kernel counts."""
    settings = [*itertools.product(range(1, 9), range(1, 15), range(1, 9))]
    page = shown("pipeline.html")
    found = ask(page, f"""{json.dumps(settings)}.map(([stages, latency, compute]) =>
        pipelineOf({{ stages, latency, compute }}, 20).map(each => [each.done, each.stage, each.parity]))""")
    for (stages, latency, compute), tiles in zip(settings, found):
        again = max(latency + compute, stages * compute)
        stage = parity = 0
        for tile, each in enumerate(tiles):
            done = latency + tile // stages * again + (tile % stages + 1) * compute
            assert each == [done, stage, parity], (stages, latency, compute, tile)
            stage = (stage + 1) % stages
            parity ^= stage == 0
    # The task is done with the fewest stages that hide a load, if a block has room for them. With half or a quarter of
    # the k-tile a load takes as long, and the products less.
    settings = [*itertools.product(range(1, 15), range(1, 9))]
    found = ask(page, f"""{json.dumps(settings)}.map(([latency, compute]) => {{
        const waits = (stages, part) => pipelineOf({{ stages, latency: latency * part, compute }}, 200).some(
            (each, i, all) => i && each.begun > all[i - 1].done);
        const fewest = part => Array.from({{ length: 64 }}, (_, i) => i + 1).find(stages => !waits(stages, part));
        const done = [1, 2, 3, 4, 5, 6, 7, 8].filter(stages => solved({{ stages, latency, compute }}));
        return [[1, 2, 4].map(fewest), done, smallerOf({{ latency, compute }})];
    }})""")
    for setting, ((whole, half, quarter), done, small) in zip(settings, found, strict=True):
        assert done == ([whole] if whole * 48 <= 227 else []), setting
        depth, stages = (32, half) if half * 24 <= 227 else (16, quarter)
        assert small == {"depth": depth, "stages": stages, "kib": stages * 48 * depth / 64}, setting


def test_barrier(shown):
    """In each timeline nobody multiplies before the load has come and before all warps of its block have left the last
    k-tile, two warps never multiply at once, and a warp that could multiply waits only while another one does."""
    settings = [*itertools.product(range(1, 5), (1, 2, 4, 8), (1, 2), (64, 208, 640, 1024))]
    found = ask(shown("barrier.html"), f"""{json.dumps(settings)}.map(([blocks, depth, buffers, latency]) =>
        barrierTimeline({{ blocks, depth, buffers, latency }}, 20000).map(each => each.parts.map(part =>
            [part.kind, part.from, part.to, part.tile])))""")
    for (blocks, depth, buffers, latency), warps in zip(settings, found):
        setting = blocks, depth, buffers, latency
        assert len(warps) == 2 * blocks
        for parts in warps:
            assert [begin for _, begin, *_ in parts] == [0, *(end for _, _, end, _ in parts[:-1])], setting
        busy = sorted((begin, end) for parts in warps for kind, begin, end, _ in parts if kind == "multiply")
        assert all(end - begin == 64 for begin, end in busy), setting
        assert all(end <= begin for (_, end), (begin, _) in zip(busy, busy[1:])), setting
        for begin, end in ((begin, end) for parts in warps for kind, begin, end, _ in parts if kind == "ready"):
            covered = sum(max(0, min(end, last) - max(begin, first)) for first, last in busy)
            assert covered == end - begin or end > busy[-1][0], setting
        for block in range(blocks):
            tiles = {}
            for parts in warps[2 * block:2 * block + 2]:
                for kind, begin, end, tile in parts:
                    if kind == "multiply":
                        tiles.setdefault(tile, []).append((begin, end))
            complete = [tile for tile, parts in tiles.items() if len(parts) == 2 * depth]
            assert len(complete) > 1 and complete == [*range(len(complete))], setting
            left = 0  # when all warps of the block have left the k-tile before the last one
            for tile in complete[1:]:
                before = max(end for _, end in tiles[tile - 1])
                issued = before if buffers == 1 else left or latency
                assert min(begin for begin, _ in tiles[tile]) >= max(before, issued + latency), (setting, tile)
                left = max(before, issued + latency) if buffers == 2 else before


def test_barrier_shows_what_it_says(shown):
    """The scheduler's line is red for as much of its length as the sentence says, and for as much of it as of a long
    time."""
    settings = [*itertools.product(range(1, 5), (1, 2, 4, 8), (1, 2), (64, 352, 640, 928))]
    page = shown("barrier.html", width=880)
    found = ask(page, f"""{json.dumps(settings)}.map(([blocks, depth, buffers, latency]) => {{
        const state = {{ blocks, depth, buffers, latency }}, later = [60000, 120000];
        set(state);
        const wide = kind => [...document.querySelectorAll(`#figure rect.${{kind}}[y="3"]`)].reduce((sum, each) =>
            sum + each.width.baseVal.value, 0);
        const all = barrierTimeline(state, later[1] + 5000).flatMap(each => each.parts).filter(each =>
            each.kind === "multiply" && each.from >= later[0] && each.from < later[1]).length * MULTIPLY;
        return [+find("#says strong").textContent.match(/\\d+/)[0], 100 * wide("now") / (wide("now") + wide("waits")),
            100 * all / (later[1] - later[0])];
    }})""")
    for setting, (said, drawn, long) in zip(settings, found, strict=True):
        assert abs(said - drawn) < 1 and abs(said - long) < 2, (setting, said, drawn, long)


def said(page):
    """The numbers in the toy's first sentence."""
    return ask(page, "find('#says strong').textContent.match(/\\d+/g).map(Number)")


def test_banks(shown):
    """A chapter's preset costs what the emulator counted for the costliest request of its kind. A pad changes nothing
    where 03's Bs, which is a single row, is read, and the task is done only if the pad does it. Wavefronts and strides
    can be changed by button, key and click; the bar of each stride is as high as its number of wavefronts."""
    page = shown("banks.html")
    for place, step, kind in (
            ("bs", "03_shared_blocking", "shared load"), ("wide", "04_unroll.2_wide_loads", "shared load"),
            ("old", "04_unroll.2_wide_loads", "shared load"), ("store", "04_unroll.2_wide_loads", "shared store"),
            ("padded", "04_unroll", "shared store"), ("places", "04_unroll", "shared load")):
        go(page, place)
        record, width = record_of(step), ask(page, "+find('#bytes').value")
        requests = {site for site, (what, _, _, wide) in enumerate(record["sites"]) if (what, wide) == (kind, width)}
        events = [event for warp in record["blocks"][0]["warps"] for event in warp if event[0] in requests]
        assert said(page) == max([cost, least] for _, cost, least, *_ in events), place
        assert ask(page, "find('#task').classList.contains('done')") is (place == "padded"), place
    one_row, = (array for array in record_of("03_shared_blocking")["arrays"] if array["name"] == "Bs")
    assert ask(page, "rowOf({ who: 16 })") == one_row["bytes"] / 4
    for place in ("bs", "wide"):
        go(page, place)
        before = said(page)
        assert ask(page, "[4, 8].every(pad => (set({ pad }), !find('#task').classList.contains('done')))")
        assert said(page) == before, place
    go(page, "wide")
    for button, nth, lanes in (("next", "1", [0, 1, 2, 3]), ("next", "2", [4, 5, 6, 7]), ("back", "1", [0, 1, 2, 3])):
        click(page, f"#{button}")
        numbers = [int(word) for word in re.findall(r"\d+", ask(page, "find('#says').textContent"))]
        assert ask(page, "wavefront.value") == nth and numbers[-5:] == [int(nth), *lanes], numbers
    rows = ask(page, """(set({ who: 32, pad: 1, bytes: 4 }),
        [...document.querySelectorAll("#strip [data-stride]")].map(each =>
            [each.previousElementSibling.height.baseVal.value,
             costOf({ who: 32, pad: 1, bytes: 4, stride: +each.dataset.stride }).count]))""")
    assert len(rows) == 65 and all((a[0] > b[0]) == (a[1] > b[1]) for a in rows for b in rows)
    click(page, "#strip [data-stride='32']")
    assert (said(page), ask(page, "stride.value")) == ([1, 1], "32")


# How many lanes have their number in the picture's wavefronts.
NUMBERED = """(left => new Set([...document.querySelectorAll("#figure text")].filter(each =>
    each.getBBox().x > left && each.getBBox().y > 30)
    .flatMap(each => each.textContent.split(",").map(Number))).size)(
        find("#figure [data-wavefront]").getBBox().x - 8)"""


@pytest.mark.parametrize("name", ("banks.html#column", "coalescing.html#column", "roofline.html#naive"))
def test_toys_in_a_lesson(name, chromium, tmp_path):  # noqa: F811
    """No choice is cut off. At 03 a reader can choose which lanes access the same word: 32 lanes a row apart take 32
    wavefronts."""
    address = f"{TOYS}/{name.replace('#', '?en#')}"
    (tmp_path / "outer.html").write_text(f"<iframe src='{address}' width=740 height=900></iframe>")
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
    if name == "banks.html#column":
        costs = []
        for who in ("16", "32"):
            ask(page, f"(find('#who').value = '{who}', find('#who').dispatchEvent(new Event('input')))")
            ask(page, "set({ stride: 32 })")
            costs.append(ask(page, "+find('#says strong').textContent.match(/\\d+/)[0]"))
        assert ask(page, f"(set({{ who: 32, stride: 32 }}), {NUMBERED})") == 32
        assert costs == [16, 32] and page.find_element("css selector", "#who").is_displayed()
    page.switch_to.default_content()
    assert errors(page) == []


def reach(page, selector):
    """Presses Tab until the element has the keyboard's focus."""
    for _ in range(60):
        if ask(page, f"document.activeElement.matches('{selector}')"):
            return
        press(page, "TAB")
    pytest.fail(f"Tab does not reach {selector}")


@pytest.mark.parametrize("name, keys", [
    ("banks.html", [("#pad", "RIGHT")]),
    ("coalescing.html", [("#stride", "HOME"), ("#stride", "RIGHT")]),
    ("roofline.html", [("[data-set*=\"depth=8\"]", "SPACE")]),
    ("barrier.html", [("#depth :nth-child(4)", "SPACE")]),
    ("pipeline.html", [("#stages", "RIGHT")] * 3),
    ("waves.html", [("#tile :nth-child(4)", "SPACE")]),
    ("swizzle.html", [("#layout :nth-child(3)", "SPACE")]),
    ("descriptor.html", [("#sbo", "RIGHT")]),
    ("split.html", [("#how :nth-child(3)", "SPACE")]),
    ("fragments.html", [("#lane", "RIGHT")] * 14 + [("#element", "RIGHT")] * 3),
])
def test_a_task(name, keys, shown):
    """A toy begins where its task is not done, and a reader with a keyboard alone can do it."""
    page = shown(name, place="?en")
    assert ask(page, "find('#task').textContent === say('task')")
    for selector, key in keys:
        assert not ask(page, "find('#task').classList.contains('done')"), selector
        reach(page, selector)
        press(page, key)
    assert ask(page, "find('#task').classList.contains('done') && find('#task').textContent === say('solved')")


@pytest.mark.parametrize("name", sorted(path.name for path in TOYS.glob("*.html")))
def test_the_picture_is_in_sight_on_a_phone(name, shown):
    """Also on a low screen, and the control that solves the task is beside it. The others follow below."""
    page = shown(name, place="?en", width=390, height=664)
    if name != "roofline.html":  # whose picture has corners to drag
        top, control, bottom = ask(page, """[find("#figure").getBoundingClientRect().top,
            find("#main").getBoundingClientRect().top, find("#main").getBoundingClientRect().bottom]""")
        assert control - top > 200 and control < bottom < 665
    ask(page, f"(find('#controls').scrollIntoView({{ block: 'end' }}), {DRAWN})")
    assert ask(page, """[...find("#controls").children].every(each => !each.checkVisibility() || !find("#main") ||
        each.getBoundingClientRect().bottom <= find("#main").getBoundingClientRect().top ||
        each.getBoundingClientRect().top >= find("#main").getBoundingClientRect().bottom)""")


def test_labels_of_roofs(shown):
    """The name of a roof does not lie over a dot or a measured point, in any language and at any width."""
    page = shown("roofline.html", place="?en")
    for width, depth, language in itertools.product((390, 736, 1280), (0, 1), range(3)):
        resize(page, width, 900)
        shown_now = f"{{ shown: 1, depth: {depth}, bm: 7, bn: 7, tm: 3, tn: 3 }}"
        ask(page, f"{DRAWN}.then(() => (language = {language}, set({shown_now})))")
        names = "[...document.querySelectorAll('#figure :is(g text, text.halo:not(.strong))')]"
        assert ask(page, names + """.every(text => {
            const at = text.getScreenCTM().inverse();
            return [...document.querySelectorAll("#figure :is(circle, .point)")].every(dot => {
                const box = dot.getBoundingClientRect();
                const { x, y } = new DOMPoint(box.x + 6, box.y + 6).matrixTransform(at), name = text.getBBox();
                return x + 6 < name.x || x - 6 > name.x + name.width || y - 6 > name.y + name.height || y + 6 < name.y;
            });
        })"""), (width, depth, language)


def test_fields_of_the_descriptor(shown):
    """Its controls are in the order of the fields, and the picture says which field does not matter."""
    page = shown("descriptor.html", place="?en")
    fields = "['swizzle', 'sbo', 'lbo', 'start']"
    assert ask(page, f"""(tops => tops.every((top, i) => !i || top > tops[i - 1]))(
        {fields}.map(each => find(`#${{each}}`).getBoundingClientRect().top))""")
    unused = "[...document.querySelectorAll('#figure text')].filter(each => each.textContent === say('unused')).length"
    for place, count in (("a", 1), ("b", 0), ("plain", 0)):
        go(page, place)
        assert ask(page, unused) == count, place


def test_swizzle(shown):
    """The XOR's columns are where 10's ldmatrix reads them. A click on a row's head reads the row."""
    page = shown("swizzle.html")
    columns = ask(page, """[0, 1, 2, 3, 4, 5, 6, 7].map(which =>
        eventOf({ layout: 2, along: 0, which }).addresses.slice(0, 8))""")
    record = record_of("10_async_mma.2_swizzle")
    As, = (each for each in record["arrays"] if each["name"] == "As")
    read = set()
    for site, _, _, _, base, pattern, *_ in (event for event in record["blocks"][0]["warps"][0] if len(event) > 5):
        if record["sites"][site][0] == "shared load" and 0 <= base - As["begin"] < As["bytes"]:
            places = [(base - As["begin"] + each) % 1024 for each in record["patterns"][pattern]]  # in its eight rows
            read |= {tuple(places[i:i + 8]) for i in range(0, 32, 8)}
    assert read == {*map(tuple, columns)}
    costs = ask(page, "[0, 1, 2].map(layout => costOf({ layout, along: 0, which: 5 }).count)")
    assert costs == [8, 1, 1]
    click(page, "#figure [data-choose='along=1&which=3']")
    assert ask(page, "[along.querySelector('[aria-pressed=true]').value, which.value]") == ["1", "3"]
    assert ask(page, "find('#task').classList.contains('done')") is False


def test_banks_fit_a_screen(shown):
    """A screen 800 high shows everything that a reader uses; a phone the picture and its controls. The picture has each
    lane's number, also at strides with many wavefronts."""
    page = shown("banks.html", place="?en#who=16&stride=32", height=800)
    assert ask(page, "document.documentElement.scrollHeight") <= 800
    for width, height, controls in ((1280, 800, "#controls"), (390, 844, "#main")):
        resize(page, width, height)
        ask(page, f"{DRAWN}.then(() => find('#figure').scrollIntoView())")
        for part in ("#figure", controls):
            top, bottom = ask(page, f"(box => [box.top, box.bottom])(find('{part}').getBoundingClientRect())")
            assert -1 < top and bottom < height + 1, (part, width)  # scrolling leaves parts of a pixel
        for stride in (8, 16, 32):
            ask(page, f"set({{ who: 16, stride: {stride}, pad: 0 }})")
            assert ask(page, NUMBERED) == 32, (width, stride)


def test_roofline(shown):
    """Its presets are the chapters' predictions, except for the bytes of C. Corners can be dragged with the mouse and
    with a finger."""
    page = shown("roofline.html")
    rows = [*csv.DictReader((ROOT / "docs/results/h200/ladder.csv").open())]
    for place, stage in (("naive", "01_naive"), ("registers", "02_register_blocking"), ("shared", "03_shared_blocking"),
                         ("unroll", "04_unroll")):
        go(page, place)
        predicted, = (float(row["predicted_gflops"]) for row in rows if (row["stage"], row["n"]) == (stage, "8192"))
        tera = float(re.search(r"\d+\.\d", ask(page, "find('#says strong').textContent"))[0])
        assert tera == pytest.approx(predicted / 1000, rel=.05, abs=.05), place
    # What was measured is hidden until a reader asks for it.
    points = """[...document.querySelectorAll("#figure .point")].map(each =>
        each.dataset.tip.match(/[\\d.]+/g).map(Number))"""
    assert ask(page, points) == []
    go(page, "shown=1")
    of_chapters = (row for row in rows if "/" not in row["stage"] and row["n"] == "8192")
    measured = {row["stage"][:2]: float(row["gflops"]) for row in of_chapters}
    shown_now = {f"{name:02.0f}": tera for name, tera, *_ in ask(page, points)}
    assert {"01", "02", "03", "04", "05"} <= set(shown_now) <= set(measured)
    assert all(tera == pytest.approx(measured[name] / 1000, abs=.051) for name, tera in shown_now.items())
    # Nothing is marked as reached if no block fits on an SM.
    assert ask(page, "(set({ bm: 8, bn: 8, tm: 3, tn: 3, depth: 32, others: 128 }), "
                     "document.querySelectorAll('#figure :is(circle.now, path.to)').length)") == 0
    for width in (390, 1280):
        resize(page, width, 1000)
        ask(page, f"(set({{ bm: 7, bn: 7, tm: 3, tn: 3 }}), figure.scrollIntoView({{ block: 'end' }}), {DRAWN})")
        x, y, by = ask(page, """(r => [r.x + place.left, r.y + place.top, place.scale])(
            find("#figure svg").getBoundingClientRect())""")
        drag(page, (x + 128 * by, y + 128 * by), (x + 64 * by, y + 32 * by), finger=width == 390)
        assert ask(page, "[bm, bn, tm].map(each => each.nextElementSibling.value)") == ["32", "64", "8"], width


@pytest.mark.parametrize("name", sorted(path.name for path in TOYS.glob("*.html")))
def test_toys_on_a_phone(name, shown):
    """In each language no word is missing, nothing is wider than the screen and no text of the picture is cut off. Each
    control has a name for a screen reader."""
    page = shown(name, width=390)
    assert nameless(page) == []
    assert ask(page, "Object.values(WORDS).every(each => each.length === 3 && each.every(Boolean))")
    assert ask(page, f"""{DRAWN}.then(() => [0, 1, 2].flatMap(each => {{
        find("#language").value = each;
        find("#language").dispatchEvent(new Event("input"));
        const cut = [...document.querySelectorAll("svg text")].filter(text => {{
            const box = text.getBoundingClientRect(), frame = text.closest("svg").getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1;
        }});
        const root = document.documentElement, wrong = {{ sideways: root.scrollWidth > 390,
            words: /undefined|[{{}}]/.test(document.body.innerText),
            language: root.lang !== ["en", "ja", "zh"][each] }};
        return Object.keys(wrong).filter(each => wrong[each]).concat(cut.map(text => text.textContent));
    }}))""") == []
