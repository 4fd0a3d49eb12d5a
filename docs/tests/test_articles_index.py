"""The index of docs/articles/README.md: each row has its claims' verdicts, all claims of the ledger have a row, and every command,
which follows a $, runs: here, or as one of the ledger's. ./run takes a GPU, except with --cpu: it must exist. (test_book.py has the
links.)
"""
import re

import pytest

import ledger
from commands import check_exists
from support import ROOT
from test_articles import code, output_of

TEXT = (ROOT / "docs/articles/README.md").read_text()
LEDGER = [row for row in ledger.rows() if row.verdict != "beside"]


def rows(text):
    """The cells of all tables of three columns."""
    lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines())
    return [cells for cells in lines if len(cells) == 3 and cells[0] != "---"]


def led(cells):
    """The rows of the ledger that a row of the index names, such as [claims 1-3, 2b](volta.md)."""
    found = []
    for claims, page in re.findall(r"\[claims? ([^\]]+)\]\((\w+\.md)\)", cells[2]):
        for first, last, letter in re.findall(r"(\d+)(?:-(\d+)|([a-z]))?", claims):
            for n in range(int(first), int(last or first) + 1):
                these = [row for row in LEDGER if (row.page.name, row.claim) == (page, f"{n}{letter}")]
                assert these, f"{cells[0]}: {page} has no claim {n}{letter}"
                found += these
    return found


def check_verdicts(text):
    names = {name: verdict for verdict, *names in rows(text) if verdict in ledger.VERDICTS for name in names}
    found = [(cells, led(cells)) for cells in rows(text)]
    for cells, these in found:
        said = re.match(r"\*\*(.+?)\*\*", cells[2])
        said = {names.get(name) for name in re.split("[・、]", said[1])} if said else set()
        wanted = {row.verdict for row in these}
        assert said == wanted, f"{cells[0]}: the ledger has {wanted}"
    lacks = [row.claim for row in LEDGER if not any(row in these for _, these in found)]
    assert not lacks, f"no row leads to {lacks}"


def check_command(command):
    check_exists(command)
    if not any(command in code(row.commands) for row in LEDGER) and not re.match("./run (?!.*--cpu)|./test", command):
        output_of(command)


def test_verdicts():
    check_verdicts(TEXT)


@pytest.mark.parametrize("command", sorted({command for cells in rows(TEXT) for command in re.findall(r"\$ `([^`]+)`", cells[1])}))
def test_command(command):
    check_command(command)


@pytest.mark.parametrize("old, new", [("**訂正**", "**再現**"), ("[claim 19](", "[claim 20]("), ("(volta.md)", "(api.md)"),
                                      ("| corrected |", "| correct |")])
def test_a_wrong_verdict_is_noticed(old, new):
    with pytest.raises(AssertionError):
        check_verdicts(TEXT.replace(old, new, 1))


@pytest.mark.parametrize("wrong", ["./run 99", "build/bin/no_such_cpu", "python3 tools/claims.py 999", "./test -R no_such"])
def test_a_wrong_command_is_noticed(wrong):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_command(wrong)
