"""docs/articles.md holds what it says. Every claim has one row, with a verdict and what that verdict takes: commands, and figures in
code. A figure is looked up:
  `text`                                         in what the row's commands print;
  `x.csv: a, n 8, column = 1.5`                  in docs/results/h200/x.csv: of the one row with a cell a, and 8 in column n;
  `x.csv: a, column / y.csv: b, column = 2.1`    the quotient of two such;
  `x.txt: text`, `folder/file: text`             in docs/results/x.txt, or in a file of the repository.
Commands that take no GPU are run; of one that does the row has a figure of the CSV that it writes, of a test a line of its source.
Outside code no number is left that could be a measured one. That all this would be noticed is shown by planted falsehoods.
"""
import collections
import csv
import functools
import importlib
import json
import math
import re
import subprocess

import pytest

from commands import check_named, lacking, listed_tests, run
from support import BUILD, ROOT

CLAIMS = "1-38, 40-53, 60-67, 70-95, 100-136, 140-196, E1-E13"
VERDICTS = ("reproduced", "reproduced on an H200", "otherwise on an H200", "corrected", "by the guide", "quoted", "out of reach")
BESIDE = "beside"  # no article's claim; or "repeats 23, 24". Both are not counted
REASONS = ("no Volta", "no Pascal or Kepler", "no GCN card", "a licence", "references", "an aside", "an opinion", "lost",
           "not in this repository")
COLUMNS = ("claim", "place", "says", "verdict", "command", "figure")
Row = collections.namedtuple("Row", COLUMNS)
PLACE = r"([\w/]+\.csv): ([^=]+?)"
SELECTOR = re.compile(rf"{PLACE}(?: / {PLACE})? = (.+)")
QUOTED = re.compile(r"([\w./-]+\.\w+): (.+)", re.S)
FILE = re.compile(r"[\w./-]+\.(?:py|cu|cuh|h|cl|cpp|patch|csv|txt|md|svg)")
LEADING = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?=$|%| x\b)")  # the figure of '28761 x: impossible'
NUMBERS = r"\d[\w.]*(?:(?:,|, and| and| to| or) \d[\w.]*)*"
ALLOWED = re.compile(  # numbers that prose may contain, because they are part of a name
    r"\"[^\"]*\"|\[[^]]*\]\([^)]*\)"  # quoted from an article or a document; links
    rf"|\b(?:CUDA|PTX|nvcc|GCN|RDNA|clang|cuda\.core|rows?|slides?|chapters?|exercises?|Windows|steps?|lanes?) {NUMBERS}"
    r"|\b[MNKnk] = \d+\b|\bat \d{3,5}\b|\b\d+(?: ?x ?\d+)+\b"  # shapes and sizes
    r"|\b(?:0\d|1[01])(?:'s)?\b|\b(?:19|20)\d\d(?:-\d\d)*\b"  # chapters, dates
    r"|\b[A-Za-z][A-Za-z_]*-?\d[\w.-]*")  # sm_70, H200, E3, f16x2


def claims_in(text):
    """'8, 10-12, E3' as a list of claims."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(E?)(\d+)(?:-(\1\d+))?", part.strip())
        assert match, f"'{text}': takes 7, E7, '8, 9' or 8-11"
        found += [f"{match[1]}{n}" for n in range(int(match[2]), int((match[3] or match[2]).strip("E")) + 1)]
    return found


def spans(cell):
    return [span.strip() for span in re.findall(r"`([^`]+)`", cell) if span.strip()]


def collapsed(text):
    return " ".join(text.split())


def tables(text):
    """{heads of a table: its rows as lists of cells}; tables with the same heads are one."""
    found, heads = {}, None
    for line in text.splitlines():
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not cells:
            heads = None
        elif heads is None:
            heads = tuple(cells)
        elif not re.fullmatch("[-:]+", cells[0]):
            found.setdefault(heads, []).append(cells)
    return found


TEXT = (ROOT / "docs/articles.md").read_text()
HEADS = ("claim", "place", "says", "verdict", "command", "figure, or why out of reach")
COUNTS, WHERE = ("verdict", "rows"), ("article, section", "claims", "here", "command")
ROWS = tables(TEXT)[HEADS]


def kind(command):
    words = command.split()
    if words[:2] == ["./test", "-R"]:
        return "test"
    return "GPU" if words[0] == "./run" and "--cpu" not in words and words[1:2] != ["diff"] else "run"


@functools.lru_cache(None)
def written():
    """{program: the CSV that ./run all has of it}; a stage's is ladder.csv."""
    return {step.name: step.csv for step in importlib.import_module("all").STEPS}


