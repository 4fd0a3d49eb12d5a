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


@picture("04_to_and_fro")
def to_and_fro():
    svg = Svg("To and fro, each step keeps an operand")
    there = [[(i, j) for j in range(8)] for i in range(8)]
    for x, name, rows in ((54, "2_wide_loads.cu", there),
                          (254, "matmul.cu", [row[::-1] if i % 2 else row for i, row in enumerate(there)])):
        order = sum(rows, [])
        steps = list(zip(order, order[1:]))
        apart = [step for step in steps if step[0][0] != step[1][0] and step[0][1] != step[1][1]]
        grid = Grid(svg, x, 92, 8, 8, 19, 24, fill=0)
        grid.ruled()
        grid.named({j: f"b[{j}]" for j in (0, 7)}, [f"a[{i}]" for i in range(8)] if x < 100 else ())
        for step in steps:
            ends = (*grid.middle(*step[0]), *grid.middle(*step[1]))
            svg.line("M{:g} {:g}L{:g} {:g}".format(*ends), "dash") if step in apart else svg.arrow(*ends)
        svg.text(x, 62, name, "strong")
        svg.text(x, 308, f"{len(steps) - len(apart)} of {len(steps)} steps keep")
        svg.text(x, 324, f"a[i] or b[j]; {len(apart)} (dashed) neither" if apart else "a[i] or b[j]")
    svg.text(20, 354, "A box is a multiply-add, acc[i][j] += a[i] * b[j]. An arrow leads")
    svg.text(20, 370, "to the next.")
    return svg, "The order of the loops over acc[i][j] in the sources of 04."


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


@picture("09_banks")
def register_banks():
    """The registers are those that nvcc 13.0.88 chose for sm_90, as cuobjdump -sass shows them: where multiply 2 of the first step
    begins row 12, behind a read of shared memory (and two additions, in the second). Other compilers choose others."""
    svg, y = Svg("Three operands from one bank must wait"), 58
    for step, a, b, sums, said in (
            ("2_async_copies.cu: four sums stored as one float4", 28, 52, (60, 156, 157, 158),
             ("acc[12][0] fetches three from one bank and must wait.", "The others fetch two.")),
            ("3_free_sums.cu: each sum stored by itself", 16, 20, (143, 145, 144, 147),
             ("A sum and its b lie in different banks. So three operands", "can never lie in one bank."))):
        svg.text(20, y, step, "strong")
        for bank, name in enumerate(("even registers", "odd registers")):
            svg.text(174 + 163 * bank, y + 20, name, "lesser middle", False)
        top = y + 28
        for i, j, acc in zip((11, 12, 12, 12), (0, 0, 1, 2), sums):
            if (i, j) == (12, 0):
                svg.box(20, top, 399, 22, 0, "a read of shared memory", "grid", "middle")
                top += 22
            svg.text(20, top + 24, f"acc[{i}][{j}]", "strong")
            fetched = [("a[12]", a)] * ((i, j) == (12, 0)) + [(f"b[{j}]", b + j), ("acc", acc)]
            for bank in (0, 1):
                svg.box(93 + 163 * bank, top, 163, 40, edge="grid")
                those = [each for each in fetched if each[1] % 2 == bank]
                for place, (name, register) in enumerate(those):
                    svg.box(96 + 163 * bank + 53 * place, top + 3, 51, 34, 4 if len(those) == 3 else 3, f"{name}\nR{register}",
                            css="middle")
            top += 40
        svg.paragraph(20, top + 20, *said)
        y = top + 68
    svg.paragraph(20, y, "acc[12][0] stands for acc[12][0] += a[12] * b[0], and so on.",
                  "What an instruction used is kept for the next one only. The",
                  "read stands between, so b[0] is fetched again. In the rest of",
                  "row 12 a[12] is kept.")
    svg.legend(y + 66, (3, "operands fetched"), (4, "three from one bank"))
    return svg, "The machine code of both programs (nvcc 13.0.88, sm_90)."
