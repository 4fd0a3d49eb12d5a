#!/usr/bin/env python3
"""Draws a folder's results, and writes the figures of the README's ladder: plot.py FOLDER [README]

FOLDER/ladder.csv, which `./run --sizes 1024:8192:1024 --csv ladder.csv` wrote on a GPU, becomes FOLDER/ladder.svg, speed against
size (the figure of the slides), and FOLDER/roofline.svg, every stage predicted and measured. In README the table between the
ladder's markers gets its figures from the same rows. All of it is written, or, when anything is wrong, nothing (exit code 2).
"""
import csv
import hashlib
import io
import math
import pathlib
import re
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot.py: no matplotlib for this Python: install the package python3-matplotlib")

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

NUMBERS = ("m", "n", "k", "gflops", "percent_of_peak", "percent_of_cublas", "cublas_gflops", "flop_per_byte", "predicted_gflops")
COLUMNS = ("stage", *NUMBERS, "gpu", "driver", "cuda")
SIZE = 8192  # of the README's table and of the roofline
MARKERS = ("<!-- ladder -->\n", "<!-- /ladder -->\n")
ROOFLINE = pathlib.Path(__file__).resolve().parent.parent / "common/roofline.h"
# Told apart without colour: by marker, line style and shade, and named at the line's end.
STYLES = [dict(marker=marker, linestyle=line, color=color) for marker, line, color in (
    ("o", "-", "#888888"), ("s", "--", "#7a5c00"), ("^", "-.", "#b0451b"), ("D", ":", "#1b6e8a"), ("v", "-", "#10305e"),
    ("P", "-", "#555555"))]
LIBRARY = dict(marker="x", linestyle="--", color="black", linewidth=1)
plt.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "ladder", "axes.grid": True, "axes.axisbelow": True,
                     "grid.color": "#dddddd", "axes.spines.top": False, "axes.spines.right": False, "lines.markersize": 4.5})


class Wrong(Exception):
    pass


def read(path):
    """The rows of a ladder's CSV, numbers as floats. Raises Wrong with one line that names what is wrong."""
    try:
        text = path.read_text()
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}; './run --sizes 1024:8192:1024 --csv {path.name}' on a GPU writes it")
    header, *lines = csv.reader(text.splitlines()) if text.strip() else [[]]
    if not lines:
        raise Wrong(f"{path}: has no rows")
    if missing := [column for column in COLUMNS if column not in header]:
        raise Wrong(f"{path}: has no column '{missing[0]}': timed on a GPU by another version of ./run, or not timed")
    if not text.endswith("\n"):
        raise Wrong(f"{path}: ends in the middle of line {len(lines) + 1}")
    rows = []
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise Wrong(f"{path}, line {number}: has {len(line)} fields, the header {len(header)}")
        row = dict(zip(header, line))
        for column in NUMBERS:
            try:
                row[column] = float(row[column])
            except ValueError:
                raise Wrong(f"{path}, line {number}: {column} is '{row[column]}', expected a number")
        rows.append(row)
    if len({(row["gpu"], row["driver"], row["cuda"]) for row in rows}) > 1:
        raise Wrong(f"{path}: has rows of several machines")
    rows = [row for row in rows if row["m"] == row["n"] == row["k"]]
    if not any(row["m"] == SIZE for row in rows):
        raise Wrong(f"{path}: has no row of {SIZE} x {SIZE} x {SIZE}")
    return rows


def limits(gpu):
    """(GB/s, FP32 GFLOP/s, tensor-core GFLOP/s) of the GPU, from the table of common/roofline.h. Raises Wrong for others."""
    found = re.search(rf'"{re.escape(gpu)}", ([\d.]+), ([\d.]+), [\d.]+, ([\d.]+),', ROOFLINE.read_text())
    if not found:
        raise Wrong(f"'{gpu}' has no line in the table of common/roofline.h, which says how fast it could be")
    return [float(figure) for figure in found.groups()]


def machine(row):
    return f"{row['gpu']}, driver {row['driver']}, CUDA {row['cuda']}"


def draw_ladder(rows, peak, tensor):
    """Speed against size: the FP32 stages with cuBLAS and the peak, and beside them the tensor cores."""
    figure, both = plt.subplots(1, 2, figsize=(10, 4.6), gridspec_kw={"width_ratios": [3, 2]})
    stages = sorted({row["stage"] for row in rows})
    panels = (("FP32", [stage for stage in stages if "wmma" not in stage], peak, "cuBLAS (FP32, no TF32)"),
              ("FP16 in, FP32 sums", [stage for stage in stages if "wmma" in stage], tensor, "cuBLAS (the same)"))
    for axes, (name, chosen, limit, library) in zip(both, panels):
        ends = []
        for style, stage in zip(STYLES, chosen):
            points = sorted((row["n"], row["gflops"] / 1000, row["cublas_gflops"] / 1000) for row in rows if row["stage"] == stage)
            sizes, speeds, beside = zip(*points)
            axes.plot(sizes, speeds, **style)
            ends.append((speeds[-1], stage))
        if chosen:
            axes.plot(sizes, beside, **LIBRARY)
            ends.append((beside[-1], library))
            axes.axhline(limit / 1000, color="black", linewidth=1)
            ends.append((limit / 1000, f"peak, {limit / 1000:.1f}"))
            last, gap = -1.0, limit / 1000 * 0.042
            for speed, text in sorted(ends):  # labels that would overlap move up
                last = max(speed, last + gap)
                axes.annotate(text, (sizes[-1], speed), xytext=(sizes[-1] * 1.03, last), va="center", fontsize=8)
            axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes], rotation=45)
            axes.set_xlim(sizes[0] * 0.5, sizes[-1] * 1.02)
        axes.set_ylim(0, limit / 1000 * 1.06)
        axes.set(title=name, xlabel="M = N = K", ylabel="TFLOP/s")
    figure.suptitle(f"Speed against size: {machine(rows[0])}", fontsize=10)
    figure.tight_layout(w_pad=4)
    return figure


