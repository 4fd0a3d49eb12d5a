"""The tables of the pages, made from a folder of CSVs. The function NAME below, or the one that the table ALIKE has for
NAME, yields what is between <!-- NAME --> and <!-- /NAME --> on a page: a heading, and then the rows."""
import decimal
import re
import statistics

import programs
from book import faults
from book.markers import Head, Sentence, filled, markdown, with_rows
from book.measured import RATES_SIZE, SIZE, SPEEDS, UNITS, Results, cycles_per_issue, text_of, unit
from book.pages import english, headings, road, navigation
from exercises import listed
from programs import ROOT
from results import Row, InvalidInput, read

# The columns of rates.csv that a chapter shows, and their labels: how busy each part is, and why a warp stalls, by
# Nsight Compute's names with a gloss.
METRICS = {
    "l1_hit": "L1 hit rate",
    "l2_hit": "L2 hit rate",
    "l1_throughput": "L1/TEX throughput (L1 and shared memory), of its peak",
    "l2_throughput": "L2 throughput, of its peak",
    "device_memory": "device memory throughput, of its peak",
    "warps_active": "occupancy: warps on an SM, of the 64 it can hold",
    "issue_active": "issue slots used",
}
WAITS = {
    "long_scoreboard": "Long Scoreboard: global memory",
    "short_scoreboard": "Short Scoreboard: shared memory",
    "lg_throttle": "LG Throttle: full queue for local and global memory",
    "barrier": "Barrier: the block's warps",
    "dispatch_stall": "Dispatch Stall: held back by the dispatcher",
    "math_pipe_throttle": "Math Pipe Throttle: execution pipe busy",
    "wait": "Wait: fixed latency",
    "not_selected": "Not Selected: another warp issues",
}
# The memories by their rows in limits.csv.
MEMORIES = {"copy": "device memory", "l2": "L2", "shared_memory": "shared memory"}
LOOP = {"loop_others": "others", "loop_three_operands": "three register reads",
        "loop_one_bank": "register bank conflict"}
NAMES = {
    "L1 hit": "L1 hit, 32 KiB",
    "L2 hit": "L2 hit, 8 MiB",
    "device memory": "device memory, 1 GiB",
    "MUFU": "MUFU, mean of EX2 and LG2",
    "mul.lo.u64": "64-bit multiply, four instructions",
    "FP32": "FP32, no TF32",
    "FP16": "FP16, FP32 accumulation",
}
TABLES = {}  # {name: a function of the results that yields headings and rows}
CHAPTER_TABLES = {}  # likewise of the results and a chapter's name


def table(function):
    TABLES[function.__name__] = function
    return function


def chapter_table(function):
    CHAPTER_TABLES[function.__name__] = function
    return function


def grouped(rows, down, name):
    """Rows in groups: [{value of the column `name`: row}], one group for each value of the column `down`."""
    found = {}
    for row in rows:
        found.setdefault(getattr(row, down), {})[getattr(row, name)] = row
    return list(found.values())


def expected(results, name, what):
    """The expectation for a row of NAME.csv before it was measured, or "-"."""
    return next((row.expected for row in results("expected") if (row.of, row.what) == (name, what)), "-")


def latencies(results, what):
    """Cycles of loads, or of instructions."""
    yield Head("| H200 | Volta (report) | Pascal (report) | <expected")
    for row in results("latency"):
        if row.what == what and row.kind != "curve":
            yield (
                f"{NAMES.get(row.kind, row.kind)} | {row.cycles:.1f} | {row.volta} | {row.pascal} | "
                f"{expected(results, 'latency', row.kind)}"
            )


@table
def libraries(results):
    """The library in each precision, and the Volta report's figures of a V100."""
    v100 = {row.precision: row.said for row in results("../volta_report")}
    yield Head(f"N = {SIZE} | TFLOP/s | of its peak | <V100 (report)")
    for row in results("library_curves"):
        if row.n == SIZE:
            yield (
                f"{NAMES.get(row.precision, row.precision)} | {row.gflops:T} | {row.percent_of_peak}% | "
                f"{v100.get(row.precision, '-')}"
            )


def at_shapes(results, csv):
    yield Head("stage, M x N x K | TFLOP/s | of cuBLAS | MHz")
    for row in results(csv):
        shape = f"{row.m} x {row.n} x {row.k}"
        yield f"{row.stage}, {shape} | {row.gflops:T} | {row.percent_of_cublas}% | {row.sm_mhz}"


