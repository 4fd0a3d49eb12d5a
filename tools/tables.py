"""The tables of the READMEs. Of README.md: the ladder, a row a chapter, and what ./run prints. Of the chapters': what bounds the
machine (00); of a stage, what these limits allow beside what was measured, what ncu saw, and what each of its parts is worth; in a
chapter of several steps, what each changes and how fast it is; of the OpenCL ladder, each stage beside CUDA's; and each chapter's
last line, the ways to others."""
import re
import statistics

import ladder
from machine import ROOT
from results import Wrong, around, read

SIZE, RATES_SIZE = 8192, 4096
# The columns of rates.csv that a chapter shows, and their words: how busy each part is, then where a warp's cycles go.
SEEN = {"l1_hit_percent": "sectors that L1 had", "l2_hit_percent": "of the others: sectors that L2 had",
        "l1_throughput_percent": "L1 and shared memory, one unit, were busy", "l2_throughput_percent": "L2 was busy",
        "device_memory_percent": "device memory was busy",
        "warps_active_percent": "occupancy: warps on a multiprocessor, of the 64 it can hold",
        "issue_active_percent": "issue slots used"}
WAITS = {"long_scoreboard": "waiting for global memory", "short_scoreboard": "for shared memory", "barrier": "at a barrier",
         "dispatch_stall": "for the register file", "math_pipe_throttle": "for a unit that is full",
         "lg_throttle": "for room in L1's queue", "wait": "for its own instruction before",
         "not_selected": "ready, but another warp is chosen"}
RATES = (*SEEN, *(f"waiting_{reason}" for reason in WAITS))
LOOP = {"loop_others": "others", "loop_three_operands": "three operands", "loop_one_bank": "of one bank"}
MACHINE = ("gpu", "driver", "cuda")
WRITTEN_BY = "'./run all' on a GPU"
UNITS = {"fp32": "fp32_fma", "tensor": "tensor_mma_sync", "wgmma": "tensor_wgmma"}  # what a stage multiplies with, in limits.csv


def read_one_machine(path, columns, numbers):
    """The rows of a CSV, numbers as floats (None where there is none). Raises Wrong with one line that names what is wrong."""
    rows = read(path, (*columns, *MACHINE), numbers, WRITTEN_BY)
    if len({machine(row) for row in rows}) > 1:
        raise Wrong(f"{path}: has rows of several machines")
    return rows


def needed(path, row, *columns):
    """Raises Wrong if one of these columns of the row has no figure."""
    for column in columns:
        if row[column] is None:
            raise Wrong(f"{path}: {row.get('stage') or row.get('what') or row.get('precision')} has no {column}")


def read_ladder(path):
    """The rows of square matrices; every stage must have one of SIZE."""
    numbers = ("m", "n", "k", "gflops", "percent_of_peak", "percent_of_cublas", "cublas_gflops", "flop_per_byte",
               "predicted_gflops")
    rows = [row for row in read_one_machine(path, ("stage",), (*numbers, "shared_flop_per_byte")) if row["m"] == row["n"] == row["k"]]
    for row in rows:
        needed(path, row, *numbers)
    for stage in sorted({row["stage"] for row in rows}) or ["any stage"]:
        if not any(row["stage"] == stage and row["m"] == SIZE for row in rows):
            raise Wrong(f"{path}: has no row of {SIZE} x {SIZE} x {SIZE} for {stage}")
    return rows


