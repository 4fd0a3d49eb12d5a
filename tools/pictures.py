"""The pictures in docs/pictures that show figures of results or of notes. The others there are SVG files alone.

A picture is a function, which returns the drawing, and a line that says what it was drawn from.
"""
import math
import re

from machine import ROOT
from svg import Svg
from tables import Results, between

RESULTS = Results(ROOT / "docs/results/h200")


def memory():
    cycles = {row.kind: row.cycles for row in RESULTS("latency") if row.kind != "curve"}
    total = re.search(r"memory.total: (\d+) MiB", (RESULTS.folder / "machine.txt").read_text())[1]
    l1 = RESULTS.one("latency", kind="16-byte loads").bytes_per_clock  # an SM's, of 128; at shared memory's limit all SMs get 128
    shared = RESULTS.one("limits", what="shared_memory")
    rows = [("registers", "256 KB", None, None), ("shared memory", "", "shared memory", shared.gbs / 1000),
            ("L1 cache", "", "L1 hit", shared.limit * l1 / 128 / 1000),
            ("L2 cache", "60 MB", "L2 hit", RESULTS.one("limits", what="l2").gbs / 1000),
            ("device memory", f"{int(total) / 1024:.0f} GiB", "device memory", RESULTS.one("limits", what="copy").gbs / 1000)]
    svg = Svg("Farther memories are larger and slower")
    for x, head, unit in ((138, "capacity", ""), (208, "latency", "cycles"), (304, "bandwidth", "TB/s, all SMs")):
        svg.text(x, 56, head, "strong")
        if unit:
            svg.text(x, 71, unit, "small lesser")
    for number, (name, size, kind, tb) in enumerate(rows):
        y = 84 + 38 * number
        svg.box(*((20, y, 106, 30, 2) if number > 2 else (23, y, 100, 30, 1)), name, "edge", "middle")
        if size:
            svg.text(138, y + 19, size)
        for x, value, scale, digits in ((208, cycles.get(kind), 0.085, 0), (304, tb, 2.1, 1)):
            if value is None:
                svg.text(x, y + 19, "not measured", "lesser")
            else:
                svg.box(x, y + 5, scale * value, 20, 3)
                svg.text(x + scale * value + 6, y + 19, f"{value:.{digits}f}")
    svg.line("M126 128h6v56h-6")
    svg.text(138, 153, "together")
    svg.text(138, 168, "256 KB")
    svg.legend(y + 42, (1, "each SM has its own"), (2, "one for all SMs"))
    return svg, "Measured on an H200; capacities of an SM and of L2: NVIDIA's figures."


def roof():
    bandwidth, peak = RESULTS.one("limits", what="copy").gbs / 1000, RESULTS.one("limits", what="fp32_fma").gflops / 1000

    def at(intensity, speed):
        return 70 + 34 * math.log2(8 * intensity), 340 - 34 * math.log2(2 * speed)

    svg, ridge = Svg("A kernel of any intensity follows the roof"), peak / bandwidth
    (left, low), (right, top) = at(1 / 8, .5), at(128, peak)
    svg.line(f"M{left:g} {top - 30:g}V{low:g}H{right:g}", "grid")
    svg.line("M{:g} {:g}L{:g} {:g}L{:g} {:g}".format(*at(1 / 8, bandwidth / 8), *at(ridge, peak), right, top))
    svg.line("M{:g} {:g}V{:g}".format(*at(ridge, peak), low), "dash")
    svg.text(at(ridge, peak)[0] + 8, low - 12, f"ridge, {ridge:.1f}", "strong")
    svg.text(right, top - 10, f"{peak:.1f} TFLOP/s", "strong end")
    svg.text(at(4, 1)[0] - 12, at(1, 4 * bandwidth)[1] + 4, f"{bandwidth:.2f} TB/s x intensity", "strong end")
    for row in RESULTS("limits"):
        if row.what == "sweep":
            x, y = at(row.flop_per_byte, row.gflops / 1000)
            svg.box(x - 5, y - 5, 10, 10, 3)
            aside = at(ridge, 1)[0] - 6  # left of the ridge's line
            svg.text(*((aside, y + 18) if 0 < aside - x < 36 else (x + 9, y + 18)), f"{row.percent_of_limit:.0f}%",
                     "end" if 0 < aside - x < 36 else "")
    for speed in (1, 4, 16, 64):
        svg.text(left - 8, at(1, speed)[1] + 4, speed, "end lesser", False)
    for power in range(-2, 7):
        svg.text(at(2**power, 1)[0], low + 18, f"{2**power:g}", "middle lesser", False)
    for stage, name in (("01_naive", "01"), ("02_register_blocking", "02"), ("03_shared_blocking", "03 to 05")):
        svg.text(at(RESULTS.stages()[stage].flop_per_byte, 1)[0], low + 38, name, "strong middle", False)
    svg.text(left - 8, low + 38, "chapter", "end", False)
    svg.text(20, top - 20, "TFLOP/s", "lesser", False)
    svg.text(right, low + 56, "flop per byte", "end lesser", False)
    svg.text(20, low + 84, "The line is the roof. A box is the sweep at one intensity,")
    svg.text(20, low + 100, "with its share of the roof. A chapter's number stands below")
    svg.text(20, low + 116, "the flop per byte of its kernel.")
    return svg, "Measured on an H200: docs/results/h200/limits.csv, ladder.csv."