@chapter_table
def h100(results, chapter):
    """A chapter on an H100."""
    yield Head("N | TFLOP/s | of cuBLAS | MHz")
    for row in [*results("../h100/ladder"), *results("../h100/sizes")]:
        if row.stage == chapter:
            yield f"{row.m} | {row.gflops:T} | {row.percent_of_cublas}% | {row.sm_mhz}"


@table
def transfer(results):
    """When a GPU is worth the transfers to it and back."""
    yield Head("N | <memory | to device | kernel | to host | total | CPU BLAS | CPU / GPU")
    for row in results("transfer"):
        times = [row.h2d_ms, row.kernel_ms, row.d2h_ms, row.total_ms, row.cpu_blas_ms]
        yield " | ".join([f"{row.n}", row.memory, *(f"{ms:.2f}" for ms in times), f"{row.cpu_over_gpu}"])


@table
def cuda_python_overflow(results):
    yield Head("matrix of 46341 x 46341 | shape of the product | elements of C wrong with int | with size_t")
    for by in grouped(results("cuda_python_overflow"), "large", "index"):
        narrow, wide = by["int"], by["size_t"]
        shape = f"{narrow.m} x {narrow.n} x {narrow.k}"
        yield f"{narrow.large} | {shape} | {narrow.wrong} | {wide.wrong}"


@table
def half_sums(results):
    """Sums in FP16, on tensor cores and in pairs of halves."""
    yield Head("N | tensor cores, halves throughout, TFLOP/s | f16x2, TFLOP/s | times")
    for by in grouped(results("half_sums"), "m", "stage"):
        tensor, pairs = by["06_wmma"], by["half2"]
        yield f"{tensor.m} | {tensor.gflops:T} | {pairs.gflops:T} | {tensor.gflops / pairs.gflops:.1f}"


@chapter_table
def bf16(results, chapter):
    """A chapter with each type of operands."""
    yield Head(f"operands | {SIZE} | {RATES_SIZE} | MHz | cuBLAS at {SIZE} | {RATES_SIZE} | MHz")
    rows = [row for row in results("bf16") if row.stage.split()[0] == chapter]
    for by in grouped(rows, "stage", "m"):
        large, small = by[SIZE], by[RATES_SIZE]
        operands = "bfloat16" if " " in large.stage else "FP16"
        yield (
            f"{operands} | {large.gflops:T} | {small.gflops:T} | {large.sm_mhz} | "
            f"{large.cublas_gflops:T} | {small.cublas_gflops:T} | {large.cublas_mhz}"
        )


@table
def exercises(_):
    """All exercises of ./run learn, with their goals and the chapter's page that has them."""
    yield Head("exercise | title< | goals<")
    for each in listed():
        goals = "; ".join(map(str, each.goals))
        anchor = headings(f"## {each.number}. {each.title}")[0]
        yield f"`{each.name}` | [{each.title}](../{each.page.relative_to(ROOT)}#{anchor}) | {goals}"


def public_faults(_, group):
    """Programs after public reports in which one sees the same: the symptom, the cause, and the words by which ./run
    FILE names it."""
    yield Head("symptom | cause< | what `./run` says< | program<")
    for fault in faults.programs(ROOT):
        if fault.seen != group:
            continue
        says = ", ".join([*(f"`{words}`" for words in fault.says), *(f"a note: `{words}`" for words in fault.hints)])
        source = f"[source]({fault.source})" if fault.source.startswith("http") else fault.source
        says += " (where there is nvcc)" if fault.needs_nvcc else ""
        says = says or "nothing"
        program = f"[{fault.path.stem}](../{fault.path.relative_to(ROOT)}), {source}"
        description = f"{fault.symptom} | {fault.cause}".replace("__", r"\_\_")  # Markdown would take __ for bold type
        yield f"{description} | {says} | {program}"


@table
def sanitizer(results):
    """What a user sees of the programs of public_faults on a GPU, and what compute-sanitizer's tools say of them."""
    verdicts = {"cause": "the faulty line or the cause", "symptom": "only a symptom", "nothing": "nothing",
                "hangs": "nothing, because it hangs as well"}
    rows = results("../h100/sanitizer")
    yield Head("compute-sanitizer names | programs | which, and what one sees without a tool<")
    for verdict, words in verdicts.items():
        found = [row for row in rows if row.verdict == verdict]
        which = ", ".join(f"[{row.name}](../tests/public_faults/{row.name}.cu) ({row.without_tool})" for row in found)
        yield f"{words} | {len(found)} | {which}"