def read_limits(path):
    """What was measured and what the vendor's figures give, None where there is none: bandwidth in GB/s, the others in GFLOP/s;
    and the measured points of the sweep, (flop per byte, GFLOP/s)."""
    rows = read_one_machine(path, ("what",), ("flop_per_byte", "gbs", "gflops", "limit"))
    by_name = {row["what"]: row for row in rows}
    if missing := [what for what in ("copy", "shared_memory", "fp32_fma", "sweep") if what not in by_name]:
        raise Wrong(f"{path}: has no row '{missing[0]}'")
    needed(path, by_name["copy"], "gbs")
    needed(path, by_name["shared_memory"], "gbs")
    needed(path, by_name["fp32_fma"], "gflops", "limit")
    sweep = [row for row in rows if row["what"] == "sweep"]
    for row in sweep:
        needed(path, row, "flop_per_byte", "gflops")
    tensor = by_name.get("tensor_mma_sync", {"gflops": None, "limit": None})
    return dict(machine=machine(rows[0]), bandwidth=by_name["copy"]["gbs"], shared=by_name["shared_memory"]["gbs"],
                fp32=by_name["fp32_fma"]["gflops"], fp32_peak=by_name["fp32_fma"]["limit"],
                tensor=tensor["gflops"], wgmma=by_name.get("tensor_wgmma", {}).get("gflops"), tensor_peak=tensor["limit"], **clocks(rows),
                sweep=[(row["flop_per_byte"], row["gflops"]) for row in sweep])


def read_curves(path):
    rows = read_one_machine(path, ("precision",), ("n", "gflops", "peak_gflops"))
    for row in rows:
        needed(path, row, "n", "gflops")
    return rows


def machine(row):
    return f"{row['gpu']}, driver {row['driver']}, CUDA {row['cuda']}"


def times(ratio):
    """"5.8 x", "0.21 x": two digits."""
    return f"{ratio:.0f} x" if ratio >= 9.95 else f"{ratio:#.2g} x"


def clocks(rows):
    """{"fp32_mhz": 1979.0, "tensor_mhz": ...}: the clocks at which limits.csv's `rows` were measured; nothing of older ones."""
    return {f"{name}_mhz": float(row["sm_mhz"]) for name, what in UNITS.items()
            for row in rows if row["what"] == what and row.get("clock_by", "-") in ("kernel", "probe")}


def on_tensor_cores(stage, limits):
    """Does the stage say that tensor cores limit it? Only where their limit is known."""
    return unit_of(stage, limits) != "fp32"


def unit_of(stage, limits):
    named = {"kTensor": "tensor", "kWgmma": "wgmma"}
    [unit] = {named[word] for file in ladder.steps() if ladder.name(file) == stage
              for word in re.findall("kTensor|kWgmma", file.read_text())} or {"fp32"}
    return next((known for known in (unit, unit != "fp32" and "tensor") if limits.get(known)), "fp32")


def prediction(row, limits):
    """The rows' table of a stage: `row` is the ladder's of SIZE, `limits` what plot.py's read_limits() gives."""
    unit = unit_of(row["stage"], limits)
    units = {"fp32": "FP32 multiply-adds", "tensor": "mma_sync on tensor cores", "wgmma": "wgmma on tensor cores"}[unit]
    peak, mhz = limits[unit] / 1000, limits.get(f"{unit}_mhz")
    lines = [f"| {row['gpu']}, {SIZE} x {SIZE} x {SIZE} | flop per byte | TFLOP/s |", "|---|---:|---:|"]
    for memory, gbs, of_byte in (("device", limits["bandwidth"], row["flop_per_byte"]),
                                 ("shared", limits["shared"], row["shared_flop_per_byte"])):
        if of_byte:
            lines.append(f"| {memory} memory, {gbs:.0f} GB/s | {of_byte:.2f} | {gbs * of_byte / 1000:.1f} |")
    lines.append(f"| {units}{f', at {mhz:.0f} MHz' if mhz else ''} | | {peak:.1f} |")
    lines.append(f"| **predicted**, the least of these | | **{row['predicted_gflops'] / 1000:.1f}** |")
    lines.append(f"| **measured** | | **{row['gflops'] / 1000:.1f}**, {times(row['gflops'] / row['predicted_gflops'])} |")
    return "\n".join(lines + run_at(row, units, peak, mhz)) + "\n"


