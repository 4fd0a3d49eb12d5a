"""The pictures of 00 to 03."""
import math
import re

from machine import ROOT
from pictures import accesses, corners, count, picture
from svg import Grid, Svg
from tables import Results, between


@picture("00_memory")
def memory():
    results = Results(ROOT / "docs/results/h200")
    cycles = {row.kind: row.cycles for row in results("latency") if row.kind != "curve"}
    total = re.search(r"memory.total: (\d+) MiB", (results.folder / "machine.txt").read_text())[1]
    l1 = results.one("latency", kind="16-byte loads").bytes_per_clock  # an SM's, of 128; at shared memory's limit all SMs get 128
    shared = results.one("limits", what="shared_memory")
    rows = [("registers", "256 KB", None, None), ("shared memory", "", "shared memory", shared.gbs / 1000),
            ("L1 cache", "", "L1 hit", shared.limit * l1 / 128 / 1000),
            ("L2 cache", "60 MB", "L2 hit", results.one("limits", what="l2").gbs / 1000),
            ("device memory", f"{int(total) / 1024:.0f} GiB", "device memory", results.one("limits", what="copy").gbs / 1000)]
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


@picture("00_roof")
def roof():
    results = Results(ROOT / "docs/results/h200")
    bandwidth, peak = results.one("limits", what="copy").gbs / 1000, results.one("limits", what="fp32_fma").gflops / 1000

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
    for row in results("limits"):
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
        svg.text(at(results.stages()[stage].flop_per_byte, 1)[0], low + 38, name, "strong middle", False)
    svg.text(left - 8, low + 38, "chapter", "end", False)
    svg.text(20, top - 20, "TFLOP/s", "lesser", False)
    svg.text(right, low + 56, "flop per byte", "end lesser", False)
    svg.paragraph(20, low + 84, "The line is the roof. A box is the sweep at one intensity,",
                  "with its share of the roof. A chapter's number stands below",
                  "the flop per byte of its kernel.")
    return svg, "Measured on an H200: docs/results/h200/limits.csv, ladder.csv."


