#!/usr/bin/env python3
"""Draws a folder's results, and writes the tables of the pages: plot.py FOLDER [README...]

FOLDER's pictures are ladder.svg (speed against size), roofline.svg (each stage predicted and measured), library_curves.svg (cuBLAS
in each precision) and, where there is an opencl.csv, opencl.svg, made of the CSVs that `./run all FOLDER` wrote on a GPU. Of the
pages beside README, and of the chapters there, tables.py makes the tables. All is written, or, when anything is wrong, none.

Examples:    python3 tools/plot.py docs/results/h200 README.md
             python3 tools/plot.py mine

Exit codes:  0 written, 1 no matplotlib, 2 bad command line, or a file that is wrong or can't be written
"""
import hashlib
import io
import itertools
import math
import pathlib
import signal
import sys

from results import Figure, Wrong, write_whole
from tables import SIZE, UNITS, Results, machine, pages, unit

if __name__ == "__main__" and sys.argv[1:] in (["-h"], ["--help"]):  # works without matplotlib, too
    print(__doc__.strip())
    sys.exit(0)
if __name__ == "__main__" and signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends this without a traceback
try:
    import matplotlib
except ImportError:
    sys.exit("plot.py: no matplotlib for this Python: install the package python3-matplotlib")

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)
import matplotlib.ticker  # noqa: E402

# Lines differ in marker, style and shade, and are named at their end, so that no colour is needed.
STYLES = [dict(marker=marker, linestyle=line, color=color) for marker, line, color in (
    ("o", "-", "#888888"), ("s", "--", "#7a5c00"), ("^", "-.", "#b0451b"), ("D", ":", "#1b6e8a"), ("v", "-", "#10305e"),
    ("P", "-", "#555555"), ("X", "--", "#2f7d32"), ("*", "-.", "#6a3d9a"), ("h", ":", "#a0522d"))]
LIBRARY = dict(marker="x", linestyle="--", color="black", linewidth=1)
# The highest points of the slides' curves, GFLOP/s, on a Radeon R9 Fury X. The fifth, LDS blocking (slide 53), has no figure there.
SLIDES = (("slide 43, naive", 567), ("slide 53, registers", 2018), ("slide 56, unrolled", 5141), ("slide 58, the last", 6351))
FURY_X = 8601.6
plt.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "ladder", "axes.grid": True, "axes.axisbelow": True,
                     "grid.color": "#dddddd", "axes.spines.top": False, "axes.spines.right": False, "lines.markersize": 4.5})


def label_ends(axes, x, ends, gap, scale=lambda y: y, inverse=lambda y: y):
    """Writes each (y, text) of `ends` to the right of x. Moves labels up that would be closer than `gap`."""
    last = -math.inf
    for y, text in sorted(ends):
        last = max(scale(y), last + gap)
        axes.annotate(text, (x, y), xytext=(x * 1.03, inverse(last)), va="center", fontsize=8, annotation_clip=False)


def note(axes, text, at, offset, **options):
    axes.annotate(text, at, xytext=offset, textcoords="offset points", **{"fontsize": 8, **options})


def finish(figure, axes, title, size, xlabel, ylabel="TFLOP/s"):
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axes.title.set_fontsize(size)
    figure.tight_layout()
    return figure


def lines(axes, rows, name, x, y, styles=STYLES):
    """Draws a line of (x, y) of the rows for each value of the column `name`. Returns their ends, (y, that value)."""
    ends = []
    for style, each in zip(itertools.cycle(styles), dict.fromkeys(getattr(row, name) for row in rows)):
        points = sorted((getattr(row, x), y(row)) for row in rows if getattr(row, name) == each)
        axes.plot(*zip(*points), **style)
        ends.append((points[-1][1], each))
    return ends


def tera(row):
    return row.gflops / 1000