def draw_roofline(rows, bandwidth, peak, tensor):
    """Every stage at its flop per byte: hollow as predicted, on the roof, and filled as measured."""
    figure, axes = plt.subplots(figsize=(8, 5))
    least, most = 1 / 8, 512  # flop per byte
    ridge = max(peak, tensor) / bandwidth
    axes.plot([least, ridge], [bandwidth * least / 1000, bandwidth * ridge / 1000], color="black", linewidth=1)
    axes.annotate(f"{bandwidth:.0f} GB/s", (0.5, bandwidth * 0.5 / 1000), xytext=(4, -12), textcoords="offset points", fontsize=8)
    for limit, name in ((peak, "FP32 peak"), (tensor, "tensor-core peak")):
        axes.plot([limit / bandwidth, most], [limit / 1000] * 2, color="black", linewidth=1)
        axes.annotate(f"{name}: {limit / 1000:.1f} TFLOP/s", (most, limit / 1000), xytext=(0, 4), textcoords="offset points",
                      ha="right", fontsize=8)
    places = []
    for style, row in zip(STYLES, (row for row in rows if row["m"] == SIZE)):
        at, predicted, measured = row["flop_per_byte"], row["predicted_gflops"] / 1000, row["gflops"] / 1000
        while any(abs(math.log(at / other)) < 0.1 for other in places):  # side by side, those with the same intensity can be read
            at *= 1.16
        places.append(at)
        axes.plot([at, at], [predicted, measured], color=style["color"], linewidth=0.8, linestyle=":")
        for speed, fill in ((predicted, "none"), (measured, "full")):
            axes.plot(at, speed, marker=style["marker"], color=style["color"], fillstyle=fill, markersize=7)
        above = measured > predicted
        axes.annotate(row["stage"], (at, measured), xytext=(0, 9) if above else (7, 0), textcoords="offset points", fontsize=8,
                      ha="center" if above else "left", va="center")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(least, most)
    axes.set_ylim(bandwidth * least / 1000, max(peak, tensor) / 1000 * 1.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set(xlabel="flop per byte of device memory, as the stage asks for it (equal ones side by side)", ylabel="TFLOP/s",
             title=f"{SIZE} x {SIZE} x {SIZE}: predicted (hollow) and measured (filled); {machine(rows[0])}")
    axes.title.set_fontsize(9)
    figure.tight_layout()
    return figure


def with_table(readme, rows):
    """`readme` with the figures of `rows` in its ladder. What a row says besides stays as it is."""
    text = readme.read_text()
    if any(text.count(marker) != 1 for marker in MARKERS) or text.index(MARKERS[0]) > text.index(MARKERS[1]):
        raise Wrong(f"{readme}: takes a table between '{MARKERS[0].strip()}' and '{MARKERS[1].strip()}'")
    before, rest = text.split(MARKERS[0])
    table, after = rest.split(MARKERS[1])
    lines = table.splitlines(keepends=True)
    for row in (row for row in rows if row["m"] == SIZE):
        places = [number for number, line in enumerate(lines) if line.startswith(f"| [{row['stage']}]")]
        if len(places) != 1:
            raise Wrong(f"{readme}: its ladder has {len(places)} rows for {row['stage']}, expected one")
        cells = lines[places[0]].split(" | ")
        if len(cells) != 8:
            raise Wrong(f"{readme}: its ladder's row for {row['stage']} has {len(cells)} cells, expected 8")
        cells[2:7] = [f"{row['flop_per_byte']:.3g}", f"{row['predicted_gflops'] / 1000:.1f}", f"{row['gflops'] / 1000:.1f}",
                      f"{row['percent_of_peak']:.1f}%", f"{row['percent_of_cublas']:.1f}%"]
        lines[places[0]] = " | ".join(cells)
    return before + MARKERS[0] + "".join(lines) + MARKERS[1] + after


def write_all(files):
    """All (path, text), or none of them."""
    parts = [path.with_name(path.name + ".part") for path, _ in files]
    try:
        for part, (_, text) in zip(parts, files):
            part.write_text(text)
        for part, (path, _) in zip(parts, files):
            part.replace(path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    folder, readme = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) if sys.argv[2:] else None
    try:
        rows = read(folder / "ladder.csv")
        digest = hashlib.sha256((folder / "ladder.csv").read_bytes()).hexdigest()  # tells whether a picture is of these rows
        bandwidth, peak, tensor = limits(rows[0]["gpu"])
        written = []
        if readme:
            written.append((readme, with_table(readme, rows)))
        figures = {"ladder": draw_ladder(rows, peak, tensor), "roofline": draw_roofline(rows, bandwidth, peak, tensor)}
        for name, figure in figures.items():
            svg = io.StringIO()
            figure.savefig(svg, format="svg", metadata={"Date": None, "Source": f"ladder.csv, SHA-256 {digest}"})
            written.append((folder / f"{name}.svg", svg.getvalue()))
        write_all(written)
    except Wrong as wrong:
        print(f"plot.py: {wrong}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"plot.py: '{error.filename}': can't be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    print(*(path for path, _ in written), sep="\n")


main()
