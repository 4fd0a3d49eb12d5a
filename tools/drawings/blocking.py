"""The pictures of 04, 06, 08 and 09."""
import re

from machine import ROOT
from pictures import accesses, corners, count, picture
from svg import Grid, Svg


@picture("04_pad", **{"04_unroll.2_wide_loads": (128, 128, 8), "04_unroll": (128, 128, 8)})
def pad(without, padded):
    svg, y = Svg("The pad moves odd lanes to other banks"), 56
    for name, record in (("Without the pad", without), ("With the pad", padded)):
        request, words = record.requests("shared store", "As")[0], {}
        for lane, at in request.at.items():
            words.setdefault(at // 128, {})[at // 4 % 32] = lane
        busy = {bank: sum(bank in row for row in words.values()) for row in words.values() for bank in row}
        assert request.width == 4 and max(busy.values()) == request.cost, "as the emulator counts them"
        svg.text(20, y, f"{name} a row of As has {request.lengths[-1]} floats. Lane 1", "strong")
        svg.text(20, y + 16, f"stores {request.at[1] // 4 - request.at[0] // 4} words behind lane 0.", "strong")
        grid = Grid(svg, 56, y + 46, len(words), 32, 11, 28, 0)
        grid.named({bank: bank for bank in (*range(0, 32, 8), 31)}, [f"{32 * row} .." for row in words])
        svg.text(20, grid.y - 6, "bank", "small lesser", False)
        for row, lanes in enumerate(words.values()):
            for bank, lane in lanes.items():
                grid.cell(row, bank, 2 if lane % 2 else 3, edge="grid")
            first, second, *_, last = lanes.values()
            free = next(bank for bank in range(0, 32, 16) if bank not in lanes)
            svg.text(grid.x + 11 * free + 88, grid.middle(row, 0)[1] + 4, f"lanes {first}, {second}, ... {last}", "middle", False)
        svg.line(f"M56 {grid.y}h352v{28 * len(words)}h-352zm0 28h352", "grid")
        y = grid.y + 28 * len(words) + 20
        svg.text(20, y, f"{len(busy)} banks must serve {count(request.cost, 'word')} each: {count(request.cost, 'wavefront')}.")
        y += 34
    svg.legend(y - 18, (3, "an even lane's word"), (2, "an odd lane's word"))
    return svg, accesses("04's two programs", padded)


@picture("09_lanes", **{"09_warp_tiling": (128, 256, 8)})
@picture("04_lanes", **{"04_unroll": (128, 128, 8)})
def lanes(stage):
    owner = {place: lane for place, (lane,) in stage.stored(0).items()}
    _, _, rows, columns = corners(owner)
    starts = sorted(at for at in owner if owner.get((at[0] - 1, at[1])) != owner[at] != owner.get((at[0], at[1] - 1)))
    tall, wide = (sorted({at[axis] for at in starts})[1] for axis in (0, 1))
    mine = [at for at in starts if owner[at] == 0]
    down, across = (sorted({at[axis] for at in mine})[1] for axis in (0, 1))
    svg = Svg(f"A lane owns {len(mine)} pieces of {tall} x {wide} elements")
    svg.text(20, 52, f"Warp 0's {rows} x {columns} elements of C. The number is the lane. Lane 0's")
    svg.text(20, 68, f"pieces are marked: {down} rows and {across} columns apart.")
    grid = Grid(svg, 36, 96, rows, columns, 380 / columns)
    for row, column in starts:
        lane = owner[row, column]
        grid.cell(row, column, 0 if lane else 3, lane, tall, wide, "grid", "middle")
    grid.named({column: column for column in range(0, columns, wide)}, {row: row for row in range(0, rows, tall)})
    grid.cell(0, 0, rows=rows, columns=columns, edge="edge")
    return svg, accesses(stage.data["name"], stage)


@picture("08_waves")
def waves():
    svg = Svg("Fewer registers, more waves on a SIMD")
    svg.text(20, 52, "A SIMD, a quarter of a compute unit, has 256 VGPRs a lane.")
    svg.text(20, 68, "A bar is all of them, a box a wave with its VGPRs.")
    table = (ROOT / "08_opencl_gcn/notes.md").read_text()
    rows = re.findall(r"(?m)^    (0\w+) +(\d+) +\d+ +\d+ +(\d+) +\d+ ", table)
    for number, (name, registers, waves) in enumerate(rows):
        grid = Grid(svg, 20, 104 + 50 * number, 1, 256, 1.5, 24, 0)
        svg.text(20, grid.y - 7, name, "strong")
        svg.text(404, grid.y - 7, count(int(waves), "wave"), "end")
        for wave in range(int(waves)):
            given = -(-int(registers) // 4) * 4
            grid.cell(0, given * wave, 1, registers, columns=given, edge="edge")
    return svg, "The table in 08's notes. VGPRs are given in fours, at most 10 waves."


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
