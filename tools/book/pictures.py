"""The pictures in docs/pictures. One that shows figures of results is a function here, which returns the drawing, and a
line that names its sources. The others are only SVG files, of which the style is written anew.
"""
import re

from book import openings
from book.chart import RIGHT, Axes, Chart
from book.measured import Results, cycles_per_issue
from book.svg import Svg, restyled
from programs import ROOT

RESULTS = Results(ROOT / "docs/results/h200")


def memory():
    cycles = {row.kind: row.cycles for row in RESULTS("latency") if row.kind != "curve"}
    total = re.search(r"memory.total: (\d+) MiB", (RESULTS.folder / "machine.txt").read_text())[1]
    device, l2, shared = (RESULTS.one("limits", what=what) for what in ("copy", "l2", "shared_memory"))
    # At shared memory's limit each SM gets 128 bytes a clock, and from L1 this fraction of it.
    of_128 = RESULTS.one("latency", kind="16-byte loads").bytes_per_clock / 128
    rows = [
        ("registers", "256 KB", None, None),
        ("shared memory", "", "shared memory", shared.gbs / 1000),
        ("L1 cache", "", "L1 hit", shared.limit * of_128 / 1000),
        ("L2 cache", "60 MB", "L2 hit", l2.gbs / 1000),
        ("device memory", f"{int(total) / 1024:.0f} GiB", "device memory", device.gbs / 1000),
    ]
    svg = Svg("Farther memories are larger and slower")
    for x, head, unit in ((138, "capacity", ""), (208, "latency", "cycles"), (304, "bandwidth", "TB/s, all SMs")):
        svg.text(x, 56, head, "strong")
        if unit:
            svg.text(x, 71, unit, "small lesser")
    for number, (name, size, kind, tb) in enumerate(rows):
        y = 84 + 38 * number
        if number > 2:  # shared by all SMs
            svg.box(20, y, 106, 30, "full-pale", name, "edge", "middle")
        else:
            svg.box(23, y, 100, 30, None, name, "grid", "middle")
        if size:
            svg.text(138, y + 19, size)
        for x, fill, value, scale, digits in ((208, "wait", cycles.get(kind), 0.085, 0), (304, "full", tb, 2.1, 1)):
            if value is None:
                svg.text(x, y + 19, "not measured", "lesser")
            else:
                svg.box(x, y + 5, scale * value, 20, fill)
                svg.text(x + scale * value + 6, y + 19, f"{value:.{digits}f}")
    svg.line("M126 128h6v56h-6")
    svg.text(138, 153, "together")
    svg.text(138, 168, "256 KB")
    svg.legend(y + 42, (None, "each SM has its own"), ("full-pale", "one for all SMs"))
    return svg, "Measured on an H200; capacities of an SM and of L2: NVIDIA's figures."


def roof():
    gbs, peak = RESULTS.one("limits", what="copy").gbs, RESULTS.one("limits", what="fp32_fma").gflops / 1000
    chart, ridge, foot = Chart("A kernel of any intensity follows the roof"), 1000 * peak / gbs, 340
    axes = Axes(chart, 64, foot - 64, RIGHT, (0.2, 100), (0.5, 1.4 * peak), (2, 4))
    axes.curve([(0.2, 0.2 * gbs / 1000), (ridge, peak), (100, peak)], "edge")
    axes.curve([(ridge, peak), (ridge, 0.5)], "dash")
    chart.tag(axes.x(ridge) + 8, foot - 12, f"ridge, {ridge:.1f}", "strong")
    chart.tag(RIGHT, axes.y(peak) - 12, f"{peak:.1f} TFLOP/s", "strong end")
    chart.tag(axes.x(4) - 12, axes.y(0.004 * gbs), f"{gbs / 1000:.2f} TB/s x intensity", "strong end")
    for row in RESULTS("limits"):
        if row.what == "sweep":
            axes.curve([(row.flop_per_byte, row.gflops / 1000)] * 2, "dot")
            chart.tag(axes.x(row.flop_per_byte) + 9, axes.y(row.gflops / 1000) + 14, f"{row.percent_of_limit:.0f}%")
    for stage, name in (("01_naive", "01"), ("02_register_blocking", "02"), ("03_shared_blocking", "03 to 05")):
        chart.tag(axes.x(RESULTS.stages()[stage].flop_per_byte), foot + 32, name, "strong middle")
    chart.text(20, 54, "TFLOP/s", "lesser", False)
    chart.text(RIGHT, foot + 52, "flop per byte", "lesser end", False)
    chart.text(20, foot + 76, "The line is the roof. A dot is the sweep at one intensity, with its share")
    chart.text(20, foot + 92, "of the roof. A chapter's number stands below its kernel's flop per byte.")
    return chart, "Measured on an H200: docs/results/h200/limits.csv, ladder.csv."


