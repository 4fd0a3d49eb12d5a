"""Each row of docs/articles has a verdict, commands, and figures in backquotes. A figure has one of these forms:

  text                                     is in the output of one of the row's commands
  x.csv: a, n 8, column = 1.5              in docs/results/h200/x.csv, the only row with a cell a, and 8 in column n,
                                           has 1.5 in `column`
  x.csv: a, column / y.csv: b, column = 2  the ratio of two such cells
  x.txt: text                              is in docs/results/x.txt

A command is a ./run or ./test, which build what they run, a grep in docs/, or a Python tool of which claims.md says
what it takes. Commands that need a GPU are not run; their rows must have a figure from a CSV. ./test without -V is not
run either, because it takes long; the test must exist. The lists of all claims, of verdicts and of what is corrected,
and the anchors, are what ./run plot writes.

The index, docs/articles/README.md: each of its rows has its claims' verdicts, all claims have a row, and each
command, which follows a $, is of the same kinds, and is one of the claims' or runs.
"""
import csv
import re

import pytest

import command_line
from book import claims
from commands import run
from support import ROOT

PLACE = r"([\w/]+\.csv): ([^=]+?)"
SELECTOR = re.compile(rf"{PLACE}(?: / {PLACE})? = (.+)")
KIND = re.compile(r"\./run (\w[\w/]*)|\./test (?:-V )?-R (\S+)$|grep .* (docs/[\w./-]+)$|python3 ([\w./]+\.py)")
RESULTS = ROOT / "docs/results"
ROWS = claims.rows()
CLAIMS = [row for row in ROWS if row.verdict != "extra"]
INDEX = [cells for line in (claims.FOLDER / "README.md").read_text().splitlines()
         if len(cells := [cell.strip() for cell in line.split("|")[1:-1]]) == 3]


def code(text):
    return re.findall(r"`([^`]+)`", text)


def cell(name, words):
    """The text of the cell in docs/results/h200/NAME that 'a, b, column' names."""
    keys, _, column = words.rpartition(", ")

    def unmatched(row):  # the keys that are no cell of the row
        rest = f" {keys}," * bool(keys)
        for text in sorted((*map(" ".join, row.items()), *row.values()), key=len, reverse=True):
            rest = rest.replace(f" {text},", "", 1)
        return rest

    rows = [row for row in csv.DictReader((RESULTS / "h200" / name).read_text().splitlines()) if not unmatched(row)]
    assert len(rows) == 1, f"{name} has {len(rows)} rows with {keys}"
    return rows[0][column]


def check_csv(figure):
    name, words, other, others, value = SELECTOR.fullmatch(figure).groups()
    found = cell(name, words)
    if other or found != value:
        texts = found, cell(other, others) if other else "1"
        figures = [float(re.match(r"-?[\d.]*", text)[0] or "nan") for text in texts]
        found = f"{figures[0] / figures[1]:.{len(value.partition('.')[2])}f}"
    assert found == value.replace(",", ""), f"`{figure}`: it is {found}"


def check_evidence(command):
    """Checks that a command is of one of the kinds above, and that the program, test, file or tool that it names
    exists."""
    kind = KIND.match(command)
    assert kind, f"`{command}` is neither ./run PROGRAM, ./test -R NAME, grep ... docs/FILE nor a Python tool"
    program, test, file, tool = kind.groups()
    if program and program not in command_line.HELP:
        try:
            command_line.programs_meant(program)
        except SystemExit:
            pytest.fail(f"`{command}`: there is no program '{program}'")
    if test:
        output_of(f"{command} -N")
    assert not (file or tool) or (ROOT / (file or tool)).is_file(), f"`{command}`: there is no {file or tool}"
    page_text = (claims.FOLDER / "claims.md").read_text()
    if tool:
        assert re.search(rf"(?m)^\| `{re.escape(tool)}` \| \S", page_text), f"claims.md does not say what {tool} takes"


def is_run(command):
    """Whether the command is run here: not if it needs a GPU, or takes long."""
    return not re.match(r"\./run (?!.*--cpu)|\./test (?!-V)|python3 00_machine_limits/cuda_python", command)