@table
def slides(results):
    """The slides' own listings."""
    yield Head(f"listing | TFLOP/s at {RATES_SIZE} | TFLOP/s at {SIZE} | elements that differ")
    for by in grouped(results("slides"), "file", "m"):
        large, small = by[SIZE], by[RATES_SIZE]
        yield (
            f"[{large.file}.cl](slides/{large.file}.cl) | {small.gflops / 1000:.2f} | {large.gflops / 1000:.2f} | "
            f"{large.wrong} of {large.elements}"
        )


def known(cell, how="", unit=""):
    """A figure with its unit, or "-" where there is none."""
    return cell if cell == "-" else f"{cell:{how}}{unit}"


@table
def limits(results):
    """The limits of a GPU."""
    rows = [row for row in results("limits") if row.what != "sweep"]
    yield Head("| measured | nominal | of it | <expected")
    for row in rows:
        if row.gbs == "-":
            measured = f"{row.gflops:T} TFLOP/s | {row.limit:T}"
        else:
            measured = f"{row.gbs:.0f} GB/s | {known(row.limit, '.0f')}"
        yield (
            f"`{row.what}` | {measured} | {known(row.percent_of_limit, unit='%')} | "
            f"{expected(results, 'limits', row.what)}"
        )
    yield Head("| MHz | cycles per instruction | of the peak at that clock | sustained | then MHz | W")
    for row in rows:
        sustained = f"{row.sustained_gflops:T} TFLOP/s" if row.gbs == "-" else f"{row.sustained_gbs:.0f} GB/s"
        yield (
            f"`{row.what}` | {row.sm_mhz} | {format(row.cycles_per_instruction)[:5]} | "
            f"{known(row.percent_of_peak_at_clock, unit='%')} | {sustained} | "
            f"{row.sustained_mhz} | {row.power_w}"
        )


@table
def sweep(results):
    rows = [row for row in results("limits") if row.what == "sweep"]
    yield Head(" | ".join(["flop per byte", *(f"{row.flop_per_byte}" for row in rows)]))
    yield " | ".join(["TFLOP/s", *(f"{row.gflops / 1000:.2f}" for row in rows)])
    yield " | ".join(["of the roof", *(f"{row.percent_of_limit}%" for row in rows)])


@table
def cuda_python(results):
    """The Zenn article's two tables in one, for each way to use streams."""
    yield Head(
        "means of five runs, N = 8192 | NumPy, s | GPU with copies, s | times | launch to sync, s | TFLOP/s | "
        "np.allclose"
    )
    yield "the Zenn article, RTX 5060 Ti | 1.705 | 0.857 | 2.0 | 0.787 | 1.4 | not printed"
    for by_run in grouped(results("cuda_python"), "streams", "run"):
        runs = list(by_run.values())
        cpu, gpu, kernel = (
            statistics.mean(getattr(run, name) for run in runs) for name in ("cpu_s", "gpu_s", "kernel_s")
        )
        streams = "two streams" if runs[0].streams == "two" else f"{runs[0].streams} stream"
        right = f"{sum(run.allclose == 'True' for run in runs)} of {len(runs)} runs"
        wrong = sorted(run.wrong for run in runs)
        if wrong[-1]:
            right += f"; {wrong[0]} to {wrong[-1]} elements differ"
        yield (
            f"{runs[0].gpu.replace('NVIDIA ', '')}, {streams} | {cpu:.3f} | {gpu:.3f} | {cpu / gpu:.1f} | "
            f"{kernel:.3f} | {2 * runs[0].n**3 / kernel / 1e12:.1f} | {right}"
        )


@chapter_table
def prediction(results, chapter):
    """The speed that the limits allow a stage."""
    row = results.stages()[chapter]
    what, words, memory = UNITS[unit(row.stage)]
    measured = results.one("limits", what=what)
    yield Head(f"{row.gpu}, {SIZE} x {SIZE} x {SIZE} | flop per byte | TFLOP/s")
    for name, of_byte in ((memory, row.flop_per_byte), ("shared_memory", row.shared_flop_per_byte)):
        if of_byte != "-":
            gbs = results.one("limits", what=name).gbs
            yield f"{MEMORIES[name]}, {gbs:.0f} GB/s | {of_byte:.2f} | {gbs * of_byte / 1000:.1f}"
    yield f"{words}, at {measured.sm_mhz} MHz | | {measured.gflops:T}"
    yield f"**predicted**, the least of these | | **{row.predicted_gflops:T}**"