def ladder(results):
    """Speed against size: the FP32 stages with cuBLAS and the vendor's peak, and beside them the tensor cores."""
    figure, both = plt.subplots(1, 2, figsize=(10, 4.6), gridspec_kw={"width_ratios": [3, 2]})
    rows = results("ladder", "m n k gflops cublas_gflops flop_per_byte predicted_gflops")
    rows = sorted((row for row in rows if row.m == row.n == row.k and "/" not in row.stage), key=lambda row: row.stage)  # no steps
    panels = (("FP32", [row for row in rows if not unit(row.stage)], UNITS[""], "cuBLAS (FP32, no TF32)"),
              ("FP16 in, FP32 sums", [row for row in rows if unit(row.stage)], UNITS["kTensor"], "cuBLAS (the same)"))
    for axes, (name, chosen, (what, _), library) in zip(both, panels):
        if chosen:
            ends = lines(axes, chosen, "stage", "n", tera)
            last = sorted((row.n, row.cublas_gflops / 1000) for row in chosen if row.stage == chosen[-1].stage)
            sizes, beside = zip(*last)
            axes.plot(sizes, beside, **LIBRARY)
            ends.append((beside[-1], library))
            if isinstance(limit := results.one("limits", what=what).limit, Figure):
                axes.axhline(limit / 1000, color="black", linewidth=0.7)
                ends.append((limit / 1000, f"peak, {limit:T}"))
            top = max(speed for speed, _ in ends)
            label_ends(axes, sizes[-1], ends, top * 0.042)
            axes.set_ylim(0, top * 1.06)
            axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes], rotation=45)
            axes.set_xlim(sizes[0] * 0.5, sizes[-1] * 1.02)
        axes.set(title=name, xlabel="M = N = K", ylabel="TFLOP/s")
    figure.suptitle(f"Speed against size: {machine(rows[0])}", fontsize=10)
    figure.tight_layout(w_pad=4)
    return figure