def run_at(row, units, peak, mhz):
    """The rows that say at which clock the stage ran, and what it reaches without a rest; none for rows that were timed without."""
    if row.get("clock_by", "-") == "-" or not mhz:
        return []
    had, gflops = float(row["sm_mhz"]), float(row["gflops"])
    at_clock = peak * had / mhz
    by = {"probe": "", "nvml": " by NVML"}[row["clock_by"]]
    slower = [f"| {units} at the clock of this run, {had:.0f} MHz{by} | | {at_clock:.1f} |",
              f"| measured / {units} at this clock | | {gflops / at_clock / 10:.1f}% |"] if had < 0.99 * mhz else []
    return [*slower, f"| measured / the hardware's peak at {had:.0f} MHz{by} | | {row['percent_of_peak_at_clock']}% |",
            f"| **sustained**, without a rest: {row['sustained_mhz']} MHz, {row['power_w']} W | | "
            f"**{float(row['sustained_gflops']) / 1000:.1f}** |",
            f"| cuBLAS, at {row['cublas_mhz']} MHz | | {float(row['cublas_gflops']) / 1000:.1f} |",
            f"| cuBLAS, sustained: {row['cublas_sustained_mhz']} MHz | | {float(row['cublas_sustained_gflops']) / 1000:.1f} |"]


def machine_limits(rows, before):
    """The tables of what bounds a GPU, out of the rows of limits.csv. What was expected stays as in the tables `before`."""
    expected = {cells[1]: cells[-2] for cells in (line.split("|") for line in before.splitlines()) if len(cells) == 7}
    rows = [row for row in rows if row["what"] != "sweep"]
    lines = ["| | measured | nominal | of it | expected |", "|---|---:|---:|---:|---|"]
    for row in rows:
        value, limit = float(row["gflops" if row["gbs"] == "-" else "gbs"]), float(row["limit"])
        shown = (f"{value / 1000:.1f} TFLOP/s | {limit / 1000:.1f}" if row["gbs"] == "-" else f"{value:.0f} GB/s | {limit:.0f}")
        lines.append(f"| `{row['what']}` | {shown} | {row['percent_of_limit']}% |" + expected.get(f" `{row['what']}` ", " - ") + "|")
    if "clock_by" in rows[0]:
        lines += ["", "| | MHz | cycles an instruction | of the peak at that clock | sustained | then MHz | W |",
                  "|---|---:|---:|---:|---:|---:|---:|"]
    for row in rows if "clock_by" in rows[0] else ():
        of_peak = row["percent_of_peak_at_clock"]
        lines.append(f"| `{row['what']}` | {row['sm_mhz']} | {row['cycles_per_instruction'][:5]} | "
                     f"{of_peak}{'%' * (of_peak != '-')} | " + (
                         f"{float(row['sustained_gflops']) / 1000:.1f} TFLOP/s" if row["gbs"] == "-" else
                         f"{float(row['sustained_gbs']):.0f} GB/s") + f" | {row['sustained_mhz']} | {row['power_w']} |")
    return "\n".join(lines) + "\n"


def evidence(rates):
    """The table of ncu's figures for a stage. `rates`: its row of rates.csv."""
    lines = [f"| ncu, {RATES_SIZE} x {RATES_SIZE} x {RATES_SIZE} | |", "|---|---:|"]
    lines += [f"| {what} | {float(rates[column]):.1f}% |" for column, what in SEEN.items()]
    # A quarter of the multiprocessor's 64 warps shares a scheduler, which starts an instruction in a share of its cycles.
    between = 16 * float(rates["warps_active_percent"]) / float(rates["issue_active_percent"])
    lines.append(f"| **cycles from one instruction of a warp to its next** | **{between:.1f}** |")
    lines += [f"| ... {what} | {float(rates[f'waiting_{reason}']):.1f} |" for reason, what in WAITS.items()]
    return "\n".join(lines) + "\n"


