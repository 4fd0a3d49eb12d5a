"""./run plot: draws a folder's results, and writes the tables of the pages and the lists of the articles' claims.

The pictures are made from the CSVs that `./run all FOLDER` wrote on a GPU: bars.svg (each chapter beside cuBLAS),
ladder.svg (speed against size), sizes_NN.svg (the speeds of a chapter's programs where they differ most, if its lesson
shows it), roofline.svg (each chapter predicted and measured), library_curves.svg (cuBLAS in each precision). An
opencl.csv gives opencl.svg, and ncu's rates.csv cycles.svg and cycles_NN.svg (where a warp's cycles go). flow.svg is
the first page's picture.
"""
import functools
import hashlib

import programs
from book import claims, flow_picture, pictures
from book.chart import LEFT, RIGHT, Axes, Chart, scale
from book.measured import RATES_SIZE, SIZE, UNITS, Results, cycles_per_issue, machine, unit
from book.tables import DRAWN, ERRORS, errors_of, pages, waits
from process import say
from results import Figure, InvalidInput, write_whole

# The highest points of the slides' curves, GFLOP/s, on a Radeon R9 Fury X. The slides give no figure for the fifth one,
# LDS blocking (slide 53).
SLIDES = (("slide 43", 567), ("slide 53", 2018), ("slide 56", 5141), ("slide 58", 6351))
FURY_X = 8601.6
# Why a warp stalls: the column of rates.csv, and the fill. The rest is "other".
FILLS = {
    "not_selected": "idle",
    "wait": "full-pale",
    "math_pipe_throttle": "full-pale",
    "dispatch_stall": "full-pale",
    "barrier": "wait",
    "lg_throttle": "wait",
    "short_scoreboard": "wait",
    "long_scoreboard": "wait",
}


def tera(row):
    return row.gflops / 1000


def squares(results):
    """The ladder's rows of square matrices: the steps in order, then the chapters."""
    rows = results("ladder", "m n k gflops cublas_gflops flop_per_byte predicted_gflops")
    return sorted((row for row in rows if row.m == row.n == row.k), key=lambda row: ("/" not in row.stage, row.stage))


def by_unit(rows):
    """The chapters on FP32 units, then those on tensor cores: heading, name of their peak, rows."""
    for title, word, tensor in (("FP32", "", False), ("Tensor cores: FP16 in, FP32 accumulation", "kTensor", True)):
        if chosen := [row for row in rows if "/" not in row.stage and bool(unit(row.stage)) == tensor]:
            yield title, UNITS[word][0], chosen


