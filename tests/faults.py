"""Plants faults in a stage, one at a time, and demands that the emulator's checks catch every one.

Removed in turn: every barrier, every wait for copies, every bounds guard, every toggle of a buffer, every zeroing; and every formula
of what is loaded is halved. All faults are written into one copy of the stage, each behind a test of a number that the environment
gives (0: none), so that the stage is compiled twice and not twice per fault. A fault must show on one of the shapes: first under
AddressSanitizer (wrong results, accesses out of bounds), else with tracing (races, uninitialised reads, traffic that differs from
the chapter's formula).
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import emulated

# Ragged in M, N and K; with rows that start on 16 bytes (the first for floats, the last for halves) and rows that don't.
SHAPES = ((129, 132, 20), (130, 257, 9), (7, 5, 3), (3, 7, 6), (131, 264, 104))

PRELUDE = """#include <cstdlib>
#include <cstring>
__attribute__((noinline, no_sanitize("thread"))) static int fault() { static int n = atoi(getenv("FAULT")); return n; }
#line 1 "{path}"
"""

# kind, what it looks like, what it becomes: {n} is the fault's number, \\g<0> the code as it was.
FAULTS = (
    ("barrier", r"__sync(?:threads|warp)\(\);", r"if (fault() != {n}) \g<0>"),
    ("wait", r"__pipeline_wait_prior\([^;]*;", r"if (fault() != {n}) \g<0>"),
    ("guard", r"\w+(?: \+ \w+)* < (?:M|N|K|valid)\b", r"(fault() == {n} || \g<0>)"),
    ("guard", r"\bvalid > \d", r"(fault() == {n} || \g<0>)"),
    ("guard", r"\w+ >= [MN]\b", r"(fault() != {n} && \g<0>)"),
    ("guard", r"\bmin\((\w+ \+ \w+), [MN] - 1\)", r"(fault() == {n} ? \1 : \g<0>)"),
    ("guard", r"\bN - tile_col - b_col\b|\bN - c_col\b", r"(fault() == {n} ? 4 : \g<0>)"),
    ("guard", r"\bK - a_k\b", r"(fault() == {n} ? 1 << 30 : \g<0>)"),
    ("toggle", r"\bbuffer \^= 1", r"buffer ^= (fault() != {n})"),
    ("toggle", r"\bbuffer \^ 1\b", r"(buffer ^ (fault() != {n}))"),
    ("toggle", r"\b(\w+) = (next|\(next \+ 1\) % kBuffers)(?=[,)])", r"\1 = (fault() == {n} ? \1 : \2)"),
    ("zeroing", r"((?:float|half2) (acc)(?:\[[\w/ ]+\])*) = (?:\{{\}}|0\.0f);", r"\1; if (fault() != {n}) memset((void*)&\2, 0, sizeof \2);"),
    ("zeroing", r"wmma::fill_fragment\([^;]*;", r"if (fault() != {n}) \g<0>"),
)


def plant(source):
    """Returns the source with every fault in it, and the list of (kind, line number, line, code)."""
    planted = []
    code_end = source.index("void launch_matmul")
    kernel, rest = source[:code_end].split("\n"), source[code_end:]
    for number, line in enumerate(kernel):
        code, comment = (line.split("//", 1) + [""])[:2]
        loop = re.match(r"\s*for \(int (k|e) = 0[^;]*; [^;]*;", code)  # a loop's own bound is not a guard
        kept, code = (loop[0], code[loop.end():]) if loop else ("", code)
        for kind, pattern, replacement in FAULTS:
            def note(match, kind=kind, replacement=replacement):
                planted.append((kind, number + 1, line.strip(), match[0]))
                return match.expand(replacement.replace("{n}", str(len(planted))))
            code = re.sub(pattern.replace("{{", "{").replace("}}", "}"), note, code)
        kernel[number] = kept + code

    def halve(match):
        line = source[:code_end + match.start()].count("\n") + 1
        planted.append(("formula", line, source.split("\n")[line - 1].strip(), match[0]))
        return f"return (fault() == {len(planted)} ? 0.5 : 1.0) * "
    return "\n".join(kernel) + re.sub(r"\breturn (?!run_stage)", halve, rest), planted


def run(program, number, shape):
    """None if the program verified `shape`, else what it said."""
    m, n, k = map(str, shape)
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", FAULT=str(number))
    run = subprocess.run([program, "-m", m, "-n", n, "-k", k, "--verify-only"], env=environment, timeout=300,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    if run.returncode == 0:
        return None
    asan = re.search(r"ERROR: AddressSanitizer: (\S+)", run.stderr)
    access = re.search(r"^(READ|WRITE) of size \d+", run.stderr, re.M)
    if asan:
        return f"{m} x {n} x {k}: AddressSanitizer: {asan[1]}, {access[0] if access else 'no access named'}"
    return run.stderr.strip().split("\n")[-1]


def main():
    parser = argparse.ArgumentParser()
    emulated.add_arguments(parser)
    arguments = parser.parse_args()
    source, planted = plant(arguments.source.read_text())
    with tempfile.TemporaryDirectory() as folder:
        programs = [f"{folder}/asan", f"{folder}/trace"]
        # Less optimised than the stage's own build: that takes less time, and counts the same.
        for program, flags in zip(programs, (arguments.asan, arguments.trace + " -O1")):
            emulated.build(arguments, PRELUDE.replace("{path}", str(arguments.source)) + source, program, flags)

        missed = 0
        for number, (kind, line_number, line, code) in enumerate([("none", 0, "", "")] + planted):
            caught = next((said for program in programs for shape in SHAPES if (said := run(program, number, shape))), None)
            if number == 0:
                if caught:
                    sys.exit("without a fault: " + caught)
                continue
            print(f"{kind:8} line {line_number:3}: {code}    in  {line}\n         {'caught: ' + caught if caught else 'NOT CAUGHT'}")
            missed += caught is None
    kinds = {kind: sum(kind == k for k, *_ in planted) for kind, *_ in planted}
    print(f"{len(planted)} faults planted {kinds}, {len(planted) - missed} caught")
    if kinds.get("barrier", 0) != len(re.findall(r"__sync(?:threads|warp)\(\);", arguments.source.read_text())):
        sys.exit("not every barrier was removed")
    sys.exit(1 if missed or not planted else 0)


main()
