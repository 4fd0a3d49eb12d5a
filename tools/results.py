"""Files of results: reads the CSVs that the programs write, finds the tables that are made of them, writes files whole."""
import contextlib
import csv
import errno
import math
import os
import pathlib
import signal
import tempfile


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
    for at, line in enumerate((header, *lines), 1):
        if not all(map(str.isprintable, line)):
            raise Wrong(f"{path}, line {at}: has a control character")
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


@contextlib.contextmanager
def naming(path):
    """Turns an OSError in the block into one that names `path`."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def part_of(path):
    """A new file beside `path`, to be renamed onto it. None for what is no regular file (a link, a pipe): that is written directly.
    Raises OSError where neither can be done."""
    path = pathlib.Path(path)
    with naming(path):
        if path.is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not os.access(path, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        if path.is_symlink() or path.exists() and not path.is_file():
            return None
        file, part = tempfile.mkstemp(prefix=f".{path.name[:200]}.", dir=path.parent)
        os.umask(umask := os.umask(0))
        os.fchmod(file, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask)
        os.close(file)
    return pathlib.Path(part)


def write_whole(*files):
    """Writes all (path, text), or none of them. Signals are delayed until they are written."""
    was_blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    parts = []
    try:
        for path, text in files:
            parts.append(part_of(path))
            if parts[-1]:
                with naming(path):
                    parts[-1].write_text(text)
        for part, (path, text) in zip(parts, files):
            with naming(path):
                part.replace(path) if part else path.write_text(text)
    finally:
        for part in filter(None, parts):
            part.unlink(missing_ok=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, was_blocked)