def output_of(command):
    exit_code, output = run(command)
    assert not exit_code, f"`{command}`: {output[-300:]}"
    return " ".join(output.split())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.claim)
def test_row(row):
    assert row.verdict in claims.VERDICTS, f"'{row.verdict}' is not a verdict"
    commands, figures = code(row.commands), code(f"{row.correct} {row.shows}")
    kept = [figure for figure in figures if re.match(r"\w+\.txt: ", figure)]  # kept output of programs
    of_csv = [figure for figure in figures if SELECTOR.fullmatch(figure)]
    printed = [" ".join(figure.split()) for figure in figures if figure not in (*kept, *of_csv)]
    for figure in of_csv:
        check_csv(figure)
    quoted = []
    for name, _, words in (figure.partition(": ") for figure in kept):
        quoted.append(" ".join(words.split()))
        assert quoted[-1] in " ".join((RESULTS / name).read_text().split()), f"{name} lacks '{words}'"
    if row.verdict in claims.NOT_RUN:
        return
    assert commands, "has no command"
    assert not row.verdict.endswith("on an H200") or of_csv, "has no figure of an H200's results"
    on_gpu = [each for each in commands if re.match(r"\./run|python3", each) and not is_run(each)]
    assert of_csv or not on_gpu, f"has no figure of a CSV, for {on_gpu}"
    outputs = {}
    for command in commands:
        check_evidence(command)
        if is_run(command):
            outputs[command] = output_of(command)
    for figure in printed:
        assert any(figure in text for text in outputs.values()), f"not printed by {commands}: {figure}"
    for command, text in outputs.items():
        assert any(figure in text for figure in (*printed, *quoted)), f"`{command}` prints no figure of the row"


def test_every_claim_has_a_number_of_its_own():
    numbers = [row.claim for row in ROWS]
    assert len(numbers) == len(set(numbers)), "two rows have the same number"


def test_index_has_the_verdicts():
    verdict_of = {name: verdict for verdict, *translations in INDEX if verdict in claims.VERDICTS
                  for name in translations}
    linked = []
    for cells in INDEX:
        rows = [row for numbers, _, page in claims.CLAIM_LINK.findall(cells[2]) for row in claims_named(numbers, page)]
        bold = re.match(r"\*\*(.+?)\*\*", cells[2])
        verdicts = {verdict_of.get(name) for name in re.split("[・、]", bold[1])} if bold else set()
        assert verdicts == {row.verdict for row in rows}, f"{cells[0]}: their rows have {[row.verdict for row in rows]}"
        linked += rows
    assert not [row.claim for row in CLAIMS if row not in linked], "no row leads to these"


def claims_named(numbers, page):
    """The rows that `1-3, 2b` names."""
    for first, last, letter in re.findall(r"(\d+)(?:-(\d+)|([a-z]))?", numbers):
        for n in range(int(first), int(last or first) + 1):
            row = next((row for row in CLAIMS if (row.page.name, row.claim) == (page, f"{n}{letter}")), None)
            assert row, f"{page} has no claim {n}{letter}"
            yield row


OF_INDEX = sorted({command for cells in INDEX for command in re.findall(r"\$ `([^`]+)`", cells[1])})


@pytest.mark.parametrize("command", OF_INDEX)
def test_index_command(command):
    check_evidence(command)
    if is_run(command) and not any(command in code(row.commands) for row in CLAIMS):
        output_of(command)


@pytest.mark.parametrize("label, page, anchor", sorted(set(re.findall(
    r"\[\d\d · ([^\]]+?)(?: \d)?\]\(([^)#]+\.(?:ja|zh)\.md)#([^)]+)\)", (claims.FOLDER / "README.md").read_text()))))
def test_label_is_the_heading_that_it_leads_to(label, page, anchor):
    """The label is in the page's language, without the number of an exercise."""
    heading = re.search(rf'<a id="{anchor}"></a>\n\n#+ (.*)', (claims.FOLDER / page).read_text())
    assert heading, f"{page} has no anchor {anchor}"
    assert label == heading[1]
