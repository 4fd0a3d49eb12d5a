#!/usr/bin/env python3
"""Draws a folder's results, and writes the figures of the READMEs' tables: plot.py FOLDER [README...]

From FOLDER/ladder.csv, limits.csv and library_curves.csv, which `./run all FOLDER` wrote on a GPU: FOLDER/ladder.svg, speed
against size (the figure of the slides); FOLDER/roofline.svg, every stage predicted and measured, under the measured roof; and
FOLDER/library_curves.svg, cuBLAS in each precision (the figure of the first article). From opencl.csv, where it is there,
FOLDER/opencl.svg, the OpenCL stages in % of peak beside what the slides reached. In README the tables between markers get their
figures from the same rows and from opencl.csv, and so do the tables of the chapters' READMEs beside it, also from rates.csv. All of
it is written, or, when anything is wrong, nothing.

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

from results import Wrong, write_whole
from tables import SIZE, chapters, first_page, machine, on_tensor_cores, read_curves, read_ladder, read_limits, read_opencl

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
plt.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "ladder", "axes.grid": True, "axes.axisbelow": True,
                     "grid.color": "#dddddd", "axes.spines.top": False, "axes.spines.right": False, "lines.markersize": 4.5})


def label_ends(axes, x, ends, gap, scale=lambda y: y, inverse=lambda y: y):
    """Writes each (y, text) of `ends` to the right of x. Moves labels up that would be closer than `gap`."""
    last = -math.inf
    for y, text in sorted(ends):
        last = max(scale(y), last + gap)
        axes.annotate(text, (x, y), xytext=(x * 1.03, inverse(last)), va="center", fontsize=8, annotation_clip=False)


def draw_ladder(rows, limits):
    """Speed against size: the FP32 stages with cuBLAS and the vendor's peak, and beside them the tensor cores."""
    figure, both = plt.subplots(1, 2, figsize=(10, 4.6), gridspec_kw={"width_ratios": [3, 2]})
    unit = {row["stage"]: on_tensor_cores(row["stage"], limits) for row in rows if "/" not in row["stage"]}  # a chapter's last step
    panels = (("FP32", sorted(stage for stage in unit if not unit[stage]), limits["fp32_peak"],
               "cuBLAS (FP32, no TF32)"),
              ("FP16 in, FP32 sums", sorted(stage for stage in unit if unit[stage]), limits["tensor_peak"],
               "cuBLAS (the same)"))
    for axes, (name, chosen, limit, library) in zip(both, panels):
        ends = []
        for style, stage in zip(itertools.cycle(STYLES), chosen):
            points = sorted((row["n"], row["gflops"] / 1000, row["cublas_gflops"] / 1000) for row in rows if row["stage"] == stage)
            sizes, speeds, beside = zip(*points)
            axes.plot(sizes, speeds, **style)
            ends.append((speeds[-1], stage))
        if chosen:
            axes.plot(sizes, beside, **LIBRARY)
            ends.append((beside[-1], library))
            if limit:
                axes.axhline(limit / 1000, color="black", linewidth=0.7)
                ends.append((limit / 1000, f"peak, {limit / 1000:.1f}"))
            top = max(speed for speed, _ in ends)
            label_ends(axes, sizes[-1], ends, top * 0.042)
            axes.set_ylim(0, top * 1.06)
            axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes], rotation=45)
            axes.set_xlim(sizes[0] * 0.5, sizes[-1] * 1.02)
        axes.set(title=name, xlabel="M = N = K", ylabel="TFLOP/s")
    figure.suptitle(f"Speed against size: {machine(rows[0])}", fontsize=10)
    figure.tight_layout(w_pad=4)
    return figure


