"""A page to step through a kernel: what its traced build writes with --record, and a page that shows it (view.html).

A record is text, a line each (emulator/record.cpp): the matrices and shared arrays with their addresses, the problems, and of each
block every warp's events in program order, and notes of what went on beside the warps: mbarriers, TMA, wgmma. The page gets it as
JSON. Lanes' distances from the first repeat themselves all the time, so each list of them stands there once, as a pattern.
"""
import csv
import html
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

from machine import ROOT

LONGEST = 512  # the longest edge of a matrix that a page can show
HERE = pathlib.Path(__file__).parent
SIZES = {"half": 2, "T": 2, "Out": 4, "float": 4, "double": 8, "float4": 16, "half2": 4, "uint64_t": 8}
FUNCTIONS = {"ceil_div": lambda a, b: -(-a // b), "sizeof": lambda size: size, "int": int}


def value(expression, constants):
    """Evaluates an expression of integers and constants. Raises KeyError for anything else."""
    text = " ".join(re.sub(r"\w+::", "", expression).split())
    if not re.fullmatch(r"[\w\s()+*/%,?:=-]+", text):
        raise KeyError(expression)
    text = re.sub(r"(.+?) \? (.+) : (.+)", r"(\2) if \1 else \3", text.replace("/", "//"))
    try:
        return int(eval(text, {"__builtins__": {}, **FUNCTIONS}, {**SIZES, **constants}))
    except (NameError, SyntaxError, TypeError) as error:
        raise KeyError(expression) from error


def constants(source, kernel=""):
    """The whole numbers that a stage's source names, as far as they can be computed from others. kernel: matmul<Tile<128, 256>>; among
    them are the parameters of the templates in it."""
    found = {}
    while parts := re.search(r"(\w+)<([^<>]*)>", kernel):
        kernel = kernel.replace(parts[0], "_")
        declared = re.search(rf"template <([^>]*)>\s+(?:struct {parts[1]}\b|__global__[^;{{]*\b{parts[1]}\()", source)
        for parameter, given in zip(declared[1].split(",") if declared else (), parts[2].split(", ")):
            if re.fullmatch(r"\d+|true|false", given):
                found[parameter.split()[-1]] = int({"true": 1, "false": 0}.get(given, given))
    for several in re.findall(r"constexpr (?:int|bool) (\w+ =\s[^;]+);", source):
        for name, expression in re.findall(r"(\w+) =\s(.*?)(?=, \w+ =\s|$)", several, re.S):
            try:
                found.setdefault(name, value(expression, found))
            except KeyError:
                pass
    return found


def default_shape(source):
    """One block's tile, and so many steps along k that the third buffer, or the first once more, is used: what a page can show."""
    known = constants(source)
    columns = known.get("kTileN", 128 if "int kTileN" in source else 64)  # 11's smallest tile is 64 x 128
    return known.get("kTileM", 64), columns, max(3, known.get("kBuffers", 0) + 2) * known.get("kStepK", 4)


def array_of(name, source):
    """(bytes of an element, lengths) of a shared array as its source declares it; words of 4 bytes where that can't be read."""
    found = re.search(rf"__shared__ (?:alignas\(\d+\) |__align__\(\d+\) )?(\w+) {name}((?:\[[^]]*\])+)", source)
    try:
        return SIZES[found[1]], [value(length, constants(source)) for length in re.findall(r"\[([^]]+)\]", found[2])]
    except (KeyError, TypeError):
        return SIZES.get(found[1], 4) if found else 4, []


def dynamic_arrays(source, known, begin, length):
    """The arrays that a source sees in its dynamic shared memory; one without a name where that can't be read."""
    unread = [{"name": "shared", "begin": begin, "bytes": length, "size": 4, "lengths": []}]
    found, at = [], begin  # the members of struct Shared, else arrays by pointers
    members = "".join(re.findall(r"(?s)struct Shared \{.*?\n\}", source))
    for kind, names in re.findall(r"(?m)^ +(?:typename \w+::)?(\w+) (.+\]);", members):
        for name, lengths in re.findall(r"(\w+)((?:\[[^]]*\])+)", names):
            try:
                lengths = [value(each, known) for each in re.findall(r"\[([^]]+)\]", lengths)]
            except KeyError:
                return unread
            size = SIZES[kind]
            found.append({"name": name, "begin": at, "bytes": math.prod(lengths) * size, "size": size, "lengths": lengths})
            at += found[-1]["bytes"]
    if found:
        return found
    starts, rows = {}, {}  # a row: what the pointer steps over
    for name, kind, lengths, base, more in re.findall(
            r"auto (\w+) = reinterpret_cast<(\w+)\(\*\)((?:\[[^]]*\])+)>\((\w+)(?: \+ (\w+))?\)", source):
        lengths = [value(each, known) for each in re.findall(r"\[([^]]+)\]", lengths)]
        starts[name] = starts.get(base, begin) + (value(more, known) * rows[base][1] if more else 0)
        rows[name] = lengths, math.prod(lengths) * SIZES[kind], SIZES[kind]
    ends = [*list(starts.values())[1:], begin + length]
    found = [{"name": name, "begin": start, "bytes": end - start, "size": rows[name][2],
              "lengths": [-(-(end - start) // rows[name][1]), *rows[name][0]]} for (name, start), end in zip(starts.items(), ends)]
    return found or unread


def record(program, shape):
    """The program's record. A wrong result or a race is no failure: the page is to show it. Exits if there is no record."""
    with tempfile.TemporaryDirectory(prefix="view-") as folder:
        file = pathlib.Path(folder, "record")
        options = [word for option, number in zip(("-m", "-n", "-k"), shape) for word in (option, str(number))]
        run = subprocess.run([program, *options, "--order", "forward", "--verify-only", "--record", file], stdout=subprocess.PIPE)
        if not file.exists():
            sys.exit(run.returncode or 1)
        return file.read_text()


def read(text, name, shape, root=ROOT):
    """The record as the page takes it."""
    rows = list(csv.reader(text.splitlines()))
    of_kind = {kind: [row[1:] for row in rows if row[0] == kind] for kind in ("matrix", "array", "event")}
    files = dict.fromkeys(row[2].rpartition(":")[0] for row in of_kind["event"])
    sources = {file: (root / file).read_text() for file in files if (root / file).is_file()}
    everything = "\n".join(sources.values())
    data = {"name": name, "shape": shape, "sources": sources, "problems": [], "matrices": [], "arrays": [], "sites": [],
            "patterns": [], "blocks": []}
    ranges = []  # (begin, end, where that begins on the page)
    at = 0
    for matrix, *numbers in of_kind["matrix"]:
        begin, m, n, size = map(int, numbers)
        data["matrices"].append({"name": matrix, "begin": at, "rows": m, "cols": n, "size": size})
        ranges.append((begin, begin + m * n * size, at))
        at += -(-m * n * size // 256) * 256
    behind = 0  # g++ places arrays at any bank. On the page each starts in the first banks.
    for array, *numbers in sorted(of_kind["array"], key=lambda row: everything.find(f" {row[0]}[")):
        (begin, length), (size, lengths) = map(int, numbers), array_of(array, everything)
        to = behind + begin % 32
        data["arrays"].append({"name": array, "begin": to, "bytes": length, "size": size, "lengths": lengths})
        ranges.append((begin, begin + length, to))
        behind += -(-(begin % 32 + length) // 128) * 128
    dynamic, dynamic_end = 0, 0  # the block's dynamic shared memory: on the page it comes behind the arrays
    indices = {"sites": {}, "patterns": {}}

    def index(kind, key):
        if key not in indices[kind]:
            indices[kind][key] = len(data[kind])
            data[kind].append(key)
        return indices[kind][key]

    def moved(address):
        nonlocal dynamic_end
        for begin, end, to in ranges:
            if begin <= address < end:
                return address - begin + to
        dynamic_end = max(dynamic_end, address - dynamic + behind + 16)
        return address - dynamic + behind

    def lanes(texts):
        """A first address and a pattern; nothing where no lane has one."""
        addresses = [moved(int(text)) if text else None for text in texts]
        first = next((each for each in addresses if each is not None), None)
        return [] if first is None else [
            first, index("patterns", tuple(None if each is None else each - first for each in addresses))]

    def note_of(kind, *cells):
        """["load", warp, mbarrier, matrix, x, y, columns, rows, places], ["wgmma", warp, A's places, B's, A's descriptor, B's],
        or kind and numbers."""
        if kind in ("load", "store"):
            warp, barrier, matrix, *box = cells[:7]
            name = next((each[0] for each in of_kind["matrix"] if each[1] == matrix), "a copy")
            return [kind, int(warp), moved(int(barrier)) if kind == "load" else None, name, *map(int, box), lanes(cells[7:])]
        if kind == "wgmma":
            middle = cells.index("-")
            return [kind, int(cells[0]), lanes(cells[3:middle]), lanes(cells[middle + 1:]), *cells[1:3]]
        return [kind, int(cells[0]) if kind == "done" else moved(int(cells[0])), *map(int, cells[1:])]

    for row in rows:
        if row[0] == "problem":
            data["problems"].append({"text": ",".join(row[1:])})
        elif row[0] == "block":
            dynamic, stride, ranks = map(int, row[2:5])
            data["blocks"].append({"name": row[1], "warps": [], "notes": []})
        elif row[0] == "note":
            data["blocks"][-1]["notes"].append(note_of(*row[1:]))
        elif row[0] == "event":
            warp, what, where, width, cost, ideal, notes = row[1:8]
            warps = data["blocks"][-1]["warps"]
            warps.extend([] for _ in range(int(warp) + 1 - len(warps)))
            file, _, line = where.rpartition(":")
            pairs = [cell.partition(">") for cell in row[8:]]
            event = [index("sites", (what, file, int(line) if line.isdigit() else 0, int(width))), int(cost), int(ideal), int(notes)]
            warps[int(warp)].append(event + lanes([pair[0] for pair in pairs]) + lanes([pair[2] for pair in pairs]))
        elif row[0] == "conflict":
            text = ",".join(row[7:])
            for problem in data["problems"]:
                if problem["text"] == text:
                    problem.update(block=len(data["blocks"]) - 1, accesses=[
                        [int(number) for number in side] for side in (row[1:4], row[4:7]) if side[0]])
    known = constants(everything, next((",".join(row[1:]) for row in rows if row[0] == "kernel"), ""))
    for rank in range(ranks if dynamic_end else 0):  # blocks of a cluster
        arrays = dynamic_arrays(everything, known, behind + rank * stride, dynamic_end - behind - (ranks - 1) * stride)
        data["arrays"] += [{**each, "name": f"rank {rank} {each['name']}" if rank else each["name"]} for each in arrays]
    return data


def page(title, records, template="view"):
    """The whole page, in one file."""
    text = (HERE / f"{template}.html").read_text()
    for mark, fill in (("TITLE", html.escape(title)), ("/* STYLE */", (HERE / "view_common.css").read_text()),
                       ("/* COMMON */", (HERE / "view_common.js").read_text()),
                       ("/* RECORD */", (HERE / "view_record.js").read_text()),
                       ('"RECORDS"', json.dumps(records, separators=(",", ":")).replace("</", "<\\/"))):
        text = text.replace(mark, fill, 1)
    return text


def fragments():
    """{architecture: {"matrix_a half col": for lane and x[i], lane by lane, 16 * row + column}} of 07's tables."""
    tables = {}
    for path in sorted((ROOT / "07_fragment_probe/layouts").glob("sm*.csv")):
        architecture, use = re.match(r"(sm\d+(?:_and_later)?)_(\w+)", path.stem).groups()
        rows = csv.DictReader(path.read_text().splitlines())
        tables.setdefault(architecture.replace("_", " "), {})[" ".join(use.rsplit("_", 2))] = [
            16 * int(row["row"]) + int(row["col"]) for row in rows]
    return tables
