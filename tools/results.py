"""Reads the CSVs that the programs write, and finds the tables that are made of them. What is wrong is told in one line."""
import csv
import math


class Wrong(Exception):
    """Its text is the line to print."""


def number(text):
    """The figure in a cell; None for '-', a cell without one. Raises ValueError for all that is no finite number above 0."""
    if text == "-":
        return None
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError
    return value


def read(path, columns, numbers=(), written_by="its program"):
    """The rows of a CSV as dicts, the cells of `numbers` as number() gives them. It must have those columns and `columns`, and be
    whole. Raises Wrong."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}; {written_by} writes it")
    header, *lines = csv.reader(text.splitlines()) if text.strip() else [[]]
    if not lines:
        raise Wrong(f"{path}: has no rows")
    if missing := [column for column in (*columns, *numbers) if column not in header]:
        raise Wrong(f"{path}: has no column '{missing[0]}': written by another version of {written_by}, or not timed on a GPU")
    if not text.endswith("\n"):
        raise Wrong(f"{path}: ends in the middle of line {len(lines) + 1}")
    rows = []
    for at, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise Wrong(f"{path}, line {at}: has {len(line)} fields, the header {len(header)}")
        row = dict(zip(header, line))
        for column in numbers:
            try:
                row[column] = number(row[column])
            except ValueError:
                raise Wrong(f"{path}, line {at}: {column} is '{row[column]}', expected a number above 0")
        rows.append(row)
    return rows


def around(path, text, name):
    """What stands before, between and after the markers <!-- name --> and <!-- /name -->, which stay with the outer parts. Raises
    Wrong; `path` is named in it."""
    first, last = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    if text.count(first) != 1 or text.count(last) != 1 or text.index(first) > text.index(last):
        raise Wrong(f"{path}: takes a table between '{first.strip()}' and '{last.strip()}'")
    before, rest = text.split(first)
    table, after = rest.split(last)
    return before + first, table, last + after