def slots():
    stage = "02_register_blocking"
    loop = RESULTS.one("ablation", stage=stage, without="-")
    used = round(RESULTS.one("rates", stage=stage).issue_active_percent)
    share = round(100 * loop.loop_multiply_adds / (loop.loop_multiply_adds + loop.loop_others))
    multiply, x = round(share * used / 100), 20
    svg = Svg("02: how the issue slots are used")
    for fill, percent in (("full", multiply), ("full-pale", used - multiply), ("wait", 100 - used)):
        svg.box(x, 46, 3.88 * percent, 36, fill, f"{percent}%", "grid", "title middle")
        x += 3.88 * percent
    svg.legend(96, ("full", "a multiply-add is issued"), ("full-pale", "another instruction is issued"))
    svg.legend(118, ("wait", "nothing is issued"))
    svg.text(20, 156, f"{used}% of the slots are used. {share}% of these instructions are")
    svg.text(20, 172, f"multiply-adds: {share / 100} x {used / 100} = {multiply / 100}.")
    return svg, "Measured with ncu (rates.csv); share of the loop: ablation.csv."


def time():
    """An iteration of the loop over k, to scale: a warp's cycles by ncu, and what it requests of the SM meanwhile."""
    rates = RESULTS.one("rates", stage="03_shared_blocking")
    executed = 92.5  # instructions of a warp at one k
    blocks, warps = 2, 8  # on an SM, and in each block
    each = round(cycles_per_issue(rates), 2)
    iteration = executed * each
    unit = blocks * (128 + 4 + 8 * (1 + 2 * 2 + 2 * 8))  # wavefronts: the loads of A and B; stores, reads of As, of Bs
    multiply = blocks * warps * 64 // 4
    svg, wide = Svg("03: one pass of the loop over k, to scale"), 388 / iteration
    waits = [
        ("wait", executed * rates.waiting_long_scoreboard, "global\nmemory"),
        ("wait", executed * rates.waiting_short_scoreboard, "shared\nmemory"),
        ("wait", executed * rates.waiting_barrier, "barrier"),
    ]
    rows = [
        ("A warp, while one k passes", waits, "all else"),
        (f"L1 and shared memory, for {blocks} blocks", [("full", unit, "busy")], "idle"),
        (f"Multiply-adds of {blocks} blocks", [("full", multiply, "busy")], "idle"),
    ]
    for number, (head, parts, others) in enumerate(rows):
        x, y = 20, 54 + 78 * number
        svg.text(x, y, head, "strong")
        rest = iteration - sum(cycles for _, cycles, _ in parts)
        for fill, cycles, name in [*parts, ("idle", rest, others)]:
            svg.box(x, y + 8, wide * cycles, 46, fill, f"{name}\n{cycles:.0f}", "grid", "middle")
            x += wide * cycles
    svg.text(20, 284, f"A bar is {iteration:,.0f} cycles: {executed} instructions, {each:.2f} cycles each.")
    svg.text(20, 300, "The warp's bar says what it waits for. All else: it issues, or waits")
    share = 100 * multiply / iteration
    of_peak = f"{multiply} / {iteration:,.0f} is {share:.0f}% of the peak"
    svg.text(20, 316, f"for its instruction before or a slot. {of_peak}.")
    return svg, "Waits: ncu, 4096 x 4096 x 4096 (rates.csv). Busy: 03, notes.md."