@chapter_table
def clocks(results, chapter):
    """The clock of a stage, and its sustained speed, beside cuBLAS."""
    row = results.stages()[chapter]
    what, words, _ = UNITS[unit(row.stage)]
    measured = results.one("limits", what=what)
    yield Head(f"{row.gpu}, {SIZE} x {SIZE} x {SIZE} | MHz | W | TFLOP/s")
    yield f"measured, with a pause before each launch | {row.sm_mhz} | | {row.gflops:T}"
    yield f"... of the hardware's peak at this clock | | | {row.percent_of_peak_at_clock}%"
    if row.sm_mhz < 0.99 * measured.sm_mhz:
        at_clock = measured.gflops * row.sm_mhz / measured.sm_mhz
        yield f"... of {words} at this clock, {at_clock / 1000:.1f} TFLOP/s | | | {row.gflops / at_clock:.1%}"
    yield f"cuBLAS | {row.cublas_mhz} | | {row.cublas_gflops:T}"
    yield f"sustained, back-to-back launches | {row.sustained_mhz} | {row.power_w} | {row.sustained_gflops:T}"
    yield f"cuBLAS, sustained | {row.cublas_sustained_mhz} | | {row.cublas_sustained_gflops:T}"


@table
def which_clock(results):
    """The clocks that the lessons name, the highest first."""
    limits, stages = {row.what: row.sm_mhz for row in results("limits")}, results.stages()
    clocks = [
        (limits["fp32_fma"], "FP32 multiply-adds", "01 to 05, 09", "nothing: this is the GPU's maximum"),
        (1830, "nothing: NVIDIA states the peak, 989 TFLOP/s, at this clock", "00, 06", "not measured"),
        (limits["tensor_mma_sync"], "`mma_sync` alone", "06, 10", "tensor cores"),
        (limits["tensor_wgmma"], "wgmma alone", "11", "tensor cores at their full rate"),
    ]
    for stage in ("06_wmma", "10_async_mma", "11_wgmma"):
        lowered = "tensor cores, and what loads their operands"
        clocks.append((stages[stage].sm_mhz, f"`matmul.cu` of {stage[:2]}", stage[:2], lowered))
    yield Head("MHz | <what runs | <chapter | <what lowers the clock")
    for clock, *words in sorted(clocks, reverse=True):
        yield " | ".join([f"{clock}", *words])


def waits(row):
    """{column: why a warp of this row's stage stalls}. ncu counts a wait for an mbarrier as Long Scoreboard, and one
    for wgmma as Barrier."""
    other = {}
    if "mbarrier" in text_of(row.stage):
        other["long_scoreboard"] = "Long Scoreboard: mbarriers"
    if unit(row.stage) == "kWgmma":
        other["barrier"] = "Barrier: wgmma"
    return WAITS | other


@chapter_table
def ncu(results, chapter):
    """ncu's figures for a stage."""
    row = results.one("rates", stage=chapter)
    yield Head(f"ncu, {RATES_SIZE} x {RATES_SIZE} x {RATES_SIZE} |")
    for column, words in METRICS.items():
        yield f"{words} | {getattr(row, f'{column}_percent'):.1f}%"
    yield f"**warp cycles per issued instruction** | **{cycles_per_issue(row):.1f}**"
    for reason, words in waits(row).items():
        yield f"... {words} | {getattr(row, f'waiting_{reason}'):.1f}"


def speeds_of(results, chapter):
    """[(program, its row of the results, or None)] of a chapter's programs; first the step before the chapter, if there
    is one."""
    files = [file for file in programs.steps() if file.parent.name == chapter]
    if not files:
        return []
    speeds = results.stages(SPEEDS.get(chapter, "ladder"))
    before = programs.before(files[0])
    return [(file, speeds.get(programs.name(file).removesuffix(".cl"))) for file in [before, *files] if file]


