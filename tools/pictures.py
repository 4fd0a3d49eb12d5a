"""The chapters' pictures, docs/pictures/*.svg: drawn from what the kernels' traced builds access, or from other files of the book.

A picture is a function. @picture gives its file's name, and the runs of traced programs whose records the function gets. It returns
the drawing, and a line that says what it was drawn from.
"""
import re
from typing import NamedTuple

import view
from layouts import maps
from machine import BUILD, ROOT
from results import write_whole
from svg import Grid, Svg
from tables import Results

FOLDER = ROOT / "docs/pictures"
PICTURES = {}  # name: (function, {step: shape})


def picture(name, **runs):
    """runs: steps with their shapes; a step is named as its program is, 04_unroll.1_unroll."""
    def add(draw):
        PICTURES[name] = draw, runs
        return draw
    return add


class Request(NamedTuple):
    """What a warp does at one place of its program."""
    what: str  # "global load", "shared store", "barrier", "tensor", ...
    memory: str = ""  # the matrix or shared array
    size: int = 0  # of its elements, in bytes
    lengths: tuple = ()  # of its dimensions
    width: int = 0  # bytes that each lane wants
    cost: int = 0  # sectors, or wavefronts
    at: dict = {}  # lane: bytes from the memory's begin

    def place(self, lane):
        """The indices of the first element that the lane wants."""
        indices, rest = [], self.at[lane] // self.size
        for length in reversed(self.lengths[1:]):
            rest, index = divmod(rest, length)
            indices.append(index)
        return (rest, *reversed(indices))

    def places(self):
        """{indices of an element: the lanes that want it}."""
        found = {}
        for lane in self.at:
            *row, first = self.place(lane)
            for element in range(first, first + self.width // self.size):
                found.setdefault((*row, element), []).append(lane)
        return found


class Record:
    """What the first and the last block of a run do."""

    def __init__(self, step, shape, program):
        self.shape, self.data = shape, view.read(view.record(program, shape), step.replace(".", "/"), shape)

    def warps(self, block=0):
        return range(len(self.data["blocks"][block]["warps"]))

    def requests(self, what="", memory="", warp=0, block=0):
        """A warp's, in program order: those whose kind begins with `what`, and of that matrix or array. A copy from global to
        shared memory is two, "copy" and "copied"."""
        found = []
        for site, cost, _, _, *lanes in self.data["blocks"][block]["warps"][warp]:
            kind, _, _, width = self.data["sites"][site]
            found += [Request(kind)] * (not lanes)
            for kind, first, pattern in zip((kind, "copied"), lanes[::2], lanes[1::2]):
                of = [each for each in self.data["arrays" if kind.startswith(("shared", "copied")) else "matrices"]
                      if each["begin"] <= first][-1]
                at = {lane: first + offset - of["begin"] for lane, offset in enumerate(self.data["patterns"][pattern])
                      if offset is not None}
                lengths = of["lengths"] if "lengths" in of else (of["rows"], of["cols"])
                found.append(Request(kind, of["name"], of["size"], lengths, width, cost, at))
        return [request for request in found if request.what.startswith(what) and memory in ("", request.memory)]

    def places(self, list):
        """Of a note: the addresses of 16 bytes."""
        return [list[0] + distance for distance in self.data["patterns"][list[1]]]

    def stored(self, warp, block=0):
        """{element of C: the lanes that store it}."""
        return {place: lanes for r in self.requests("global store", "C", warp, block) for place, lanes in r.places().items()}


def drawn_from(*records):
    runs = "; ".join("{} at {} x {} x {}".format(record.data["name"], *record.shape) for record in records)
    return f"Drawn from the accesses of {runs} (M x N x K), on the emulator."


def count(number, what):
    return f"{number} {what}{'s' * (number != 1)}"


def corners(places):
    """(top, left, rows, columns) of the rectangle that these elements are."""
    (top, left), (bottom, right) = min(places), max(places)
    assert len(set(places)) == (bottom - top + 1) * (right - left + 1), "no rectangle"
    return top, left, bottom - top + 1, right - left + 1


@picture("00_memory")
def memory():
    results = Results(ROOT / "docs/results/h200")
    cycles = {row.kind: row.cycles for row in results("latency") if row.kind != "curve"}
    total = re.search(r"memory.total: (\d+) MiB", (results.folder / "machine.txt").read_text())[1]
    l1 = results.one("latency", kind="16-byte loads").bytes_per_clock  # an SM's, of 128; at shared memory's limit all SMs get 128
    shared = results.one("limits", what="shared_memory")
    rows = [("registers", "256 KB", None, None), ("shared memory", "256 KB", "shared memory", shared.gbs / 1000),
            ("L1 cache", "for both", "L1 hit", shared.limit * l1 / 128 / 1000), ("L2 cache", "60 MB", "L2 hit", None),
            ("device memory", f"{int(total) / 1024:.0f} GiB", "device memory", results.one("limits", what="copy").gbs / 1000)]
    svg = Svg("The farther a memory is from the threads, the larger and slower it is")
    for x, head, unit in ((240, "capacity", "of an SM; of all"), (370, "latency", "cycles"), (610, "bandwidth", "TB/s, all SMs")):
        svg.text(x, 56, head, "strong")
        svg.text(x, 71, unit, "small lesser")
    for number, (name, size, kind, tb) in enumerate(rows):
        y = 84 + 38 * number
        svg.box(*((20, y, 200, 30, 2) if number > 2 else (32, y, 176, 30, 1)), name, "edge", "middle")
        svg.text(240, y + 19, size)
        for x, value, scale, digits in ((370, cycles.get(kind), 0.28, 0), (610, tb, 5, 1)):
            if value is None:
                svg.text(x, y + 19, "not measured", "lesser")
            else:
                svg.box(x, y + 5, scale * value, 20, 3)
                svg.text(x + scale * value + 6, y + 19, f"{value:.{digits}f}")
    svg.legend(y + 42, (1, "each SM has its own"), (2, "one for all SMs"))
    return svg, ("Measured on an H200 (docs/results/h200); the capacities of an SM and of L2 are NVIDIA's figures. "
                 f"L1: {l1} bytes a cycle and SM.")


@picture("01_threads", **{"01_naive": (16, 64, 8)})
def threads(naive):
    k, (m, n, depth) = 3, naive.shape
    loads = {warp: {matrix: naive.requests("global load", matrix, warp)[k].places() for matrix in "AB"} for warp in naive.warps()}
    of_a, of_b = (len(loads[0][matrix]) for matrix in "AB")
    svg = Svg(f"At each k a warp loads {count(of_a, 'element')} of A and {of_b} neighbours in a row of B")
    grids = {"A": Grid(svg, 40, 170, m, depth, 10), "B": Grid(svg, 160, 70, depth, n, 10), "C": Grid(svg, 160, 170, m, n, 10)}
    for matrix, grid in grids.items():
        touched = {}  # element: the warps of block 0
        for warp in naive.warps():
            for place in naive.stored(warp) if matrix == "C" else loads[warp][matrix]:
                touched.setdefault(place, []).append(warp)
        for place, warps in touched.items():
            grid.cell(*place, 4 if len(warps) > 1 else {0: 3, 1: 2}.get(warps[0], 1))
        grid.ruled()
        svg.text(grid.x, grid.y - 8, f"{matrix}, {grid.rows} x {grid.columns}" + ": the grid has two blocks" * (matrix == "C"))
    svg.text(grids["A"].middle(0, k)[0], 346, f"k = {k}", "middle")
    grids["B"].named(rows={k: f"k = {k}"}, css="")
    for block in (0, 1):
        top, left, rows, columns = corners([place for warp in naive.warps(block) for place in naive.stored(warp, block)])
        grids["C"].cell(top, left, rows=rows, columns=columns, edge="edge")
        svg.text(grids["C"].middle(0, left + columns / 2)[0], 346,
                 f"block {block}: {len(naive.warps(block))} warps, {rows} x {columns} elements of C", "middle")
    svg.text(20, 386, "Warp 1 of block 0 is 32 lanes. Each computes one element of C:")
    for place, (lane,) in naive.stored(1).items():
        svg.box(30 + 24 * lane, 396, 24, 24, 2, lane, "grid")
        if lane in (0, 31):
            svg.text(30 + 24 * (lane + lane // 31), 438, "lane {}: C[{}][{}]".format(lane, *place), "end" if lane else "")
    svg.legend(454, (3, "warp 0"), (2, "warp 1"), (1, "the block's other warps"), (4, "all warps of the block"))
    return svg, drawn_from(naive)


@picture("02_sectors", **{"01_naive": (32, 128, 1), "02_register_blocking": (128, 128, 1)})
def sectors(naive, blocked):
    requests = {"01": naive.requests("global load", "B")[0], "02": blocked.requests("global load", "B")[0]}
    svg = Svg("A load of B takes a warp " + " and ".join(f"{request.cost} sectors in {name}" for name, request in requests.items()))
    for y, (name, request) in zip((60, 156), requests.items()):
        fetched = {}  # sector: the lanes that want something of it
        grid = Grid(svg, 20, y + 10, 1, 128, 6, 30, 0)
        for (_, column), lanes in request.places().items():
            fetched.setdefault(column // 8, []).extend(lanes)
            grid.cell(0, column, 3)
        assert len(fetched) == request.cost, "as the emulator counts them"
        svg.text(20, y, f"{name}: {len(fetched)} sectors of 32 bytes are fetched. {4 * len(request.places())} of their "
                        f"{32 * len(fetched)} bytes are used.", "strong")
        for sector, lanes in fetched.items():
            grid.cell(0, 8 * sector, 1, columns=8)
            between = ", " if len(lanes) == 2 else " .. "
            svg.text(44 + 48 * sector, y + 56, f"{lanes[0]}{between}{lanes[-1]}", "small middle", False)
        grid.ruled()
        grid.ruled("edge", 8)
    svg.text(20, 236, "A bar is the first 128 floats of a row of B, in 16 sectors. The lanes of warp 0 stand below what they want.")
    svg.legend(250, (3, "wanted by a lane"), (1, "fetched with it, not used by this load"), (0, "not fetched"))
    return svg, drawn_from(naive, blocked)


def draw_banks(svg, y, request, fill=lambda lane: 3):
    """The words that a request of 4 bytes a lane wants of the 32 banks: a row for each 128 bytes. Returns the y below."""
    words = {}
    for lane, at in request.at.items():
        words.setdefault(at // 4, []).append(lane)
    rows = sorted({word // 32 for word in words})
    busy = {bank: sum(word % 32 == bank for word in words) for bank in {word % 32 for word in words}}
    assert request.width == 4 and max(busy.values()) == request.cost, "as the emulator counts them"
    grid = Grid(svg, 90, y, len(rows), 32, 22.5, 30, 0)
    for word, lanes in words.items():
        grid.cell(rows.index(word // 32), word % 32, fill(lanes[0]), "\n".join(map(str, lanes)))
    grid.ruled()
    grid.named(range(32), [f"words {32 * row} .." for row in rows])
    svg.text(84, y - 6, "bank", "small lesser end", False)
    svg.text(20, y + 30 * len(rows) + 20,
             f"{count(len(busy), 'bank')} must serve {count(request.cost, 'word')} each, one in a wavefront: "
             f"{count(request.cost, 'wavefront')}." + f" The other {32 - len(busy)} have nothing to do." * (len(busy) < 32))
    return y + 30 * len(rows) + 28


@picture("03_banks", **{"03_shared_blocking": (128, 128, 1)})
def stride(blocked):
    request = blocked.requests("shared load", "Bs")[0]
    svg = Svg(f"Lanes that are {request.at[1] // 4 - request.at[0] // 4} words apart meet in a few of the 32 banks")
    svg.text(20, 56, "Warp 0 reads Bs[col]. Each number is a lane, in the word that it wants.")
    draw_banks(svg, 86, request)
    return svg, drawn_from(blocked)


@picture("04_pad", **{"04_unroll.2_wide_loads": (128, 128, 8), "04_unroll": (128, 128, 8)})
def pad(without, padded):
    svg, y = Svg("The pad moves the odd lanes' words to the other 16 banks"), 56
    for name, record in (("Without the pad", without), ("With the pad", padded)):
        request = record.requests("shared store", "As")[0]
        svg.text(20, y, f"{name} a row of As has {request.lengths[-1]} floats. Lane 1 stores "
                        f"{request.at[1] // 4 - request.at[0] // 4} words behind lane 0.", "strong")
        y = draw_banks(svg, y + 30, request, lambda lane: 2 if lane % 2 else 3) + 28
    svg.legend(y - 14, (3, "an even lane's word"), (2, "an odd lane's word"))
    return svg, drawn_from(without, padded)


@picture("09_lanes", **{"09_warp_tiling": (128, 256, 8)})
@picture("04_lanes", **{"04_unroll": (128, 128, 8)})
def lanes(stage):
    owner = {place: lane for place, (lane,) in stage.stored(0).items()}
    _, _, rows, columns = corners(owner)
    starts = sorted(at for at in owner if owner.get((at[0] - 1, at[1])) != owner[at] != owner.get((at[0], at[1] - 1)))
    tall, wide = (sorted({at[axis] for at in starts})[1] for axis in (0, 1))
    mine = [at for at in starts if owner[at] == 0]
    down, across = (sorted({at[axis] for at in mine})[1] for axis in (0, 1))
    svg = Svg(f"A lane owns {len(mine)} pieces of {tall} x {wide} elements, {down} rows and {across} columns apart")
    svg.text(20, 54, f"Warp 0's {rows} x {columns} elements of C. The number in a piece is its lane; lane 0's pieces are marked.")
    grid = Grid(svg, 48, 82, rows, columns, min(12, 512 // rows))
    for row, column in starts:
        lane = owner[row, column]
        grid.cell(row, column, 0 if lane else 3, lane, tall, wide, "grid", "middle")
    grid.named({column: column for column in range(0, columns, wide)}, {row: row for row in range(0, rows, tall)})
    grid.cell(0, 0, rows=rows, columns=columns, edge="edge")
    return svg, drawn_from(stage)


@picture("04_to_and_fro")
def to_and_fro():
    svg = Svg("To and fro, each multiply-add shares an operand with the one before")
    there = [[(i, j) for j in range(8)] for i in range(8)]
    for x, name, rows in ((64, "04_unroll/2_wide_loads.cu", there),
                          (479, "04_unroll/matmul.cu", [row[::-1] if i % 2 else row for i, row in enumerate(there)])):
        order = sum(rows, [])
        steps = list(zip(order, order[1:]))
        apart = [step for step in steps if step[0][0] != step[1][0] and step[0][1] != step[1][1]]
        grid = Grid(svg, x, 96, 8, 8, 36, fill=0)
        grid.ruled()
        grid.named([f"b[{j}]" for j in range(8)], [f"a[{i}]" for i in range(8)])
        for step in steps:
            ends = (*grid.middle(*step[0]), *grid.middle(*step[1]))
            svg.line("M{:g} {:g}L{:g} {:g}".format(*ends), "dash") if step in apart else svg.arrow(*ends)
        svg.text(x, 62, name, "strong")
        svg.text(x, 406, f"{len(steps) - len(apart)} of {len(steps)} steps keep a[i] or b[j]"
                 + f"; {len(apart)} keep neither (dashed)" * bool(apart))
    return svg, "The order of the loops over acc[i][j] in the two sources."


TRACKS = {"global load": "load", "shared store": "store", "barrier": "barrier", "shared load": "read", "": "multiply"}


def strip_of(record):
    """[(kind, s)]: warp 0's requests in program order, those of a kind and of one s together, from a load of tiles to the next.

    Registers are not recorded. Where multiplies stand is computed: one follows each read of operands, and there are K of them. If
    there are more reads than that, the first ones are ahead."""
    found = []
    for request in record.requests():
        key = request.what, request.place(0)[-2] if request.what == "shared load" else ""
        if request.what in TRACKS and (found[-1:] != [key] or request.what == "barrier"):
            found.append(key)
    reads = [s for what, s in found if what == "shared load"]
    strip, multiplied = [], record.shape[2] - len(reads)  # below 0: reads ahead
    for each in found:
        strip.append(each)
        if each[0] == "shared load":
            if multiplied >= 0:
                strip.append(("", reads[multiplied]))
            multiplied += 1
    loads = [at for at, (what, _) in enumerate(strip) if what == "global load"]
    return strip[loads[-2]:loads[-1] + 1]


@picture("05_step", **{"04_unroll": (128, 128, 40), "05_double_buffer": (128, 128, 40)})
def step(unrolled, buffered):
    svg, y = Svg("In 05 multiplies run between a load and the store that waits for it"), 56
    for name, record in (("04", unrolled), ("05", buffered)):
        strip, rows = strip_of(record), list(TRACKS)
        grid = Grid(svg, 84, y + 12, len(rows), len(strip), 730 / len(strip), 24)
        grid.named(rows=TRACKS.values(), css="")
        for at, (what, s) in enumerate(strip):
            grid.cell(rows.index(what), at, (3, 2, 4, 0, 1)[rows.index(what)], s, edge="grid")
        Grid(svg, 84, y + 12, len(rows), 1, 730, 24).ruled()
        store = [what for what, _ in strip].index("shared store")
        between = [what for what, _ in strip[:store]].count("")
        svg.text(20, y, f"{name}: {between} multiplies between a load and its store", "strong")
        svg.line("M{:g} {:g}v12".format(grid.middle(0, 0)[0], y + 36))
        svg.arrow(grid.middle(0, 0)[0], y + 48, grid.middle(0, store - .5)[0], y + 48)
        y += 160
    svg.text(20, y, "Program order of one warp runs to the right; it is not time. Load: from global memory to registers.")
    svg.text(20, y + 16, "Store: from there to shared memory. The numbers are s: the operands read, and those multiplied.")
    return svg, drawn_from(unrolled, buffered)


@picture("06_fragments", **{"06_wmma": (128, 256, 32)})
def fragments(wmma):
    m, n, depth = wmma.shape
    a, b = ([corners([place[1:] for place in r.places()]) for r in wmma.requests("shared load", memory)
             if (r.place(0)[0], r.place(0)[k]) == (0, 0)] for memory, k in (("As", 2), ("Bs", 1)))  # those of the first multiply
    kinds = [r.what for r in wmma.requests() if r.what in ("barrier", "tensor")][1:]
    products = kinds.index("barrier")
    svg = Svg(f"A warp reads {len(a)} + {len(b)} fragments for {products} products: each fragment serves {products // len(a)}")
    for name, grid, found in (("a", Grid(svg, 30, 164, m, depth, 2, fill=0), a), ("b", Grid(svg, 112, 78, depth, n, 2, fill=0), b)):
        grid.cell(0, 0, rows=grid.rows, columns=grid.columns, edge="edge")
        for number, (top, left, *size) in enumerate(found):
            grid.cell(top, left, 3, f"{name}[{number}]", *size, "edge", "middle")
        svg.text(grid.x, grid.y - 10, f"{name.upper()}s, {grid.rows} x {grid.columns}" + ": the tiles of one step" * (name == "b"))
    grid = Grid(svg, 112, 164, m, n, 2, fill=0)
    for top, left, rows, _ in a:
        for _, column, _, columns in b:
            grid.cell(top, column, 2, "acc", rows, columns, "grid", "middle")
    for warp in wmma.warps():
        top, left, *size = corners(wmma.stored(warp))
        grid.cell(top, left, None, f"warp {warp}" if warp else "", *size, "edge", "middle")
    svg.text(112, 438, f"A block computes {m} x {n} elements of C, a warp {size[0]} x {size[1]}. acc[i][j] += a[i] b[j].")
    held = [divmod(place, 16) for place in maps()["sm_75 and later"]["accumulator float row"][:8]]
    svg.text(648, 166, "One acc: 16 x 16 sums,")
    svg.text(648, 182, f"{len(held)} in each lane. Lane 0's:")
    grid = Grid(svg, 648, 192, 16, 16, 9)
    for row, column in held:
        grid.cell(row, column, 3)
    grid.ruled()
    grid.cell(0, 0, rows=16, columns=16, edge="edge")
    return svg, drawn_from(wmma) + " Lane 0's: the table of 07."


@picture("07_lanes")
def layouts():
    svg = Svg("Which lane holds an element? The answer changed once, after Volta")
    for x, of, name in ((38, "sm_70 (Volta)", "Volta"), (442, "sm_75 and later", "Turing and later")):
        holders = {}
        for at, place in enumerate(maps()[of]["matrix_a half col"]):
            holders.setdefault(divmod(place, 16), []).append(at // 16)
        grid = Grid(svg, x, 82, 16, 16, 23, 20)
        for place, held in holders.items():
            grid.cell(*place, 3 if 0 in held else 0, min(held))
        grid.ruled()
        grid.named(range(16), range(16))
        further = {max(held) - min(held) for held in holders.values()}
        svg.text(x, 58, name, "strong")
        svg.text(x, 422, "The lane in the box holds it" + (" twice." if further == {0} else f", and lane + {further.pop()} too."))
        svg.text(x, 438, f"Lane 0 holds {sum(0 in held for held in holders.values())} of 256 elements, which are marked.")
    return svg, "matrix_a, half, column-major, 16 x 16. Drawn from the table of 07."


@picture("08_waves")
def waves():
    svg = Svg("The fewer registers a wave takes, the more waves fit on a SIMD")
    table = (ROOT / "08_opencl_gcn/README.md").read_text()
    rows = re.findall(r"(?m)^    (0\w+) +(\d+) +\d+ +\d+ +(\d+) +\d+ ", table)
    for number, (name, registers, waves) in enumerate(rows):
        grid = Grid(svg, 170, 62 + 34 * number, 1, 256, 2, 26, 0)
        grid.named(["0"] * (not number) or {}, [name], "")
        for wave in range(int(waves)):
            given = -(-int(registers) // 4) * 4
            grid.cell(0, given * wave, 1, registers, columns=given, edge="edge")
        svg.text(694, grid.y + 17, count(int(waves), "wave"))
    svg.text(682, 56, "256 VGPRs", "small lesser end")
    svg.text(20, grid.y + 48, "A SIMD, a quarter of a compute unit, has 256 VGPRs a lane. A box is a wave with its VGPRs.")
    return svg, "Drawn from the table in 08_opencl_gcn/README.md. VGPRs are given out in fours; 10 waves are the most."


@picture("10_swizzle", **{"10_async_mma.3_swizzle": (128, 256, 64)})
def swizzle(swizzled):
    svg = Svg("The swizzle puts eight pieces of a column of As into eight groups of banks")
    svg.text(20, 54, "The first 8 rows of As, 128 bytes each. The number is the piece of 8 values of k that lies there.")
    grid, read = Grid(svg, 66, 86, 8, 8, 90, 28), swizzled.requests("shared load", "As")[0]
    lane_of = {read.place(lane): lane for lane in range(8)}
    for warp in swizzled.warps():
        for source, to in zip(swizzled.requests("copy", "A", warp), swizzled.requests("copied", "As", warp)):
            for lane in to.at:
                buffer, row, column = to.place(lane)
                if buffer == 0 and row < 8:
                    reader = lane_of.get(to.place(lane))
                    text = source.place(lane)[1] // 8 if reader is None else f"{source.place(lane)[1] // 8}: lane {reader}"
                    grid.cell(row, column // 8, 0 if reader is None else 3, text)
    grid.ruled()
    grid.named([f"banks {4 * place} .. {4 * place + 3}" for place in range(8)], [f"row {row}" for row in range(8)])
    svg.legend(324, (3, "what lanes 0 to 7 name in one ldmatrix: one wavefront"))
    return svg, drawn_from(swizzled)


@picture("11_box", **{"11_wgmma.2_store": (128, 256, 64)})
def box(store):
    svg = Svg("One store of a warp reaches every bank twice, once for each half of the warp")
    svg.text(20, 54, "The first 8 rows of a box of C in shared memory, 128 bytes each: 32 floats. The number is the piece of 4 columns.")
    grid, first = Grid(svg, 66, 86, 8, 8, 90, 28), store.requests("shared store", "Cs")[0]
    lanes = {}  # place of 16 bytes: the lanes that store there
    for lane in first.at:
        *_, row, column = first.place(lane)
        lanes.setdefault((row, column // 4), []).append(lane)
    for row in range(8):
        for place in range(8):
            of = lanes.get((row, place))
            text = str(place ^ row) + (f": lanes {of[0]}, {of[-1]}" if of else "")
            grid.cell(row, place, (3 if of[0] < 16 else 2) if of else 0, text)
    grid.ruled()
    grid.named([f"banks {4 * place} .. {4 * place + 3}" for place in range(8)], [f"row {row}" for row in range(8)])
    svg.legend(324, (3, "8 bytes of each of lanes 0 to 15: one wavefront"), (2, "of lanes 16 to 31: another"))
    return svg, drawn_from(store)


@picture("11_ring", **{"11_wgmma.2_store": (128, 256, 384)})
def ring(store):
    """Time is the order of the notes; those of one kind and one buffer that follow each other are one column."""
    notes, arrays = store.data["blocks"][0]["notes"], {each["name"]: each for each in store.data["arrays"]}
    at, buffers = {name: each["begin"] for name, each in arrays.items()}, arrays["full"]["lengths"][0]
    rounds = [[] for _ in range(buffers)]  # of each buffer: {what: column} of each step
    arrived, column, last = [0] * buffers, 0, None
    for kind, first, *rest in notes:
        note = notes[first] if kind == "done" else [kind, first, *rest]
        if note[0] == "arrive":
            name, buffer = ("full" if note[1] < at["empty"] else "empty"), (note[1] - at["full"]) // 8 % buffers
        elif note[0] == "load":
            name, buffer = "load", (note[2] - at["full"]) // 8
        elif note[0] == "wgmma":
            name, buffer = "wgmma", (note[2][0] - at["As"]) // (arrays["As"]["bytes"] // buffers)
        else:
            continue
        column += (kind, name, buffer) != last
        last = kind, name, buffer
        if (kind, name) == ("arrive", "full"):
            rounds[buffer].append({"load": column})
        elif (kind, name) == ("done", "load"):
            rounds[buffer][-1]["there"] = column + 1
        elif name == "wgmma":
            rounds[buffer][-1].setdefault("wgmma", column)
        elif (kind, name) == ("arrive", "empty"):
            arrived[buffer] += 1
            rounds[buffer][-1]["free"] = column + 1
    warps = arrived[0] // len(rounds[0])
    width = 730 / (column + 2)
    svg = Svg(f"While wgmma reads one buffer, TMA fills the other {('one', 'two', 'three')[buffers - 2]}")
    svg.text(20, 54, "A row for each buffer, with the step of 64 k that it serves. Below it, its two mbarriers and their phases.")
    for buffer, steps in enumerate(rounds):
        y = 76 + 84 * buffer
        grid = Grid(svg, 84, y, 1, column + 2, width, 30, 0)
        grid.named(rows=[f"buffer {buffer}"], css="")
        for number, step in enumerate(steps):
            for fill, what, begin, end in ((1, "load", "load", "there"), (3, "wgmma", "there", "free")):
                grid.cell(0, step[begin], fill, f"{what} {buffers * number + buffer}", columns=step[end] - step[begin], edge="grid")
        for row, (name, end) in enumerate((("full", "there"), ("empty", "free")), 1):
            line = Grid(svg, 84, y + 18 * row + 14, 1, column + 2, width, 16)
            line.named(rows=[f"{name}[{buffer}]"])
            starts = [0, *(step[end] for step in steps), column + 2]
            for phase, (begin, to) in enumerate(zip(starts, starts[1:])):
                line.cell(0, begin, None, f"phase {phase}" if to - begin > 2 else phase, columns=to - begin, edge="grid")
    svg.legend(y + 84, (1, "TMA writes"), (3, f"wgmma reads, until {warps} warps have arrived"), (0, "free"))
    svg.text(20, y + 122, f"A phase of full[b] ends when all its bytes have come, one of empty[b] when {warps} warps have arrived.")
    svg.text(20, y + 138, "To the right is the order in which the emulator ran them, not time. Its copies land when awaited.")
    return svg, drawn_from(store)


@picture("11_descriptor", **{"11_wgmma.2_store": (128, 256, 64)})
def descriptor(store):
    notes = store.data["blocks"][0]["notes"]
    _, _, *places, a, b = [note for note in notes if note[:2] == ["wgmma", 0]][1]  # k 16 .. 31, of warp 0
    holds = {}  # 16 bytes: their piece
    for note in notes:
        if note[0] == "load":
            holds.update({place: number % 8 for number, place in enumerate(store.places(note[8]))})
    svg = Svg("A descriptor says how far rows lie apart; the swizzle, where in its row a piece lies")
    strides = {}
    for y, name, bits in ((72, "A", int(a)), (102, "B", int(b))):
        grid = Grid(svg, 40, y, 1, 64, 12, 24, 0)
        grid.named({column: 63 - column for column in (0, 12, 31, 47, 63)} if name == "A" else {}, [name], "")
        grid.cell(0, 0, 1, bits >> 62, columns=2, edge="grid")
        grid.cell(0, 12, 1, 0, columns=3, edge="grid")  # the base offset; the emulator uses the bits around it itself
        for field, first, fill in (("start", 0, 1), ("LBO", 16, 3), ("SBO", 32, 2)):
            value = bits >> first & 0x3fff
            strides[name, field] = 16 * value
            grid.cell(0, 50 - first, fill, f"{field} {value}: {16 * value} bytes", columns=14, edge="grid")
    svg.text(40, 142, "Bits 63 and 62: the swizzle, 1 for 128 bytes. Bits 51 to 49: the base offset, 0. A does not use its LBO.")
    for x, name, begin, of, said in ((72, "A", 0, places[0], "row"), (350, "B", 0, places[1], "k"),
                                     (600, "B", strides["B", "LBO"], places[1], "")):
        read = store.places(of)
        begin += min(read) // 1024 * 1024
        first = min(read) % 8192 // 128 // 8 * 8  # row of the box
        grid, eight = Grid(svg, x, 186, 16, 8, 25, 15, 0), strides[name, "SBO"] // 128  # rows
        for row in range(16):
            for place in range(8):
                at = begin + 128 * row + 16 * place
                grid.cell(row, place, 3 if at in read else 0, holds[at])
        grid.ruled()
        grid.named(rows={row: f"{said} {first + row}" for row in (0, eight)} if said else {})
        svg.text(x, 172, "As[0]: rows of warp 0" if name == "A" else f"Bs[0][{int(not said)}]: 64 columns")
        if said:
            svg.arrow(x + 218, 193, x + 218, 193 + 15 * eight)
            svg.text(x + 218, 193 + 15 * eight + 16, "SBO", "strong middle", False)
    svg.arrow(350, 440, 600, 440)
    svg.text(475, 456, "LBO", "strong middle", False)
    k = 8 * min(holds[place] for place in store.places(places[0]))
    svg.legend(446, (3, f"what one wgmma reads: k {k} to {k + 15}"))
    return svg, drawn_from(store)


def target(step):
    return f"{step}_cpu_trace"


def targets():
    """What must be built."""
    return sorted({target(step) for _, runs in PICTURES.values() for step in runs})


def drawn(name, program=lambda step: BUILD / "bin" / target(step)):
    """The text of its file."""
    draw, runs = PICTURES[name]
    svg, source = draw(*(Record(step, shape, program(step)) for step, shape in runs.items()))
    return svg.render(source)


def write():
    FOLDER.mkdir(exist_ok=True)
    files = [(FOLDER / f"{name}.svg", drawn(name)) for name in PICTURES]
    write_whole(*files)
    print(*(path for path, _ in files), sep="\n")
    return 0