@functools.lru_cache(None)
def targets():
    """The names of the programs in build/bin, whether or not they were built."""
    return {program.name.replace("/", ".") + suffix for program in importlib.import_module("run").PROGRAMS
            for suffix in ("", "_cpu", "_cpu_trace", "_cpu_asan")} | set(
                re.findall(r"emulator_test_\w+|verify_test|harness_test", (ROOT / "emulator/tests/tests.cmake").read_text()
                           + (ROOT / "tests/CMakeLists.txt").read_text()))


def csv_of(command):
    """The CSV in docs/results that a command which takes a GPU writes. AssertionError: there is no such program or stage."""
    words = command.split()
    if "--csv" in words:
        return words[words.index("--csv") + 1]
    name = words[1]
    if name not in written():
        found = sorted(ROOT.glob(f"{name}*/matmul.c*"))
        assert found, f"`{command}`: no such program or stage"
        name = "08_opencl_gcn" if found[0].suffix == ".cpp" else "ladder"
    return written()[name]


def cell(name, words):
    """The text in docs/results/h200/NAME that 'a, b, column' names."""
    path = ROOT / "docs/results/h200" / name
    assert path.exists(), f"there is no {name}"
    *keys, column = words.split(", ")

    def named(row, keys):
        def is_cell(key):
            column, _, value = key.partition(" ")
            return key in row.values() or value and row.get(column) == value
        return not keys or any(is_cell(", ".join(keys[:n])) and named(row, keys[n:]) for n in (1, 2) if n <= len(keys))

    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert column in rows[0], f"{name} has no column '{column}'"
    rows = [row for row in rows if named(row, keys)]
    assert len(rows) == 1, f"{name} has {len(rows)} rows with {', '.join(keys)}"
    return rows[0][column]


def number(text):
    match = LEADING.match(text)
    assert match and math.isfinite(float(match[0])), f"'{text}' is no number"
    return float(match[0])


def check_result(figure):
    """A figure that stands in the repository is right; False if it is none of those."""
    if match := SELECTOR.fullmatch(figure):
        name, words, other, others, value = match.groups()
        if not re.fullmatch(r"-?[\d.,]+", value):
            assert cell(name, words) == value, f"`{figure}`: it is {cell(name, words)}"
            return True
        found = number(cell(name, words)) / (number(cell(other, others)) if other else 1)
        assert f"{found:.{len(value.partition('.')[2])}f}" == value.replace(",", ""), f"`{figure}`: it is {found:g}"
        return True
    if "/" in figure and FILE.fullmatch(figure):
        assert (ROOT / figure).exists(), f"there is no {figure}"
        return True
    match = QUOTED.fullmatch(figure)
    if match and (FILE.fullmatch(match[1])):
        path = ROOT / (match[1] if "/" in match[1] else f"docs/results/{match[1]}")
        assert path.exists(), f"there is no {match[1]}"
        assert collapsed(match[2]) in collapsed(path.read_text()), f"{match[1]} lacks '{match[2]}'"
        return True
    return False


@functools.lru_cache(None)
def commands_of_tests():
    """{test: its command} as ctest has it; {} where there is no build."""
    shown = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], stdout=subprocess.PIPE, text=True).stdout
    return {test["name"]: " ".join(test.get("command", ())) for test in json.loads(shown or '{"tests": []}')["tests"]}


def check_test(command, figures):
    """There is such a test, and the row quotes a file that it runs or, of exercises, one of these. Skips where it can't run."""
    check_named(command)
    name = command.split()[-1]
    for test, words in commands_of_tests().items():
        if re.search(name, test):
            if "exit 77" in words:
                pytest.skip(f"{test}: what it takes is missing here")
            own = [figure for figure in figures if (match := QUOTED.fullmatch(figure)) and (
                match[1] in words or "exercises" in test and match[1].startswith(f"{test.partition('.')[0]}/exercises/"))]
            assert own, f"`{command}`: no line of what it runs is quoted"


