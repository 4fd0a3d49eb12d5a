"""Converts the record of a launch, which a traced build writes with --record, into the form that the page reads.

A record is text, a line for each entry: "A record of a launch" in the emulator's REFERENCE.md. The page gets it as
JSON. The distances of lanes from the first one repeat, so each list of them is stored once, as a pattern.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

from programs import ROOT
from view.explanations import captions


def record(program, shape, *options):
    """The record of the program with these options. A wrong result or a race is no failure, because the page shows it.
    Exits if there is no record."""
    with tempfile.TemporaryDirectory(prefix="view-") as folder:
        file = pathlib.Path(folder, "record")
        run = subprocess.run(
            [program, "--sizes", "x".join(map(str, shape)), "--verify-only", "--record", file, *options],
            stdout=subprocess.PIPE,
        )
        if not file.exists():
            sys.exit(run.returncode or 1)
        return file.read_text(errors="replace")


class Reader:
    """Reads the record's lines, each by a method for its kind. data: what the page reads."""

    def __init__(self, name, shape, root):
        self.data = {
            "name": name,
            "shape": shape,
            "sources": {},
            "problems": [],
            "matrices": [],
            "arrays": [],
            "sites": [],
            "patterns": [],
            "blocks": [],
        }
        self.root, self.numbers, self.matrices = root, {}, {}
        # Of a block: {(warp, register of lane 0): the 8 x 8 elements, of which note, that the lanes hold in it}.
        self.filled = {}
        self.ranges = [(0, 0, 0)]  # of matrices and arrays: begin, end, and the address at which it begins on the page

    def number(self, kind, entry):
        """The number of an entry in that list of the page."""
        if (kind, entry) not in self.numbers:
            self.numbers[kind, entry] = len(self.data[kind])
            self.data[kind].append(entry)
        return self.numbers[kind, entry]

    def moved(self, address):
        return next((address - begin + to for begin, end, to in self.ranges if begin <= address < end), address)

    def lanes(self, texts):
        """A first address and a pattern; empty if no lane has an address."""
        return self.spread([self.moved(int(text)) if text else None for text in texts])

    def spread(self, numbers):
        first = next((each for each in numbers if each is not None), None)
        pattern = tuple(None if each is None else each - first for each in numbers)
        return [] if first is None else [first, self.number("patterns", pattern)]

    def kernel(self, *name):
        pass

    def problem(self, *text):
        self.data["problems"].append({"text": ",".join(text)})

    def matrix(self, name, *numbers):
        begin, rows, columns, size = map(int, numbers)
        before, end, to = self.ranges[-1]
        to += -(-(end - before) // 256) * 256
        self.data["matrices"].append({"name": name, "begin": to, "rows": rows, "cols": columns, "size": size})
        self.ranges.append((begin, begin + rows * columns * size, to))
        self.matrices[numbers[0]] = name

    def array(self, name, *numbers):
        """An array of shared memory. g++ may place it at any bank. On the page it begins in the first banks, or where
        the one before ends."""
        begin, length, size, *lengths = map(int, numbers)
        to = sum(self.data["arrays"][-1][key] for key in ("begin", "bytes")) if self.data["arrays"] else 0
        if begin != self.ranges[-1][1]:
            to = -(-to // 128) * 128 + begin % 32
        self.data["arrays"].append({"name": name, "begin": to, "bytes": length, "size": size, "lengths": lengths})
        self.ranges.append((begin, begin + length, to))

    def block(self, *name):
        self.filled.clear()
        self.data["blocks"].append({"name": ",".join(name), "warps": [], "notes": []})

    def note(self, kind, *cells):
        """A note: ["load", warp, mbarrier, matrix, x, y, columns, rows, places], ["wgmma", warp, A's places, B's, A's
        descriptor, B's], ["fill", warp, places], ["mma", warp, A's, B's] or kind and numbers. Those of an mma are, for
        each 4 bytes of its registers, the fill that loaded them: 4 * the note's number + which 8 of its places."""
        notes = self.data["blocks"][-1]["notes"]
        if kind in ("load", "store"):
            warp, barrier, matrix, *box = cells[:7]
            made = [
                int(warp),
                self.moved(int(barrier)) if kind == "load" else None,
                self.matrices.get(matrix, "a copy"),
                *map(int, box),
                self.lanes(cells[7:]),
            ]
        elif kind == "wgmma":
            middle = cells.index("-")
            made = [int(cells[0]), self.lanes(cells[3:middle]), self.lanes(cells[middle + 1 :]), *cells[1:3]]
        elif kind == "fill":
            made = [int(cells[0]), self.lanes(cells[2:])]
            for part in range(len(cells[2:]) // 8):
                self.filled[cells[0], int(cells[1]) + 4 * part] = 4 * len(notes) + part
        elif kind == "mma":
            made = [int(cells[0])]
            for begin, length in (cells[1:3], cells[3:5]):
                registers = range(int(begin), int(begin) + int(length), 4)
                made.append(self.spread([self.filled.get((cells[0], each)) for each in registers]))
        else:
            made = [int(cells[0]) if kind == "done" else self.moved(int(cells[0])), *map(int, cells[1:])]
        notes.append([kind, *made])

    def event(self, warp, what, where, width, cost, ideal, notes, *lanes):
        file, _, line = where.rpartition(":")
        if file not in self.data["sources"] and (self.root / file).is_file():
            self.data["sources"][file] = (self.root / file).read_text(errors="replace")
        warps = self.data["blocks"][-1]["warps"]
        warps.extend([] for _ in range(int(warp) + 1 - len(warps)))
        pairs = [cell.partition(">") for cell in lanes]
        site = self.number("sites", (what, file, int(line) if line.isdigit() else 0, int(width)))
        addresses, copied_to = ([pair[side] for pair in pairs] for side in (0, 2))
        numbers = int(cost), int(ideal), int(notes)
        warps[int(warp)].append([site, *numbers, *self.lanes(addresses), *self.lanes(copied_to)])

    def conflict(self, *cells):
        """WARP,EVENT,LANE of both accesses, and the text with which the problem begins."""
        accesses = [[int(number) for number in side] for side in (cells[:3], cells[3:6]) if side[0]]
        for problem in self.data["problems"]:
            if problem["text"].startswith(",".join(cells[6:])):
                problem.update(block=len(self.data["blocks"]) - 1, accesses=accesses)


def read(text, name, shape, root=ROOT):
    """The record in the form that the page reads."""
    reader = Reader(name, shape, root)
    reader.data["captions"] = captions(name, root)
    for kind, *cells in csv.reader(text.splitlines()):
        getattr(reader, kind)(*cells)
    return reader.data