@chapter_table
def steps(results, chapter):
    """What each step of a chapter changes, and its speed, with the step before the chapter first."""
    found = speeds_of(results, chapter)
    columns = ["predicted_gflops", "gflops"]
    if found[-1][0].suffix != ".cl":
        columns.append("percent_of_cublas")
    heads = ["program", "<what it changes", f"predicted TFLOP/s at {SIZE}", "measured", "of cuBLAS"]
    yield Head(" | ".join(heads[: 2 + len(columns)]))
    for file, row in found:
        figures = ["-"] * len(columns)
        if row:
            percent = [f"{getattr(row, each)}%" for each in columns[2:]]
            figures = [f"{row.predicted_gflops:T}", f"{row.gflops:T}", *percent]
        changes = programs.changes(file).replace("__", r"\_\_")  # Markdown would take __ for bold type
        yield " | ".join([programs.name(file), changes if file.parent.name == chapter else "", *figures])


def mean_of(rows, column):
    return f"{statistics.geometric_mean(getattr(row, column) for row in rows):.1f}%"


def spread_of(rows):
    """How many are ahead of cuBLAS, how many are below 85% of it, and the least percentage."""
    found = [row.percent_of_cublas for row in rows]
    return sum(each > 100 for each in found), sum(each < 85 for each in found), min(found)


def beside_cublas(rows, words=""):
    """A row of a table for each program, in percent of cuBLAS."""
    for stage in dict.fromkeys(row.stage for row in rows):
        own = [row for row in rows if row.stage == stage]
        ahead, below, least = spread_of(own)
        mean = mean_of(own, "percent_of_cublas")
        yield f"{stage}{words} | {mean} | {ahead} of {len(own)} | {below} | {least:.0f}%"


def at_drawn_shapes(results, csv):
    """Programs at shapes drawn at random with a seed: CSV_12.csv, and CSV_2027.csv."""
    yield Head("program | geometric mean | ahead | below 85% | least")
    for seed, words in ((12, ""), (2027, ", seed 2027")):
        yield from beside_cublas(results(f"{csv}_{seed}"), words)


# The lists of shapes that nobody tuned 13 for: the name of the CSV, and what it is called.
DRAWN = {"random_50": "`random 50`", "users_51": "`users 51`", "mixed_55": "`mixed 55`"}


@table
def kept_aside(results):
    """13 at lists of shapes that its heuristic was not fitted to, beside cuBLAS and the best of cublasLt."""
    yield Head("list | <shapes | of cuBLAS | of the best of cublasLt | ahead of cuBLAS | below 85% | least")
    for name, words in DRAWN.items():
        rows = results(f"../h100/shapes_{name}", "percent_of_cublas percent_of_lt")
        ahead, below, least = spread_of(rows)
        means = " | ".join(mean_of(rows, column) for column in ("percent_of_cublas", "percent_of_lt"))
        yield f"{words} | {len(rows)} | {means} | {ahead} | {below} | {least:.1f}%"


@table
def steps_kept_aside(results):
    """The steps of 12 and 13 at `random 50`; the last row is of another call."""
    yield Head("program | of cuBLAS | ahead | below 85% | least")
    yield from beside_cublas(results("../h100/steps_random_50") + results("../h100/shapes_random_50"))


@table
def multiples_13(results):
    """11 and 13 at multiples of 512, in two calls, with cuBLAS beside each."""
    yield Head("M = N = K | 11, TFLOP/s | of cuBLAS | 13, TFLOP/s | of cuBLAS | <configuration of 13")
    for at in grouped(results("../h100/multiples"), "m", "stage"):
        old, new = at["11_wgmma"], at["13_stream_k"]
        name = new.config.partition(":")[0]
        yield (f"{new.m} | {old.gflops:T} | {old.percent_of_cublas}% | {new.gflops:T} | {new.percent_of_cublas}% | "
               f"`{name}`")


# The kinds of data of --accuracy: the word in the columns of the CSV, and their name.
ERRORS = {"zero_mean": "zero-mean data", "positive": "positive data", "wide": "wide data"}


def errors_of(row):
    """{kind of data: (the error of a row, its quotient by cuBLAS's)}"""
    return {kind: (getattr(row, f"error_{kind}"), getattr(row, f"error_{kind}_of_cublas")) for kind in ERRORS}


ERROR_HEADS = " | ".join(f"{name} | x" for name in ERRORS.values())


def program_cell(row):
    """The name of one of 14's programs."""
    return f"`{row.stage.partition('/')[2] or 'matmul'}`"


def half_up(value, digits):
    """A figure of a CSV with so many significant digits. A tie is rounded up, and it is one by the decimals of the CSV:
    as a float 2.35e-07 is a little less."""
    return decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_UP).create_decimal(str(value))


