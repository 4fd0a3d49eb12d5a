"""Files of results: reads the CSVs that the programs write, finds the tables that are made of them, writes files whole."""
import csv
import errno
import math
import os
import pathlib


class Wrong(Exception):
    """A bad file of results. The text is the line to print."""


def plain(text):
    """`text` as one line without control characters, safe to print on a terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


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
        if path.exists() and not path.is_file():  # a device or a pipe may never end
            raise Wrong(f"{path}: is no regular file")
        text = path.read_text(errors="replace")
        header, *lines = csv.reader(text.splitlines()) if text.strip() else [[]]
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}; {written_by} writes it")
    except csv.Error as error:
        raise Wrong(f"{path}: is no CSV: {error}")
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


def part_of(path):
    """The file beside `path` that write_whole() renames onto it. Raises OSError for a folder or a device: it would be replaced."""
    path = pathlib.Path(path).resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EISDIR, "is no regular file", str(path))
    return path.with_name(f".{path.name[:200]}.{os.getpid()}")


def write_whole(*files):
    """Writes all (path, text) beside their places and then renames them: none is ever half-written. Raises OSError."""
    parts = [part_of(path) for path, _ in files]
    path = None
    try:
        for part, (path, text) in zip(parts, files):
            part.write_text(text)
        for part, (path, _) in zip(parts, files):
            part.replace(pathlib.Path(path).resolve())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
