"""The pictures of 06, 07, 10 and 11."""
from layouts import maps
from pictures import accesses, corners, picture
from svg import Grid, Svg

WMMA = {f"06_wmma{step}": (128, 256, 32) for step in (".1_halves", ".2_fragments", ".3_async", ".4_wide_tile", ".5_deep_step", "")}


def registers(record, depth):
    """Those of a thread that hold elements, 4 bytes each: sums, operands, and the next tiles. `depth`: of a multiply."""
    a, b = (record.requests("shared load", memory) for memory in ("As", "Bs"))
    once = sum(request.place(0)[:2] == (0, 0) for request in b)  # how many of them one multiply takes
    ahead = len(b) > once * record.shape[2] // depth
    arrays = {each["name"]: each["lengths"] for each in record.data["arrays"]}
    loads = len(record.requests("global load")) * arrays["Bs"][1] // record.shape[2]  # of a step
    return len(record.stored(0)) // 32, 4 * (once + once * len(a) // len(b)) * (1 + ahead), 4 * loads


@picture("06_steps", **WMMA)
def storage(*records):
    svg, y = Svg("What the programs of 06 keep, and where", 480, 480), 82
    svg.text(20, 50, "Upper bar: a block's shared memory, in KiB.")
    svg.text(20, 66, "Lower bar: the registers of a thread that hold elements.")
    for record in records:
        name = record.data["name"].removeprefix("06_wmma/")
        svg.text(20, y + 12, "matmul" if name == "06_wmma" else name, "strong")
        x = 20
        for array in record.data["arrays"]:
            buffers = 1 if array["name"] == "Cs" else array["lengths"][0]
            width = array["bytes"] / 256 / buffers
            for _ in range(buffers):
                svg.box(x, y + 18, width, 18, {"As": 1, "Bs": 2}.get(array["name"], 3), array["name"], "grid")
                x += width
        svg.text(x + 8, y + 32, f"{(x - 20) / 4:.0f} KiB")
        x, held = 20, registers(record, 16 if record.requests("tensor") else 1)
        for fill, number, what in zip((3, 0, 4), held, (" sums", "", "")):
            if number:
                svg.box(x, y + 40, 2 * number, 18, fill, f"{number}{what}", "grid")
                x += 2 * number
        svg.text(x + 8, y + 54, f"{sum(held)}")
        y += 72
    svg.legend(y + 8, (1, "tiles of A"), (2, "tiles of B"), (3, "Cs; sums"))
    svg.legend(y + 30, (0, "a and b"), (4, "the next tiles, waiting to be stored"))
    return svg, "Drawn from their accesses at {} x {} x {} (M x N x K), on the emulator.".format(*records[0].shape)


@picture("06_store", **{"06_wmma": (128, 256, 32)})
def through_cs(wmma):
    svg = Svg("C through Cs: a lane stores others' sums", 480, 480)
    held, kept = {}, {}  # an element of a fragment: the lane that puts it into Cs, the lane that takes it to C
    for found, requests in ((held, wmma.requests("shared store", "Cs")[:4]), (kept, wmma.requests("global store", "C")[:2])):
        for request in requests:
            for (*_, row, column), (lane,) in request.places().items():
                found[row, column] = lane
    for x, found, lines in ((20, held, ("acc: which lane holds a sum", "store_matrix_sync puts it", "into Cs")),
                            (256, kept, ("C: which lane stores it", "after __syncwarp(), four", "neighbours at a time"))):
        for number, line in enumerate(lines):
            svg.text(x, 54 + 16 * number, line, "" if number else "strong")
        grid = Grid(svg, x, 98, 16, 16, 12.75, 16, 0)
        for (row, column), lane in found.items():
            if lane < 4:
                grid.cell(row, column, lane + 1, lane)
        grid.ruled()
    svg.arrow(228, 226, 252, 226)
    svg.legend(368, *((lane + 1, f"lane {lane}") for lane in range(4)), (0, "the others"))
    return svg, "Drawn from the accesses of 06_wmma, on the emulator: a fragment of a warp."