def bars(results):
    """A bar for each chapter, its prediction as a dashed one, and cuBLAS as a line. The tensor cores have a scale of
    their own, which begins with FP32's last bar."""
    chart, y, last = Chart(f"TFLOP/s at {SIZE} x {SIZE} x {SIZE}"), 40, []
    for title, _, rows in by_unit([row for row in squares(results) if row.n == SIZE]):
        most = max(max(row.gflops, row.cublas_gflops, row.predicted_gflops) for row in rows)
        x = scale(0, most, 150, RIGHT)
        cublas = sorted(rows, key=lambda row: row.cublas_gflops)[len(rows) // 2]  # measured beside each chapter
        beside = x(cublas.cublas_gflops)
        chart.text(LEFT, y + 18, title, "strong")
        chart.tag(beside, y + 14, f"cuBLAS {cublas.cublas_gflops:T}", "end")
        chart.line(f"M{beside:.1f} {y + 25}V{y + 51 + 26 * (len(last) + len(rows) - 1)}", "edge")
        for row in last:
            y += 26
            chart.text(144, y + 15, row.stage, "end")
            chart.box(150, y + 2, round(x(row.gflops) - 150, 1), 18, "full")
            times = f"{rows[0].stage[:2]} is {rows[0].gflops / row.gflops:.1f} times as fast"
            chart.tag(x(row.gflops) + 6, y + 11, f"{row.gflops:T} on this scale; {times}", "small")
        for row in rows:
            y += 26
            end = x(row.gflops)
            chart.text(144, y + 15, row.stage, "end")
            chart.box(150, y + 2, round(end - 150, 1), 18, "full")
            predicted = x(row.predicted_gflops)
            beyond = f"M{end:.1f} {y + 4}H{predicted:.1f}v14H{end:.1f}"
            chart.line(beyond if predicted > end else f"M{predicted:.1f} {y - 1}v24", "dash")
            right = min(end, beside) - 6
            if right - 45 < predicted < right + 5:  # the label must not cover it
                right = predicted - 6
            inside = right > 189
            at = right if inside else max(end, predicted) + 6
            chart.text(round(at, 1), y + 15, f"{row.gflops:T}", "strong end on-full" if inside else "strong")
        last, y = rows[-1:], y + 34
    chart.text(LEFT, y + 10, "bar: measured; dashed: predicted; the line is cuBLAS, measured beside them", "small")
    return chart


def against_size(chart, top, height, rows, peak="-"):
    """Speed against size of programs, the last of them as a thick line, with cuBLAS and the peak."""
    sizes, last = sorted({row.n for row in rows}), rows[-1].stage
    beside = sorted((row.n, row.cublas_gflops / 1000) for row in rows if row.stage == last)
    lines = [(beside, "dash", "cuBLAS")]
    if peak != "-":
        lines.append(([(0, peak / 1000), (sizes[-1], peak / 1000)], "edge", f"peak, {peak:T}"))
    most = max([*map(tera, rows), *(y for points, _, _ in lines for _, y in points)])
    marks = [size for size in sizes if 4 * size % sizes[-1] == 0]
    axes = Axes(chart, top, height, 302, (0, sizes[-1]), (0, 1.04 * most), marks=marks)
    ends = axes.curves(rows, "stage", "n", tera, last)
    for points, kind, name in lines:
        axes.curve(points, kind)
        ends.append((*points[-1], name, "small"))
    return axes, ends


def ladder(results):
    """Speed against size of the FP32 chapters, and below them of the chapters on tensor cores."""
    chart, y = Chart("TFLOP/s against size, M = N = K"), 44
    for title, what, rows in by_unit(squares(results)):
        chart.text(LEFT, y + 8, title, "strong")
        axes, ends = against_size(chart, y + 20, 210, rows, results.one("limits", what=what).limit)
        axes.label(ends)
        y += 260
    return chart


def sizes(results, chapter):
    """The speeds of a chapter's programs at the three sizes where they differ most; cuBLAS is a mark beside the last.
    """
    rows, found = [row for row in squares(results) if row.stage.split("/")[0] == chapter], {}
    for row in sorted(rows, key=lambda row: (row.stage == chapter, row.stage)):
        found.setdefault(row.n, []).append(row)
    most = sorted(found, key=lambda size: min(map(tera, found[size])) / max(map(tera, found[size])))[:3]
    chart = Chart(f"{chapter}: TFLOP/s at three sizes")
    chart.text(LEFT, 46, "where its programs differ most; the line is cuBLAS", "small lesser")
    left, y = 108, 76
    for number, size in enumerate(sorted(most)):
        begin = left + 108 * number
        x = scale(0, max(max(row.gflops, row.cublas_gflops) for row in found[size]), begin, begin + 94)
        chart.text(begin, y, f"N = {size}", "strong")
        for line, row in enumerate(found[size]):
            at, is_last = y + 10 + 26 * line, row.stage == chapter
            if not number:
                chart.text(left - 6, at + 13, row.stage.split("/")[-1], "end strong" if is_last else "end")
            wide = round(x(row.gflops) - begin, 1)
            chart.box(begin, at, wide, 18, "full" if is_last else "full-pale", f"{tera(row):.0f}")
        cublas, below = found[size][-1].cublas_gflops, 26 * len(found[size])
        chart.line(f"M{x(cublas):.1f} {y + 8}v{below - 4}", "edge")
        chart.text(begin, y + below + 20, f"cuBLAS {cublas / 1000:.0f}", "small lesser")
    return chart


def roofline(results):
    """Every chapter at its flop per byte, predicted and measured, under the roofs that were measured."""
    chart, least, most = Chart(f"Roofline at {SIZE} x {SIZE} x {SIZE}, TFLOP/s"), 1 / 8, 512  # flop per byte
    limits = {row.what: row for row in results("limits")}
    memory, l2, fp32 = limits["copy"].gbs, limits.get("l2", limits["copy"]).gbs, limits["fp32_fma"].gflops
    # Loads for tensor cores hit L2, and their roof begins where FP32's ends.
    begins = {"l2": (l2, fp32 / l2), "copy": (memory, least)}
    roofs = [
        (name, limits[what].gflops / 1000, *begins[served]) for what, name, served in UNITS.values() if what in limits
    ]
    speeds = memory * least / 1000, 1.5 * max(roof for _, roof, *_ in roofs)
    axes = Axes(chart, 44, 400, RIGHT, (least, most), speeds, (4, 10))
    for name, roof, gbs, low in roofs:
        ridge = 1000 * roof / gbs
        axes.curve([(least, roof), (ridge, roof)], "grid")
        axes.curve([(low, gbs * low / 1000), (ridge, roof), (most, roof)], "edge")
        chart.tag(54, axes.y(roof) - 8, f"{name}, {roof:.1f}", "small")
    chart.tag(axes.x(0.5) + 10, axes.y(0.5 * memory / 1000), f"device memory, {memory:.0f} GB/s", "small")
    if "l2" in limits:
        chart.tag(axes.x(16) - 8, axes.y(16 * l2 / 1000), f"L2, {l2:.0f} GB/s", "small end")
    for row in results("limits"):
        if row.what == "sweep":
            axes.curve([(row.flop_per_byte, tera(row))] * 2, "fleck")
    columns = []  # of dots whose labels would overlap
    chosen = [row for row in squares(results) if row.n == SIZE and "/" not in row.stage]
    for row in sorted(chosen, key=lambda row: row.flop_per_byte):
        at, predicted, measured = row.flop_per_byte, row.predicted_gflops / 1000, tera(row)
        axes.curve([(at, predicted), (at, measured)], "faint")
        axes.curve([(at / 1.16, predicted), (at * 1.16, predicted)], "bold")
        axes.curve([(at, measured)] * 2, "dot")
        if not columns or at > 1.7 * columns[-1][-1][0]:
            columns.append([])
        columns[-1].append((at, measured, row.stage[:2], "strong"))
    for column in columns:
        axes.label(column, 17)
    chart.text(50, 474, "flop per byte of global memory that a chapter accesses", "small")
    chart.text(50, 490, "dash: predicted; dot: measured; small dots: the sweep of chapter 00", "small")
    return chart


def shapes(results):
    """13 at shapes that nobody tuned it for: a dot for each of them, above beside cuBLAS, below beside the best of
    cublasLt."""
    chart = Chart("13 at 120 shapes it was not tuned for")
    rows = [row for name in DRAWN for row in results(f"../h100/shapes_{name}", "percent_of_cublas percent_of_lt")]
    flop = [2 * row.m * row.n * row.k for row in rows]
    for top, column, words in ((60, "percent_of_cublas", "time of cuBLAS's default choice / time of 13"),
                               (300, "percent_of_lt", "time of the best algorithm of cublasLt / time of 13")):
        chart.text(50, top - 8, words, "small")
        axes = Axes(chart, top, 190, RIGHT, (min(flop), max(flop)), (0.4, 4), (10, 2))
        axes.curve([(min(flop), 1), (max(flop), 1)], "edge")
        for x, row in zip(flop, rows):
            axes.curve([(x, getattr(row, column) / 100)] * 2, "dot")
    chart.text(50, 530, "flop of the product; above 1: 13 is faster", "small")
    return chart


def errors_by_k(results):
    """14's errors against K beside those of cuBLAS in FP32, for each kind of data."""
    rows = results("../h100/fp32_accuracy_k")
    chart, ks, errors = Chart("14: errors against K"), [row.k for row in rows], {kind: {} for kind in ERRORS}
    for row in rows:
        for kind, (error, quotient) in errors_of(row).items():
            errors[kind].setdefault(row.stage, {})[row.k] = error * 1e7
            errors[kind].setdefault("cuBLAS", {})[row.k] = error / quotient * 1e7
    ys = [y for curves in errors.values() for points in curves.values() for y in points.values()]
    for number, (kind, curves) in enumerate(errors.items()):
        chart.text(LEFT, 52 + 166 * number, f"{ERRORS[kind]}, errors x 10⁷", "strong")
        limits = (min(ks), max(ks)), (min(1, *ys), 1.1 * max(ys))
        axes, ends = Axes(chart, 64 + 166 * number, 110, 302, *limits, (2, 2)), []
        for name, points in curves.items():
            chapter = "/" not in name and name != "cuBLAS"
            axes.curve(points.items(), "dash" if name == "cuBLAS" else "bold" if chapter else "faint")
            ends.append((*max(points.items()), name.split("/")[-1], "strong" if chapter else "small"))
        axes.label(ends)
    return chart


def speeds_of_floats(results):
    """The speeds against size of 14's programs that split floats, beside cuBLAS in FP32."""
    chart = Chart("14: TFLOP/s against size, M = N = K")
    rows = [row for row in results("../h100/fp32_accuracy") if not row.stage.endswith("1_halves")]
    axes, ends = against_size(chart, 44, 300, rows)
    axes.label(ends)
    return chart


def library_curves(results):
    """The library's speed against size in each precision, with the peaks that the CSV has."""
    rows, peaks = results("library_curves", "n gflops"), {}
    for row in rows:
        if isinstance(row.peak_gflops, Figure):
            peaks.setdefault(round(row.peak_gflops / 1000, 1), {})[row.precision] = None
    xs, ys = sorted(row.n for row in rows), sorted((*map(tera, rows), *peaks))
    chart = Chart("cuBLAS in each precision, TFLOP/s")
    axes = Axes(chart, 44, 300, 370, (xs[0], xs[-1]), (ys[0], ys[-1] * 1.4), (2, 10))
    axes.label(axes.curves(rows, "precision", "n", tera))
    for peak, names in peaks.items():
        axes.curve([(xs[0], peak), (xs[-1], peak)], "edge")
        chart.tag(54, axes.y(peak) - 8, f"peak {', '.join(names)}: {peak:.1f}", "small")
    return chart


def opencl(results):
    """The OpenCL stages against the size, in % of the GPU's peak, and what the slides reached on theirs."""
    rows = results("opencl", "m gflops percent_of_peak")
    chart, most = Chart("OpenCL: % of the FP32 peak"), max(row.m for row in rows)
    left = -0.3 * most  # room for the labels of the dashed lines
    marks = sorted({row.m for row in rows if 4 * row.m % most == 0})
    axes = Axes(chart, 44, 300, 302, (left, most), (0, 100), marks=marks)
    axes.label(axes.curves(rows, "stage", "m", lambda row: row.percent_of_peak, rows[-1].stage))
    for what, gflops in SLIDES:
        share = 100 * gflops / FURY_X
        axes.curve([(left, share), (most, share)], "dash")
        chart.tag(54, axes.y(share) - 8, f"{what}: {share:.1f}%", "small")
    chart.text(50, 374, "M = N = K; dashed: the slides' Radeon R9 Fury X at its best size", "small")
    return chart


def chapters(results):
    return [row for row in results("rates") if "/" not in row.stage]


def parts(row):
    """The warp cycles per issued instruction, and their parts: (label, fill, cycles)."""
    cycles = cycles_per_issue(row)
    words, found = waits(row), [("issuing", "full", 1)]
    for column, fill in FILLS.items():
        waiting = getattr(row, f"waiting_{column}")
        if waiting >= 0.2:
            found.append((words[column], fill, waiting))
    rest = cycles - sum(part[2] for part in found)
    return cycles, [*found, ("other", "idle", max(0, rest))]


def bar(chart, y, row, width, before=False):
    """A warp's cycles as one bar, `width` pixels a cycle. Returns its segments: (x, width, words, fill, cycles)."""
    cycles, found = parts(row)
    chart.text(LEFT, y, row.stage, "lesser" if before else "strong")
    busy = f"{row.issue_active_percent:.0f}% of issue slots used"
    if row.tensor_pipe_percent >= 1:  # chapters on tensor cores leave issue slots empty without losing speed
        busy = f"tensor cores active {row.tensor_pipe_percent:.0f}%"
    chart.text(RIGHT, y, f"{cycles:.1f} cycles; {busy}", "end lesser" if before else "end")
    x, placed = LEFT, []
    for words, fill, each in found:
        placed.append((x, each * width, words, fill, each))
        segment(chart, x, y + 7, each * width, f"{fill} before" if before else fill, *words.split(": ")[::-1], words)
        x += each * width
    return placed


def segment(chart, x, y, width, fill, *texts):
    """A part of a bar with the last of `texts` that fits. Returns whether one does."""
    text = next((text for text in reversed(texts) if 6.8 * len(text) + 6 < width), "")
    edge = "grid" if fill.startswith("idle") else None
    chart.box(round(x, 1), y, round(max(width - 1, 0.5), 1), 18, fill, text, edge)
    return bool(text)


def cycles(results):
    """Where a warp's cycles go, in shares, chapter by chapter."""
    chart = Chart("Where a warp's cycles go")
    chart.text(LEFT, 46, f"shares of the warp cycles per issued instruction; N = {RATES_SIZE}", "small lesser")
    for number, row in enumerate(chapters(results)):
        bar(chart, 74 + 46 * number, row, (RIGHT - LEFT) / parts(row)[0])
    return chart


def cycles_of(results, row):
    """The same for one chapter, in cycles, below the chapter that it continues from, with each part on a line of its
    own."""
    chart = Chart(f"{row.stage[:2]}: where a warp's cycles go")
    chart.text(LEFT, 46, f"warp cycles per issued instruction; N = {RATES_SIZE}", "small lesser")
    before = programs.before(next(file for file in programs.steps() if file.parent.name == row.stage))
    shown = [each for each in chapters(results) if before and each.stage == programs.name(before)] + [row]
    width, y = (RIGHT - LEFT) / max(parts(each)[0] for each in shown), 28
    for each in shown:
        y += 46
        placed = bar(chart, y, each, width, each is not row)
    y += 32
    for x, wide, words, fill, each in placed:
        text = f"{words} {each:.1f}"
        if words == "issuing":
            text += f" = {each / parts(row)[0]:.0%}"
        without_gloss = f"{words.partition(':')[0]} {each:.1f}"
        right, left = RIGHT - x - wide, x - LEFT
        texts = [text] if 5.9 * len(text) < max(right, left) else [without_gloss, text]
        if not segment(chart, x, y, wide, fill, *texts):  # the first one fits beside the bar
            if right > left:
                chart.text(round(x + wide + 4, 1), y + 13, texts[0], "small")
            else:
                chart.text(round(x - 5, 1), y + 13, texts[0], "small end")
        y += 20
    return chart


def drawn(results):
    """{file: its text} of all pictures. Each names its sources, so that it can be told later whether it shows these
    rows."""
    plots = {
        "bars": (bars, "ladder"),
        "ladder": (ladder, "ladder", "limits"),
        "roofline": (roofline, "ladder", "limits"),
        "library_curves": (library_curves, "library_curves"),
    }
    if (results.folder.parent / "h100/shapes_random_50.csv").exists():
        plots["../h100/shapes"] = shapes, *(f"../h100/shapes_{name}" for name in DRAWN)
        plots["../h100/errors_by_k"] = errors_by_k, "../h100/fp32_accuracy_k"
        plots["../h100/speeds_of_floats"] = speeds_of_floats, "../h100/fp32_accuracy"
    for chapter in {row.stage.split("/")[0] for row in results("ladder") if "/" in row.stage}:
        if f"/sizes_{chapter[:2]}.svg" not in (programs.ROOT / chapter / "README.md").read_text():
            continue
        plots[f"sizes_{chapter[:2]}"] = functools.partial(sizes, chapter=chapter), "ladder"
    if (results.folder / "opencl.csv").exists():
        plots["opencl"] = opencl, "opencl"
    if (results.folder / "rates.csv").exists():
        plots["cycles"] = cycles, "rates"
        for row in chapters(results):
            plots[f"cycles_{row.stage[:2]}"] = functools.partial(cycles_of, row=row), "rates"
    texts = {}

    def add(name, text, files):
        digests = "; ".join(f"{file.name}, SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files)
        text = text.replace("<desc>", f"<metadata>{digests}</metadata>\n<desc>", 1)
        texts[results.folder / f"{name}.svg"] = text

    for name, (draw, *sources) in sorted(plots.items()):
        files = [results.folder / f"{source}.csv" for source in sources]
        try:
            chart, first = draw(results), results(sources[0])[0]
        except (LookupError, TypeError, ValueError, ZeroDivisionError) as wrong:
            raise InvalidInput(f"{' or '.join(map(str, files))}: lacks a figure: {wrong}")
        named = f"{files[0].name} and others" if files[2:] else ", ".join(file.name for file in files)
        add(name, chart.render(f"{first.gpu}, driver {first.driver}; {named}"), files)
    add("flow", flow_picture.draw(results), [results.folder / "ladder.csv", flow_picture.FLOWS])
    return texts


def write(folder, root=None):
    """Writes the pictures of a folder and, if it belongs to the tree at `root`, all tables there. Writes nothing if
    anything is wrong. Returns the exit code."""
    try:
        results = Results(folder)
        machines = {
            f"{name}.csv: {machine(row)}" for name in ("ladder", "limits", "library_curves") for row in results(name)
        }
        if len({each.partition(": ")[2] for each in machines}) > 1:
            raise InvalidInput(f"{folder}: has results of several machines: {'; '.join(sorted(machines))}")
        written = {**(pages(folder, root) if root else {}), **drawn(results)}
        if root == programs.ROOT:
            written.update({**claims.pages(), **pictures.drawn()})
        write_whole(*written.items())
    except InvalidInput as wrong:
        say(f"plot: {wrong}")
        return 2
    print(*written, sep="\n")
    return 0
