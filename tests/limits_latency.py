"""Plants faults in 00_machine_limits/latency.cu and demands that its verification catches each.

    limits_latency.py SOURCE --rewrite ... (see emulated.py)

They go into two copies, one with AddressSanitizer and one traced, where the environment chooses one of them: compiling takes
longer than all else.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import emulated
from checks import check, end

CHAINS = ("FFMA", "FADD", "IADD3", "IMAD", "MULTIPLY64", "DFMA", "HFMA2", "MUFU")
# The fault's name, or what calculates it; what stands there, what it becomes; what must be said.
ASAN = (
    ('"chase shorter"', "i < steps; ++i) at = load_global", "i < steps - PLANTED; ++i) at = load_global",
     "chase in 4 KiB: after 31 loads it is at element"),
    ('"warm-up shorter"', "i < warm_up; ++i)", "i < warm_up - PLANTED; ++i)", "chase in 4 KiB: after 31 loads it is at element"),
    ('"two cycles"', "random() % i]", "random() % (i + PLANTED)]", "the random order is no single cycle: from element 0 it visits"),
    ('"shared shorter"', "i < steps; ++i) at = *", "i < steps - PLANTED; ++i) at = *",
     "chase in shared memory: after 4095 loads it is at byte"),
    ("Op::kName", "step < kUnrolled; ++step)", "step < kUnrolled - PLANTED; ++step)", None),
    ('"no result"', "*result = {x, cycles};", "if (!PLANTED) *result = {x, cycles};", "nan, expected"),
    ('"pass less"', "pass < count;", "pass < count - PLANTED;", "16-byte loads from L1: thread 0 adds up to"),
    ('"wrong chunk"', "(at + chunk) & mask", "PLANTED ? at : (at + chunk) & mask", "16-byte loads from L1: thread 0 adds up to"),
    ('"left out"', "return v.x + v.y + v.z + v.w;", "return v.x + v.y + v.z + !PLANTED * v.w;",
     "16-byte loads from L1: thread 0 adds up to"),
    ('"no guard"', "if (i < count)", "if (PLANTED || i < count)", "AddressSanitizer: heap-buffer-overflow"),
    ('"set too large"', "random_cycle(bytes / sizeof(Line))", "random_cycle(bytes / sizeof(Line) + PLANTED)", "AddressSanitizer: "),
)
TRACED = (
    # Ends where it should: the bytes alone tell.
    ('"once more around"', "i < warm_up; ++i)", "i < warm_up + 32 * PLANTED; ++i)",
     "chase in 4 KiB: loads 504 bytes from global and 0 from shared memory, expected 248 and 0"),
    ('"not filled"', "for (int i = 0; i < kSharedWords; ++i) shared[i]", "for (int i = PLANTED; i < kSharedWords; ++i) shared[i]",
     "chase in shared memory: uninitialised shared memory"),
    ('"two threads"', "chase_shared<<<1, 1>>>", "chase_shared<<<1, 1 + PLANTED>>>", "chase in shared memory: race"),
)
# Its own accesses to memory are not the kernels': they are not traced.
CHOOSE = """
#include <cstdlib>
#include <cstring>
__attribute__((no_sanitize("thread"), noinline)) bool planted(const char* fault) {
    return std::strcmp(std::getenv("FAULT"), fault) == 0;
}
"""


def plant(arguments, faults, flags):
    texts = {name: arguments.source.with_name(name).read_text() for name in ("latency.cu", "chase.cuh")}
    for fault, old, new, _ in faults:
        if sum(text.count(old) for text in texts.values()) != 1:
            sys.exit(f"'{old}' does not stand once in the two files")
        texts = {name: text.replace(old, new.replace("PLANTED", f"planted({fault})")) for name, text in texts.items()}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(f"{folder}/00_machine_limits").mkdir()  # beside the copy: there the compiler looks first
        pathlib.Path(f"{folder}/00_machine_limits/chase.cuh").write_text(texts["chase.cuh"])
        emulated.build(arguments, CHOOSE + texts["latency.cu"], f"{folder}/latency", flags)
        wanted = {"": ""}  # without a fault nothing is said
        for fault, _, _, said in faults:
            names = CHAINS if said is None else [fault.strip('"')]
            wanted.update({name: said or f"{name}: a chain of 512 ends at" for name in names})
        for name, said in wanted.items():
            run = subprocess.run([f"{folder}/latency"], capture_output=True, text=True, env={**os.environ, "FAULT": name})
            lines = [line for line in run.stderr.splitlines() if said in line]
            good = run.returncode != 0 and bool(lines) if name else run.returncode == 0 and not run.stderr
            check(good, f"{name or 'no fault'}: {run.returncode}, {lines[0].strip() if lines else run.stderr[-300:]}")


parser = argparse.ArgumentParser()
emulated.add_arguments(parser)
arguments = parser.parse_args()
plant(arguments, ASAN, arguments.asan + " -O0")
plant(arguments, TRACED, arguments.trace + " -O1")
end()
