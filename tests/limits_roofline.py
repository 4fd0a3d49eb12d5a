"""roofline and roofline_host of 00_machine_limits: what they verify on this machine, the rows of the CPU's sweep, bad input, and
that the checks of the kernels can fail: faults go into one changed copy, each behind a number that the environment gives.
"""
import argparse
import csv
import math
import os
import pathlib
import subprocess
import tempfile

import emulated
from checks import check, end

parser = argparse.ArgumentParser()
emulated.add_arguments(parser)  # the source is roofline.cu
parser.add_argument("--programs", nargs=3, required=True, help="roofline_cpu, roofline_cpu_trace, roofline_host")
arguments = parser.parse_args()
plain, traced, host = arguments.programs

COLUMNS = "what,flop_per_byte,gbs,gflops,limit,percent_of_limit,median_ms,min_ms,max_ms,repeats,mib,cpu,threads,date".split(",")
INTENSITIES = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
# What is wrong, what stands there, what it becomes behind fault() == 1, 2, ..., and what is said of it.
FAULTS = (
    ("a step fewer in the sweep", "steps<kCount - 1>(x, addend);",
     "if (kCount == 64 && fault() == 1) steps<kCount - 2>(x, addend); else steps<kCount - 1>(x, addend);",
     "sweep, 64 steps: element 0 is "),
    ("elements skipped", "to[q * kThreads] = ", "if (fault() != 2 || threadIdx.x != 77 || q != 1) to[q * kThreads] = ",
     "sweep, 1 steps: 65408 bytes stored to device memory, stated are 65536"),
    ("the last piece taken for another", "float4* to = c + at;",
     "float4* to = c + (fault() == 3 && piece == kPieces - 1 ? at - kSweepQuads * kThreads : at);",
     "sweep, 1 steps: element "),
    ("loads that are not stated", "if (piece + 1 < kPieces) load();", "if (piece + 1 < kPieces) load(); if (fault() == 4 && piece == 1) load();",
     "sweep, 1 steps: 81920 bytes loaded from device memory, stated are 65536"),
    ("turns left out", "turn < turns; ++turn) steps", "turn < turns - (fault() == 5) * (turns / 5 * 2); ++turn) steps",
     "fp32_fma: element 0 is "),
    ("two FMAs fewer", "steps<kUnroll>(x, addend);",
     "if (fault() == 6) steps<kUnroll - 2>(x, addend); else steps<kUnroll>(x, addend);", "fp32_fma: element 0 is "),
    ("two FMAs of halves fewer", "s < kUnroll; ++s)", "s < kUnroll - (fault() == 7 ? 2 : 0); ++s)", "fp16_pairs: element 0 is "),
    ("a product fewer", "s < kMmaUnroll; ++s)", "s < kMmaUnroll - (fault() == 8); ++s)", "tensor_mma_sync: element 0 is "),
    ("another walk through shared memory", "base + kBaseStep)", "base + kBaseStep + (fault() == 9))",
     "shared_memory: element 0 is "),
    ("neighbours swapped", "c[i] = a[i];", "c[i] = a[fault() == 10 ? i ^ 1 : i];",
     "copy: element 0 is "),
    ("the wrong addend", "x.w + y.w", "x.w + (fault() == 11 ? x.w : y.w)", "read_2_write_1: element 3 is "),
)
# Not traced: a variable of the program would count as shared memory.
FAULT = """#include <cstdlib>
__attribute__((noinline, no_sanitize("thread"))) static int fault() {
    static const int number = atoi(getenv("FAULT"));
    return number;
}
"""

def run(program, *words, **environment):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr.strip()


def refused(program, code, said, *words):
    got, _, error = run(program, *words)
    check(got == code and said in error and "\n" not in error,
          f"{pathlib.Path(program).name} {' '.join(map(str, words))}: {got}, {error}")


def check_kernels():
    for program, said in ((plain, "right in three orders"), (traced, "load and store the bytes stated")):
        code, out, error = run(program)
        check(code == 0 and said in " ".join(out.split()) and "Nothing was timed" in out, pathlib.Path(program).name, out + error)


def check_faults(folder):
    text = arguments.source.read_text()
    for _, old, new, _ in FAULTS:
        if text.count(old) != 1:
            raise SystemExit(f"'{old}' stands {text.count(old)} times in the source, expected once")
        text = text.replace(old, new)
    emulated.build(arguments, FAULT + text, f"{folder}/program", arguments.trace + " -O1")
    code, _, error = run(f"{folder}/program", FAULT="0")
    check(code == 0, "the copy is right without a fault", error)
    for number, (what, _, _, said) in enumerate(FAULTS, 1):
        code, _, error = run(f"{folder}/program", FAULT=str(number))
        check(code == 1 and f"threads in forward order: {said}" in error, f"{what}: {code}, {error}")


def check_host(folder):
    path = f"{folder}/host.csv"
    code, out, error = run(host, "--size", 8, "--repeat", 2, "--csv", path)
    check(code == 0 and "Each element of each result is right" in out, "roofline_host", out + error)
    with open(path) as file:
        rows = list(csv.DictReader(file))
    check(list(rows[0]) == COLUMNS, "the columns", rows[0].keys())
    check([row["what"] for row in rows] == ["copy", "fp32_fma"] + 9 * ["sweep"], "the rows")
    copied, fma, points = float(rows[0]["gbs"]), float(rows[1]["gflops"]), rows[2:]
    check([float(row["flop_per_byte"]) for row in points] == INTENSITIES, "flop per byte")
    for row in points:
        numbers = {name: float(row[name]) for name in COLUMNS[1:9]}
        check(all(math.isfinite(value) and value > 0 for value in numbers.values()),
              f"numbers above 0 at {row['flop_per_byte']}", row)
        check(math.isclose(numbers["limit"], min(fma, copied * numbers["flop_per_byte"]), rel_tol=1e-3), "the roof", row)
        check(math.isclose(numbers["gflops"], numbers["gbs"] * numbers["flop_per_byte"], rel_tol=1e-3), "GFLOP/s and GB/s", row)
        check(math.isclose(numbers["percent_of_limit"], 100 * numbers["gflops"] / numbers["limit"], rel_tol=1e-3, abs_tol=0.06),
              "% of the roof", row)
        check(numbers["min_ms"] <= numbers["median_ms"] <= numbers["max_ms"], "the times", row)


def check_options(folder):
    for value in ("0", "-1", "abc", "", "1x", "1001"):
        refused(host, 2, f"--repeat '{value}': takes a whole number from 1 to 1000", "--repeat", value)
    for value in ("0", "abc", "1048577"):
        refused(host, 2, f"--size '{value}': takes a whole number from 1 to 1048576", "--size", value)
    refused(host, 2, "--csv: there are no times with --verify-only", "--verify-only", "--csv", f"{folder}/x.csv")
    refused(host, 2, "can't be written: No such file or directory", "--csv", f"{folder}/missing/x.csv")
    refused(plain, 2, "--csv: only the GPU build takes it", "--csv", f"{folder}/x.csv")
    refused(plain, 2, "--repeat: only the GPU build takes it", "--repeat", "2")
    refused(plain, 2, "--device: only the GPU build takes it", "--device", "0")
    for program in (plain, host):
        refused(program, 2, "--csv '': takes the name of a file" if program == host else "--csv: only", "--csv", "")
        refused(program, 2, "unknown option '--fast'", "--fast")
        refused(program, 2, "unexpected argument '4'", "4")


with tempfile.TemporaryDirectory() as folder:
    check_options(folder)
    check_kernels()
    check_host(folder)
    check_faults(folder)
end()
