"""The pictures of 06."""
from pictures import corners, picture
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