def slots():
    stage = "02_register_blocking"
    loop, used = RESULTS.one("ablation", stage=stage, without="-"), round(RESULTS.one("rates", stage=stage).issue_active_percent)
    share = round(100 * loop.loop_multiply_adds / (loop.loop_multiply_adds + loop.loop_others))
    multiply, x = round(share * used / 100), 20
    svg = Svg("02: how the issue slots are used")
    for fill, percent in ((3, multiply), (1, used - multiply), (0, 100 - used)):
        svg.box(x, 46, 3.88 * percent, 36, fill, f"{percent}%", "grid", "title middle")
        x += 3.88 * percent
    svg.legend(96, (3, "a multiply-add starts"), (1, "another instruction starts"))
    svg.legend(118, (0, "nothing starts"))
    svg.text(20, 156, f"{used}% of the slots are used. {share}% of these instructions are")
    svg.text(20, 172, f"multiply-adds: {share / 100} x {used / 100} = {multiply / 100}.")
    return svg, "Measured with ncu (rates.csv); share of the loop: ablation.csv."


def time():
    """A turn of the loop over k, to scale: a warp's cycles by ncu, and what it asks of the multiprocessor meanwhile."""
    rates = RESULTS.one("rates", stage="03_shared_blocking")
    executed, blocks, warps = 92.5, 2, 8  # instructions of a warp at one k; blocks on a multiprocessor; warps of a block
    each = round(between(rates), 2)
    turn, waits = executed * each, (rates.waiting_long_scoreboard, rates.waiting_short_scoreboard, rates.waiting_barrier)
    unit = blocks * (128 + 4 + 8 * (1 + 2 * 2 + 2 * 8))  # wavefronts: the loads of A and B; stores, reads of As, of Bs
    multiply = blocks * warps * 64 // 4
    svg, wide = Svg("03: one pass of the loop over k, to scale"), 388 / turn
    rows = [("A warp, while one k passes", [(fill, executed * wait, name) for fill, wait, name in
                                            zip((2, 2, 4), waits, ("global\nmemory", "shared\nmemory", "barrier"))]),
            (f"L1 and shared memory, for {blocks} blocks", [(3, unit, "busy")]),
            (f"Multiply-adds of {blocks} blocks", [(3, multiply, "busy")])]
    for number, (head, parts) in enumerate(rows):
        x, y = 20, 54 + 78 * number
        svg.text(x, y, head, "strong")
        for fill, cycles, name in [*parts, (0, turn - sum(cycles for _, cycles, _ in parts), "all else" if not number else "idle")]:
            svg.box(x, y + 8, wide * cycles, 46, fill, f"{name}\n{cycles:.0f}", "grid", "middle")
            x += wide * cycles
    svg.text(20, 284, f"A bar is {turn:,.0f} cycles: {executed} instructions, {each:.2f} cycles each.")
    svg.text(20, 300, "The warp's bar says what it waits for. All else: it issues, or waits")
    share = 100 * multiply / turn
    svg.text(20, 316, f"for its instruction before or a slot. {multiply} / {turn:,.0f} is {share:.0f}% of the peak.")
    return svg, "Waits: ncu, 4096 x 4096 x 4096 (rates.csv). Busy: 03, notes.md."


def waves():
    svg = Svg("Fewer registers, more waves on a SIMD")
    svg.text(20, 52, "A SIMD, a quarter of a compute unit, has 256 VGPRs a lane.")
    svg.text(20, 68, "A bar is all of them, a box a wave with its VGPRs.")
    table = (ROOT / "08_opencl_gcn/notes.md").read_text()
    rows = re.findall(r"(?m)^    (0\w+) +(\d+) +\d+ +\d+ +(\d+) +\d+ ", table)
    for number, (name, registers, waves) in enumerate(rows):
        y, given = 104 + 50 * number, -(-int(registers) // 4) * 4
        svg.text(20, y - 7, name, "strong")
        svg.text(404, y - 7, f"{waves} wave{'s' * (waves != '1')}", "end")
        svg.box(20, y, 1.5 * 256, 24, 0)
        for wave in range(int(waves)):
            svg.box(20 + 1.5 * given * wave, y, 1.5 * given, 24, 1, registers, "edge")
    return svg, "The table in 08's notes. VGPRs are given in fours, at most 10 waves."


PICTURES = {"00_memory": memory, "00_roof": roof, "02_slots": slots, "03_time": time, "08_waves": waves}


def drawn():
    """{file: its text}"""
    made = {name: draw() for name, draw in PICTURES.items()}
    return {ROOT / f"docs/pictures/{name}.svg": svg.render(source) for name, (svg, source) in made.items()}