def complaints(cells):
    """(what is wrong with a row, what it takes that is missing here: "" if nothing)"""
    found, lack = [], ""

    def attempt(check, *arguments):
        try:
            return check(*arguments)
        except (AssertionError, pytest.fail.Exception) as wrong:
            found.append(str(wrong).splitlines()[0])

    if len(cells) != len(COLUMNS) or not all(cells):
        return [f"has {len(cells)} cells, or an empty one"], ""
    row = Row(*cells)
    if row.verdict.startswith("repeats "):
        there = {cells[0] for cells in ROWS}
        found += [f"repeats {claim}, which is no row" for claim in claims_in(row.verdict[len("repeats "):]) if claim not in there]
    elif row.verdict not in (*VERDICTS, BESIDE):
        return [f"'{row.verdict}' is no verdict"], ""
    figures, commands = spans(row.figure), spans(row.command)
    prose = re.sub("`[^`]*`", "", row.figure)
    if bare := re.search(r"\d[\d.,]*", ALLOWED.sub("", prose)):
        found.append(f"{bare[0]} stands in prose: in code it would be looked up")
    for quoted in re.findall(r'"([^"]*\d[^"]*)"', prose):
        if not any(quoted in each[2] for each in ROWS):
            found.append(f'"{quoted}" is quoted, but no article says so in the third column')
    others = [figure for figure in figures if attempt(check_result, figure) is False]
    if row.verdict == "out of reach":
        if row.command not in ("-", "–", "—"):
            found.append("out of reach takes a dash for a command")
        if not row.figure.startswith(REASONS):
            found.append(f"out of reach takes a reason: {', '.join(REASONS)}")
        return found + [f"{other}: no command prints it" for other in others], ""
    if not commands:
        return found + ["has no command"], ""
    if not figures:
        return found + ["proves nothing: has no figure in code"], ""
    if row.verdict.endswith("on an H200") and not any(SELECTOR.fullmatch(figure) for figure in figures):
        found.append("has no figure of an H200's results")
    if row.verdict == "quoted" and any(not command.startswith("python3 tools/claims.py") for command in commands):
        found.append("is computed from the article's own figures: by tools/claims.py alone")
    printed = []
    for command in commands:
        if kind(command) == "test":
            attempt(check_test, command, figures)
        elif kind(command) == "GPU":
            name = attempt(csv_of, command)
            if name is not None and not any(figure.startswith(f"{name}: ") or f" / {name}: " in figure for figure in figures):
                found.append(f"`{command}`: no figure of {name}")
        else:
            words = command.split()
            if words[0].startswith("build/bin/") and words[0][len("build/bin/"):] not in targets():
                found.append(f"`{command}`: no such program")
                continue
            done = run(command)
            if done.returncode not in (0, 77):
                found.append(f"`{command}`: {done.stdout[-300:]}")
            printed.append((command, collapsed(done.stdout)))
            lack = lack or lacking(done)
    lost = [figure for figure in others if not any(collapsed(figure) in text for _, text in printed)]
    if lost and lack:
        return found, lack
    if lost:
        found.append(f"not printed by {row.command}: {lost}")
    kept = [match[2] for figure in figures if (match := QUOTED.fullmatch(figure)) and match[1].endswith(".txt")]
    for command, text in printed:
        if not lack and not any(collapsed(figure) in text for figure in others + kept):
            found.append(f"`{command}` prints no figure of the row")
    return found, ""


def check_claims(text):
    """Every claim has one row."""
    claims = collections.Counter(claim for cells in tables(text)[HEADS] for claim in claims_in(cells[0]))
    wanted = collections.Counter(claims_in(CLAIMS))
    assert claims == wanted, f"rows too many or missing: {sorted((claims - wanted) + (wanted - claims))}"


def check_counts(text):
    found = tables(text)
    rows = collections.Counter(cells[3].partition(" ")[0] if cells[3].startswith("repeats") else cells[3] for cells in found[HEADS])
    assert {cells[0]: int(cells[1]) for cells in found[COUNTS]} == rows, f"it is {dict(rows)}"


def check_where(text):
    """The first table leads from every claim to files that there are, and to commands that rows have or tests type."""
    known = {command for cells in ROWS for command in spans(cells[4])}
    typed = "".join(path.read_text() for path in ROOT.glob("[0-9]*/README.md"))
    led = set()
    for section, claims, here, commands in tables(text)[WHERE]:
        led.update(claims_in(claims))
        for path in re.findall(r"\]\(([^)#]+)", here):
            assert (ROOT / "docs" / path).exists(), f"{section}: there is no {path}"
        assert re.search(r"\]\(", here) or here == "-", f"{section}: leads nowhere"
        for command in spans(commands):
            assert command in known or f"    {command}" in typed or kind(command) == "GPU" and csv_of(command), (
                f"{section}: no row and no README has `{command}`")
    counted = {claim for cells in tables(text)[HEADS] for claim in claims_in(cells[0]) if not cells[0].startswith("E")}
    assert counted == led, f"not led to: {sorted(counted ^ led)}"


def test_claims():
    check_claims(TEXT)


def test_counts():
    check_counts(TEXT)


