"""The picture at the top of each chapter. All have one form: B above, A on the left, C in the corner, first for the
grid, then for a block of it, then for what a warp, a thread or an instruction of the block computes. Below is the path
of A and B through the memories, under that of the chapter before if it is another one. A frame marks what is new.

Sizes are constants of the chapter's source.
"""
import functools
import re
import types
from typing import NamedTuple

from book import svg
from programs import ROOT
from view import layouts

WIDTH, LEFT = 372, 14  # on a phone a unit is nearly a pixel
STRIP, GAP, ROOM = 20, 4, 78  # of a panel: the room of A or B, the gap after it, the room of C
PANELS, TOP = (14, 137, 260), 76


def constants(source, config=""):
    """The integer constants of a source and of the headers that it includes. In a template they are those of one of its
    configurations, such as transposed<112, 128, 4, 2>."""
    text = (ROOT / source).read_text()
    text += "".join((ROOT / each).read_text() for each in re.findall(r'#include "(common/[^"]*)"', text))
    if config not in text:
        raise LookupError(f"{source} has no {config}")
    found = dict(zip(("kTileM", "kTileN", "kClusterM", "kClusterN", "kSplitK"), map(int, re.findall(r"\d+", config))))
    if found:  # in a transposed tile a warpgroup has 64 columns
        groups = found["kTileN"] // 64
        found.update(kTransposed=True, kPairs=0, kFragments=found["kTileM"] // 8, kParts=groups, kWarpgroups=groups)
    functions = {"min": min, "ceil_div": lambda a, b: -(-a // b)}
    for statement in re.findall(r"(?:constexpr int|enum \{)\s*(k[^;}]*)", text):
        for name, value in re.findall(r"(k\w+) =\s+(.+?)(?=, k\w+ = |\s*$)", statement, re.S):
            value = re.sub(r"\w+::", "", " ".join(value.split())).replace("/", "//").replace("sizeof(half)", "2")
            value = re.sub(r"(.*?) \? (.*) : (.*)", r"(\2) if \1 else (\3)", value)
            try:
                found.setdefault(name, eval(value, functions, found))
            except (NameError, SyntaxError):  # its value depends on other things than these constants
                pass
    return types.SimpleNamespace(**found)


def depth(k):
    """How thick so many values of k are drawn, which are not to scale."""
    return min(STRIP, 4 + 2 * k.bit_length())


class Drawing(svg.Svg):
    style = svg.STYLE + (
        ".line,.zoom,.cut,.new{fill:none;stroke:var(--lesser)}.zoom{stroke-dasharray:2 3}.cut{stroke:var(--paper)}"
        ".new{stroke:var(--ink);stroke-width:2.5}"
    )

    def __init__(self, title):
        super().__init__(title, WIDTH, LEFT)

    def arrow(self, x, y, to, kind="line"):
        """A horizontal arrow."""
        back = -4 if to > x else 4
        self.line(f"M{x:g} {y:g}H{to:g}m{back} -3l{-back} 3l{back} 3", kind)

    def cells(self, place, rows, columns):
        """The lines between the cells of a box."""
        x, y, width, height = place
        for row in range(1, rows):
            self.line(f"M{x:g} {y + height * row / rows:g}h{width:g}", "grid")
        for column in range(1, columns):
            self.line(f"M{x + width * column / columns:g} {y:g}v{height:g}", "grid")

    def panel(self, x, head, size, k, cells, part, inside=(1, 1), taken=0, cuts=1, new=False, named=True):
        """A product with `size` rows and columns of C, which are divided into `cells`. Of these `part`, which is (row,
        column, rows, columns), is in full colour and divided into `inside`, and so is what it needs of A and B: `taken`
        pixels along k, or all of them, cut into `cuts`. Returns the box of the part."""
        unit, thick = ROOM / max(size), depth(k)
        height, width = (max(6, each * unit) for each in size)
        left, top = x + STRIP + GAP, TOP + STRIP + GAP
        row, column, rows, columns = part
        own = (left + width * column / cells[1], top + height * row / cells[0],
               width * columns / cells[1], height * rows / cells[0])
        a, b = left - GAP - thick, top - GAP - thick
        self.text(x, 50, head, "strong")
        if named:
            self.text(x, 65, f"{size[0]} x {size[1]}, k {k}", "small lesser")
        for place, fill in (((a, top, thick, height), "a"), ((left, b, width, thick), "b"),
                            ((left, top, width, height), "c")):
            self.box(*place, f"{fill}-pale", edge="grid")
        taken = taken or thick
        self.box(a, own[1], taken, own[3], "a")
        self.box(own[0], b, own[2], taken, "b")
        self.box(*own, "c", edge="edge")
        for cut in range(1, cuts):
            at = taken * cut / cuts
            self.line(f"M{a + at:g} {own[1]:g}v{own[3]:g}M{own[0]:g} {b + at:g}h{own[2]:g}", "cut")
        self.cells((left, top, width, height), *cells)
        self.cells(own, *inside)
        self.bottom = max(self.bottom, top + height)
        if new:
            self.box(a - 5, b - 5, left + width - a + 10, top + height - b + 10, edge="new")
        return own

    def zoom(self, own, x):
        """Lines from a part to the panel at x, which shows it."""
        x += STRIP + GAP
        for y, to in ((own[1], TOP + STRIP + GAP), (own[1] + own[3], TOP + STRIP + GAP + 14)):
            self.line(f"M{own[0] + own[2]:g} {y:g}L{x - 24:g} {to}", "zoom")

    def path(self, y, number, path, new=()):
        """A chapter's path of A and B. Returns the y below it."""
        def kind(part):
            return "new" if part in new else "line"

        def say(x, text, part):
            self.text(x, y + 70, text, "small middle" + (" strong" if part in new else ""))

        middle = y + 26
        self.text(LEFT, y - 5, number, "strong")
        self.box(LEFT, y, 58, 52, edge="line")
        self.box(20, y + 11, 20, 30, "a-pale")
        self.box(46, y + 11, 20, 30, "b-pale")
        self.box(106, y, 96, 52, edge=kind("shared") if path.stages else "dash")
        if not path.stages:
            self.text(154, y + 18, "not used", "small lesser middle")
        self.arrow(74, middle, 104 if path.stages else 238, kind("copy"))
        say(89, path.copy, "copy")
        for stage in range(path.stages):
            each = 88 / max(path.stages, 3)
            self.box(110 + each * stage, y + 8, 0.4 * each, 36, "a")
            self.box(110 + each * (stage + 0.48), y + 8, 0.4 * each, 36, "b")
        self.box(240, y, 54, 52, edge="line")
        self.box(262, y + 8, 26, 36, "c")
        if path.read:
            self.box(246, y + 8, 10, 16, "a")
            self.box(246, y + 28, 10, 16, "b")
            if path.stages:
                self.arrow(204, middle, 238, kind("read"))
                say(221, path.read, "read")
        else:
            self.line(f"M204 {y + 44}h14v14h120v-4m-4 4l4 -4l4 4", kind("read"))
            say(266, "descriptors", "read")
        self.box(318, y, 40, 52, "full-pale", path.unit, kind("unit"), "small middle")
        self.arrow(306, middle, 316)
        self.arrow(306, middle, 296)
        return y + 74


class Path(NamedTuple):
    """How A and B reach what multiplies: how many tiles of each lie in shared memory (None: the source's kStages), by
    which instructions they come there and from there to registers ("" if shared memory is read in place), and what
    multiplies."""

    stages: int | None
    copy: str
    read: str
    unit: str


class Inner(NamedTuple):
    """What the last panel shows: who computes it, its rows, columns and k, and how it is divided."""

    who: str
    rows: int
    columns: int
    k: int
    cells: tuple = (1, 1)


class Opening(NamedTuple):
    title: str
    source: str
    warps: tuple  # rows and columns of warps, or of warpgroups, in a block's tile
    inner: Inner
    path: Path
    said: str
    before: str = ""  # the chapter whose path is drawn above, as it is another one
    new: str = ""  # what has a frame: grid, block, inner, copy, shared, read, unit
    config: str = ""
    names: tuple = ("grid", "block", "shared memory")


LOADS = "loads, stores"
TENSOR = "tensor\ncore"
OPENINGS = {
    "00": Opening(
        "Grid, block, warp: each a part of C", "01_naive/matmul.cu", (16, 1),
        Inner("warp: 32 lanes", 1, 32, 1, (1, 32)), None,
        "Sizes of 01: a block computes 16 rows and 32 columns\nof C, each of its warps a row, each lane an element."),
    "01": Opening(
        "One thread computes one element of C", "01_naive/matmul.cu", (16, 1),
        Inner("warp: 32 lanes", 1, 32, 1, (1, 32)), Path(0, "loads", "loads", "FP32\nunits"),
        "A block has 16 warps, each with a row of 32 elements.\nAt each k a lane loads one of A and one of B."),
    "02": Opening(
        "A thread computes 8 x 8 elements of C", "02_register_blocking/matmul.cu", (8, 1),
        Inner("thread", 8, 8, 1, (8, 8)), Path(0, "loads", "loads", "FP32\nunits"),
        "New: a thread has 64 sums in registers. 8 + 8 elements\nserve 64 multiply-adds at each k.", new="inner"),
    "03": Opening(
        "A block loads each element once", "03_shared_blocking/matmul.cu", (8, 1),
        Inner("thread", 8, 8, 1, (8, 8)), Path(1, LOADS, "loads", "FP32\nunits"),
        "New: at each k a block brings 128 of A and 128 of B into\nshared memory, and its 256 threads read them there.",
        "02", "copy shared read"),
    "04": Opening(
        "A k-tile takes eight values of k", "04_unroll/matmul.cu", (4, 2),
        Inner("thread", 8, 8, 1, (8, 8)), Path(1, LOADS, "loads", "FP32\nunits"),
        "New: between two barriers a block brings eight values\nof k, and its warps have tiles of 32 x 64.",
        new="block"),
    "05": Opening(
        "One buffer is read while one is filled", "05_double_buffer/matmul.cu", (4, 2),
        Inner("thread", 8, 8, 1, (8, 8)), Path(2, LOADS, "loads", "FP32\nunits"),
        "New: shared memory has room for two k-tiles. The next\none is loaded while this one is multiplied.",
        "04", "shared"),
    "06": Opening(
        "A warp multiplies fragments", "06_wmma/matmul.cu", (2, 4),
        Inner("warp: mma_sync", 16, 16, 16), Path(None, "cp.async", "load_matrix_sync", TENSOR),
        "New: tensor cores multiply halves, 16 x 16 by 16 x 16 for\none call of a warp. Copies bypass the registers.",
        "05", "inner copy read unit"),
    "08": Opening(
        "The same tiles in OpenCL's words", "08_opencl_gcn/05_double_buffer.cl", (4, 1),
        Inner("work-item", 8, 8, 1, (8, 8)), Path(2, LOADS, "loads", "SIMD"),
        "A block is a work-group, a thread a work-item, shared\nmemory local memory. 64 work-items make a wavefront.",
        names=("NDRange", "work-group", "local memory")),
    "09": Opening(
        "A warp owns 64 x 64 elements of C", "09_warp_tiling/matmul.cu", (2, 4),
        Inner("thread", 16, 8, 1, (16, 8)), Path(2, "cp.async", "loads", "FP32\nunits"),
        "New: tiles twice as large, for the block, the warp and the\nthread. Copies bypass the registers.",
        "05", "block inner copy"),
    "10": Opening(
        "TMA fills stages, eight warps multiply", "10_async_mma/matmul.cu", (2, 4),
        Inner("warp: mma.sync", 16, 8, 16), Path(None, "TMA", "ldmatrix", TENSOR),
        "New: one thread issues the loads of whole tiles; a warp\nholds fragments whose layout is known.",
        "06", "inner copy read"),
    "11": Opening(
        "wgmma reads A and B in shared memory", "11_wgmma/1_wgmma.cu", (2, 1),
        Inner("4 warps: wgmma", 64, 256, 16), Path(None, "TMA", "", TENSOR),
        "New: four warps issue one product, and its operands\nnever pass through registers.",
        "10", "inner read"),
    "12": Opening(
        "Blocks of a cluster load for each other", "12_clusters/matmul.cu", (1, 2),
        Inner("4 warps: wgmma", 112, 64, 16), Path(None, "multicast", "", TENSOR),
        "New: the blocks of a cluster, here 4 x 2, need the same\n"
        "rows of A and columns of B. Each loads a slice for all.",
        "11", "grid copy", "transposed<112, 128, 4, 2>"),
    "13": Opening(
        "Several blocks share the k-tiles of a tile", "13_stream_k/1_split_k.cu", (1, 1),
        Inner("4 warps: wgmma", 32, 64, 16), Path(None, "TMA", "", TENSOR),
        "New: K is cut. Here eight blocks compute one tile of C,\n"
        "each a slice of its k-tiles, and add up what they have.",
        new="grid", config="transposed<32, 64, 1, 1, 8>"),
    "14": Opening(
        "A float is two halves: three products", "14_fp32_accuracy/2_three_products.cu", (2, 1),
        Inner("4 warps: wgmma", 64, 128, 16), Path(None, "TMA", "", TENSOR),
        "New: a tile of A or B comes twice, hi and lo. Products:\nhi of A by hi of B, hi by lo, and lo by hi.",
        new="block"),
}


def path_of(number):
    of = OPENINGS[number]
    return of.path if of.path.stages is not None else of.path._replace(stages=constants(of.source, of.config).kStages)


def opening(number):
    """The picture of a chapter, and a line that names its source."""
    of, drawing = OPENINGS[number], Drawing(OPENINGS[number].title)
    size, inner, new = constants(of.source, of.config), of.inner, of.new.split()
    tile, k = (size.kTileM, size.kTileN), getattr(size, "kTileK", 1)
    halves, slices = 2 if hasattr(size, "kLo") else 1, getattr(size, "kSplitK", 1)
    cluster = (1, 1, getattr(size, "kClusterM", 1), getattr(size, "kClusterN", 1))
    grid = drawing.panel(PANELS[0], of.names[0], [6 * each for each in tile], 64, (6, 6), cluster, cluster[2:],
                         STRIP if slices > 1 else 5, slices, "grid" in new, False)
    block = drawing.panel(PANELS[1], of.names[1], tile, k, of.warps, (0, 0, 1, 1), cuts=halves, new="block" in new)
    drawing.panel(PANELS[2], inner.who, inner[1:3], inner.k, (1, 1), (0, 0, 1, 1), inner.cells, new="inner" in new)
    drawing.zoom(grid, PANELS[1])
    drawing.zoom(block, PANELS[2])
    left, top = PANELS[0] + STRIP + GAP, TOP + STRIP + GAP
    height, width = (each * ROOM / max(tile) for each in tile)
    for x, y, name in ((PANELS[0] + 10, top + height - 5, "A"), (left + width - 9, TOP + 14, "B"),
                       (left + width - 9, top + height - 5, "C")):
        drawing.text(x, y, name, "small strong middle", False)
    y = drawing.bottom + 24
    if of.path:
        drawing.text(LEFT, y, "global memory", "small lesser")
        drawing.text(154, y, of.names[2], "small lesser middle")
        drawing.text(267, y, "registers", "small lesser middle")
        y += 22
        if of.before:
            y = drawing.path(y, of.before, path_of(of.before)) + 20
        y = drawing.path(y, number, path_of(number), new) + 20
    for line in of.said.split("\n"):
        drawing.text(LEFT, y, line)
        y += 17
    return drawing, of.source + (f", {of.config}" if of.config else "")


def fragments():
    """07's: the three fragments of a warp's product, with the elements of one lane."""
    drawing, unit, left, top = Drawing("A warp holds a fragment together"), 6, 120, 158
    places = layouts.maps()["sm_75 and later"]
    for fill, x, y, name, layout in (("a", LEFT, top, "A", "matrix_a half row"),
                                     ("b", left, top - 106, "B", "matrix_b half row"),
                                     ("c", left, top, "C", "accumulator float row")):
        drawing.box(x, y, 16 * unit, 16 * unit, f"{fill}-pale")
        of_lane = places[layout]
        for at in sorted({*of_lane[: len(of_lane) // 32]}):
            drawing.box(x + at % 16 * unit, y + at // 16 * unit, unit, unit, fill)
        drawing.cells((x, y, 16 * unit, 16 * unit), 16, 16)
        drawing.box(x, y, 16 * unit, 16 * unit, edge="edge")
        drawing.text(*((x, y - 6) if fill == "a" else (x + 16 * unit + 6, y + 13)), name, "strong", False)
    drawing.text(230, 82, "16 x 16 elements each,")
    drawing.text(230, 99, "in registers of 32 lanes")
    drawing.text(LEFT, top + 120, "New: which elements a lane holds. Those of lane 0 are in")
    drawing.text(LEFT, top + 137, "full colour: eight of A, eight of B and eight sums.")
    return drawing, "07_fragment_probe/layouts.inc, sm_75 and later"


def pictures():
    """{name: a function that returns the picture and a line that names its source}"""
    made = {f"{number}_opening": functools.partial(opening, number) for number in OPENINGS}
    return {**made, "07_opening": fragments}
