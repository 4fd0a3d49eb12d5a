"""A page to step through a kernel: what its traced build writes with --record, and a page that shows it (page/view.html).

A record is text, a line each: "A record of a launch" in the emulator's REFERENCE.md. The page gets it as JSON. Lanes' distances
from the first repeat themselves all the time, so each list of them stands there once, as a pattern.

What the page tells of a chapter's kernel is in the chapter's view.txt: captions, each with the event that it is about. They and the
glossary's meanings are translated in docs/po/*/tables.po; what waits there for a translator stands in English. page/words.js has all
other words.
"""
import csv
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from languages import LANGUAGES, glossary, translations
from programs import ROOT
from view import layouts

LONGEST = 512  # the longest edge of a matrix that a page can show
PAGE = pathlib.Path(__file__).parent / "page"
TOYS = ROOT / "docs/toys"
USUAL = 128, 128, 24  # the shape that a page shows if neither a reader nor the chapter says which
WORDS = ("asynchronous copy", "bank", "bank conflict", "broadcast", "coalesced", "fragment", "lane", "mbarrier", "padding", "phase",
         "sector", "swizzle", "TMA", "tensor core", "tile", "warp", "wgmma")
# What the pages call otherwise than the glossary, in each language, and what it means there.
OWN = {("at best", "最少", "最少"): "The fewest sectors or wavefronts that a request for so many bytes can take.",
       ("wavefront", "ウェーブフロント", "wavefront"): "One turn of shared memory, a cycle: each bank delivers at most one word."}


def told(step, root=ROOT):
    """The parts of a chapter's view.txt."""
    file = root / re.split(r"[./]", step)[0] / "view.txt"
    return file.read_text().strip().split("\n\n") if file.is_file() else []


def usual_shape(step):
    """A tile of C or two, and so many k that every buffer is used again: as view.txt begins with "shape 64 x 128 x 192"."""
    return next((tuple(map(int, re.findall(r"\d+", part))) for part in told(step) if part.startswith("shape ")), USUAL)


def record(program, shape, *options):
    """The record of the program with these options. A wrong result or a race is no failure: the page is to show it. Exits if there
    is no record."""
    with tempfile.TemporaryDirectory(prefix="view-") as folder:
        file = pathlib.Path(folder, "record")
        run = subprocess.run([program, "--sizes", "x".join(map(str, shape)), "--verify-only",
                              "--record", file, *options], stdout=subprocess.PIPE)
        if not file.exists():
            sys.exit(run.returncode or 1)
        return file.read_text(errors="replace")