def steps(chapter, rows):
    """The table of a chapter's steps; `chapter` is its folder, `rows` the ladder's of SIZE."""
    speeds = {row["stage"]: row for row in rows}
    files = [file for file in ladder.steps(chapter.parent) if file.parent == chapter]
    first = ladder.before(files[0], chapter.parent) or files.pop(0)
    lines = [f"| program | what it changes | lines | TFLOP/s at {SIZE} |", "|---|---|---:|---:|"]
    for file in (first, *files):
        before = ladder.before(file, chapter.parent)
        changes, count = (ladder.changes(file), ladder.changed_lines(before, file)[1]) if file != first else ("", "")
        row = speeds.get(ladder.name(file).removesuffix(".cl"))
        speed = f"{float(row['gflops']) / 1000:.1f}" if row else "-"
        lines.append(f"| {ladder.name(file)} | {changes} | {count} | {speed} |")
    return "\n".join(lines) + "\n"


def ablation(rows):
    """The table of what each part of a chapter is worth; `rows` are ablation.csv's of the chapter. Each stage is followed by its
    forms, the slowest first: what that one leaves out is worth most."""
    where = f"{rows[0]['gpu']}, {rows[0]['m']} x {rows[0]['n']} x {rows[0]['k']}"
    tables = []
    for stage in dict.fromkeys(row["stage"] for row in rows):
        whole, *others = (row for row in rows if row["stage"] == stage)
        # 04 explains the columns about multiply-adds of the lanes, and tensor cores do theirs without them.
        columns = LOOP if stage >= "04" and whole["loop_three_operands"] not in ("-", "0") else {}
        lines = [" | ".join((f"| {where}, without", "TFLOP/s", "of all parts", "registers", *columns.values())) + " |",
                 f"|---|{'---:|' * (3 + len(columns))}"]
        for row in (whole, *sorted(others, key=lambda row: float(row["gflops"]))):
            what = f"nothing: **{stage}**" if row is whole else row["without"]
            speed, of_all = float(row["gflops"]) / 1000, 100 * float(row["gflops"]) / float(whole["gflops"])
            spilled = f" + {row['spilled_bytes']} bytes" * (int(row["spilled_bytes"]) > 0)
            of_adds = [f" {100 * int(row[column]) / int(row['loop_multiply_adds']):.1f}% |" if row[column] != "-" else " - |"
                       for column in columns]
            lines.append(f"| {what} | {speed:.1f} | {of_all:.1f}% | {row['registers']}{spilled} |" + "".join(of_adds))
        tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def opencl(rows, clblast, cuda):
    """The table of the OpenCL stages: `rows` of opencl.csv; CLBlast's GFLOP/s at SIZE; `cuda`: the ladder's rows of SIZE."""
    beside = {row["stage"]: row for row in cuda}
    lines = [f"| stage | TFLOP/s at 4096 | at {SIZE} | predicted | measured / predicted | of peak | of CLBlast | "
             f"CUDA's at {SIZE} |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for file in ladder.steps():
        if file.suffix == ".cl":
            speeds = {row["m"]: row for row in rows if row["stage"] == file.stem}
            small, large, twin = speeds.get(4096), speeds.get(SIZE), beside.get(ladder.twin(file))
            lines.append(" | ".join((
                f"| {file.stem}", f"{small['gflops'] / 1000:.1f}" if small else "-",
                *((f"{large['gflops'] / 1000:.1f}", f"{large['predicted_gflops'] / 1000:.1f}",
                   f"{large['measured_of_predicted']} x", f"{large['percent_of_peak']:.1f}%",
                   f"{large['gflops'] / clblast:.1%}") if large else "-----"),
                f"{twin['gflops'] / 1000:.1f} |" if twin else "- |")))
    return "\n".join(lines) + "\n"


def read_opencl(path):
    return read(path, ("stage", "measured_of_predicted"), ("m", "gflops", "predicted_gflops", "percent_of_peak"), "08_opencl_gcn")


def half_sums(rows):
    """06 with halves throughout, beside half2."""
    speeds = {(row["stage"], row["m"]): row["gflops"] / 1000 for row in rows}
    return markdown("N | tensor cores, halves throughout, TFLOP/s | f16x2, TFLOP/s | times", [
        f"{m:.0f} | {speeds['06_wmma', m]:.1f} | {speeds['half2', m]:.1f} | {speeds['06_wmma', m] / speeds['half2', m]:.1f}"
        for m in sorted({m for _, m in speeds})])


def cuda_python(rows):
    """The Zenn article's two tables in one, for each way to use streams."""
    lines = ["the Zenn article, RTX 5060 Ti | 1.705 | 0.857 | 2.0 | 0.787 | 1.4 | not printed"]
    for streams in dict.fromkeys(row["streams"] for row in rows):
        runs = [row for row in rows if row["streams"] == streams]
        cpu, gpu, kernel = (statistics.mean(row[name] for row in runs) for name in ("cpu_s", "gpu_s", "kernel_s"))
        right, off = sum(row["allclose"] == "True" for row in runs), [int(row["wrong"]) for row in runs]
        lines.append(f"{runs[0]['gpu'].replace('NVIDIA ', '')}, {streams} stream{'s' * (streams == 'two')} | {cpu:.3f} | {gpu:.3f} | "
                     f"{cpu / gpu:.1f} | {kernel:.3f} | {2 * runs[0]['n']**3 / kernel / 1e12:.1f} | {right} of {len(runs)} runs"
                     + f"; {min(off)} to {max(off)} elements differ" * (max(off) > 0))
    return markdown("means of five runs, N = 8192 | NumPy, s | GPU with copies, s | times | kernel, s | TFLOP/s | np.allclose", lines)


def cuda_python_overflow(rows):
    """What an int index does where a matrix has more than 2^31 elements."""
    cells = {(row["large"], row["index"]): row for row in rows}
    return markdown("matrix of 46341 x 46341 | shape of the product | elements of C wrong with int | with size_t", [
        f"{large} | {row['m']} x {row['n']} x {row['k']} | {row['wrong']} | {cells[large, 'size_t']['wrong']}"
        for (large, index), row in cells.items() if index == "int"])


def slides(rows):
    """The slides' listings at each size."""
    speeds = {(row["file"], row["m"]): row["gflops"] / 1000 for row in rows}
    sizes = sorted({m for _, m in speeds})
    return markdown(" | ".join(["listing", *(f"TFLOP/s at {m:.0f}" for m in sizes), "elements that differ"]), [
        " | ".join([f"[{row['file']}.cl](slides/{row['file']}.cl)", *(f"{speeds[row['file'], m]:.2f}" for m in sizes),
                    f"{row['wrong']} of {row['elements']}"]) for row in rows if row["m"] == sizes[0]])


def markdown(head, lines):
    """A table; its first column is text."""
    return "\n".join((f"| {head} |", f"|---{'|---:' * head.count(' | ')}|", *(f"| {line} |" for line in lines))) + "\n"


def sizes(chapter, rows):
    """A chapter's steps at all sizes of the ladder; `rows` are the ladder's."""
    files = [*sorted(chapter.glob("[0-9]_*.cu")), chapter / "matmul.cu"]
    names = [ladder.name(file) for file in files]
    at = {(row["stage"], row["m"]): row for row in rows}
    lines = []
    for m in sorted({m for name, m in at if name in names}):
        cells = [f"{row['gflops'] / 1000:.1f} ({float(row['percent_of_cublas']):.1f}%; {row['sm_mhz']})" if row else "-"
                 for row in (at.get((name, m)) for name in names)]
        lines.append(" | ".join([f"{m:.0f}", *cells, f"{float(at[names[-1], m]['cublas_gflops']) / 1000:.1f}"]))
    return markdown(" | ".join(["N", *(file.stem for file in files), "cuBLAS"]), lines)


def shapes(rows):
    """Programs at whatever shapes, beside cuBLAS's product of the same types."""
    return markdown("stage, M x N x K | TFLOP/s | of cuBLAS | MHz", [
        f"{row['stage']}, {row['m']} x {row['n']} x {row['k']} | {row['gflops'] / 1000:.1f} | {row['percent_of_cublas']}% | {row['sm_mhz']}"
        for row in rows])


# CSVs of programs beside the stages: the chapter, the function that makes its table, and the columns that it needs.
BESIDE = {"half_sums": ("06_wmma", half_sums, ("stage",), ("m", "gflops")),
          "cuda_python": ("00_machine_limits", cuda_python, ("streams", "wrong", "allclose"), ("n", "cpu_s", "gpu_s", "kernel_s")),
          "cuda_python_overflow": ("00_machine_limits", cuda_python_overflow, ("large", "m", "n", "k", "index", "wrong"), ()),
          "half_c": ("11_wgmma", shapes, ("stage", "m", "n", "k", "percent_of_cublas", "sm_mhz"), ("gflops",)),
          "unaligned": ("11_wgmma", shapes, ("stage", "m", "n", "k", "percent_of_cublas", "sm_mhz"), ("gflops",)),
          "slides": ("08_opencl_gcn", slides, ("file", "elements", "wrong"), ("m", "gflops"))}


def first_page(path, folder, rows):
    """The text of README.md, or its translation, with the figures of `rows`, the ladder's, and of opencl.csv. The words in its
    tables stay, and a chapter without a row gets one. Raises Wrong."""
    measured = {row["stage"]: row for row in rows if row["m"] == SIZE}
    *_, last = (file for file in ladder.steps() if file.suffix == ".cl")
    measured |= {last.parent.name: row for row in read_opencl(folder / "opencl.csv") if (row["stage"], row["m"]) == (last.stem, SIZE)}
    before, table, after = around(path, path.read_text(), "ladder")
    lines = table.splitlines(keepends=True)
    for page in sorted(ROOT.glob("[0-9][0-9]_*/README.md")):
        chapter = page.parent.name
        places = [number for number, line in enumerate(lines) if line.startswith(f"| [{chapter}]")]
        if not places:  # a new chapter: take the idea from its heading
            places = [next((number for number, line in enumerate(lines[2:], 2) if line[3:] > chapter), len(lines))]
            idea = page.read_text().split("\n")[0].partition(": ")[2]
            lines.insert(places[0], f"| [{chapter}]({chapter}/README.md) | {idea} | - | - | - |\n")
        if len(places) > 1:
            raise Wrong(f"{path}: its ladder has {len(places)} rows for {chapter}, expected one")
        cells = lines[places[0]].split(" | ")
        if len(cells) != 5:
            raise Wrong(f"{path}: its ladder's row for {chapter} has {len(cells)} cells, expected 5")
        lines[places[0]] = " | ".join((*cells[:2], *ladder_figures(measured.get(chapter)))) + " |\n"
    text = before + "".join(lines) + after
    before, block, after = around(path, text, "timed")
    return before + with_rows(block, [printed(row) for row in rows if row["m"] == RATES_SIZE and "/" not in row["stage"]]) + after


def ladder_figures(row):
    """Predicted, measured, of cuBLAS; dashes for what was not measured."""
    if not row:
        return "---"
    cublas = row.get("percent_of_cublas")
    return f"{row['predicted_gflops'] / 1000:.1f}", f"{row['gflops'] / 1000:.1f}", f"{cublas:.1f}%" if cublas else "-"


def printed(row):
    """The row of ladder.csv as ./run prints it (common/measured.h has the columns)."""
    ms = float(row["median_ms"])
    return (f"{row['stage']:<22}{f'{ms * 1000:.1f} us' if ms < 1 else f'{ms:.2f} ms':>10}{row['gflops'] / 1000:9.2f}"
            f"{row['percent_of_peak']:6.1f}%{row['percent_of_cublas']:7.1f}%{row['sm_mhz']:>6}"
            f"{row['predicted_gflops'] / 1000:10.2f}{row['measured_of_predicted']:>7} {'#' * round(row['percent_of_peak'] / 5)}").rstrip()


def with_rows(block, rows):
    """A block of what ./run prints, with these rows below its heading in the place of those that it has."""
    lines = [line for line in block.splitlines(keepends=True) if not re.match(r"    \d\d_", line)]
    at = next((number for number, line in enumerate(lines, 1) if line.startswith("    stage ")), len(lines))
    return "".join([*lines[:at], *(f"    {row}\n" for row in rows), *lines[at:]])


def ways(texts):
    """{page: text} of all chapters, each with the links to its neighbours as the last line."""
    pages = list(texts)
    links = [f"[{re.match('# ([^:]*)', texts[page])[1]}](../{page.parent.name}/README.md)" for page in pages]
    for at, page in enumerate(pages):
        line = " · ".join([*(f"Back: {link}" for link in links[:at][-1:]), *(f"Next: {link}" for link in links[at + 1:][:1]),
                           "[Glossary](../docs/glossary.md)\n"])
        texts[page] = re.sub(r"(?m)^(Back|Next): .*\n\Z", line, texts[page])
    return texts


def chapters(folder, root, rows, limits):
    """{path: text} of the chapters' READMEs beside `root`, where there are any, with these tables. `rows`: the ladder's. Raises
    Wrong."""
    texts = ways({path: path.read_text() for path in sorted(root.glob("[0-9][0-9]_*/README.md"))})
    at_size = [row for row in rows if row["m"] == SIZE]
    rates, ablated = None, []
    if (folder / "ablation.csv").exists():
        ablated = read(folder / "ablation.csv", ("stage", "without", "registers"), ("gflops",), "./run ablation")
    for path, text in texts.items():
        chapter, tables = path.parent, []
        if chapter.name == "00_machine_limits":
            _, table, _ = around(path, text, "limits")
            of_machine = read(folder / "limits.csv", ("what", "gbs", "gflops", "limit", "percent_of_limit"))
            tables.append(("limits", machine_limits(of_machine, table)))
        for row in at_size:
            if row["stage"] == chapter.name:
                tables.append(("prediction", prediction(row, limits)))
                if "<!-- ncu -->" not in text:  # the chapter brings figures of its own
                    continue
                rates = rates or {row["stage"]: row for row in read(folder / "rates.csv", ("stage", *RATES), (), "tools/counters.py")}
                if row["stage"] not in rates:
                    raise Wrong(f"{folder / 'rates.csv'}: has no row for {row['stage']}")
                tables.append(("ncu", evidence(rates[row["stage"]])))
        if any(chapter.glob("[0-9]_*.cu")):
            tables.append(("steps", steps(chapter, at_size)))
        if "<!-- sizes -->" in text:
            tables.append(("sizes", sizes(chapter, rows)))
        if parts := [row for row in ablated if row["stage"].split("/")[0] == chapter.name]:
            tables.append(("ablation", ablation(parts)))
        if any(chapter.glob("[0-9][0-9]_*.cl")):
            of_opencl = read_opencl(folder / "opencl.csv")
            clblast = read(folder / "opencl_clblast.csv", ("stage",), ("m", "clblast_gflops"))[-1]["clblast_gflops"]
            tables += [("steps", steps(chapter, [row for row in of_opencl if row["m"] == SIZE])),
                       ("opencl", opencl(of_opencl, clblast, at_size))]
        for name, (of, made_of, columns, numbers) in BESIDE.items():
            if of == chapter.name and (folder / f"{name}.csv").exists():
                tables.append((name, made_of(read(folder / f"{name}.csv", columns, numbers))))
        for name, made in tables:
            before, _, after = around(path, texts[path], name)
            texts[path] = before + made + after
    return texts
