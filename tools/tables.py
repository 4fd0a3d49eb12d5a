"""The two tables that every stage's README has: what the measured limits allow beside what was measured, and what ncu saw."""
from results import Wrong, around, read

SIZE, RATES_SIZE = 8192, 4096
RATES = ("l1_hit_percent", "l2_hit_percent", "l1_throughput_percent", "l2_throughput_percent", "device_memory_percent",
         "warps_active_percent", "issue_active_percent", "waiting_long_scoreboard", "waiting_short_scoreboard", "waiting_barrier",
         "waiting_dispatch_stall", "waiting_math_pipe_throttle")


def times(ratio):
    """"5.8 x", "0.21 x": two digits."""
    return f"{ratio:.0f} x" if ratio >= 9.95 else f"{ratio:#.2g} x"


def prediction(row, limits):
    """The rows' table of a stage: `row` is the ladder's of SIZE, `limits` what plot.py's read_limits() gives."""
    units, peak = ("mma_sync on tensor cores", limits["tensor"]) if "wmma" in row["stage"] else ("FP32 multiply-adds", limits["fp32"])
    lines = [f"| {row['gpu']}, {SIZE} x {SIZE} x {SIZE} | flop per byte | TFLOP/s |", "|---|---:|---:|"]
    for memory, gbs, of_byte in (("device", limits["bandwidth"], row["flop_per_byte"]),
                                 ("shared", limits["shared"], row["shared_flop_per_byte"])):
        if of_byte:
            lines.append(f"| {memory} memory, {gbs:.0f} GB/s | {of_byte:.2f} | {gbs * of_byte / 1000:.1f} |")
    lines.append(f"| {units} | | {peak / 1000:.1f} |")
    lines.append(f"| **predicted**, the least of these | | **{row['predicted_gflops'] / 1000:.1f}** |")
    lines.append(f"| **measured** | | **{row['gflops'] / 1000:.1f}**, {times(row['gflops'] / row['predicted_gflops'])} |")
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


def chapters(folder, root, rows, limits):
    """(path, text) of the stages' READMEs beside `root`, where there are any, with these tables. `rows`: the ladder's. Raises
    Wrong."""
    beside = [(root / row["stage"] / "README.md", row) for row in rows if row["m"] == SIZE]
    beside = [(path, row) for path, row in beside if path.exists()]
    if not beside:
        return []
    rates = {row["stage"]: row for row in read(folder / "rates.csv", ("stage", *RATES), (), "tools/counters.py")}
    written = []
    for path, row in beside:
        if row["stage"] not in rates:
            raise Wrong(f"{folder / 'rates.csv'}: has no row for {row['stage']}")
        text = path.read_text()
        for name, table in (("prediction", prediction(row, limits)), ("ncu", evidence(rates[row["stage"]]))):
            before, _, after = around(path, text, name)
            text = before + table + after
        written.append((path, text))
    return written
