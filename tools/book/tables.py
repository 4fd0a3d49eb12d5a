"""The tables of the pages, made of a folder of CSVs: what stands between <!-- NAME --> and <!-- /NAME --> on a page is what the
function NAME below yields for it, a heading and then its rows."""
import functools
import re
import statistics
import textwrap

import programs
from book.pages import english, road, ways
from programs import ROOT
from results import Row, Wrong, read

SIZE, RATES_SIZE = 8192, 4096
# The columns of rates.csv that a chapter shows, and their words: how busy each part is, then where a warp's cycles go.
SEEN = {"l1_hit": "sectors that L1 had", "l2_hit": "of the others: sectors that L2 had",
        "l1_throughput": "L1 and shared memory, one unit, were busy", "l2_throughput": "L2 was busy",
        "device_memory": "device memory was busy", "warps_active": "occupancy: warps on a multiprocessor, of the 64 it can hold",
        "issue_active": "issue slots used"}
WAITS = {"long_scoreboard": "waiting for global memory", "short_scoreboard": "for shared memory", "barrier": "at a barrier",
         "dispatch_stall": "for the register file", "math_pipe_throttle": "for a unit that is full",
         "lg_throttle": "for room in L1's queue", "wait": "for its own instruction before",
         "not_selected": "ready, but another warp is chosen"}
# The memories by their rows in limits.csv.
MEMORIES = {"copy": "device memory", "l2": "L2", "shared_memory": "shared memory"}
LOOP = {"loop_others": "others", "loop_three_operands": "three operands", "loop_one_bank": "of one bank"}
# What a stage multiplies with, by the word in its facts: its row in limits.csv, its name, and the memory that its loads of global
# memory are predicted from (common/facts.h).
UNITS = {"kWgmma": ("tensor_wgmma", "wgmma on tensor cores", "l2"), "kTensor": ("tensor_mma_sync", "mma_sync on tensor cores", "l2"),
         "": ("fp32_fma", "FP32 multiply-adds", "copy")}


class Results:
    """A folder's CSVs, each read once. All of this raises Wrong."""

    def __init__(self, folder):
        self.folder = folder

    @functools.lru_cache(None)
    def __call__(self, name, figures=""):
        """The rows of NAME.csv, which have numbers above 0 in the columns `figures`."""
        path = self.folder / f"{name}.csv"
        if not path.exists():
            raise Wrong(f"{path}: is missing: './run all' on a GPU writes it")
        return read(path, figures.split())

    def one(self, name, **cells):
        """The row of NAME.csv with these cells."""
        for row in self(name):
            if all(getattr(row, column) == value for column, value in cells.items()):
                return row
        raise Wrong(f"{self.folder / name}.csv: has no row of {', '.join(map(str, cells.values()))}")

    def stages(self, name="ladder"):
        """{stage: its row of SIZE}"""
        found = {row.stage: row for row in self(name) if row.m == row.n == row.k == SIZE}
        if missing := {row.stage for row in self(name)} - set(found):
            raise Wrong(f"{self.folder / name}.csv: has no row of {SIZE} x {SIZE} x {SIZE} for {min(missing)}")
        return found


def machine(row):
    return f"{row.gpu}, driver {row.driver}, CUDA {row.cuda}"


def text_of(stage):
    return "".join(programs.text_of(file) for file in programs.steps() if programs.name(file) == stage)


def unit(stage):
    """The word in UNITS of what a stage says that it multiplies with."""
    return next(word for word in UNITS if word in text_of(stage))


class Head(str):
    """A table's heading. "<" marks a column of text; the first is one."""


def markdown(items):
    """The text of one table, or of several."""
    lines = []
    for item in items:
        if isinstance(item, Head):
            rule = "|".join("---" if not at or "<" in cell else "---:" for at, cell in enumerate(item.split("|")))
            if lines:
                lines.append("")
            lines += [f"| {item.replace('<', '')} |", f"|{rule}|"]
        else:
            lines.append(f"| {item} |")
    return "\n".join(lines) + "\n"


TABLES = {}  # {name: a function of the results, the page and what it has there}


def table(function):
    """Registers a function of the results and the page that yields headings and rows."""
    TABLES[function.__name__.rstrip("_")] = lambda results, page, old: markdown(function(results, page))
    return function