@picture("06_fragments", **{"06_wmma": (128, 256, 32)})
def fragments(wmma):
    m, n, depth = wmma.shape
    a, b = ([corners([place[1:] for place in r.places()]) for r in wmma.requests("shared load", memory)
             if (r.place(0)[0], r.place(0)[k]) == (0, 0)] for memory, k in (("As", 2), ("Bs", 1)))  # those of the first multiply
    kinds = [r.what for r in wmma.requests() if r.what in ("barrier", "tensor")][1:]
    products = kinds.index("barrier")
    svg = Svg(f"A warp reads {len(a)} + {len(b)} fragments for {products} products", 480, 480)
    tiles = Grid(svg, 20, 130, m, depth, 1.5, fill=0), Grid(svg, 76, 72, depth, n, 1.5, fill=0)
    for name, grid, found in zip("ab", tiles, (a, b)):
        grid.cell(0, 0, rows=grid.rows, columns=grid.columns, edge="edge")
        for top, left, *size in found:
            grid.cell(top, left, 3, name, *size, "edge", "middle")
    svg.text(76, 62, f"Bs, {depth} x {n}: a tile of one step")
    svg.text(20, 122, "As")
    grid = Grid(svg, 76, 130, m, n, 1.5, fill=0)
    for top, left, rows, _ in a:
        for _, column, _, columns in b:
            grid.cell(top, column, 2, "acc", rows, columns, "grid", "small middle")
    for warp in wmma.warps():
        top, left, *size = corners(wmma.stored(warp))
        grid.cell(top, left, None, f"warp {warp}" if warp else "", *size, "edge", "middle")
    svg.text(20, 346, f"As is {m} x {depth}. A block owns {m} x {n} elements of C, a warp {size[0]} x {size[1]}.")
    svg.text(20, 362, f"acc[i][j] += a[i] * b[j]: each fragment serves {products // len(a)} products.")
    return svg, f"Drawn from the accesses of 06_wmma at {m} x {n} x {depth}, on the emulator."


def held_by(chips):
    """{element of a column-major matrix_a: [(lane, i of its x[i])]}"""
    found = {}
    for at, place in enumerate(maps()[chips]["matrix_a half col"]):
        found.setdefault(divmod(place, 16), []).append(divmod(at, 16))
    return found


def lanes_of(svg, chips):
    """The matrix, with the least lane that holds an element; those of lane 0 are marked."""
    svg.text(44, 50, "column", "lesser", False)
    grid = Grid(svg, 44, 74, 16, 16, 26, 22)
    for place, held in held_by(chips).items():
        lane, i = min(held)
        grid.cell(*place, 3 if lane == 0 else 0, lane, css="middle")
    grid.ruled()
    grid.named(range(16), range(16), "lesser")


@picture("07_lanes")
def layouts():
    svg, chips = Svg("Which lane holds an element today", 480, 480), "sm_75 and later"
    lanes_of(svg, chips)
    mine = sorted((i, place) for place, holders in held_by(chips).items() for lane, i in holders if lane == 0)
    svg.text(20, 446, "The number is the lane. Lane 0 (marked) has, at row and column,")
    svg.text(20, 462, ", ".join("x[{}] at {} {}".format(i, *place) for i, place in mine[:5]) + ", ...")
    return svg, "matrix_a, 16 x 16 halves, from Turing to Hopper. Drawn from the table of 07."


@picture("07_volta")
def volta():
    svg, chips = Svg("Which lane held an element on Volta", 480, 480), "sm_70 (Volta)"
    lanes_of(svg, chips)
    (first, _), (second, _) = held_by(chips)[0, 0]
    svg.text(20, 446, f"The number is the lane. Lane + {second - first} holds the same element once more.")
    return svg, "matrix_a, 16 x 16 halves, column-major. Drawn from the table of 07."


