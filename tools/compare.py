"""What ./run compare does: prints how the figures in the CSVs of two folders of results differ."""
import statistics

from results import Wrong, plain, read

# For each CSV: the columns that identify a row, and the columns to compare. a/b: the first of them that has a figure.
PRODUCT = ("stage m n k", "gflops")
COMPARED = {
    "limits.csv": ("what flop_per_byte", "gflops/gbs"),
    "roofline_host.csv": ("what flop_per_byte", "gflops/gbs"),
    "latency.csv": ("what kind bytes", "cycles"),
    "library_curves.csv": ("precision n", "gflops"),
    "blas_host.csv": ("precision n", "gflops"),
    "transfer.csv": ("n memory", "h2d_ms kernel_ms d2h_ms"),
    "ablation.csv": ("stage without m n k", "gflops"),
    "ladder.csv": PRODUCT, "half2.csv": PRODUCT, "opencl.csv": PRODUCT, "opencl_cuda.csv": PRODUCT,
    "types.csv": ("a_b c d operation m_n_k", "ns_each"),
    "custom_load.csv": ("load from result", "ns_per_load")}
TOLERANCE = 0.05  # rows that differ by more are listed
SHOWN = 6  # how many rows that only one folder has are listed


def load(folder):
    """{name of a CSV: {key of a row: row}, or the Wrong that says what is wrong with it}"""
    tables = {}
    for path in sorted(folder.glob("*.csv")):
        if path.name not in COMPARED:
            continue
        keys, figures = (words.split() for words in COMPARED[path.name])
        try:
            table = {}
            for row in read(path, keys, [column for figure in figures for column in figure.split("/")]):
                key = " ".join(row[column] for column in keys)
                if key in table:
                    raise Wrong(f"{path}: has two rows '{key}'")
                table[key] = row
            tables[path.name] = table
        except Wrong as wrong:
            tables[path.name] = wrong
    return tables


def compare(ours, theirs):
    """Prints how the figures in the folder `ours` differ from those in `theirs`: ratios are ours / theirs. Returns the exit code:
    2 where a CSV is wrong, or there is nothing to compare."""
    tables, other = load(ours), load(theirs)
    names = sorted({*tables, *other})
    both = [name for name in names if isinstance(tables.get(name), dict) and isinstance(other.get(name), dict)]
    print(f"{plain(ours)} against {plain(theirs)}:")
    for what, columns in (("machines, which this compares", ("gpu", "cpu")), ("software", ("driver", "cuda", "opencl", "library"))):
        a, b = ({row[column] for name in both for row in side[name].values() for column in columns if column in row}
                for side in (tables, other))
        if a != b:
            print(f"Different {what}: {', '.join(sorted(a))} / {', '.join(sorted(b))}")
    for name in names:
        if name not in both:
            for folder, table in ((ours, tables.get(name)), (theirs, other.get(name))):
                if not isinstance(table, dict):
                    print(plain(table or f"{folder / name}: not there"))
            continue
        a, b = tables[name], other[name]
        common = [key for key in a if key in b]
        ratios, lines = {}, []
        for key in common:
            for figure in COMPARED[name][1].split():
                column = next((each for each in figure.split("/") if a[key][each] and b[key][each]), None)
                if column:
                    x, y = a[key][column], b[key][column]
                    ratios.setdefault(column, []).append(x / y)
                    if abs(x - y) > TOLERANCE * y:
                        lines.append(f"    {key}: {column} {x:g} / {y:g}, {100 * (x / y - 1):+.1f}%")
        medians = "".join(f"; {column}: median ratio {statistics.median(each):.3f}" for column, each in ratios.items())
        print(f"{name}: {len(common)} row{'s' * (len(common) != 1)} compared{medians or '; no figures'}", *lines, sep="\n")
        for folder, more in ((ours, [key for key in a if key not in b]), (theirs, [key for key in b if key not in a])):
            if more:
                rest = f" and {len(more) - SHOWN} more" if len(more) > SHOWN else ""
                print(f"    only in {plain(folder)}: {'; '.join(more[:SHOWN])}{rest}")
    return 2 if not both or any(isinstance(table, Wrong) for table in (*tables.values(), *other.values())) else 0