def across(rows, down, name):
    """Rows in groups: [{value of the column `name`: row}], a group for each value of the column `down`."""
    found = {}
    for row in rows:
        found.setdefault(getattr(row, down), {})[getattr(row, name)] = row
    return list(found.values())


def each(name, head, line, csv="", where=lambda row, page: True, groups=""):
    """A table with a line for each row of NAME.csv, or of these CSVs; or for each of the `groups` that across() makes."""
    def made(results, page, old):
        rows = [row for each in (csv or name).split() for row in results(each) if where(row, page)]
        return markdown([Head(head), *map(line, across(rows, *groups.split()) if groups else rows)])
    TABLES[name] = made


NAMES = {"L1 hit": "L1 hit, 32 KiB", "L2 hit": "L2 hit, 8 MiB", "device memory": "device memory, 1 GiB",
         "MUFU": "MUFU, mean of EX2 and LG2", "MULTIPLY64": "64-bit multiply, four instructions",
         "FP32": "FP32, no TF32", "FP16": "FP16, FP32 sums"}


def expected(results, name, what):
    """What was expected of a row of NAME.csv before it was measured, or "-"."""
    return next((row.expected for row in results("expected") if (row.of, row.what) == (name, what)), "-")


def latencies(results, what):
    """Cycles of loads, or of instructions."""
    yield Head("| H200 | Volta (report) | Pascal (report) | <expected")
    for row in results("latency"):
        if row.what == what and row.kind != "curve":
            yield (f"{NAMES.get(row.kind, row.kind)} | {row.cycles:.1f} | {row.volta} | {row.pascal} | "
                   f"{expected(results, 'latency', row.kind)}")


@table
def loads(results, page):
    return latencies(results, "load")


@table
def instructions(results, page):
    return latencies(results, "instruction")


@table
def libraries(results, page):
    """The library in each precision, and what the Volta report says of a V100's."""
    v100 = {row.precision: row.said for row in results("../volta_report")}
    yield Head(f"N = {SIZE} | TFLOP/s | of its peak | <V100 (report)")
    for row in results("library_curves"):
        if row.n == SIZE:
            yield (f"{NAMES.get(row.precision, row.precision)} | {row.gflops:T} | {row.percent_of_peak}% | "
                   f"{v100.get(row.precision, '-')}")


for name in ("half_c", "unaligned"):
    each(name, "stage, M x N x K | TFLOP/s | of cuBLAS | MHz",
         lambda row: f"{row.stage}, {row.m} x {row.n} x {row.k} | {row.gflops:T} | {row.percent_of_cublas}% | {row.sm_mhz}")
each("h100", "N | TFLOP/s | of cuBLAS | MHz", lambda row: f"{row.m} | {row.gflops:T} | {row.percent_of_cublas}% | {row.sm_mhz}",
     "../h100/ladder ../h100/sizes", lambda row, page: row.stage == page.parent.name)
each("transfer", "N | <memory | to device | kernel | to host | total | CPU BLAS | CPU / GPU",
     lambda row: f"{row.n} | {row.memory} | {row.h2d_ms:.2f} | {row.kernel_ms:.2f} | {row.d2h_ms:.2f} | {row.total_ms:.2f} | "
                 f"{row.cpu_blas_ms:.2f} | {row.cpu_over_gpu}")
each("cuda_python_overflow", "matrix of 46341 x 46341 | shape of the product | elements of C wrong with int | with size_t",
     lambda by: "{0.large} | {0.m} x {0.n} x {0.k} | {0.wrong} | {1.wrong}".format(by["int"], by["size_t"]), groups="large index")
each("half_sums", "N | tensor cores, halves throughout, TFLOP/s | f16x2, TFLOP/s | times",
     lambda by: "{0.m} | {0.gflops:T} | {1.gflops:T} | {2:.1f}".format(
         by["06_wmma"], by["half2"], by["06_wmma"].gflops / by["half2"].gflops), groups="m stage")
each("bf16", f"operands | {SIZE} | {RATES_SIZE} | MHz | cuBLAS at {SIZE} | {RATES_SIZE} | MHz",
     lambda at: "{2} | {0.gflops:T} | {1.gflops:T} | {0.sm_mhz} | {0.cublas_gflops:T} | {1.cublas_gflops:T} | {0.cublas_mhz}".format(
         at[SIZE], at[RATES_SIZE], "bfloat16" if " " in at[SIZE].stage else "FP16"),
     where=lambda row, page: row.stage.split()[0] == page.parent.name, groups="stage m")
