"""./run compare: prints how the figures in the CSVs of two folders of results differ."""
import statistics

from result_files import WITH_OPTIONS
from results import InvalidInput, plain, read

# For each CSV: the columns that identify a row, and the columns to compare.
COMPARED = {step.csv: (step.keys.split(), step.figures.split()) for step in WITH_OPTIONS if step.figures}
COMPARED["ablation.csv"] = (["stage", "without", "m", "n", "k"], ["gflops"])
TOLERANCE = 0.05  # rows that differ by more are listed
SHOWN = 6  # how many rows that only one folder has are listed


# The columns that describe where the figures come from.
DESCRIBED = {"machines, which this compares": ("gpu", "cpu"), "software": ("driver", "cuda", "opencl", "library")}


def values_of(tables, columns):
    """The values of the rows of these tables in these columns."""
    rows = [vars(row) for table in tables for row in table.values()]
    return {format(row[column]) for row in rows for column in columns if column in row}


def table(path):
    """{key of a row: row} of a CSV; or the line that says why it can't be read, which is an InvalidInput unless the
    file is missing."""
    if not path.exists():
        return f"{path}: not there"
    keys, figures = COMPARED[path.name]
    try:
        rows = {}
        for row in read(path, [column for figure in figures for column in figure.split("/")]):
            key = " ".join(format(getattr(row, column)) for column in keys)
            if key in rows:
                raise InvalidInput(f"{path}: has two rows '{key}'")
            rows[key] = row
        return rows
    except InvalidInput as wrong:
        return wrong


def compare(ours, theirs):
    """Prints how the figures in the folder `ours` differ from those in `theirs`; ratios are ours / theirs. Returns the
    exit code: 2 if a CSV is wrong, or there is nothing to compare."""
    names = sorted({path.name for folder in (ours, theirs) for path in folder.glob("*.csv")} & {*COMPARED})
    pairs = {name: (table(ours / name), table(theirs / name)) for name in names}
    both = {name: pair for name, pair in pairs.items() if all(isinstance(each, dict) for each in pair)}
    print(f"{plain(ours)} against {plain(theirs)}:")
    for what, columns in DESCRIBED.items():
        a, b = (values_of([pair[side] for pair in both.values()], columns) for side in (0, 1))
        if a != b:
            print(plain(f"Different {what}: {', '.join(sorted(a))} / {', '.join(sorted(b))}"))
    for name, pair in pairs.items():
        wrong = [each for each in pair if not isinstance(each, dict)]
        lines = wrong or compared(name, *pair, ours, theirs)
        print(*map(plain, lines), sep="\n")
    return 2 if not both or any(isinstance(each, InvalidInput) for pair in pairs.values() for each in pair) else 0


def compared(name, a, b, ours, theirs):
    """The lines about a CSV's rows `a` and `b` of these folders."""
    ratios, lines = {}, []
    common = [key for key in a if key in b]
    for key in common:
        for figure in COMPARED[name][1]:
            pairs = {column: [getattr(rows[key], column) for rows in (a, b)] for column in figure.split("/")}
            for column, (x, y) in [pair for pair in pairs.items() if "-" not in pair[1]][:1]:
                ratios.setdefault(column, []).append(x / y)
                if abs(x - y) > TOLERANCE * y:
                    lines.append(f"    {key}: {column} {x:g} / {y:g}, {100 * (x / y - 1):+.1f}%")
    medians = "".join(f"; {column}: median ratio {statistics.median(each):.3f}" for column, each in ratios.items())
    rows = "1 row" if len(common) == 1 else f"{len(common)} rows"
    yield f"{name}: {rows} compared{medians or '; no figures'}"
    yield from lines
    for folder, more in ((ours, [key for key in a if key not in b]), (theirs, [key for key in b if key not in a])):
        if more:
            rest = f" and {len(more) - SHOWN} more" if len(more) > SHOWN else ""
            yield f"    only in {folder}: {'; '.join(more[:SHOWN])}{rest}"