def test_where():
    check_where(TEXT)


@pytest.mark.parametrize("cells", ROWS, ids=lambda cells: cells[0])
def test_row(cells):
    found, lack = complaints(cells)
    assert not found, found
    if lack:
        pytest.skip(lack)


# Falsehoods: of which claim ("": of the whole), what the text has, what it is made to have, and what is then said.
FALSEHOODS = (
    ("44", "to be as said", "it reaches 71.3 TFLOPS; to be as said", "71.3 stands in prose"),
    ("47", "bytes a clock;", "of 128 bytes a clock;", "128 stands in prose"),
    ("14", '"256 bits"', '"257 bits"', "no article says so"),
    ("44", "61.9%", "62.9%", "not printed by"),
    ("76", "`1.02 ms`", "`1.02 s`", "not printed by"),
    ("44", "tools/claims.py", "tools/claim.py", "can't open file"),
    ("3", "one_tile_cpu", "two_tiles_cpu", "no such program"),
    ("109", "-R 06_wmma.one_tile", "-R 06_wmma.two_tiles", "ctest has no such test"),
    ("52", "./run latency", "./run latencies", "no such program or stage"),
    ("46", "latency.csv: ", "latencies.csv: ", "there is no latencies.csv"),
    ("46", ", cycles = ", ", clocks = ", "has no column 'clocks'"),
    ("46", "L1 hit", "L1 miss", "has 0 rows with L1 miss"),
    ("46", "L1 hit, ", "load, ", "rows with load"),
    ("46", "= 32.0", "= 31.0", "it is 32.03"),
    ("21", "= 5.08", "= 7.08", "it is 5.07"),
    ("63", "16 HMMA.884.F32.F32", "32 HMMA.884.F32.F32", "lacks"),
    ("34", "volta_tables.cu", "volta_table.cu", "there is no 07_fragment_probe/volta_table.cu"),
    ("44", "claims.py 44", "claims.py 43", "not printed by"),
    ("44", "`python3 tools/claims.py 44`", "`python3 tools/claims.py 44`, `build/bin/one_tile_cpu`", "prints no figure of the row"),
    ("44", "`70 / 113 = 61.9%`; to be as said it would take `79.1 TFLOPS`", "the moon is made of cheese", "proves nothing"),
    ("109", "06_wmma/tests/test_one_tile.py: <", "06_wmma/tests/test_one_tile.py: the moon is made of cheese <", "lacks 'the moon"),
    ("163", "01_naive/exercises/1_swapped.patch: 8192 requests +262144 sectors", "docs/glossary.md: warp", "no line of what"),
    ("49", "no Pascal or Kepler, nor a Maxwell, is at hand", "the moon is made of cheese", "out of reach takes a reason"),
    ("49", "| - |", "| `python3 tools/claims.py 44` |", "takes a dash"),
    ("46", "`./run latency`", "`./run transfer`", "no figure of transfer.csv"),
    ("46", "reproduced on an H200", "reproduced on a Volta", "is no verdict"),
    ("44", "corrected", "otherwise on an H200", "has no figure of an H200's results"),
    ("46", "reproduced on an H200", "quoted", "by tools/claims.py alone"),
    ("E8", "repeats 44", "repeats 444", "which is no row"),
    ("", "| 46 | L1 |", "| 47 | L1 |", "rows too many or missing: ['46', '47']"),
    ("", "| corrected | `", "| reproduced | `", "it is {"),
    ("", "| 40-45 |", "| 40-44 |", "not led to: ['45']"),
    ("", "../00_machine_limits/victims.cu", "../00_machine_limits/victim.cu", "there is no ../00_machine_limits/victim.cu"),
    ("", "`build/bin/volta_tables_cpu` |", "`build/bin/volta_table_cpu` |", "no row and no README has"),
)


@pytest.mark.parametrize("claim, old, new, said", FALSEHOODS, ids=lambda value: value[:30])
def test_falsehood_is_seen(claim, old, new, said):
    if claim:
        [row] = [line for line in TEXT.splitlines() if line.startswith(f"| {claim} |")]
        assert old in row and complaints(ROWS[[cells[0] for cells in ROWS].index(claim)])[0] == []
        [cells] = tables("| " + " | ".join(HEADS) + " |\n" + row.replace(old, new, 1))[HEADS]
        found, _ = complaints(cells)
    else:
        found = []
        for check in (check_claims, check_counts, check_where):
            try:
                check(TEXT.replace(old, new, 1))
            except AssertionError as wrong:
                found.append(str(wrong))
    assert any(said in each for each in found), found