class Reader:
    """The record's lines, each by a function of its kind. data: what the page takes."""

    def __init__(self, name, shape, root):
        self.data = {"name": name, "shape": shape, "sources": {}, "problems": [], "matrices": [], "arrays": [], "sites": [],
                     "patterns": [], "blocks": []}
        self.root, self.numbers, self.matrices = root, {}, {}
        self.filled = {}  # of a block: {(warp, register of lane 0): which 8 x 8 elements of which note the lanes' have}
        self.ranges = [(0, 0, 0)]  # of matrices and arrays: begin, end, and where that begins on the page

    def number(self, kind, entry):
        """Of an entry in that list of the page."""
        if (kind, entry) not in self.numbers:
            self.numbers[kind, entry] = len(self.data[kind])
            self.data[kind].append(entry)
        return self.numbers[kind, entry]

    def moved(self, address):
        return next((address - begin + to for begin, end, to in self.ranges if begin <= address < end), address)

    def lanes(self, texts):
        """A first address and a pattern; nothing where no lane has one."""
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
        """g++ places arrays at any bank. On the page each starts in the first banks, or where the one before it ends."""
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
        """["load", warp, mbarrier, matrix, x, y, columns, rows, places], ["wgmma", warp, A's places, B's, A's descriptor, B's],
        ["fill", warp, places], ["mma", warp, A's, B's] or kind and numbers. An mma's are, for each 4 bytes of its registers, the
        fill that they have come from: 4 * the note's number + which 8 of its places."""
        notes = self.data["blocks"][-1]["notes"]
        if kind in ("load", "store"):
            warp, barrier, matrix, *box = cells[:7]
            made = [int(warp), self.moved(int(barrier)) if kind == "load" else None, self.matrices.get(matrix, "a copy"),
                    *map(int, box), self.lanes(cells[7:])]
        elif kind == "wgmma":
            middle = cells.index("-")
            made = [int(cells[0]), self.lanes(cells[3:middle]), self.lanes(cells[middle + 1:]), *cells[1:3]]
        elif kind == "fill":
            made = [int(cells[0]), self.lanes(cells[2:])]
            for part in range(len(cells[2:]) // 8):
                self.filled[cells[0], int(cells[1]) + 4 * part] = 4 * len(notes) + part
        elif kind == "mma":
            made = [int(cells[0]), *(self.spread([self.filled.get((cells[0], int(begin) + at)) for at in range(0, int(length), 4)])
                                     for begin, length in (cells[1:3], cells[3:5]))]
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
        warps[int(warp)].append([site, int(cost), int(ideal), int(notes), *self.lanes([pair[0] for pair in pairs]),
                                 *self.lanes([pair[2] for pair in pairs])])

    def conflict(self, *cells):
        """WARP,EVENT,LANE of both accesses, and the problem's text."""
        accesses = [[int(number) for number in side] for side in (cells[:3], cells[3:6]) if side[0]]
        for problem in self.data["problems"]:
            if problem["text"] == ",".join(cells[6:]):
                problem.update(block=len(self.data["blocks"]) - 1, accesses=accesses)


def terms():
    """Of the glossary's rows that a page explains: [(the terms, what each is called), its meaning], both by language."""
    left = set(WORDS)
    for term, row in glossary().items():
        texts = term, *(row.get(LANGUAGES[language], "") for language in ("ja", "zh"))
        called = [re.split(", |、", re.sub(r" \(.*?\)| 命令| 指令", "", text)) for text in texts]
        if left & set(called[0]):
            left -= set(called[0])
            yield texts, called, row["meaning"]


def words(language="en"):
    """{word: what the glossary says of it}, of the words that a page uses without a sentence of its own."""
    at, own = list(LANGUAGES).index(language), translations(language)
    found = {names[at]: own.get(text, text) for names, text in OWN.items()}
    for texts, called, meaning in terms():
        for word, name in zip(called[0], called[at]):
            if word in WORDS:  # Japanese and Chinese texts have some words, such as TMA, in English
                found[word] = found[name] = f"{texts[at]}: " + own.get(meaning, meaning)
    return found


def sayings(root=ROOT):
    """What docs/po/*/tables.po has for the pages."""
    yield from OWN.values()
    yield from (row["meaning"] for row in glossary(root).values())
    for file in sorted(root.glob("[0-9][0-9]_*/view.txt")):
        yield from (caption["text"][0] for caption in captions(file.parent.name, root))


def captions(step, root=ROOT):
    """Of view.txt: parts between empty lines. The first line of each says where: "warp 4 shared load of Bs after barrier, lane 3:
    b[j] = Bs" is the warp's first shared load of Bs after a barrier, by a line with these words if there are some. The others are what
    is told."""
    found, own = [], [translations(language, root) for language in LANGUAGES]
    for part in told(step, root):
        if part.startswith("shape "):
            continue
        where, *text = part.split("\n")
        warp, kind, of, after, lane, statement = re.fullmatch(
            r"(?:warp (\d+) )?([a-z ]+?)(?: of (\w+))?(?: after ([a-z ]+))?(?:, lane (\d+))?(?:: (.+))?", where).groups("")
        found.append({"warp": int(warp or 0), "kind": kind, "of": of, "after": after, "lane": int(lane or 0),
                      "statement": statement, "text": [each.get(" ".join(text), " ".join(text)) for each in own]})
    return found


def read(text, name, shape, root=ROOT):
    """The record as the page takes it."""
    reader = Reader(name, shape, root)
    reader.data["captions"] = captions(name, root)
    for kind, *cells in csv.reader(text.splitlines()):
        getattr(reader, kind)(*cells)
    return reader.data


def page(title, records, template="view"):
    """The whole page, in one file."""
    text = (PAGE / f"{template}.html").read_text()
    style = "".join((PAGE / f"{name}.css").read_text() for name in ("common", "tip"))
    for mark, fill in (("TITLE", html.escape(title)), ("/* STYLE */", style),
                       ("/* FRAME */", (TOYS / "frame.js").read_text()),
                       ("/* COMMON */", "".join(file.read_text() for file in (
                           TOYS / "language.js", PAGE / "tip.js", PAGE / "common.js"))),
                       ("/* RECORD */", "".join(file.read_text() for file in (
                           TOYS / "rules.js", PAGE / "words.js", PAGE / "record.js"))),
                       ('"GLOSSARY"', json.dumps([words(language=each) for each in LANGUAGES], ensure_ascii=False)),
                       ('"RECORDS"', json.dumps(records, separators=(",", ":")).replace("</", "<\\/"))):
        text = text.replace(mark, fill, 1)
    return text


def fragments():
    """{chips: {"matrix_a half col": for lane and x[i], lane by lane, 16 * row + column}} of 07's table."""
    return {chips: of for chips, of in layouts.maps().items() if "matrix_a half col" in of}