def error_cells(row):
    cells = ["- | -" if error == "-" else f"{half_up(error, 2):.1e} | {quotient:{'.2f' if quotient < 10 else '.0f'}}"
             for error, quotient in errors_of(row).values()]
    return " | ".join(cells)


def accuracy(results, shown):
    """Products of floats on tensor cores: speed and errors beside cuBLAS in FP32 at these sizes."""
    yield Head(f"program, N | TFLOP/s | of cuBLAS | {ERROR_HEADS}")
    for size in shown:
        for row in results("../h100/fp32_accuracy"):
            if row.m == size:
                speed = f"{row.gflops:T} | {row.percent_of_cublas:.0f}%"
                yield f"{program_cell(row)}, {row.m} | {speed} | {error_cells(row)}"


@table
def accuracy_peers(results):
    """14's last program beside what cuBLAS offers for products of floats."""
    yield Head(f"N | <by | TFLOP/s | of cuBLAS FP32 | {ERROR_HEADS}")
    for at in grouped(results("../h100/fp32_accuracy_peers"), "m", "peer"):
        size = next(iter(at.values())).m
        at["`matmul`"] = results.one("../h100/fp32_accuracy", stage="14_fp32_accuracy", m=size)
        for name, row in at.items():
            yield f"{size} | {name} | {row.gflops:T} | {row.percent_of_cublas:.0f}% | {error_cells(row)}"


@table
def accuracy_ncu(results):
    """The launches of 14's last program, by ncu's own CSV."""
    shares = {
        "tensor cores active": "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
        "issue slots used": "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "L2, of its peak": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
        "device memory, of its peak": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    }
    yield Head(" | ".join(["kernel", "us", "MHz", *shares]))
    for row in results("../h100/fp32_accuracy_ncu"):
        def figure(metric):
            return float(str(getattr(row, metric)).replace(",", ""))  # ncu separates thousands

        ns = figure("gpu__time_duration.sum")
        mhz = 1000 * figure("sm__cycles_elapsed.max") / ns
        cells = [f"{ns / 1000:.0f}", f"{mhz:.0f}", *(f"{figure(metric):.1f}%" for metric in shares.values())]
        kernel = getattr(row, "Kernel Name").split("(")[0].removeprefix("void ")
        yield " | ".join([f"`{kernel}`", *cells])


@table
def accuracy_by_k(results):
    """The errors against K."""
    yield Head(f"program, M x N x K | {ERROR_HEADS}")
    for row in results("../h100/fp32_accuracy_k"):
        yield f"{program_cell(row)}, {row.m} x {row.n} x {row.k} | {error_cells(row)}"


@table
def multiples(results):
    """11 at multiples of 512."""
    yield Head("M = N = K | TFLOP/s | of cuBLAS | MHz")
    for row in results("multiples"):
        yield f"{row.m} | {row.gflops:T} | {row.percent_of_cublas}% | {row.sm_mhz}"


@chapter_table
def sizes(results, chapter):
    """A chapter's steps at all sizes: TFLOP/s (of cuBLAS; MHz)."""
    files = [file for file in programs.steps() if file.parent.name == chapter]
    names = [programs.name(file) for file in files]
    yield Head(" | ".join(["N", *(file.stem for file in files), "cuBLAS"]))
    for at in grouped([row for row in results(SPEEDS.get(chapter, "ladder")) if row.stage in names], "m", "stage"):
        cells = [
            f"{row.gflops:T} ({row.percent_of_cublas:.1f}%; {row.sm_mhz})" if (row := at.get(name)) else "-"
            for name in names
        ]
        last = [at[name] for name in names if name in at][-1]
        yield " | ".join([f"{last.m}", *cells, f"{last.cublas_gflops:T}"])


@table
def opencl(results):
    """The OpenCL stages, beside CUDA's."""
    clblast = results("opencl_clblast")[-1].clblast_gflops
    small = {row.stage: row for row in results("opencl") if row.m == RATES_SIZE}
    yield Head(
        f"stage | TFLOP/s at {RATES_SIZE} | at {SIZE} | predicted | measured / predicted | of peak | of CLBlast | "
        f"CUDA's at {SIZE}"
    )
    counterparts = {file.stem: programs.counterpart(file) for file in programs.steps() if file.suffix == ".cl"}
    for stage, row in results.stages("opencl").items():
        yield (
            f"{stage} | {small[stage].gflops:T} | {row.gflops:T} | {row.predicted_gflops:T} | "
            f"{row.measured_of_predicted} x | {row.percent_of_peak:.1f}% | {row.gflops / clblast:.1%} | "
            f"{results.stages()[counterparts[stage]].gflops:T}"
        )


