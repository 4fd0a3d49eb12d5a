"""The ledger of docs/articles: a row has a verdict, commands that run, and figures in `code` that are found:
  `text`                                         in what the row's commands print;
  `x.csv: a, n 8, column = 1.5`                  in docs/results/h200/x.csv: of the one row with a cell a, and 8 in column n;
  `x.csv: a, column / y.csv: b, column = 2.1`    the quotient of two such;
  `x.txt: text`                                  in docs/results/x.txt.
A command that takes a GPU is not run: its row has a figure of a CSV. That another figure is noticed is shown of each. The lists of
all claims, of verdicts and of what is corrected are what tools/ledger.py writes.
"""
import contextlib
import csv
import functools
import io
import re
import shutil

import pytest

import claims
import ledger
from commands import check_exists, run
from support import ROOT

PLACE = r"([\w/]+\.csv): ([^=]+?)"
SELECTOR = re.compile(rf"{PLACE}(?: / {PLACE})? = (.+)")
RESULTS = ROOT / "docs/results"
ROWS = ledger.rows()


def code(text):
    return re.findall(r"`([^`]+)`", text)


def figures_of(row):
    return code(f"{row.right} {row.shows}")


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


def check_row(row):
    assert row.verdict in ledger.VERDICTS, f"'{row.verdict}' is no verdict"
    commands, figures = code(row.commands), figures_of(row)
    kept = [figure for figure in figures if re.match(r"\w+\.txt: ", figure)]  # of what programs printed once
    of_csv = [figure for figure in figures if SELECTOR.fullmatch(figure)]
    printed = [" ".join(figure.split()) for figure in figures if figure not in (*kept, *of_csv)]
    for figure in of_csv:
        check_csv(figure)
    for at, (name, _, words) in enumerate(figure.partition(": ") for figure in kept):
        kept[at] = " ".join(words.split())
        assert kept[at] in " ".join((RESULTS / name).read_text().split()), f"{name} lacks '{words}'"
    if row.verdict in ledger.NOT_RUN:
        return
    assert commands, "has no command"
    assert not row.verdict.endswith("on an H200") or of_csv, "has no figure of an H200's results"
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


def check_lists(folder):
    claims = [row.claim for row in ledger.rows(folder)]
    assert len(claims) == len(set(claims)), "two rows have the same number"
    for page, text in ledger.pages(folder).items():
        assert page.read_text() == text, f"{page.name} is not what tools/ledger.py writes"


def test_lists():
    check_lists(ledger.FOLDER)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.claim)
def test_row(row):
    check_row(row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.claim)
def test_another_figure_is_noticed(row):
    for figure in figures_of(row) if row.verdict not in ledger.NOT_RUN else ():
        with pytest.raises(AssertionError):
            check_row(row._replace(right="", shows=f"{row.right} {row.shows}".replace(f"`{figure}`", f"`{figure[:-1]}?`")))


@pytest.mark.parametrize("old, new", [
    (r"- \*\*46\*\*(.*\n  )*.*\n", ""), (r"\*\*46\*\*", "**146**"), (r"\*corrected\*", "*reproduced*"),
    (r"\*quoted\*", "*reproduced*"), (" → .*", " → as it says")])
def test_a_row_that_is_lost_or_changed_is_noticed(old, new, tmp_path):
    for path in shutil.copytree(ledger.FOLDER, tmp_path / "articles").glob("[!c]*.md"):
        path.write_text(re.sub(old, new, path.read_text(), count=1))
    with pytest.raises((AssertionError, ledger.Wrong)):
        check_lists(tmp_path / "articles")