each("slides", f"listing | TFLOP/s at {RATES_SIZE} | TFLOP/s at {SIZE} | elements that differ",
     lambda at: "[{0.file}.cl](slides/{0.file}.cl) | {1:.2f} | {2:.2f} | {0.wrong} of {0.elements}".format(
         at[SIZE], at[RATES_SIZE].gflops / 1000, at[SIZE].gflops / 1000), groups="file m")


def known(cell, how="", unit=""):
    """A figure with its unit, or "-" where there is none."""
    return cell if cell == "-" else f"{cell:{how}}{unit}"


@table
def limits(results, page):
    """What bounds a GPU."""
    rows = [row for row in results("limits") if row.what != "sweep"]
    yield Head("| measured | nominal | of it | <expected")
    for row in rows:
        measured = f"{row.gflops:T} TFLOP/s | {row.limit:T}" if row.gbs == "-" else f"{row.gbs:.0f} GB/s | {known(row.limit, '.0f')}"
        yield (f"`{row.what}` | {measured} | {known(row.percent_of_limit, unit='%')} | "
               f"{expected(results, 'limits', row.what)}")
    yield Head("| MHz | cycles an instruction | of the peak at that clock | sustained | then MHz | W")
    for row in rows:
        sustained = f"{row.sustained_gflops:T} TFLOP/s" if row.gbs == "-" else f"{row.sustained_gbs:.0f} GB/s"
        yield (f"`{row.what}` | {row.sm_mhz} | {format(row.cycles_per_instruction)[:5]} | "
               f"{known(row.percent_of_peak_at_clock, unit='%')} | {sustained} | "
               f"{row.sustained_mhz} | {row.power_w}")


@table
def sweep(results, page):
    rows = [row for row in results("limits") if row.what == "sweep"]
    yield Head(" | ".join(["flop per byte", *(f"{row.flop_per_byte}" for row in rows)]))
    yield " | ".join(["TFLOP/s", *(f"{row.gflops / 1000:.2f}" for row in rows)])
    yield " | ".join(["of the roof", *(f"{row.percent_of_limit}%" for row in rows)])


@table
def cuda_python(results, page):
    """The Zenn article's two tables in one, for each way to use streams."""
    yield Head("means of five runs, N = 8192 | NumPy, s | GPU with copies, s | times | kernel, s | TFLOP/s | np.allclose")
    yield "the Zenn article, RTX 5060 Ti | 1.705 | 0.857 | 2.0 | 0.787 | 1.4 | not printed"
    for runs in map(list, map(dict.values, across(results("cuda_python"), "streams", "run"))):
        cpu, gpu, kernel = (statistics.mean(getattr(run, name) for run in runs) for name in ("cpu_s", "gpu_s", "kernel_s"))
        right, off = sum(run.allclose == "True" for run in runs), sorted(run.wrong for run in runs)
        yield (f"{runs[0].gpu.replace('NVIDIA ', '')}, {runs[0].streams} stream{'s' * (runs[0].streams == 'two')} | {cpu:.3f} | "
               f"{gpu:.3f} | {cpu / gpu:.1f} | {kernel:.3f} | {2 * runs[0].n**3 / kernel / 1e12:.1f} | {right} of {len(runs)} runs"
               + f"; {off[0]} to {off[-1]} elements differ" * (off[-1] > 0))


@table
def prediction(results, page):
    """What the limits allow a stage."""
    row = results.stages()[page.parent.name]
    what, words, memory = UNITS[unit(row.stage)]
    measured = results.one("limits", what=what)
    yield Head(f"{row.gpu}, {SIZE} x {SIZE} x {SIZE} | flop per byte | TFLOP/s")
    for name, of_byte in ((memory, row.flop_per_byte), ("shared_memory", row.shared_flop_per_byte)):
        if of_byte != "-":
            gbs = results.one("limits", what=name).gbs
            yield f"{MEMORIES[name]}, {gbs:.0f} GB/s | {of_byte:.2f} | {gbs * of_byte / 1000:.1f}"
    yield f"{words}, at {measured.sm_mhz} MHz | | {measured.gflops:T}"
    yield f"**predicted**, the least of these | | **{row.predicted_gflops:T}**"


