"""The ledger of docs/articles.md: every claim has one row, with a verdict, commands that run, and figures in `code` that are found:
  `text`                                         in what the row's commands print;
  `x.csv: a, n 8, column = 1.5`                  in docs/results/h200/x.csv: of the one row with a cell a, and 8 in column n;
  `x.csv: a, column / y.csv: b, column = 2.1`    the quotient of two such;
  `x.txt: text`                                  in docs/results/x.txt.
A command that takes a GPU is not run: its row has a figure of a CSV. That another figure is noticed is shown of each.
"""
import collections
import contextlib
import csv
import functools
import io
import re

import pytest

import claims
from commands import check_exists, run
from support import ROOT

CLAIMS = "1-38, 40-53, 60-67, 70-95, 100-136, 140-196, E1-E13"
VERDICTS = ("reproduced", "reproduced on an H200", "otherwise on an H200", "corrected", "by the guide", "quoted", "out of reach",
            "beside")
PLACE = r"([\w/]+\.csv): ([^=]+?)"
SELECTOR = re.compile(rf"{PLACE}(?: / {PLACE})? = (.+)")
RESULTS = ROOT / "docs/results"
TEXT = (ROOT / "docs/articles.md").read_text()


def rows_of(text):
    """{first head of a table: its rows as lists of cells}; tables with the same one are one."""
    found, head = collections.defaultdict(list), None
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and head is not None and not re.fullmatch("[-:]+", cells[0]):
            found[head].append(cells)
        head = (cells[0] if head is None else head) if cells else None
    return found


def claims_in(text):
    """'8, 10-12, E3' as a list of claims."""
    found = []
    for letter, first, last in re.findall(r"(E?)(\d+)(?:-E?(\d+))?", text):
        found += [f"{letter}{n}" for n in range(int(first), int(last or first) + 1)]
    return found


def code(cell):
    return [span.strip() for span in re.findall(r"`([^`]+)`", cell) if span.strip()]


def cell(name, words):
    """The text in docs/results/h200/NAME that 'a, b, column' names."""
    path = RESULTS / "h200" / name
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


def check_csv(figure):
    name, words, other, others, value = SELECTOR.fullmatch(figure).groups()
    found = cell(name, words)
    if other or found != value:
        figures = [float(re.match(r"-?[\d.]*", text)[0] or "nan") for text in (found, cell(other, others) if other else "1")]
        found = f"{figures[0] / figures[1]:.{len(value.partition('.')[2])}f}"
    assert found == value.replace(",", ""), f"`{figure}`: it is {found}"


@functools.lru_cache(None)
def output_of(command):
    """claims.py is called without a process of its own, and compile_claims.py compiles for all claims at once."""
    script, words = re.match(r"(.*?claims\.py|.*) ?(.*)", command).groups()
    if script == "python3 tools/claims.py":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exit_code = claims.main(words.split())
        if exit_code == 77:
            pytest.skip("clang-19 is missing")
        output = printed.getvalue()
    else:
        exit_code, output = run(script)
    assert not exit_code, f"`{command}`: {output[-300:]}"
    lines = [line for line in output.splitlines() if "compile" not in script or words in line[:14].split()]
    return " ".join(" ".join(lines).split())


def check_row(cells):
    claim, _, _, verdict, commands, figures = cells
    commands, figures = code(commands), code(figures)
    if verdict.startswith("repeats "):
        assert set(claims_in(verdict)) <= set(claims_in(CLAIMS)), f"{verdict}, which is no row"
    else:
        assert verdict in VERDICTS, f"'{verdict}' is no verdict"
    kept = [figure for figure in figures if re.match(r"\w+\.txt: ", figure)]  # of what programs printed once
    of_csv = [figure for figure in figures if SELECTOR.fullmatch(figure)]
    printed = [" ".join(figure.split()) for figure in figures if figure not in (*kept, *of_csv)]
    for figure in of_csv:
        check_csv(figure)
    for at, (name, _, words) in enumerate(figure.partition(": ") for figure in kept):
        kept[at] = " ".join(words.split())
        assert kept[at] in " ".join((RESULTS / name).read_text().split()), f"{name} lacks '{words}'"
    if verdict == "out of reach":
        return
    assert commands, "has no command"
    assert not verdict.endswith("on an H200") or of_csv, "has no figure of an H200's results"
    said, lack = {}, None
    for command in commands:
        check_exists(command)
        if command.startswith("./run "):
            assert of_csv, f"`{command}`: no figure of the CSV that it writes"
        elif "-R" not in command:
            try:
                said[command] = output_of(command)
            except pytest.skip.Exception as what:
                lack = what
    for figure in printed:
        assert lack or any(figure in text for text in said.values()), f"not printed by {commands}: {figure}"
    for command, text in said.items():
        assert any(figure in text for figure in (*printed, *kept)), f"`{command}` prints no figure of the row"
    if lack:
        raise lack


def check_whole(text):
    """Every claim has one row, as many as are said have each verdict, and the first table leads to every claim."""
    found = rows_of(text)
    claims = collections.Counter(claims_in(", ".join(row[0] for row in found["claim"])))
    wanted = collections.Counter(claims_in(CLAIMS))
    assert claims == wanted, f"rows too many or missing: {sorted((claims - wanted) + (wanted - claims))}"
    counts = collections.Counter("repeats" if row[3].startswith("repeats") else row[3] for row in found["claim"])
    assert {verdict: int(n) for verdict, n in found["verdict"]} == counts, f"it is {dict(counts)}"
    led = set(claims_in(", ".join(row[1] for row in found["article, section"])))
    assert led == {claim for claim in wanted if claim[0] != "E"}, "the first table does not lead to every claim"
    for row in found["article, section"]:
        for command in code(row[3]):
            check_exists(command)


def test_whole():
    check_whole(TEXT)


@pytest.mark.parametrize("cells", rows_of(TEXT)["claim"], ids=lambda cells: cells[0])
def test_row(cells):
    check_row(cells)


@pytest.mark.parametrize("cells", rows_of(TEXT)["claim"], ids=lambda cells: cells[0])
def test_another_figure_is_noticed(cells):
    for figure in code(cells[5]) if cells[3] != "out of reach" else ():
        with pytest.raises(AssertionError):
            check_row([*cells[:5], cells[5].replace(figure, figure[:-1] + "?")])


@pytest.mark.parametrize("old, new", [("| 46 |", "| 47 |"), ("| corrected | `", "| reproduced | `"), ("| 40-45 |", "| 40-44 |")])
def test_a_claim_that_is_missing_is_noticed(old, new):
    with pytest.raises(AssertionError):
        check_whole(TEXT.replace(old, new, 1))
