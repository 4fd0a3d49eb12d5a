"""The tables of the chapters' READMEs: what bounds the machine (00); of a stage, what these limits allow beside what was measured,
and what ncu saw; what each of its parts is worth; and, in a chapter of several steps, what each step changes and how fast it is."""
import ladder
from results import Wrong, around, read

SIZE, RATES_SIZE = 8192, 4096
RATES = ("l1_hit_percent", "l2_hit_percent", "l1_throughput_percent", "l2_throughput_percent", "device_memory_percent",
         "warps_active_percent", "issue_active_percent", "waiting_long_scoreboard", "waiting_short_scoreboard", "waiting_barrier",
         "waiting_dispatch_stall", "waiting_math_pipe_throttle")


def times(ratio):
    """"5.8 x", "0.21 x": two digits."""
    return f"{ratio:.0f} x" if ratio >= 9.95 else f"{ratio:#.2g} x"


def clocks(rows):
    """{"fp32_mhz": 1979.0, "tensor_mhz": ...}: the clocks at which limits.csv's `rows` were measured; nothing of older ones."""
    return {f"{name}_mhz": float(row["sm_mhz"]) for name, what in (("fp32", "fp32_fma"), ("tensor", "tensor_mma_sync"))
            for row in rows if row["what"] == what and row.get("clock_by", "-") in ("kernel", "probe")}


def on_tensor_cores(row, limits):
    """Is the row's percent_of_peak that of the tensor cores?"""
    peak = float(row["gflops"]) / float(row["percent_of_peak"]) * 100
    return bool(limits["tensor"]) and abs(peak - limits["tensor"]) < abs(peak - limits["fp32"])


def prediction(row, limits):
    """The rows' table of a stage: `row` is the ladder's of SIZE, `limits` what plot.py's read_limits() gives."""
    unit, units = ("tensor", "mma_sync on tensor cores") if on_tensor_cores(row, limits) else ("fp32", "FP32 multiply-adds")
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
    return [f"| clock while it ran{by}: {had:.0f} MHz. {units} at that clock | | {at_clock:.1f} |",
            f"| measured, of that; of the hardware's peak at that clock | | {gflops / at_clock / 10:.1f}%; "
            f"{row['percent_of_peak_at_clock']}% |",
            f"| **sustained**, without a rest: {row['sustained_mhz']} MHz, {row['power_w']} W | | "
            f"**{float(row['sustained_gflops']) / 1000:.1f}** |",
            f"| cuBLAS: rested at {row['cublas_mhz']} MHz; sustained at {row['cublas_sustained_mhz']} MHz | | "
            f"{float(row['cublas_gflops']) / 1000:.1f}; {float(row['cublas_sustained_gflops']) / 1000:.1f} |"]


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
    """What ncu saw of a stage: `rates` is its row of rates.csv."""
    def percent(*columns):
        return ", ".join(f"{float(rates[column]):.1f}%" for column in columns)

    waiting = ", ".join(f"{float(rates[f'waiting_{what}']):.1f}" for what in (
        "long_scoreboard", "short_scoreboard", "barrier", "dispatch_stall", "math_pipe_throttle"))
    return "\n".join((
        f"| ncu, {RATES_SIZE} x {RATES_SIZE} x {RATES_SIZE} | |", "|---|---:|",
        f"| of the sectors asked for, found in L1; of the others, in L2 | {percent('l1_hit_percent', 'l2_hit_percent')} |",
        "| how busy L1, L2 and device memory are | "
        f"{percent('l1_throughput_percent', 'l2_throughput_percent', 'device_memory_percent')} |",
        f"| warps on a multiprocessor, of the 64 it can hold (occupancy) | {percent('warps_active_percent')} |",
        f"| issue slots used | {percent('issue_active_percent')} |",
        "| warps that wait, for each instruction issued: for global memory, shared memory, a barrier, the register file, a pipe | "
        f"{waiting} |")) + "\n"