def roofline(results):
    """Every stage at its flop per byte, hollow as predicted and filled as measured, under the roof that was measured."""
    figure, axes = plt.subplots(figsize=(8, 5))
    least, most = 1 / 8, 512  # flop per byte
    bandwidth = results.one("limits", what="copy").gbs
    roofs = [(name, row.gflops, row.limit if isinstance(row.limit, Figure) else None)
             for name, what in (("FP32", "fp32_fma"), ("tensor cores", "tensor_mma_sync"))
             for row in results("limits") if row.what == what and isinstance(row.gflops, Figure)]
    ridge = max(measured for _, measured, _ in roofs) / bandwidth
    axes.plot([least, ridge], [bandwidth * least / 1000, bandwidth * ridge / 1000], color="black", linewidth=1.2)
    note(axes, f"{bandwidth:.0f} GB/s", (0.5, bandwidth * 0.5 / 1000), (6, -12))
    for name, measured, peak in roofs:
        axes.plot([measured / bandwidth, most], [measured / 1000] * 2, color="black", linewidth=1.2)
        text = f"{name}: {measured:T} TFLOP/s"
        if peak:
            ends = (measured, peak, peak)
            axes.plot([measured / bandwidth, peak / bandwidth, most], [end / 1000 for end in ends], color="black", linewidth=0.5)
            text += f" (peak {peak:T})"
        note(axes, text, (most, max(measured, peak or 0) / 1000), (0, 4), ha="right")
    sweep = [(row.flop_per_byte, tera(row)) for row in results("limits") if row.what == "sweep"]
    axes.plot(*zip(*sweep), marker="o", linestyle="none", color="#999999", markersize=3.5, zorder=2.5)
    note(axes, "dots: the sweep of 00_machine_limits", (most, bandwidth * least / 1000), (0, 6), ha="right", color="#555555")
    places = []
    for style, row in zip(itertools.cycle(STYLES), (row for row in results.stages().values() if "/" not in row.stage)):
        at, predicted, measured = row.flop_per_byte, row.predicted_gflops / 1000, tera(row)
        while any(abs(math.log(at / other)) < 0.1 for other in places):  # side by side, so that both can be read
            at *= 1.16
        places.append(at)
        axes.plot([at, at], [predicted, measured], color=style["color"], linewidth=0.8, linestyle=":")
        for speed, fill in ((predicted, "none"), (measured, "full")):
            axes.plot(at, speed, marker=style["marker"], color=style["color"], fillstyle=fill, markersize=7)
        above = measured > predicted
        note(axes, row.stage, (at, measured), (0, 9) if above else (7, 0), ha="center" if above else "left", va="center")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(least, most)
    axes.set_ylim(bandwidth * least / 1000, max(max(measured, peak or 0) for _, measured, peak in roofs) / 1000 * 1.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return finish(figure, axes, f"{SIZE} x {SIZE} x {SIZE}: predicted (hollow) and measured (filled); "
                  f"{machine(results('ladder')[0])}", 9,
                  "flop per byte of device memory, as the stage asks for it (equal ones side by side)")


def library_curves(results):
    """The library's speed against size in each precision, with the peaks that the CSV has."""
    figure, axes = plt.subplots(figsize=(8, 5))
    rows, peaks = results("library_curves", "n gflops"), {}
    ends = lines(axes, rows, "precision", "n", tera, STYLES[1:])
    for _, precision in ends:
        for row in rows:
            if row.precision == precision and isinstance(row.peak_gflops, Figure):
                peaks.setdefault(round(row.peak_gflops / 1000, 1), []).append(precision)
    least, most = min(row.n for row in rows), max(row.n for row in rows)
    for peak, of in peaks.items():
        axes.axhline(peak, color="black", linewidth=0.7)
        note(axes, f"peak {', '.join(dict.fromkeys(of))}: {peak:.1f}", (least, peak), (2, 3))
    label_ends(axes, most, ends, 0.05, math.log10, lambda y: 10**y)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [2**power for power in range(4, 20) if least <= 2**power <= most]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlim(least / 1.05, most * 1.02)
    axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    return finish(figure, axes, f"cuBLAS in each precision: {machine(rows[0])}", 10, "M = N = K")


def opencl(results):
    """The OpenCL stages against the size, in % of the GPU's peak, and what the slides reached of theirs."""
    figure, axes = plt.subplots(figsize=(8, 5))
    rows = results("opencl", "m gflops percent_of_peak")
    ends, sizes = lines(axes, rows, "stage", "m", lambda row: row.percent_of_peak), sorted({row.m for row in rows})
    label_ends(axes, sizes[-1], ends, 3.2)
    left = sizes[0] - 0.25 * (sizes[-1] - sizes[0] or sizes[0])  # room for the labels of the dotted lines
    for what, gflops in SLIDES:
        share = 100 * gflops / FURY_X
        axes.axhline(share, color="#777777", linewidth=0.8, linestyle=(0, (1, 3)))
        note(axes, f"{what}: {share:.1f}%", (left, share), (3, 2), fontsize=7, color="#444444")
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.set_xlim(left, sizes[-1] * 1.02)
    axes.set_ylim(0, 100)
    return finish(figure, axes, f"OpenCL on {rows[0].gpu}, driver {rows[0].driver}; dotted: the slides' Radeon R9 Fury X at its "
                  "best size", 9, "M = N = K", "% of peak (FP32)")


# Of each picture the CSVs that it shows.
PICTURES = {ladder: ("ladder", "limits"), roofline: ("ladder", "limits"), library_curves: ("library_curves",), opencl: ("opencl",)}


def text_of(draw, results, files):
    """A picture's file. The sources are written into it, to tell later whether it shows these rows. Raises Wrong."""
    try:
        figure, svg = draw(results), io.StringIO()
    except (LookupError, TypeError, ValueError) as wrong:
        raise Wrong(f"{' or '.join(map(str, files))}: lacks a figure: {wrong}")
    source = "; ".join(f"{file.name}, SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files)
    figure.savefig(svg, format="svg", metadata={"Date": None, "Source": source})
    plt.close(figure)
    return svg.getvalue()


def main(words):
    """Returns the exit code."""
    if not words or words[0].startswith("-"):
        print("plot.py: takes a folder of results, and READMEs; --help tells more", file=sys.stderr)
        return 2
    folder, *readmes = map(pathlib.Path, words)
    try:
        results, written = Results(folder), {}
        machines = {f"{name}.csv: {machine(row)}" for name in ("ladder", "limits", "library_curves") for row in results(name)}
        if len({each.partition(": ")[2] for each in machines}) > 1:
            raise Wrong(f"{folder}: has results of several machines: {'; '.join(sorted(machines))}")
        for parent in {readme.parent for readme in readmes}:
            written.update(pages(folder, parent))
        for draw, names in PICTURES.items():
            files = [folder / f"{name}.csv" for name in names]
            if files[0].exists() or draw is not opencl:
                written[folder / f"{draw.__name__}.svg"] = text_of(draw, results, files)
        write_whole(*written.items())
    except Wrong as wrong:
        print(f"plot.py: {wrong}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"plot.py: '{error.filename}': can't be written: {error.strerror}", file=sys.stderr)
        return 2
    print(*written, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