@table
def clocks(results, page):
    """The clock that a stage had, and what it reaches without a rest, beside cuBLAS."""
    row = results.stages()[page.parent.name]
    what, words, _ = UNITS[unit(row.stage)]
    measured = results.one("limits", what=what)
    yield Head(f"{row.gpu}, {SIZE} x {SIZE} x {SIZE} | MHz | W | TFLOP/s")
    yield f"measured, each launch after a rest | {row.sm_mhz} | | {row.gflops:T}"
    yield f"... of the hardware's peak at this clock | | | {row.percent_of_peak_at_clock}%"
    if row.sm_mhz < 0.99 * measured.sm_mhz:
        at_clock = measured.gflops * row.sm_mhz / measured.sm_mhz
        yield f"... of {words} at this clock, {at_clock / 1000:.1f} TFLOP/s | | | {row.gflops / at_clock:.1%}"
    yield f"cuBLAS | {row.cublas_mhz} | | {row.cublas_gflops:T}"
    yield f"sustained, without a rest | {row.sustained_mhz} | {row.power_w} | {row.sustained_gflops:T}"
    yield f"cuBLAS, sustained | {row.cublas_sustained_mhz} | | {row.cublas_sustained_gflops:T}"


def between(row):
    """The cycles from one instruction of a warp to its next, of a row of rates.csv: a quarter of the multiprocessor's 64 warps
    shares a scheduler, which starts an instruction in a share of its cycles."""
    return 16 * row.warps_active_percent / row.issue_active_percent


@table
def ncu(results, page):
    """ncu's figures for a stage."""
    row = results.one("rates", stage=page.parent.name)
    yield Head(f"ncu, {RATES_SIZE} x {RATES_SIZE} x {RATES_SIZE} |")
    for column, words in SEEN.items():
        yield f"{words} | {getattr(row, f'{column}_percent'):.1f}%"
    yield f"**cycles from one instruction of a warp to its next** | **{between(row):.1f}**"
    for reason, words in WAITS.items():
        yield f"... {words} | {getattr(row, f'waiting_{reason}'):.1f}"


@table
def steps(results, page):
    """What each step of a chapter changes, and its speed; the step before comes first."""
    files = [file for file in programs.steps() if file.parent.name == page.parent.name]
    opencl = files[0].suffix == ".cl"  # whose stages have no cuBLAS beside them
    speeds = results.stages("opencl" if opencl else "ladder")
    before = programs.before(files[0])
    yield Head(f"program | <what it changes | predicted TFLOP/s at {SIZE} | measured" + " | of cuBLAS" * (not opencl))
    for file in (before, *files) if before else files:
        row = speeds.get(programs.name(file).removesuffix(".cl"))
        figures = [f"{row.predicted_gflops:T}", f"{row.gflops:T}"] if row else ["-", "-"]
        if not opencl:
            figures.append(f"{row.percent_of_cublas}%" if row else "-")
        changes = programs.changes(file).replace("__", r"\_\_")  # which Markdown would take for bold type
        yield " | ".join([programs.name(file), changes if file != before else "", *figures])


def seeds(name, csv):
    """A table of programs at shapes that were drawn by a seed, in percent of cuBLAS: CSV_12.csv, and the second list, CSV_2027.csv."""
    def made(results, page):
        yield Head("program | geometric mean | ahead | below 85% | least")
        for seed, words in ((12, ""), (2027, ", seed 2027")):
            rows = results(f"{csv}_{seed}")
            for stage in dict.fromkeys(row.stage for row in rows):
                found = [row.percent_of_cublas for row in rows if row.stage == stage]
                yield (f"{stage}{words} | {statistics.geometric_mean(found):.1f}% | {sum(each >= 100 for each in found)} of "
                       f"{len(found)} | {sum(each < 85 for each in found)} | {min(found):.0f}%")
    made.__name__ = name
    table(made)


seeds("shapes", "shapes")
seeds("h100_shapes", "../h100/shapes")
seeds("fp32_shapes", "fp32")
seeds("h100_fp32_shapes", "../h100/fp32")