def variants(rows):
    """Yields each stage of ablation.csv's `rows`, and its variants, the slowest first: the part that it leaves out is
    worth most."""
    rows = [row if isinstance(row, Row) else Row("ablation.csv", row) for row in rows]
    for stage in dict.fromkeys(row.stage for row in rows):
        whole, *others = (row for row in rows if row.stage == stage)
        # 04 explains the columns about FFMAs, which stages on tensor cores do not have.
        columns = LOOP if stage >= "04" and whole.loop_three_operands not in ("-", 0) else {}
        shape = f"{whole.gpu}, {whole.m} x {whole.n} x {whole.k}, without"
        yield Head(" | ".join([shape, "TFLOP/s", "of the full kernel", "registers", *columns.values()]))
        for row in (whole, *sorted(others, key=lambda row: row.gflops)):
            without = f"nothing: **{stage}**" if row is whole else row.without
            registers = f"{row.registers} + {row.spilled_bytes} bytes" if row.spilled_bytes else f"{row.registers}"
            counts = [getattr(row, column) for column in columns]
            shares = ["-" if count == "-" else f"{count / row.loop_multiply_adds:.1%}" for count in counts]
            yield " | ".join([without, f"{row.gflops:T}", f"{row.gflops / whole.gflops:.1%}", registers, *shares])


@chapter_table
def ablation(results, chapter):
    """What each part of a chapter is worth."""
    return variants(row for row in results("ablation") if row.stage.split("/")[0] == chapter)


def idea_of(page):
    """A chapter's idea for the first page: from docs/road.csv, or else from the heading of its README."""
    return road(ROOT).get(page.parent.name[:2], {}).get("idea") or page.read_text().split("\n")[0].partition(": ")[2]


@table
def promise(results):
    """What the first page promises, in one sentence."""
    speeds = [row.gflops / 1000 for row in results.stages().values()]
    yield Sentence(
        f"**From {min(speeds):.0f} to {max(speeds):.0f} TFLOP/s in {len(speeds)} kernels, each predicted, measured and "
        "explained. No GPU needed.**"
    )


# Chapters for shapes that are not square, and where their programs are beside cuBLAS at shapes drawn at random.
DRAWN_FOR = {"12_clusters": "../h100/steps_random_50", "13_stream_k": "../h100/shapes_random_50"}


@table
def ladder(results):
    """The table of the first page: a row for each chapter, with its idea."""
    stages = results.stages()
    for chapter, speeds in SPEEDS.items():
        stages[chapter] = list(results.stages(speeds).values())[-1]
    yield Head("chapter | <idea | predicted TFLOP/s | measured TFLOP/s | of cuBLAS")
    for path in sorted(ROOT.glob("[0-9][0-9]_*/README.md")):
        name = path.parent.name
        idea = idea_of(path)
        if back := road(ROOT).get(name[:2], {}).get("back_to"):
            idea = f"*optional, back to {back}:* {idea}"
        figures = ["-", "-", "-"]
        if row := stages.get(name):
            figures[:2] = f"{row.predicted_gflops:T}", f"{row.gflops:T}"
            if "percent_of_cublas" in vars(row):  # the OpenCL stages lack the column
                figures[2] = f"{row.percent_of_cublas}%"
        elif speeds := DRAWN_FOR.get(name):
            rows = [row for row in results(speeds, "percent_of_cublas") if row.stage == name]
            figures[2] = f"{mean_of(rows, 'percent_of_cublas')} at {len(rows)} shapes"
        yield " | ".join([f"[{name}]({name}/README.md)", idea, *figures])


def printed(row):
    """The line that ./run prints for a row of ladder.csv."""
    ms = row.median_ms
    time = f"{ms * 1000:.1f} us" if ms < 1 else f"{ms:.2f} ms"
    return (
        f"{row.stage:<21}{time:>10}{row.gflops / 1000:9.2f}{row.percent_of_peak:6.1f}%{row.percent_of_cublas:7.1f}%"
        f"{row.sm_mhz:6.0f}{row.predicted_gflops / 1000:11.2f}{row.measured_of_predicted:7.2f}"
    )