@picture("10_ldmatrix", **{"10_async_mma.1_mma_sync": (128, 256, 64)})
def ldmatrix(step):
    read = step.requests("shared load", "As")[0]
    (_, top, left), width = read.place(0), read.width // read.size
    given = {lane: (read.place(lane)[1] - top, read.place(lane)[2] - left) for lane in read.at}  # where the lane's address points
    received = {}  # lane: elements
    for at, place in enumerate(maps()["sm_80 and later"]["ldmatrix_x4"]):
        received.setdefault(at // 8, []).append(divmod(place, 16))
    one = 5
    assert all(b == (a[0], a[1] + 1) for each in received.values() for a, b in zip(each[::2], each[1::2]))
    assert not set(received[one]) & {(given[one][0], given[one][1] + i) for i in range(width)}
    svg = Svg("ldmatrix: addresses in, elements out")
    svg.text(20, 50, "Both: the same 16 x 16 elements of As. Out: 07's table.")
    svg.text(44, 76, "In: whose address", "strong")
    svg.text(180, 76, "Out: the lane that gets a pair", "strong")
    named, out = Grid(svg, 44, 100, 16, 2, 56, 18), Grid(svg, 180, 100, 16, 16, 14.4, 18)
    named.named({0: "columns 0-7", 1: "8-15"}, range(16))
    out.named({column: column for column in range(0, 16, 2)})
    for lane in read.at:
        fill = 3 if lane == one else 0
        row, column = given[lane]
        named.cell(row, column // width, fill, f"lane {lane}", edge="grid")
        for place in received[lane][::2]:  # and its neighbour
            out.cell(*place, fill, lane, columns=2, edge="grid")
    for row in (0, 8):
        named.cell(row, 0, rows=8, edge="edge")
        named.cell(row, 1, rows=8, edge="edge")
        for column in (0, 8):
            out.cell(row, column, rows=8, columns=8, edge="edge")
    svg.text(20, 412, f"Lane {one} (marked) gives the address of 16 bytes in row {given[one][0]}.")
    svg.text(20, 428, f"It gets {len(received[one])} elements, in four registers: a pair of each 8 x 8.")
    return svg, accesses("10/1_mma_sync", step)


@picture("10_ldmatrix_trans", **{"10_async_mma.1_mma_sync": (128, 256, 64)})
def ldmatrix_trans(step):
    """Two fragments of B: the lane and the register of each pair, 16 rows of Bs by 16 columns."""
    received = {}  # (lane, register): elements
    for at, place in enumerate(maps()["sm_80 and later"]["ldmatrix_x4_trans"]):
        received.setdefault((at // 8, at % 8 // 2), []).append(divmod(place, 16))
    one = 5
    assert all(b == (a[0] + 1, a[1]) for a, b in received.values()), "a pair lies below each other"
    svg = Svg("Of Bs a lane gets pairs below each other")
    svg.text(20, 50, "16 x 16 elements of Bs, a pair in each cell. The number: its lane.")
    grid = Grid(svg, 64, 96, 8, 16, 21.6, 28)
    for tile in (0, 1):
        svg.text(64 + (8 * tile + 4) * 21.6, 74, f"b[..][{tile}]", "strong middle", False)
    grid.named(range(16), [f"k {row}, {row + 1}" for row in range(0, 16, 2)])
    for (lane, _), [(row, column), _] in received.items():
        grid.cell(row // 2, column, 3 if lane == one else 0, lane, edge="grid")
    for column in (0, 8):
        grid.cell(0, column, rows=8, columns=8, edge="edge")
    k = sorted(row for (lane, register), pair in received.items() if lane == one and register < 2 for row, _ in pair)
    svg.text(20, 346, f"Lane {one} (marked) gets k {', '.join(map(str, k))} of a column in either half.")
    svg.text(20, 362, "A half is the B of one mma.sync: two registers of each lane.")
    return svg, accesses("10/1_mma_sync", step)


def names_banks(svg, grid):
    """Of a grid of 8 rows of 128 bytes in shared memory, a cell for each 16 bytes."""
    grid.ruled()
    grid.named([f"{4 * place}-{4 * place + 3}" for place in range(8)], [f"row {row}" for row in range(8)])
    svg.text(54, 98, "banks", "small lesser end", False)


@picture("10_swizzle", **{"10_async_mma.3_swizzle": (128, 256, 64)})
def swizzle(swizzled):
    svg = Svg("Piece p of row r is at place p ^ (r % 8)")
    svg.text(20, 50, "The first 8 rows of As, 128 bytes each. The number is the piece")
    svg.text(20, 66, "of 8 values of k that lies there.")
    grid, read = Grid(svg, 60, 104, 8, 8, 44, 32), swizzled.requests("shared load", "As")[0]
    lane_of = {read.place(lane): lane for lane in range(8)}
    for warp in swizzled.warps():
        for source, to in zip(swizzled.requests("copy", "A", warp), swizzled.requests("copied", "As", warp)):
            for lane in to.at:
                buffer, row, column = to.place(lane)
                if buffer == 0 and row < 8:
                    reader = lane_of.get(to.place(lane))
                    text = source.place(lane)[1] // 8 if reader is None else f"{source.place(lane)[1] // 8}\nlane {reader}"
                    grid.cell(row, column // 8, 0 if reader is None else 3, text)
    names_banks(svg, grid)
    svg.legend(372, (3, "what lanes 0 to 7 name in one ldmatrix: one wavefront"))
    return svg, accesses("10/3_swizzle", swizzled)


@picture("10_box", **{"10_async_mma.4_box": (160, 256, 152)})
def tma_box(step):
    notes, rows, columns = step.data["blocks"][1]["notes"], step.shape[0], step.shape[2]
    _, _, _, _, x, y, width, height, to = [note for note in notes if note[:1] + note[3:4] == ["load", "A"]][-1]
    places = step.places(to)  # of the box's pieces of 16 bytes, row by row
    across = width // 8
    svg = Svg("TMA cuts out a box, adds zeros, swizzles")
    svg.text(20, 54, f"A in global memory, {rows} x {columns}: last block, last step", "strong")
    scale = .86
    inside = min(width, columns - x), min(height, rows - y)
    grid = Grid(svg, 40, 66, rows, columns, scale, fill=1)
    grid.cell(y, x, 0, rows=height, columns=width, edge="edge")
    grid.cell(y, x, 3, rows=inside[1], columns=inside[0])
    for column in range(width, x, width):
        svg.line(f"M{40 + scale * column:g} 66v{scale * rows:g}", "dash")
    svg.line(f"M40 {66 + scale * y:g}h{scale * x:g}", "dash")
    for line, text in enumerate(("One thread asks for", f"the box at x = {x}, y = {y}:", f"{height} x {width} elements,",
                                 f"{inside[1]} x {inside[0]} of them in A")):
        svg.text(54 + scale * (x + width), 80 + scale * y + 17 * line, text)
    low = 66 + scale * (y + height) + 28
    svg.text(20, low, f"As in shared memory: 8 of its {height} rows", "strong")
    grid = Grid(svg, 72, low + 12, 8, across, 43, 22)
    for number, place in enumerate(places[:8 * across]):
        piece, there = number % across, (place - min(places)) // 16
        held = 8 * piece < inside[0]
        grid.cell(there // across, there % across, 3 if held else 0, x + 8 * piece if held else 0, edge="grid", css="middle")
    grid.named(rows=[f"row {row}" for row in range(8)], css="")
    svg.paragraph(20, low + 210, f"The number is the first of 8 values of k. Row r is A's {y} + r.",
                  f"The mbarrier counts {16 * len(places)} bytes, with the zeros.",
                  "Dashed: where the other boxes of A end.")
    svg.legend(low + 256, (1, "A"), (3, "A, in the box"), (0, "zeros, which TMA writes"))
    return svg, accesses("10/4_box", step)


@picture("10_phases", **{"10_async_mma.4_box": (128, 256, 192)})
def phases(step):
    """Time is the order of the notes, downwards; those of one kind that follow each other are one row."""
    events = []  # (kind, how many of them follow each other)
    for kind, *_ in step.data["blocks"][0]["notes"]:
        kind = "ask" if kind in ("arrive", "load") else kind
        if kind in ("ask", "wait", "done", "pass"):
            events += [kind] * (not events or events[-1] != kind)
    steps = events.count("ask")
    assert events == ["ask", "wait", "done", "pass"] * steps and steps == -(-step.shape[2] // 64)
    svg = Svg("How long a wait for a parity lasts")
    svg.text(20, 50, "An mbarrier's life in 4_box.cu. T0 are the tiles of the first step.")
    grid = Grid(svg, 14, 92, 3 * steps, 6, 400 / 6, 28)

    def cell(column, row, rows, text, fill=None):
        grid.cell(row, column, fill, text, rows=rows, edge="grid" if fill is not None else "edge", css="middle")

    for number in range(steps + 1):
        at = 3 * number  # rows: ask, come, multiply
        if number < steps:
            cell(0, at, 1, f"ask T{number}", 2)
            cell(1, at + 1, 1, f"T{number} comes", 1)
            cell(3, at, 2, f"wait for {number % 2}", 0)
            cell(3, at + 2, 1, "multiply", 3)
        begin, end = max(at - 1, 0), min(at + 2, 3 * steps)
        cell(2, begin, end - begin, f"phase {number}")
        for asked in (0, 1):
            lasts = asked == number % 2
            cell(4 + asked, begin, end - begin, "lasts" if lasts else "over\nat once" if end - begin > 1 else "over",
                 0 if lasts else None)
    grid.named(["thread 0", "TMA", "mbarrier", "threads", "wait for 0", "wait for 1"], css="")
    low = 92 + 28 * 3 * steps
    svg.paragraph(20, low + 22, "A phase ends when thread 0 has arrived and all bytes that it",
                  "announced have come. Phases 0 and 2 have parity 0.",
                  "Downwards is the order in which the emulator ran them, not time.")
    return svg, accesses("10/4_box", step)


@picture("11_box", **{"11_wgmma.2_store": (128, 256, 64)})
def box(store):
    svg = Svg("A store of a warp reaches each bank twice")
    svg.text(20, 50, "The first 8 rows of a box of C in shared memory, 32 floats each.")
    svg.text(20, 66, "The number is the piece of 4 columns; below it, its lanes.")
    grid, first = Grid(svg, 60, 104, 8, 8, 44, 32), store.requests("shared store", "Cs")[0]
    lanes = {}  # place of 16 bytes: the lanes that store there
    for lane in first.at:
        *_, row, column = first.place(lane)
        lanes.setdefault((row, column // 4), []).append(lane)
    for row in range(8):
        for place in range(8):
            of = lanes.get((row, place))
            text = str(place ^ row) + (f"\n{of[0]}, {of[-1]}" if of else "")
            grid.cell(row, place, (3 if of[0] < 16 else 2) if of else 0, text)
    names_banks(svg, grid)
    svg.legend(372, (3, "8 bytes of each of lanes 0 to 15: one wavefront"))
    svg.legend(394, (2, "of lanes 16 to 31: another"))
    return svg, accesses("11/2_store", store)


@picture("11_ring", **{"11_wgmma.2_store": (128, 256, 384)})
def ring(store):
    """Time is the order of the notes, downwards; those of one kind and one buffer that follow each other are one row."""
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
    svg = Svg(f"wgmma reads one buffer, TMA fills {('one', 'two', 'three')[buffers - 2]}")
    svg.text(20, 50, "The number is the step of 64 k that a buffer serves. Beside it: the")
    svg.text(20, 66, "phases of its mbarriers.")
    high, every = 13, 412 // buffers
    for buffer, steps in enumerate(rounds):
        left = 8 + every * buffer
        svg.text(left + 66, 88, f"buffer {buffer}", "strong middle", False)
        tiles = Grid(svg, left, 106, column + 2, 1, 40, high, 0)
        tiles.named(["tiles"])
        for number, (name, end) in enumerate((("full", "there"), ("empty", "free"))):
            grid = Grid(svg, left + 40 + 46 * number, 106, column + 2, 1, 46, high)
            grid.named([name])
            starts = [0, *(step[end] for step in steps), column + 2]
            for phase, (begin, to) in enumerate(zip(starts, starts[1:])):
                grid.cell(begin, 0, None, f"phase {phase}", rows=to - begin, edge="grid")
        for number, step in enumerate(steps):
            for fill, what, begin, end in ((1, "load ", "load", "there"), (3, "", "there", "free")):
                tiles.cell(step[begin], 0, fill, f"{what}{buffers * number + buffer}", rows=step[end] - step[begin], edge="grid")
    low = 106 + high * (column + 2)
    svg.legend(low + 12, (1, "TMA writes"), (3, "wgmma reads"), (0, "free"))
    svg.paragraph(20, low + 46, "A phase of full[b] ends when all its bytes have come,",
                  f"one of empty[b] when {warps} warps have arrived.",
                  "Downwards is the order in which the emulator ran them, not time.",
                  "Its copies land when awaited.")
    return svg, accesses("11/2_store", store)


@picture("11_descriptor", **{"11_wgmma.2_store": (128, 256, 64)})
def descriptor(store):
    notes = store.data["blocks"][0]["notes"]
    _, _, *places, a, b = [note for note in notes if note[:2] == ["wgmma", 0]][1]  # k 16 .. 31, of warp 0
    holds = {}  # 16 bytes: their piece
    for note in notes:
        if note[0] == "load":
            holds.update({place: number % 8 for number, place in enumerate(store.places(note[8]))})
    svg = Svg("A descriptor says how far rows lie apart")
    strides = {}
    for y, name, bits in ((66, "A", int(a)), (106, "B", int(b))):
        grid = Grid(svg, 30, y, 1, 64, 6, 34, 0)
        grid.named({column: 63 - column for column in (0, 31, 47, 63)} if name == "A" else {}, [name])
        grid.cell(0, 0, 1, bits >> 62, columns=2, edge="grid")
        for field, first, fill in (("start", 0, 1), ("LBO", 16, 3), ("SBO", 32, 2)):
            value = bits >> first & 0x3fff
            strides[name, field] = 16 * value
            grid.cell(0, 50 - first, fill, f"{field}\n{16 * value} bytes", columns=14, edge="grid")
    svg.text(20, 160, "Bits 63 and 62: the swizzle. 1 stands for 128 bytes.")
    for x, name, begin, of, said in ((50, "A", 0, places[0], "row"), (204, "B", 0, places[1], "k"),
                                     (324, "B", strides["B", "LBO"], places[1], "")):
        read = store.places(of)
        begin += min(read) // 1024 * 1024
        first = min(read) % 8192 // 128 // 8 * 8  # row of the box
        grid, eight = Grid(svg, x, 208, 16, 8, 11.5, 18, 0), strides[name, "SBO"] // 128  # rows
        for row in range(16):
            for place in range(8):
                at = begin + 128 * row + 16 * place
                grid.cell(row, place, 3 if at in read else 0, holds[at])
        grid.ruled()
        grid.named(rows={row: f"{said} {first + row}" for row in (0, eight)} if said else {}, css="")
        svg.text(x, 184, "As[0]:" if name == "A" else f"Bs[0][{int(not said)}]:", "strong")
        svg.text(x, 200, "rows of warp 0" if name == "A" else "64 columns")
        if said:
            svg.arrow(x + 106, 217, x + 106, 217 + 18 * eight)
            svg.text(x + 106, 217 + 18 * eight + 16, "SBO", "small middle", False)
    svg.arrow(204, 508, 324, 508)
    svg.text(264, 524, "LBO", "small middle", False)
    k = 8 * min(holds[place] for place in store.places(places[0]))
    svg.text(20, 548, "The number is a piece of 8 values, 16 bytes.")
    svg.legend(560, (3, f"what one wgmma reads: k {k} to {k + 15}"))
    return svg, accesses("11/2_store", store)