@picture("01_threads", **{"01_naive": (16, 64, 8)})
def threads(naive):
    k, (m, n, depth) = 3, naive.shape
    loads = {warp: {matrix: naive.requests("global load", matrix, warp)[k].places() for matrix in "AB"} for warp in naive.warps()}
    of_a, of_b = (len(loads[0][matrix]) for matrix in "AB")
    svg = Svg(f"At each k a warp loads {of_a} of A and {of_b} of B")
    grids = {"A": Grid(svg, 20, 130, m, depth, 5), "B": Grid(svg, 88, 66, depth, n, 5), "C": Grid(svg, 88, 130, m, n, 5)}
    for matrix, grid in grids.items():
        touched = {}  # element: the warps of block 0
        for warp in naive.warps():
            for place in naive.stored(warp) if matrix == "C" else loads[warp][matrix]:
                touched.setdefault(place, []).append(warp)
        for place, warps in touched.items():
            grid.cell(*place, 4 if len(warps) > 1 else {0: 3, 1: 2}.get(warps[0], 1))
        grid.ruled()
        svg.text(grid.x, grid.y - 8, f"{matrix}, {grid.rows} x {grid.columns}" + ": the grid has two blocks" * (matrix == "C"))
    svg.text(grids["A"].middle(0, k)[0], 226, f"k = {k}", "middle")
    grids["B"].named(rows={k: f"k = {k}"}, css="")
    for block in (0, 1):
        top, left, rows, columns = corners([place for warp in naive.warps(block) for place in naive.stored(warp, block)])
        grids["C"].cell(top, left, rows=rows, columns=columns, edge="edge")
        for y, text in ((226, f"block {block}: {len(naive.warps(block))} warps,"), (242, f"{rows} x {columns} elements of C")):
            svg.text(grids["C"].x + 5 * (left + columns / 2), y, text, "middle")
    svg.text(20, 276, "Warp 1 of block 0 is 32 lanes. Each computes one element of C:")
    for place, (lane,) in naive.stored(1).items():
        svg.box(22 + 12 * lane, 286, 12, 20, 2, edge="grid")
        if lane in (0, 31):
            svg.text(22 + 12 * (lane + lane // 31), 322, "lane {}: C[{}][{}]".format(lane, *place), "end" if lane else "")
    svg.legend(338, (3, "warp 0"), (2, "warp 1"))
    svg.legend(360, (1, "the block's other warps"), (4, "all warps of the block"))
    return svg, accesses("01_naive", naive)


@picture("02_tile", **{"02_register_blocking": (128, 128, 1)})
def tile(blocked):
    lane, (row, column) = 17, (2, 5)
    top, left, rows, columns = corners([place for place, lanes in blocked.stored(0).items() if lane in lanes])
    a, b = ([request.place(lane) for request in blocked.requests("global load", matrix)] for matrix in "AB")
    assert a == [(top + i, 0) for i in range(rows)] and b == [(0, left + j) for j in range(columns)]
    svg = Svg(f"{len(a)} + {len(b)} elements serve {rows * columns} multiply-adds")
    block = Grid(svg, 20, 124, 128, 128, 1.125, fill=0)
    for place in blocked.stored(0):
        block.cell(*place, 1)
    block.cell(top, left, 4, rows=rows, columns=columns)
    Grid(svg, block.x, block.y, 128 // rows, 128 // columns, 1.125 * columns).ruled()
    for y, text in ((56, "A block's 128 x 128"), (72, "elements of C"), (96, "A box is a thread's"), (112, "8 x 8")):
        svg.text(20, y, text, "strong" * (y < 80))
    sums = Grid(svg, 212, 116, rows, columns, 25, 24, 0)
    sums.cell(row, 0, 2, columns=columns)
    sums.cell(0, column, 3, rows=rows)
    sums.cell(row, column, 3, "+", edge="edge", css="title middle")
    sums.ruled()
    for j in range(columns):
        svg.box(212 + 25 * j, 86, 25, 24, 3 if j == column else 0, f"b[{j}]", "grid", "small middle")
    for i in range(rows):
        svg.box(180, 116 + 24 * i, 26, 24, 2 if i == row else 0, f"a[{i}]", "grid", "small middle")
    svg.text(180, 56, "The dark thread's 64 sums:", "strong")
    svg.text(180, 72, "acc[i][j] += a[i] * b[j]", "strong")
    svg.legend(322, (4, "one thread"), (1, "warp 0: two rows of 16 threads"))
    svg.legend(344, (2, f"a[{row}] serves a row of 8 sums"), (3, f"b[{column}] serves a column"))
    svg.text(20, 382, "The framed sum takes both.")
    return svg, accesses("02_register_blocking", blocked)


@picture("02_slots")
def slots():
    results, stage = Results(ROOT / "docs/results/h200"), "02_register_blocking"
    loop, used = results.one("ablation", stage=stage, without="-"), round(results.one("rates", stage=stage).issue_active_percent)
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


@picture("02_sectors", **{"01_naive": (32, 128, 1), "02_register_blocking": (128, 128, 1)})
def sectors(naive, blocked):
    requests = {"01": naive.requests("global load", "B")[0], "02": blocked.requests("global load", "B")[0]}
    svg = Svg("A load of B: sectors " + ", ".join(f"{request.cost} in {name}" for name, request in requests.items()))
    for y, (name, request) in zip((58, 156), requests.items()):
        fetched = {}  # sector: the lanes that want something of it
        grid = Grid(svg, 20, y + 10, 1, 128, 3, 30, 0)
        for (_, column), lanes in request.places().items():
            fetched.setdefault(column // 8, []).extend(lanes)
            grid.cell(0, column, 3)
        assert len(fetched) == request.cost, "as the emulator counts them"
        svg.text(20, y, f"{name} fetches {32 * len(fetched)} bytes and uses {4 * len(request.places())} of them.", "strong")
        for sector, lanes in fetched.items():
            grid.cell(0, 8 * sector, 1, columns=8)
            for down, text in ((54, lanes[0]), (68, lanes[-1])):
                svg.text(32 + 24 * sector, y + down, text, "small middle", False)
        grid.ruled(every=8)
    for y, text in ((250, "A bar is the first 128 floats of a row of B, in 16 sectors."),
                    (266, "The lanes of warp 0 stand below the sector that they want:"),
                    (282, "in 01 from the upper to the lower number, in 02 these two.")):
        svg.text(20, y, text)
    svg.legend(298, (3, "wanted by a lane"), (1, "fetched with it, not used now"))
    svg.legend(320, (0, "not fetched"))
    return svg, accesses("01 and 02", blocked)


@picture("03_banks", **{"03_shared_blocking": (128, 128, 1)})
def stride(blocked):
    request, words = blocked.requests("shared load", "Bs")[0], {}
    for lane, at in request.at.items():
        words.setdefault(at // 4, []).append(lane)
    banks = {bank: sum(word % 32 == bank for word in words) for bank in {word % 32 for word in words}}
    assert request.width == 4 and max(banks.values()) == request.cost, "as the emulator counts them"
    apart = request.at[1] // 4 - request.at[0] // 4
    svg = Svg(f"Lanes {apart} words apart meet in {len(banks)} of 32 banks")
    svg.text(20, 56, "Warp 0 reads Bs[col], 4 bytes a lane. A row is 32 words of Bs.")
    grid = Grid(svg, 56, 92, (max(words) + 32) // 32, 32, 11, 28, 0)
    for word, lanes in words.items():
        grid.cell(word // 32, word % 32, 3)
        x, y = grid.middle(word // 32, word % 32)
        svg.text(x + 9, y + 4, f"lanes {', '.join(map(str, lanes))}", "small", False)
    grid.ruled(every=8)
    svg.line("".join(f"M{56 + 11 * bank} 92v-4" for bank in range(33)), "grid")
    grid.named({bank: bank for bank in (*range(0, 32, 8), 31)}, [f"{32 * row} .." for row in range(grid.rows)])
    svg.text(20, 86, "bank", "small lesser", False)
    below = grid.y + 28 * grid.rows
    svg.text(20, below + 22, f"{count(len(banks), 'bank')} must serve {count(request.cost, 'word')} each, one in a cycle.")
    svg.text(20, below + 38, f"That is {count(request.cost, 'wavefront')}. The other {32 - len(banks)} banks have nothing to do.")
    svg.legend(below + 50, (3, "one word, which both lanes get at once"))
    return svg, accesses("03_shared_blocking", blocked)


@picture("03_time", **{"03_shared_blocking": (128, 128, 2)})
def time(blocked):
    """A turn of the loop over k, to scale: a warp's cycles by ncu, and what it asks of the multiprocessor meanwhile."""
    rates = Results(ROOT / "docs/results/h200").one("rates", stage="03_shared_blocking")
    executed, blocks = 92.5, 2  # instructions of a warp at one k: 92 or 93 of the loop's; blocks on a multiprocessor
    each = round(between(rates), 2)
    turn, waits = executed * each, (rates.waiting_long_scoreboard, rates.waiting_short_scoreboard, rates.waiting_barrier)
    unit = blocks * (128 + 4 + 8 * (1 + 2 * 2 + 2 * 8))  # wavefronts: the loads of A and B; stores, reads of As, of Bs
    multiply = blocks * len(blocked.warps()) * 64 // 4
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
