"""The chapters' pictures, docs/pictures/*.svg: drawn from what the kernels' traced builds access, or from other files of the book.

A picture is a function in drawings/. @picture gives its file's name, and the runs of traced programs whose records the function
gets. It returns the drawing, and a line that says what it was drawn from. What shows the hardware, or an order that no
record has, is an SVG file alone.
"""
from typing import NamedTuple

import view
from machine import BUILD, ROOT
from results import write_whole

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
        """A warp's, in program order: those whose kind begins with `what`, and of that matrix or array."""
        found = []
        for site, cost, _, _, *lanes in self.data["blocks"][block]["warps"][warp]:
            kind, _, _, width = self.data["sites"][site]
            if not lanes:
                found.append(Request(kind))
                continue
            first, pattern, *_ = lanes
            of = [each for each in self.data["arrays" if kind.startswith("shared") else "matrices"] if each["begin"] <= first][-1]
            at = {lane: first + offset - of["begin"] for lane, offset in enumerate(self.data["patterns"][pattern])
                  if offset is not None}
            lengths = of["lengths"] if "lengths" in of else (of["rows"], of["cols"])
            found.append(Request(kind, of["name"], of["size"], lengths, width, cost, at))
        return [request for request in found if request.what.startswith(what) and memory in ("", request.memory)]

    def stored(self, warp, block=0):
        """{element of C: the lanes that store it}."""
        return {place: lanes for r in self.requests("global store", "C", warp, block) for place, lanes in r.places().items()}


def accesses(name, record):
    """What a picture was drawn from, on the emulator."""
    return f"The accesses of {name} at {' x '.join(map(str, record.shape))} (M x N x K)"


def count(number, what):
    return f"{number} {what}{'s' * (number != 1)}"


def corners(places):
    """(top, left, rows, columns) of the rectangle that these elements are."""
    (top, left), (bottom, right) = min(places), max(places)
    assert len(set(places)) == (bottom - top + 1) * (right - left + 1), "no rectangle"
    return top, left, bottom - top + 1, right - left + 1


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


import drawings.blocking  # noqa: E402, F401  (which take the names above)
import drawings.first  # noqa: E402, F401
