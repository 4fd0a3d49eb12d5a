"""Files of results: reads the CSVs that the programs write, and writes files whole."""
import csv
import errno
import os
import pathlib
import re
import types


class InvalidInput(Exception):
    """Bad input, such as a file of results or a patch. The text is the line to print."""


def plain(text):
    """`text` as one line without control characters, safe to print on a terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


class Figure(float):
    """A cell that is a number. In a format string {x} is the cell as it is in the file, {x:T} the value in thousands;
    any format of floats works."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __format__(self, how):
        return self.text if not how else f"{float(self) / 1000:.1f}" if how == "T" else super().__format__(how)


class Row(types.SimpleNamespace):
    """A row of a CSV: row.column is a Figure, or a text if it is not a number. Raises InvalidInput, with `place` in it,
    for a missing column, for a figure that can't have been measured, and for a result that was not exact."""

    def __init__(self, place, cells):
        is_figure = re.compile(r"\d+(\.\d+)?(e[-+]?\d+)?").fullmatch
        values = {column: Figure(text) if is_figure(text) else text for column, text in cells.items()}
        super().__init__(_place=place, **values)
        for column, value in vars(self).items():
            if isinstance(value, Figure) and value and not 1e-9 < value < 1e15:
                raise InvalidInput(f"{place}: {column} is '{value}', expected a number above 0 that can be measured")
        if "verified" in cells and cells["verified"] != "exact":
            raise InvalidInput(f"{place}: verified is '{cells['verified']}', expected exact")

    def __getattr__(self, column):
        raise InvalidInput(f"{self._place}: has no column '{column}': written by another version of its program, or "
                           "not timed on a GPU")


def read(path, figures=()):
    """The rows of a CSV, which must be complete. The columns `figures` have numbers above 0, or '-' for none. Raises
    InvalidInput."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe may never end
            raise InvalidInput(f"{path}: is not a regular file")
        text = path.read_text(errors="replace")
        header, *lines = csv.reader(text.splitlines()) if text.strip() else [[]]
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}")
    except csv.Error as error:
        raise InvalidInput(f"{path}: is not a CSV: {error}")
    if not lines:
        raise InvalidInput(f"{path}: has no rows")
    if not text.endswith("\n"):
        raise InvalidInput(f"{path}: ends in the middle of line {len(lines) + 1}")
    rows = []
    for at, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise InvalidInput(f"{path}, line {at}: has {len(line)} fields, the header {len(header)}")
        rows.append(Row(f"{path}, line {at}", dict(zip(header, line))))
        for column in figures:
            value = getattr(rows[-1], column)
            if value != "-" and not (isinstance(value, Figure) and value):
                raise InvalidInput(f"{path}, line {at}: {column} is '{value}', expected a number above 0")
    return rows


def part_of(path):
    """The file beside `path` that write_whole() renames to it. Raises OSError for a folder or a device, which would be
    replaced."""
    path = pathlib.Path(path).resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EISDIR, "is not a regular file", str(path))
    return path.with_name(f".{path.name[:200]}.{os.getpid()}")


# The beginning of a file that an option has written, such as a CSV with the names of its columns.
OF_A_CSV = re.compile(rb"\w+(,\w+)+\r?\n")
WRITTEN_BY = {"--csv": OF_A_CSV, "--lines-csv": OF_A_CSV,
              "--html": re.compile(rb'(?s)<!doctype html>.*name="generator" content="./run view"')}


def unwritable(path, option):
    """The reason why an option can't write that file, or "": it replaces nothing that it did not write."""
    try:
        part_of(path).touch()
        part_of(path).unlink()
        begin = open(path, "rb").read(1 << 16) if os.path.exists(path) else b""
    except OSError as error:
        return f"{option} '{path}': can't be written: {error.strerror}"
    written = not begin or WRITTEN_BY[option].match(begin)
    return "" if written else f"{option} '{path}': exists already, and was not written by {option}: name another file"


def write_whole(*files):
    """Writes all (path, text) under other names beside their places and then renames them, so that none is ever
    half-written. Raises OSError."""
    parts = [part_of(path) for path, _ in files]
    path = None
    try:
        for part, (path, text) in zip(parts, files):
            part.write_text(text, errors="surrogateescape")  # the text may have a file name that is not UTF-8
        for part, (path, _) in zip(parts, files):
            part.replace(pathlib.Path(path).resolve())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
