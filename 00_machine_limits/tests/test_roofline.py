"""roofline notices every fault planted in its kernels, and roofline_host's rows agree with each other."""
import csv
import math

import pytest

from mutate import Fault, Planted
from support import call, program

COLUMNS = "what,flop_per_byte,gbs,gflops,limit,percent_of_limit,median_ms,min_ms,max_ms,repeats,mib,cpu,threads,date".split(",")
FMA_CHAINS = "fma_chains(int turns, float addend, const float* a, float* c, Elapsed* own) {"
FAULTS = [Fault("roofline trace -O1", "roofline.cuh", old, new, f"threads in forward order: {said}") for old, new, said in (
    ("steps<kCount - 1>(x, addend);",
     "if (kCount == 64 && PLANTED) steps<kCount - 2>(x, addend); else steps<kCount - 1>(x, addend);",
     "sweep, 64 steps: element 0 is "),
    ("to[q * kThreads] = ", "if (!PLANTED || threadIdx.x != 77 || q != 1) to[q * kThreads] = ",
     "sweep, 1 steps: 65408 bytes stored to device memory, stated are 65536"),
    ("float4* to = c + at;", "float4* to = c + (PLANTED && piece == kPieces - 1 ? at - kSweepQuads * kThreads : at);",
     "sweep, 1 steps: element "),
    ("if (piece + 1 < kPieces) load();", "if (piece + 1 < kPieces) load(); if (PLANTED && piece == 1) load();",
     "sweep, 1 steps: 81920 bytes loaded from device memory, stated are 65536"),
    (FMA_CHAINS, FMA_CHAINS + "turns -= PLANTED * (turns / 5 * 2);", "fp32_fma: element 0 is "),
    ("steps<kUnroll>(x, addend);", "if (PLANTED) steps<kUnroll - 2>(x, addend); else steps<kUnroll>(x, addend);",
     "fp32_fma: element 0 is "),
    ("s < kUnroll; ++s)", "s < kUnroll - 2 * PLANTED; ++s)", "fp16_pairs: element 0 is "),
    ("s < kMmaUnroll; ++s)", "s < kMmaUnroll - PLANTED; ++s)", "tensor_mma_sync: element 0 is "),
    ("base + kBaseStep)", "base + kBaseStep + PLANTED)", "shared_memory: element 0 is "),
    ("c[i] = a[i];", "c[i] = a[PLANTED ? i ^ 1 : i];", "copy: element 0 is "),
    ("x.w + y.w", "x.w + (PLANTED ? x.w : y.w)", "read_2_write_1: element 3 is "),
)]
test_fault_is_caught, test_without_a_fault_it_passes = Planted("00_machine_limits", FAULTS).tests()


@pytest.mark.parametrize("name, said", (("roofline_cpu", "right, in three orders of threads"),
                                        ("roofline_cpu_trace", "the bytes moved are those stated")))
def test_cpu_builds(name, said):
    run = call(program(name))
    assert run.returncode == 0 and said in " ".join(run.stdout.split()) and "Nothing was timed" in run.stdout


def test_host(tmp_path):
    path = tmp_path / "host.csv"
    run = call(program("roofline_host"), "--size", 8, "--repeat", 2, "--csv", path)
    assert run.returncode == 0 and "Each element of each result is right" in run.stdout, run.stderr
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert list(rows[0]) == COLUMNS
    assert [row["what"] for row in rows] == ["copy", "fp32_fma"] + 9 * ["sweep"]
    copied, fma, points = float(rows[0]["gbs"]), float(rows[1]["gflops"]), rows[2:]
    assert [float(row["flop_per_byte"]) for row in points] == [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
    for row in points:
        numbers = {name: float(row[name]) for name in COLUMNS[1:9]}
        assert all(math.isfinite(value) and value > 0 for value in numbers.values()), row
        assert math.isclose(numbers["limit"], min(fma, copied * numbers["flop_per_byte"]), rel_tol=1e-3), row
        assert math.isclose(numbers["gflops"], numbers["gbs"] * numbers["flop_per_byte"], rel_tol=1e-3), row
        percent = 100 * numbers["gflops"] / numbers["limit"]
        assert math.isclose(numbers["percent_of_limit"], percent, rel_tol=1e-3, abs_tol=0.06), row
        assert numbers["min_ms"] <= numbers["median_ms"] <= numbers["max_ms"], row
