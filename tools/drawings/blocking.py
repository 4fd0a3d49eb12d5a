"""The pictures of 04, 05, 08 and 09."""
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


def order_of(record, late):
    """[(what, buffer, s)]: warp 0's loads, stores, barriers and reads in program order, those of one kind together; and its
    multiplies, which the record lacks. In the source each stands behind a read, or is the last of the loop over s (`late`). There
    are K of them, so if there are more reads the first one is ahead."""
    order = []
    for request in record.requests():
        shared, place = request.what.startswith("shared"), request.place(0) if request.at else ()
        each = (request.what, place[0] if shared and len(place) == 3 else 0, place[-2] if request.what == "shared load" else "")
        if request.what in ("global load", "shared store", "shared load") and each not in order[-1:] or request.what == "barrier":
            order.append(each)
    reads = [at for at, (what, *_) in enumerate(order) if what == "shared load"]
    behind = reads[len(reads) - record.shape[2]:]
    if late:
        behind = [at - 1 for at in behind[1:]] + behind[-1:]
    made = []
    for at, each in enumerate(order):
        made += [each] + [("multiply", 0, behind.index(at) % 8) for _ in [at] if at in behind]
    return made


def two_steps(order):
    """The turns of the loop for K-steps 2 and 3. What stores and stops behind the last multiply of a turn is the end of it."""
    last = [at for at, (what, _, s) in enumerate(order) if (what, s) == ("multiply", 7)]
    begin, end = (next(at for at in range(last[step] + 1, len(order)) if order[at][0] not in ("shared store", "barrier"))
                  for step in (1, 3))
    return begin, end


@picture("05_step", **{"04_unroll": (128, 128, 48), "05_double_buffer.1_two_buffers": (128, 128, 48),
                       "05_double_buffer.2_loads_ahead": (128, 128, 48), "05_double_buffer": (128, 128, 48)})
def step(*records):
    svg, y = Svg("Which buffer is read, and which written", 460, 640), 58
    wide = {"multiply": 11, "shared load": 8, "shared store": 8, "global load": 0, "barrier": 7}
    for record, late in zip(records, (False, False, True, False)):  # where a multiply stands in the loop of each source
        order = order_of(record, late)
        begin, end = two_steps(order)
        x = {at: 80 + sum(wide[what] for what, *_ in order[begin:at]) for at in range(begin, end + 1)}
        x.update({at: x[begin if at < begin else end] for at in range(len(order)) if at not in x})  # before and behind the picture
        buffers = 1 + max(buffer for _, buffer, _ in order)
        loads, stores = ([at for at, (each, *_) in enumerate(order) if each == what] for what in ("global load", "shared store"))
        between = {sum(what == "multiply" for what, *_ in order[load:store]) for load, store in zip(loads[2:], stores[2:])}
        barriers = sum(what == "barrier" for what, *_ in order[begin:end])
        svg.text(20, y, record.data["name"], "strong")
        svg.text(20, y + 16, f"{count(barriers // 2, 'barrier')} a step; {max(between)} multiplies between a load and its store")
        tracks = ["multiply", *(f"buffer {number}" for number in range(buffers)), "on its way"]
        grid = Grid(svg, x[begin], y + 28, len(tracks), 1, x[end] - x[begin], 20, 0)
        grid.named(rows=tracks, css="small")
        for number, (load, store) in enumerate(zip(loads, stores)):
            left, right = x[load], x[store]
            if right > left:
                svg.box(left, grid.y + 20 * (buffers + 1) + 3, right - left, 14, 2, f"T{number - 2}" * (right - left > 60))
        for at in range(begin, end):
            what, buffer, s = order[at]
            row = 0 if what == "multiply" else 1 + buffer
            if what == "barrier":
                svg.box(x[at] + 1.5, grid.y - 4, 4, 20 * len(tracks) + 8, 4)
            elif what != "global load":
                packed = what == "multiply" and at + 1 < end and order[at + 1][0] == "shared load"  # its box goes on above the read
                svg.box(x[at], grid.y + 20 * row, wide[what] + 8 * packed, 20, {"shared load": 1, "shared store": 2}.get(what, 3), s,
                        "grid")
        grid.ruled()
        y += 20 * len(tracks) + 60
    svg.legend(y - 16, (3, "multiply"), (1, "its operands are read"), (4, "barrier"))
    svg.legend(y + 6, (2, "loaded, then stored into a buffer"))
    svg.text(20, y + 42, "To the right runs program order of one warp, not time: gaps mean")
    svg.text(20, y + 58, "nothing. The numbers are s. T1 are the tiles of the second K-step.")
    return svg, "Drawn from their accesses at 128 x 128 x 48 (M x N x K), on the emulator."


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
