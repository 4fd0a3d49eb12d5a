"""The figures in the READMEs are those of the programs and of the committed results: readme.py ROOT PROGRAM...

PROGRAM: the stages' traced CPU builds. The table of ./run without a GPU; the ladder; every stage's prediction and what ncu saw of it;
the emulator's counts beside the hardware's; and the H200's limits that the programs hold.
"""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

root, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
results = root / "docs/results/h200"
sys.dont_write_bytecode = True
sys.path.append(str(root / "tools"))
counters, tables = __import__("counters"), __import__("tables")
# Where the hardware counts otherwise than the emulator by more than 1%: what the emulator's rule gives for the instructions that the
# compiler chose, or how much more the hardware may count. The reasons are in emulator/README.md.
OTHERWISE = {("03_shared_blocking", "shared_load_wavefronts"): 163840, ("06_wmma", "shared_load_wavefronts"): 12800}
FILLS = {"03_shared_blocking": 0.08, "04_unroll": 0.08}  # shared stores that L1's fills hold up
faults = []


def lacks(path, text):
    if text not in (root / path).read_text():
        faults.append(f"{path} lacks:\n{text}")


def rows(name):
    with open(results / name) as file:
        return list(csv.DictReader(file))


counted = {}
with tempfile.TemporaryDirectory() as folder:
    for program in programs:
        run = subprocess.run([program, "--csv", f"{folder}/csv", "--lines"], capture_output=True, text=True, check=True)
        row, *accesses = run.stdout.rstrip("\n").split("\n")[2:]
        lacks("README.md", row)
        counted.update(counters.by_stage(pathlib.Path(folder) / "csv"))
        stage = row.split()[0]
        named = set(re.findall(r"\b[Ll]ine (\d+)", (root / stage / "README.md").read_text()))
        if lost := named - set(re.findall(r"matmul\.cu:(\d+) ", "\n".join(accesses))):
            faults.append(f"{stage}/README.md: no access to memory in line {', '.join(sorted(lost))}")

by_what = {row["what"]: row for row in rows("limits.csv")}
limits = {name: float(by_what[what][column]) for name, what, column in (
    ("bandwidth", "copy", "gbs"), ("shared", "shared_memory", "gbs"), ("fp32", "fp32_fma", "gflops"), ("half2", "fp16_pairs", "gflops"),
    ("tensor", "tensor_mma_sync", "gflops"))}
lacks("common/roofline.h", "{" + ", ".join(f"{limit:.1f}" for limit in limits.values()) + "},")

measured = [row for row in rows("ladder.csv") if row["m"] == row["n"] == row["k"] == "8192"]
rates = {row["stage"]: row for row in rows("rates.csv")}
for row in measured:
    stage = row["stage"]
    numbers = {name: None if row[name] == "-" else float(row[name])
               for name in ("gflops", "predicted_gflops", "flop_per_byte", "shared_flop_per_byte")}
    readme = f"{stage}/README.md"
    lacks(readme, f"**{numbers['gflops'] / 1000:.1f} TFLOP/s**, {row['percent_of_peak']}% of")
    lacks(readme, tables.prediction({**row, **numbers}, limits))
    lacks(readme, "## Why they differ\n\n<!-- ncu -->\n" + tables.evidence(rates[stage]))
    ratio = numbers["gflops"] / numbers["predicted_gflops"]
    cells = (f"{numbers['predicted_gflops'] / 1000:.1f}", f"{numbers['gflops'] / 1000:.1f}", tables.times(ratio),
             f"{row['percent_of_peak']}%", f"{row['percent_of_cublas']}%")
    lacks("README.md", " | " + " | ".join(cells) + " | ")
if len(measured) != len(programs):
    faults.append(f"{len(programs)} stages, but {len(measured)} measured at 8192")

# 00_machine_limits.
chapter = "00_machine_limits/README.md"
for what, row in by_what.items():
    if what == "sweep":
        continue
    gbs = row["gbs"] != "-"
    value, limit = float(row["gbs" if gbs else "gflops"]), float(row["limit"])
    value, limit = (f"{value:.0f} GB/s", f"{limit:.0f}") if gbs else (f"{value / 1000:.1f} TFLOP/s", f"{limit / 1000:.1f}")
    lacks(chapter, f"| `{what}` | {value} | {limit} | {row['percent_of_limit']}% |")
sweep = [row for row in rows("limits.csv") if row["what"] == "sweep"]
for name, cells in (("flop per byte", [row["flop_per_byte"] for row in sweep]),
                    ("TFLOP/s", [f"{float(row['gflops']) / 1000:.2f}" for row in sweep]),
                    ("of the roof", [f"{row['percent_of_limit']}%" for row in sweep])):
    lacks(chapter, f"| {name} | {' | '.join(cells)} |")
for row in rows("latency.csv"):
    if row["kind"] != "curve" and row["what"] != "l1_bandwidth":
        name = {"L1 hit": "L1 hit, 32 KiB", "L2 hit": "L2 hit, 8 MiB", "device memory": "device memory, 1 GiB", "MUFU":
                "MUFU, mean of EX2 and LG2", "MULTIPLY64": "64-bit multiply, four instructions"}.get(row["kind"], row["kind"])
        lacks(chapter, f"| {name} | {float(row['cycles']):.1f} | {row['volta']} | {row['pascal']} |")
    elif row["what"] == "l1_bandwidth":
        lacks(chapter, f"{row['bytes_per_clock']}")
for row in rows("library_curves.csv"):
    if row["n"] == "8192":
        name = {"FP32": "FP32, no TF32", "FP16": "FP16, FP32 sums"}.get(row["precision"], row["precision"])
        lacks(chapter, f"| {name} | {float(row['gflops']) / 1000:.1f} | {row['percent_of_peak']}% |")
for row in rows("transfer.csv"):
    ms = " | ".join(f"{float(row[column]):.2f}" for column in ("h2d_ms", "kernel_ms", "d2h_ms", "total_ms", "cpu_blas_ms"))
    lacks(chapter, f"| {row['n']} | {row['memory']} | {ms} | {row['cpu_over_gpu']} |")
    lacks(chapter, f"| N = {row['crossover_n']} |")

hardware = counters.by_stage(results / "counters.csv")
lacks("emulator/README.md", counters.table(hardware, counted))
for stage, row in hardware.items():
    for column in counters.COMPARED:
        theirs, ours = int(row[column]), OTHERWISE.get((stage, column), int(counted[stage][column]))
        more = FILLS.get(stage, 0.01) if column == "shared_store_wavefronts" else 0.01
        if not -0.01 * ours <= theirs - ours <= more * ours:
            faults.append(f"{stage}, {column}: ncu counts {theirs}, the emulator {ours}")
sys.exit("\n".join(faults) if faults else 0)