@table
def multiples(results, page):
    """The last two chapters at multiples of 512, in percent of cuBLAS, and the form that the last one chooses."""
    rows = results("multiples_12")
    before, last = ([row for row in rows if row.stage == stage] for stage in dict.fromkeys(row.stage for row in rows))
    yield Head("M = N = K | 11 | 12 | form")
    for old, new in zip(before, last):
        yield f"{new.m} | {old.percent_of_cublas}% | {new.percent_of_cublas}% | `{new.form.split(':')[0]}`"


@table
def sizes(results, page):
    """A chapter's steps at all sizes: TFLOP/s (of cuBLAS; MHz)."""
    files = [file for file in programs.steps() if file.parent.name == page.parent.name]
    names = [programs.name(file) for file in files]
    yield Head(" | ".join(["N", *(file.stem for file in files), "cuBLAS"]))
    for at in across([row for row in results("ladder") if row.stage in names], "m", "stage"):
        cells = [f"{row.gflops:T} ({row.percent_of_cublas:.1f}%; {row.sm_mhz})" if (row := at.get(name)) else "-" for name in names]
        last = at[names[-1]]
        yield " | ".join([f"{last.m}", *cells, f"{last.cublas_gflops:T}"])


@table
def opencl(results, page):
    """The OpenCL stages, beside CUDA's."""
    clblast = results("opencl_clblast")[-1].clblast_gflops
    small = {row.stage: row for row in results("opencl") if row.m == RATES_SIZE}
    yield Head(f"stage | TFLOP/s at {RATES_SIZE} | at {SIZE} | predicted | measured / predicted | of peak | of CLBlast | "
               f"CUDA's at {SIZE}")
    twins = {file.stem: programs.twin(file) for file in programs.steps() if file.suffix == ".cl"}
    for stage, row in results.stages("opencl").items():
        yield (f"{stage} | {small[stage].gflops:T} | {row.gflops:T} | {row.predicted_gflops:T} | {row.measured_of_predicted} x | "
               f"{row.percent_of_peak:.1f}% | {row.gflops / clblast:.1%} | {results.stages()[twins[stage]].gflops:T}")


def forms(rows):
    """Each stage of ablation.csv's `rows`, and its forms, the slowest first: what that one leaves out is worth most."""
    rows = [row if isinstance(row, Row) else Row("ablation.csv", row) for row in rows]
    for stage in dict.fromkeys(row.stage for row in rows):
        whole, *others = (row for row in rows if row.stage == stage)
        # 04 explains the columns about multiply-adds of the lanes, and tensor cores do theirs without them.
        columns = LOOP if stage >= "04" and whole.loop_three_operands not in ("-", 0) else {}
        yield Head(" | ".join((f"{whole.gpu}, {whole.m} x {whole.n} x {whole.k}, without", "TFLOP/s", "of all parts", "registers",
                               *columns.values())))
        for row in (whole, *sorted(others, key=lambda row: row.gflops)):
            spilled = f" + {row.spilled_bytes} bytes" * (row.spilled_bytes > 0)
            counts = [getattr(row, column) for column in columns]
            yield " | ".join((f"nothing: **{stage}**" if row is whole else row.without, f"{row.gflops:T}",
                              f"{row.gflops / whole.gflops:.1%}", f"{row.registers}{spilled}",
                              *("-" if count == "-" else f"{count / row.loop_multiply_adds:.1%}" for count in counts)))


def ablation(rows):
    """The text of the tables of what each part of a chapter is worth."""
    return markdown(forms(rows))


TABLES["ablation"] = lambda results, page, old: ablation(
    row for row in results("ablation") if row.stage.split("/")[0] == page.parent.name)


@table
def ladder_(results, page):
    """The first page's: a row a chapter, with its idea of docs/road.csv, or else of its heading."""
    stages = results.stages()
    stages[programs.steps()[-1].parent.name] = list(results.stages("opencl").values())[-1]
    yield Head("chapter | <idea | predicted TFLOP/s | measured TFLOP/s | of cuBLAS")
    for path in sorted(ROOT.glob("[0-9][0-9]_*/README.md")):
        name, row = path.parent.name, stages.get(path.parent.name)
        at = road(ROOT).get(name[:2], {})
        idea = at.get("idea") or path.read_text().split("\n")[0].partition(": ")[2]
        if back := at.get("back_to"):
            idea = f"*side road, back to {back}:* {idea}"
        of_cublas = f"{row.percent_of_cublas}%" if row and "percent_of_cublas" in vars(row) else "-"  # the OpenCL stages have none
        speeds = f"{row.predicted_gflops:T} | {row.gflops:T}" if row else "- | -"
        yield f"[{name}]({name}/README.md) | {idea} | {speeds} | {of_cublas}"