def draw_roofline(rows, limits):
    """Every stage at its flop per byte, hollow as predicted and filled as measured, under the roof that was measured."""
    figure, axes = plt.subplots(figsize=(8, 5))
    least, most = 1 / 8, 512  # flop per byte
    bandwidth = limits["bandwidth"]
    roofs = [("FP32", limits["fp32"], limits["fp32_peak"]), ("tensor cores", limits["tensor"], limits["tensor_peak"])]
    roofs = [roof for roof in roofs if roof[1]]
    ridge = max(measured for _, measured, _ in roofs) / bandwidth
    axes.plot([least, ridge], [bandwidth * least / 1000, bandwidth * ridge / 1000], color="black", linewidth=1.2)
    axes.annotate(f"{bandwidth:.0f} GB/s", (0.5, bandwidth * 0.5 / 1000), xytext=(6, -12), textcoords="offset points", fontsize=8)
    for name, measured, peak in roofs:
        axes.plot([measured / bandwidth, most], [measured / 1000] * 2, color="black", linewidth=1.2)
        text = f"{name}: {measured / 1000:.1f} TFLOP/s"
        if peak:
            ends = (measured, peak, peak)
            axes.plot([measured / bandwidth, peak / bandwidth, most], [end / 1000 for end in ends], color="black", linewidth=0.5)
            text += f" (peak {peak / 1000:.1f})"
        axes.annotate(text, (most, max(measured, peak or 0) / 1000), xytext=(0, 4), textcoords="offset points", ha="right",
                      fontsize=8)
    axes.plot(*zip(*((at, speed / 1000) for at, speed in limits["sweep"])), marker="o", linestyle="none", color="#999999",
              markersize=3.5, zorder=2.5)
    axes.annotate("dots: the sweep of 00_machine_limits", (most, bandwidth * least / 1000), xytext=(0, 6),
                  textcoords="offset points", ha="right", fontsize=8, color="#555555")
    places = []
    for style, row in zip(itertools.cycle(STYLES), (row for row in rows if row["m"] == SIZE and "/" not in row["stage"])):
        at, predicted, measured = row["flop_per_byte"], row["predicted_gflops"] / 1000, row["gflops"] / 1000
        while any(abs(math.log(at / other)) < 0.1 for other in places):  # side by side, so that both can be read
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
    axes.set_ylim(bandwidth * least / 1000, max(max(measured, peak or 0) for _, measured, peak in roofs) / 1000 * 1.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set(xlabel="flop per byte of device memory, as the stage asks for it (equal ones side by side)", ylabel="TFLOP/s",
             title=f"{SIZE} x {SIZE} x {SIZE}: predicted (hollow) and measured (filled); {machine(rows[0])}")
    axes.title.set_fontsize(9)
    figure.tight_layout()
    return figure


def draw_curves(rows):
    """The library's speed against size in each precision, with the peaks that the CSV has."""
    figure, axes = plt.subplots(figsize=(8, 5))
    ends, peaks = [], {}
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    for style, precision in zip(itertools.cycle(STYLES[1:]), precisions):
        points = sorted((row["n"], row["gflops"] / 1000) for row in rows if row["precision"] == precision)
        axes.plot(*zip(*points), **style)
        ends.append((points[-1][1], precision))
        for row in rows:
            if row["precision"] == precision and row["peak_gflops"]:
                peaks.setdefault(round(row["peak_gflops"] / 1000, 1), []).append(precision)
    least, most = min(row["n"] for row in rows), max(row["n"] for row in rows)
    for peak, of in peaks.items():
        axes.axhline(peak, color="black", linewidth=0.7)
        axes.annotate(f"peak {', '.join(dict.fromkeys(of))}: {peak:.1f}", (least, peak), xytext=(2, 3), textcoords="offset points",
                      fontsize=8)
    label_ends(axes, most, ends, 0.05, math.log10, lambda y: 10**y)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [2**power for power in range(4, 20) if least <= 2**power <= most]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlim(least / 1.05, most * 1.02)
    axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set(xlabel="M = N = K", ylabel="TFLOP/s", title=f"cuBLAS in each precision: {machine(rows[0])}")
    axes.title.set_fontsize(10)
    figure.tight_layout()
    return figure


# The highest points of the slides' curves, GFLOP/s, on a Radeon R9 Fury X. The fifth, LDS blocking (slide 53), has no figure there.
SLIDES = (("slide 43, naive", 567), ("slide 53, registers", 2018), ("slide 56, unrolled", 5141), ("slide 58, the last", 6351))
FURY_X = 8601.6


def draw_opencl(rows):
    """The OpenCL stages against the size, in % of the GPU's peak, and what the slides reached of theirs."""
    figure, axes = plt.subplots(figsize=(8, 5))
    ends, sizes = [], sorted({row["m"] for row in rows})
    for style, stage in zip(itertools.cycle(STYLES), dict.fromkeys(row["stage"] for row in rows)):
        points = sorted((row["m"], row["percent_of_peak"]) for row in rows if row["stage"] == stage)
        axes.plot(*zip(*points), **style)
        ends.append((points[-1][1], stage))
    label_ends(axes, sizes[-1], ends, 3.2)
    left = sizes[0] - 0.25 * (sizes[-1] - sizes[0] or sizes[0])  # room for the labels of the dotted lines
    for what, gflops in SLIDES:
        share = 100 * gflops / FURY_X
        axes.axhline(share, color="#777777", linewidth=0.8, linestyle=(0, (1, 3)))
        axes.annotate(f"{what}: {share:.1f}%", (left, share), xytext=(3, 2), textcoords="offset points", fontsize=7, color="#444444")
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.set_xlim(left, sizes[-1] * 1.02)
    axes.set_ylim(0, 100)
    axes.set(xlabel="M = N = K", ylabel="% of peak (FP32)",
             title=f"OpenCL on {rows[0]['gpu']}, driver {rows[0]['driver']}; dotted: the slides' Radeon R9 Fury X at its best size")
    axes.title.set_fontsize(9)
    figure.tight_layout()
    return figure


def main(words):
    """Returns the exit code."""
    if not words or words[0].startswith("-"):
        print("plot.py: takes a folder of results, and READMEs; --help tells more", file=sys.stderr)
        return 2
    folder, *readme = map(pathlib.Path, words)
    try:
        paths = {name: folder / f"{name}.csv" for name in ("ladder", "limits", "library_curves")}
        rows, limits, curves = (reader(path) for reader, path in zip((read_ladder, read_limits, read_curves), paths.values()))
        for name, of in (("limits", limits["machine"]), ("library_curves", machine(curves[0]))):
            if of != machine(rows[0]):
                raise Wrong(f"{paths[name]}: is of {of}, ladder.csv of {machine(rows[0])}")
        written = [(path, first_page(path, folder, rows)) for path in readme]
        for parent in {path.parent for path in readme}:
            written += chapters(folder, parent, rows, limits).items()
        figures = {"ladder": (draw_ladder(rows, limits), ("ladder", "limits")),
                   "roofline": (draw_roofline(rows, limits), ("ladder", "limits")),
                   "library_curves": (draw_curves(curves), ("library_curves",))}
        if (opencl := folder / "opencl.csv").exists():
            paths["opencl"] = opencl
            figures["opencl"] = draw_opencl(read_opencl(opencl)), ("opencl",)
        for name, (figure, sources) in figures.items():
            # Written into the picture, to tell later whether it shows these rows.
            source = "; ".join(f"{each}.csv, SHA-256 {hashlib.sha256(paths[each].read_bytes()).hexdigest()}" for each in sources)
            svg = io.StringIO()
            figure.savefig(svg, format="svg", metadata={"Date": None, "Source": source})
            plt.close(figure)
            written.append((folder / f"{name}.svg", svg.getvalue()))
        write_whole(*written)
    except Wrong as wrong:
        print(f"plot.py: {wrong}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"plot.py: '{error.filename}': can't be written: {error.strerror}", file=sys.stderr)
        return 2
    print(*(path for path, _ in written), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
