"""./run compare: prints how the figures in the CSVs of two folders of results differ."""
import statistics

from result_files import WITH_OPTIONS
from results import InvalidInput, plain, read

# For each CSV: the columns that identify a row, and the columns to compare.
COLUMNS = {step.csv: (step.keys.split(), step.figures.split()) for step in WITH_OPTIONS if step.figures}
COLUMNS["ablation.csv"] = (["stage", "without", "m", "n", "k"], ["gflops"])
# The columns that name the hardware and the software of a run.
ORIGIN = {"machines": ("gpu", "cpu"), "software": ("driver", "cuda", "opencl", "library")}
TOLERANCE = 0.05  # rows that differ by more are listed
MAX_LISTED = 6  # rows found in only one folder, listed at most


def values_of(tables, columns):
    """The set of values in these columns of all tables."""
    rows = [vars(row) for table in tables for row in table.values()]
    return {format(row[column]) for row in rows for column in columns if column in row}


def rows_of(path):
    """{key of a row: row} of a CSV. Raises InvalidInput."""
    keys, figures = COLUMNS[path.name]
    rows = {}
    for row in read(path, [column for figure in figures for column in figure.split("/")]):
        key = " ".join(format(getattr(row, column)) for column in keys)
        if key in rows:
            raise InvalidInput(f"{path}: has two rows '{key}'")
        rows[key] = row
    return rows


def compare(ours, theirs):
    """Prints how the figures in the folder `ours` differ from those in `theirs`; ratios are ours / theirs. Returns the
    exit code: 2 if a CSV is wrong, or there is nothing to compare."""
    names = sorted({path.name for folder in (ours, theirs) for path in folder.glob("*.csv")} & {*COLUMNS})
    tables, problems, any_invalid = {}, {}, False
    for name in names:
        tables[name], problems[name] = [], []
        for path in (ours / name, theirs / name):
            try:
                if path.exists():
                    tables[name].append(rows_of(path))
                else:
                    problems[name].append(f"{path}: no such file")
            except InvalidInput as invalid:
                problems[name].append(invalid)
                any_invalid = True
    comparable = [tables[name] for name in names if not problems[name]]
    print(f"{plain(ours)} against {plain(theirs)}:")
    for what, columns in ORIGIN.items():
        a, b = (values_of([pair[side] for pair in comparable], columns) for side in (0, 1))
        if a != b:
            print(plain(f"The results are from different {what}: {', '.join(sorted(a))} / {', '.join(sorted(b))}"))
    for name in names:
        print(*map(plain, problems[name] or report_lines(name, *tables[name], ours, theirs)), sep="\n")
    if not comparable:
        print("there is nothing to compare")
    return 2 if any_invalid or not comparable else 0


def report_lines(name, a, b, ours, theirs):
    """Yields the lines of the report on one CSV; a and b are its rows in the two folders."""
    ratios, lines = {}, []
    common = [key for key in a if key in b]
    for key in common:
        for figure in COLUMNS[name][1]:
            cells = {column: (getattr(a[key], column), getattr(b[key], column)) for column in figure.split("/")}
            # Of a/b the first column that has a figure in both folders.
            column = next((column for column, pair in cells.items() if "-" not in pair), None)
            if column:
                x, y = cells[column]
                ratios.setdefault(column, []).append(x / y)
                if abs(x - y) > TOLERANCE * y:
                    lines.append(f"    {key}: {column} {x:g} / {y:g}, {100 * (x / y - 1):+.1f}%")
    medians = "".join(f"; {column}: median ratio {statistics.median(each):.3f}" for column, each in ratios.items())
    rows = "1 row" if len(common) == 1 else f"{len(common)} rows"
    yield f"{name}: {rows} compared{medians or '; no figures'}"
    yield from lines
    for folder, more in ((ours, [key for key in a if key not in b]), (theirs, [key for key in b if key not in a])):
        if more:
            rest = f" and {len(more) - MAX_LISTED} more" if len(more) > MAX_LISTED else ""
            yield f"    only in {folder}: {'; '.join(more[:MAX_LISTED])}{rest}"