def timed(results, page, block):
    """What ./run prints, with the rows of ladder.csv."""
    def line(row):
        ms = row.median_ms
        return (f"{row.stage:<21}{f'{ms * 1000:.1f} us' if ms < 1 else f'{ms:.2f} ms':>10}{row.gflops / 1000:9.2f}"
                f"{row.percent_of_peak:6.1f}%{row.percent_of_cublas:7.1f}%{row.sm_mhz:6.0f}{row.predicted_gflops / 1000:11.2f}"
                f"{row.measured_of_predicted:7.2f}")
    return with_rows(block, [line(row) for row in results("ladder") if row.m == RATES_SIZE and "/" not in row.stage])


def with_rows(block, rows):
    """A block of what ./run prints, with these rows below its heading in the place of those that it has. Lines further to the right
    than a row belong to the row above them."""
    lines = block.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines, 1) if line.startswith("    stage ")), len(lines))
    below = [line for line in lines[at:] if not re.match(r"    (\d\d_|  )", line)]
    return "".join([*lines[:at], *(textwrap.indent(row, "    ") + "\n" for row in rows), *below])


TABLES["timed"] = timed


def filled(page, made):
    """The page's text with what made(its name, what stands there) returns between each pair of markers. Raises Wrong."""
    def with_table(block):
        margin, name, old = block.groups()
        table = textwrap.indent(made(name, re.sub(f"(?m)^{margin}", "", old)), margin)
        return f"{margin}<!-- {name} -->\n{table}{margin}<!-- /{name} -->\n"

    text, blocks = re.subn(r"(?ms)^( *)<!-- (\w+) -->\n(.*?)^\1<!-- /\2 -->\n", with_table, page.read_text(errors="replace"))
    if 2 * blocks != len(marks := re.findall(r"<!-- /?\w+ -->", text)):
        raise Wrong(f"{page}: takes each table between '<!-- NAME -->' and '<!-- /NAME -->', and has {' '.join(marks)}")
    return text


def roofs(root):
    """The limits that were measured on each GPU, for docs/toys/roofline.html."""
    lines = []
    for file in sorted(root.glob("docs/results/*/limits.csv"), reverse=True):
        rows = {row.what: row for row in read(file)}
        gbs, shared, gflops = (getattr(rows.get(what), column, "-") for what, column in (
            ("copy", "gbs"), ("shared_memory", "gbs"), ("fp32_fma", "gflops")))
        if "-" not in (gbs, shared, gflops):
            lines.append(f'  {{ gpu: "{rows["copy"].gpu}", memory: {gbs}, shared: {shared}, peak: {gflops} }},  // GB/s, GB/s, GFLOP/s\n')
    return f"// Measured, from docs/results/*/limits.csv; ./run plot writes it.\nconst LIMITS = [\n{''.join(lines)}];\n"


def pages(folder, root):
    """{page: its text} of all that have tables of `folder`, or ways to others. Raises Wrong."""
    results, texts, last = Results(folder), {}, ways(sorted(root.glob("[0-9][0-9]_*/README.md")))
    for page in english([*root.glob("README.*"), *root.glob("[0-9][0-9]_*/*.md")]):
        new = (page.parent / "matmul.cu").exists() and page.parent.name not in results.stages()  # a chapter without figures

        def made(name, old):
            if new or name in ("counters", "counted"):  # which tools/counters.py makes
                return old
            try:
                return TABLES[name](results, page, old)
            except (LookupError, TypeError, ValueError) as wrong:
                raise Wrong(f"{page}: the table '{name}' lacks a figure: {wrong}")

        texts[page] = re.sub(r"\n(Back|Next): [^\n]*(\n[^\n]+)?\n\Z", lambda _: f"\n{last[page]}", filled(page, made))
    if (root / "docs/toys").exists():
        texts[root / "docs/toys/limits.js"] = roofs(root)
    return texts