def waves():
    svg = Svg("Fewer registers, more waves on a SIMD")
    svg.text(20, 52, "A SIMD, a quarter of a compute unit, has 256 VGPRs a lane.")
    svg.text(20, 68, "A bar is all of them, a box a wave with its VGPRs.")
    table = (ROOT / "docs/results/gcn.txt").read_text()
    rows = re.findall(r"(?m)^(0\w+) +(\d+) +\d+ +\d+ +(\d+) +\d+ ", table)
    for number, (name, registers, waves) in enumerate(rows):
        y, allocated = 104 + 50 * number, -(-int(registers) // 4) * 4
        svg.text(20, y - 7, name, "strong")
        svg.text(404, y - 7, "1 wave" if waves == "1" else f"{waves} waves", "end")
        svg.box(20, y, 1.5 * 256, 24, "idle")
        for wave in range(int(waves)):
            svg.box(20 + 1.5 * allocated * wave, y, 1.5 * allocated, 24, "full-pale", registers, "edge")
    return svg, "docs/results/gcn.txt. VGPRs are allocated in fours, at most 10 waves."


def split():
    """A float as two halves, and their product beside an accumulator, each bit at the place of its weight."""
    of_half, of_float, extra = 11, 24, 2  # significant bits; those that a tensor core keeps below a float's
    svg, largest, wide = Svg("What an accumulator keeps of a product"), 10, 388 / 35

    def bits(y, first, count, fill, text):
        """`count` bits, of which the first has the weight 2^first."""
        svg.box(20 + wide * (largest - first), y, wide * count, 26, fill, text, "edge", "middle")

    svg.text(20, 58, "A float from 1/2 to 1, and its two halves", "strong")
    bits(66, -1, of_float, "idle", f"{of_float} bits")
    bits(96, -1, of_half, "full-pale", "hi, 11 bits")
    bits(96, -1 - of_half, of_half, "full-pale", "lo, 11 bits")
    for y, exponent, head in ((156, 10, "A sum from 1024 to 2048, and one more hi hi"),
                              (252, 3, "A sum from 8 to 16, as in one k-tile")):
        kept = of_float + extra + min(-1 - exponent, 0)  # of the product
        svg.text(20, y - 8, head, "strong")
        bits(y, exponent, of_float, "c", f"the sum, {of_float} bits")
        bits(y, exponent - of_float, extra, "idle", f"+{extra}")
        bits(y + 30, -1, min(kept, 2 * of_half), "full-pale", f"{min(kept, 2 * of_half)} bits are added")
        if kept < 2 * of_half:
            bits(y + 30, -1 - kept, 2 * of_half - kept, "wait", "fall off")
    svg.text(20, 332, "A bit stands at the place of its weight. A tensor core of an H100 keeps")
    svg.text(20, 348, f"{extra} bits below those of a float, truncates, and adds.")
    return svg, "The rules: emulator/include/tensor_core.h."


def transposed():
    """How the threads of 04 load A and store it as As: four values of k of a row, one below the other."""
    svg, k_tile, rows, each = Svg("Four neighbours along k end one below the other"), 8, 3, 24
    fills = ("a", "a-pale")
    svg.text(20, 54, "loaded: rows of A", "strong")
    svg.text(272, 54, "stored: As[k][row]", "strong")
    for k in range(k_tile):
        svg.text(64 + each * (k + 0.5), 76, k, "small lesser middle", False)
        svg.text(306, 98 + each * k, f"As[{k}]", "small lesser end", False)
    for row in range(rows):
        svg.text(56, 98 + each * row, f"row {row}", "small lesser end", False)
        svg.text(312 + each * (row + 0.5), 76, row, "small lesser middle", False)
        for k in range(k_tile):
            thread = 2 * row + k // 4
            for x, y in ((64 + each * k, 82 + each * row), (312 + each * row, 82 + each * k)):
                svg.box(x, y, each, each, fills[thread % 2], f"t{thread}", "grid")
    svg.line("M64 174h180m-4 -4l4 4l-4 4")
    svg.text(20, 204, "A box is an element, with the thread")
    svg.text(20, 221, "that loads and stores it.")
    return svg, "04_unroll/matmul.cu"


def overlap():
    """What a warp of 04 and one of 05 do, one after the other."""
    svg = Svg("05 loads the next k-tile beside the multiply-adds")

    def turns(y, *parts):
        x = 20
        for width, fill, text in parts:
            svg.box(x, y, width, 36, fill, text, "grid")
            x += width + 2

    svg.text(20, 56, "04: one k-tile, then the next", "strong")
    turns(64, *(part for tile in ("T0", "T1") for part in (
        (40, "full-pale", f"load\n{tile}"), (38, "full-pale", "store"), (8, "wait", ""),
        (84, "c", f"multiply\n{tile}"), (8, "wait", ""))))
    svg.text(20, 132, "05: two at a time, in two buffers", "strong")
    for number in range(3):
        x, here, there = 20 + 132 * number, number % 2, (number + 1) % 2
        svg.box(x, 140, 116, 36, "c", f"multiply T{number},\nbuffer {here}", "grid")
        svg.box(x, 178, 116, 36, "full-pale", f"load T{number + 1},\nstore to buffer {there}", "grid")
        if number < 2:
            svg.box(x + 118, 140, 12, 74, "wait")
    svg.legend(230, ("wait", "barrier"))
    svg.text(20, 266, "Time runs to the right, not to scale. T0, T1, T2 are k-tiles.")
    return svg, "04_unroll/matmul.cu, 05_double_buffer/matmul.cu"


def roles():
    of, svg = openings.constants("10_async_mma/matmul.cu"), Svg("One thread loads, eight warps multiply")
    svg.text(20, 54, "the producer: one thread", "strong")
    svg.text(236, 54, f"the consumers: {of.kConsumers // 32} warps", "strong")
    lines = (("wait until stage b is empty", "issue TMA loads into it:", f"{of.kTileM} x {of.kTileK} of A",
              f"{of.kTileK} x {of.kTileN} of B"),
             ("wait until stage b is full", "load fragments, multiply", "signal that it has been read"))
    for x, texts in zip((20, 236), lines):
        svg.box(x, 64, 172, 84, None, edge="edge")
        for number, text in enumerate(texts):
            svg.text(x + 8, 82 + 18 * number, text)
    svg.line("M234 78H194m4 -3l-4 3l4 3M194 114H234m-4 -3l4 3l-4 3")
    svg.text(214, 72, "empty", "small middle")
    svg.text(214, 129, "full", "small middle")
    svg.text(20, 176, f"b: one of {of.kStages} stages of shared memory", "strong")
    for stage in range(of.kStages):
        x = 20 + 100 * stage
        svg.box(x, 186, 88, 44, None, edge="edge")
        svg.box(x + 8, 194, 26, 28, "a", "As")
        svg.box(x + 42, 194, 38, 28, "b", "Bs")
    svg.text(20, 250, "An arrow points to the one that waits.")
    return svg, "10_async_mma/matmul.cu"


def equal():
    """Three tiles of 16 k-tiles on four SMs, as whole tiles and in equal shares. A step is two k-tiles."""
    svg, tiles, steps, sms, wide = Svg("Three tiles on four SMs: whole, or in equal shares"), 3, 8, 4, 42
    fills, y = ("c", "c-pale", "full-pale"), 52
    equal = tiles * steps // sms
    for head, share in ((f"Whole tiles: {steps} steps of time", steps),
                        (f"{2 * tiles * steps} / {sms} k-tiles for each SM: {equal} steps", equal)):
        svg.text(20, y, head, "strong")
        for sm in range(sms):
            top = y + 8 + 24 * sm
            svg.text(20, top + 14, f"SM {sm}")
            work = range(sm * share, min((sm + 1) * share, tiles * steps))
            for step, box in enumerate(work):
                tile = box // steps
                svg.box(64 + wide * step, top, wide, 20, fills[tile], tile, "grid")
            if len(work) < steps:
                svg.box(64 + wide * len(work), top, wide * (steps - len(work)), 20, "wait" if not work else None)
        y += 134
    svg.legend(y - 14, ("wait", "an SM without work"))
    return svg, "A box is two k-tiles with the number of their tile. An SM computes from left to right."


PICTURES = {
    **openings.pictures(), "00_memory": memory, "00_roof": roof, "02_slots": slots, "03_time": time, "08_waves": waves,
    "04_transposed": transposed, "05_overlap": overlap, "10_roles": roles, "13_equal": equal, "14_split": split,
}


def drawn():
    """{file: its text}"""
    files = [file for file in (ROOT / "docs/pictures").glob("*.svg") if file.suffixes == [".svg"]]  # no translation
    texts = {file: restyled(file.read_text()) for file in files}
    for name, draw in PICTURES.items():
        svg, source = draw()
        texts[ROOT / f"docs/pictures/{name}.svg"] = svg.render(source)
    return texts
