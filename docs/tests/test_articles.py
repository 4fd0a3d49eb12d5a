"""docs/articles.md holds what it says: every claim has a row, a verdict, and a command or a reason.

The commands that take no GPU are run, and what stands in code in the column of figures must stand in what they print.
`x.csv: a, b = 1.5` there is a figure of docs/results/h200/x.csv: of a row that has cells with a and b in them, and one that is
rounded 1.5; `x.txt: a` stands so in docs/results/x.txt. A row that takes a tool which is missing here is skipped, once its figures
from the committed results are found right.
"""
import collections
import csv
import math
import re

import pytest

from commands import check_named, lacking, run
from support import ROOT

CLAIMS = "1-34, 40-52, 60-65, 70-89, 100-129, 140-186, E1-E13"
VERDICTS = ("reproduced", "corrected", "out of reach")
COLUMNS = ("claim", "place", "says", "verdict", "command", "figure")
SELECTOR = re.compile(r"([\w/]+\.csv): (.+) = (-?[\d.,]+)")
QUOTED = re.compile(r"(\w+\.txt): (.+)")
LEADING = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?=$|%| x\b)")  # the figure of '28761 x: impossible'
Row = collections.namedtuple("Row", COLUMNS)


def numbers(text):
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


def tables():
    """The rows of the tables that have a column for everything, as lists of cells."""
    width = 0
    for line in (ROOT / "docs/articles.md").read_text().splitlines():
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not width or not cells:
            width = len(cells)
        elif width == len(COLUMNS) and not re.fullmatch("[-:]+", cells[0]):
            yield cells


ROWS = list(tables())


def kind(command):
    words = command.split()
    if words[:2] == ["./test", "-R"]:
        return "test"
    return "GPU" if words[0] == "./run" and "--cpu" not in words and words[1:2] != ["diff"] else "run"


def check_program(command):
    """A command that takes a GPU: there is such a program, or such a stage."""
    name = command.split()[1]
    assert name.startswith("--") or any(ROOT.glob(f"[0-9][0-9]_*/**/{name}.c*")) or any(ROOT.glob(f"{name}*/README.md")), command


def check_result(figure):
    """A figure of the committed results; False if it is none of theirs."""
    if match := SELECTOR.fullmatch(figure):
        path = ROOT / "docs/results/h200" / match[1]
        rows = [row for row in csv.reader(path.read_text().splitlines())
                if all(any(word in cell for cell in row) for word in match[2].split(", "))]
        assert rows, f"{path.name} has no row with {match[2]}"
        assert any(rounded(cell, match[3]) for row in rows for cell in row), f"{path.name} has no {match[3]} in a row with {match[2]}"
    elif match := QUOTED.fullmatch(figure):
        assert collapsed(match[2]) in collapsed((ROOT / "docs/results" / match[1]).read_text()), f"docs/results/{match[1]} lacks it"
    return bool(match)


def rounded(cell, figure):
    """Is the cell a number that is `figure`, rounded to as many decimals?"""
    match = LEADING.match(cell)
    return bool(match) and math.isfinite(float(match[0])) and (
        f"{float(match[0]):.{len(figure.partition('.')[2])}f}" == figure.replace(",", ""))


def test_every_claim_has_one_row():
    claims = collections.Counter(claim for cells in ROWS for claim in numbers(cells[0]))
    assert claims == collections.Counter(numbers(CLAIMS))


@pytest.mark.parametrize("cells", ROWS, ids=lambda cells: cells[0])
def test_row(cells):
    assert len(cells) == len(COLUMNS), cells
    row = Row(*cells)
    assert row.place and row.says and row.verdict in VERDICTS, row
    figures, commands = spans(row.figure), spans(row.command)
    others = [figure for figure in figures if not check_result(figure)]
    if row.verdict == "out of reach":
        assert row.command in ("-", "–", "—") and len(row.figure.split()) > 2, "takes a dash for a command, and a reason"
        return
    assert commands, "has no command"
    kinds = {kind(command) for command in commands}
    assert figures or kinds == {"test"}, "no figure in code"
    assert "GPU" not in kinds or len(others) < len(figures), "takes a GPU, but names no figure of docs/results"
    printed, lack = "", ""
    for command in commands:
        if kind(command) != "run":
            (check_named if kind(command) == "test" else check_program)(command)
            continue
        done = run(command)
        assert done.returncode in (0, 77), f"`{command}`: {done.stdout[-300:]}"
        printed += collapsed(done.stdout) + "\n"
        lack = lack or lacking(done)
    lost = [figure for figure in others if collapsed(figure) not in printed]
    if lost and lack:
        pytest.skip(lack)
    assert not lost, f"not printed by {row.command}: {lost}"