def timed(results, block):
    """A block of ./run's output, with the rows of ladder.csv."""
    return with_rows(block, [printed(row) for row in results("ladder") if row.m == RATES_SIZE and "/" not in row.stage])


# Tables of one kind: {name: (a function of the results and of something else, that something)}.
ALIKE = {
    "accuracy": (accuracy, (RATES_SIZE, SIZE)),
    "accuracy_at_smaller_sizes": (accuracy, (1024, 2048)),
    "loads": (latencies, "load"),
    "instructions": (latencies, "instruction"),
    "half_c": (at_shapes, "half_c"),
    "unaligned": (at_shapes, "unaligned"),
    "shapes": (at_drawn_shapes, "shapes"),
    "h100_shapes": (at_drawn_shapes, "../h100/shapes"),
    "fp32_shapes": (at_drawn_shapes, "fp32"),
    "h100_fp32_shapes": (at_drawn_shapes, "../h100/fp32"),
    **{f"faults_{group}": (public_faults, group) for group in faults.GROUPS},
}
PLACES = ("README.*", "[0-9][0-9]_*/*.md", "docs/*.md", "emulator/*.md")
NAMES_OF_TABLES = {*TABLES, *CHAPTER_TABLES, *ALIKE}


def rows_of(name, results, page):
    """The headings and rows of the table NAME on a page."""
    if name in CHAPTER_TABLES:
        return CHAPTER_TABLES[name](results, page.parent.name)
    if name in ALIKE:
        function, argument = ALIKE[name]
        return function(results, argument)
    return TABLES[name](results)


def roofs(root):
    """The limits that were measured on each GPU, and the speeds of its FP32 chapters, for docs/toys/roofline.html."""
    lines = []
    for file in sorted(root.glob("docs/results/*/limits.csv"), reverse=True):
        rows = {row.what: row for row in read(file)}
        places = (("copy", "gbs"), ("shared_memory", "gbs"), ("fp32_fma", "gflops"))
        gbs, shared, gflops = (getattr(rows.get(what), column, "-") for what, column in places)
        if "-" not in (gbs, shared, gflops):
            of_gpu = f'gpu: "{rows["copy"].gpu}", memory: {gbs}, shared: {shared}, peak: {gflops}'
            lines.append(f"  {{ {of_gpu}, chapters: [  // GB/s, GB/s, GFLOP/s\n")
            lines += [*measured(file.with_name("ladder.csv")), "  ] },\n"]
    return f"""// Measured, from limits.csv and ladder.csv of docs/results/*; ./run plot writes it.
const LIMITS = [
{"".join(lines)}];
"""


def measured(ladder):
    """The lines of limits.js about the FP32 chapters of a ladder.csv."""
    stages = [row for row in read(ladder) if row.m == row.n == row.k == SIZE] if ladder.exists() else []
    chapters = [row for row in stages if "/" not in row.stage and unit(row.stage) == ""]
    return [f'    {{ name: "{row.stage[:2]}", flopPerByte: {row.flop_per_byte}, gflops: {row.gflops} }},\n'
            for row in chapters]


def pages(folder, root):
    """{page: its text} of all pages that may have tables of `folder`, lines of sources, or links to others. Raises
    InvalidInput."""
    results, texts, last = Results(folder), {}, navigation(sorted(root.glob("[0-9][0-9]_*/README.md")))
    for page in english([path for place in PLACES for path in root.glob(place)]):
        # Its steps have no figures yet.
        chapter = page.parent.name
        is_new = (page.parent / "matmul.cu").exists() and chapter not in results.stages(SPEEDS.get(chapter, "ladder"))

        def made(name, old):
            if name in ("counters", "counted"):  # tools/counters.py makes these
                return old
            if is_new and name not in TABLES and name not in ALIKE:
                return old
            try:
                return timed(results, old) if name == "timed" else markdown(rows_of(name, results, page))
            except (LookupError, TypeError, ValueError) as wrong:
                raise InvalidInput(f"{page}: the table '{name}' lacks a figure: {wrong}")

        texts[page] = filled(page, made, root)
        if page in last:
            texts[page] = re.sub(r"\n(Back|Next): [^\n]*(\n[^\n]+)?\n\Z", lambda _: f"\n{last[page]}", texts[page])
    if (root / "docs/toys").exists():
        texts[root / "docs/toys/limits.js"] = roofs(root)
    return texts