def steps(chapter, rows):
    """The table of a chapter's steps; `chapter` is its folder, `rows` the ladder's of SIZE."""
    speeds = {row["stage"]: row for row in rows}
    files = [file for file in ladder.steps(chapter.parent) if file.parent == chapter]
    lines = [f"| step | what it changes | lines | TFLOP/s at {SIZE} |", "|---|---|---:|---:|"]
    for file in (ladder.before(files[0], chapter.parent), *files):
        before = ladder.before(file, chapter.parent)
        changes, count = (ladder.changes(file), ladder.changed_lines(before, file)[1]) if file in files else ("", "")
        row = speeds.get(ladder.name(file))
        speed = f"{float(row['gflops']) / 1000:.1f}" if row else "-"
        lines.append(f"| {ladder.name(file)} | {changes} | {count} | {speed} |")
    return "\n".join(lines) + "\n"


def ablation(rows):
    """The table of what each part of a chapter is worth; `rows` are ablation.csv's of the chapter. Each stage is followed by its
    forms, the slowest first: what that one leaves out is worth most."""
    where = f"{rows[0]['gpu']}, {rows[0]['m']} x {rows[0]['n']} x {rows[0]['k']}"
    lines = [f"| {where}, without | TFLOP/s | of all parts | registers | others | three operands | of one bank |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for stage in dict.fromkeys(row["stage"] for row in rows):
        whole, *others = (row for row in rows if row["stage"] == stage)
        for row in (whole, *sorted(others, key=lambda row: float(row["gflops"]))):
            what = f"nothing: **{stage}**" if row is whole else row["without"]
            speed, of_all = float(row["gflops"]) / 1000, 100 * float(row["gflops"]) / float(whole["gflops"])
            spilled = f", {row['spilled_bytes']} bytes spilled" * (int(row["spilled_bytes"]) > 0)
            of_adds = [f"{100 * int(row[column]) / int(row['loop_multiply_adds']):.1f}%" if row[column] != "-" else "-"
                       for column in ("loop_others", "loop_three_operands", "loop_one_bank")]
            lines.append(f"| {what} | {speed:.1f} | {of_all:.1f}% | {row['registers']}{spilled} | {' | '.join(of_adds)} |")
    return "\n".join(lines) + "\n"


def chapters(folder, root, rows, limits):
    """(path, text) of 00's and the stages' READMEs beside `root`, where there are any, with these tables. `rows`: the ladder's. Raises
    Wrong."""
    written = []
    if (path := root / "00_machine_limits/README.md").exists():
        before, table, after = around(path, path.read_text(), "limits")
        table = machine_limits(read(folder / "limits.csv", ("what", "gbs", "gflops", "limit", "percent_of_limit")), table)
        written.append((path, before + table + after))
    beside = [(root / row["stage"] / "README.md", row) for row in rows if row["m"] == SIZE]
    beside = [(path, row) for path, row in beside if path.exists()]
    if not beside:
        return written
    rates = {row["stage"]: row for row in read(folder / "rates.csv", ("stage", *RATES), (), "tools/counters.py")}
    ablated = []
    if (folder / "ablation.csv").exists():
        ablated = read(folder / "ablation.csv", ("stage", "without", "registers"), ("gflops",), "./run ablation")
    for path, row in beside:
        if row["stage"] not in rates:
            raise Wrong(f"{folder / 'rates.csv'}: has no row for {row['stage']}")
        text = path.read_text()
        tables = [("prediction", prediction(row, limits)), ("ncu", evidence(rates[row["stage"]]))]
        if any(path.parent.glob("[0-9]_*.cu")):
            tables.append(("steps", steps(path.parent, [row for row in rows if row["m"] == SIZE])))
        if parts := [each for each in ablated if each["stage"].split("/")[0] == row["stage"]]:
            tables.append(("ablation", ablation(parts)))
        for name, table in tables:
            before, _, after = around(path, text, name)
            text = before + table + after
        written.append((path, text))
    return written
