"""Runs a stage of the OpenCL chapter in Oclgrind, a simulator that checks every access: opencl_oclgrind.py PROGRAM STAGE MxNxK...

For each shape the program must verify, Oclgrind must find nothing (no race, no access out of bounds, no uninitialised value, no
barrier that only some work-items reach, no API error), and what the kernel loads from global memory, stores to it and loads from
local memory, counted instruction by instruction, must be the program's own formula.
"""
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Shaped like Fiji, the R9 Fury X. One stage and one shape per process: a buffer in the place of one that was freed inherits what
# Oclgrind 21.10 knows of that one's uninitialised values, and its size.
OCLGRIND = ["oclgrind", "--local-mem-size", "65536", "--compute-units", "64", "--max-wgsize", "256"]
RACES = ["--data-races", "--uniform-writes", "--check-api"]  # a race also where two work-items write the same value
EVERYTHING = [*RACES, "--uninitialized"]

# A line of --inst-counts. What moves data has its own line for each kind of memory only where it is a load or a store; a vload, an
# atomic, a copy or a memcpy on global memory would be a call or an instruction that is not named here.
KNOWN = re.compile(r"""(?:load|store)\ (?:private|local|global)\ \(\d+\ bytes\)
    | call\ _Z\d+(?:get_(?:global|local|group)_id|barrier)j\(\)
    | call\ _Z\d+(?:vload\d+m|vstore\d+Dv\d+_fm)PK?f\(\)   # on private memory; local is U3AS3, global U3AS1
    | call\ llvm\.(?:fmuladd\.f32|memset\.p0i8\.i64|lifetime\.(?:start|end)\.p0i8)\(\)
    | call\ store_tiles\(\)                                          # the kernel's own: what it executes is counted as well
    | add | alloca | and | ashr | bitcast | br | extractelement | fadd | fmul | getelementptr | icmp | insertelement | lshr | mul
    | or | phi | ret | sdiv | select | sext | shl | shufflevector | srem | sub | trunc | udiv | urem | xor | zext""", re.X)


def simulate(checks, program, *words):
    """Runs the program in Oclgrind; returns (the run, what Oclgrind found: a list of messages)."""
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log"
        run = subprocess.run([*OCLGRIND, *checks, "--log", log, program, "--verify-only", *words], capture_output=True, text=True,
                             errors="replace", env={**os.environ, "LC_ALL": "C"})  # another locale would group the counts' digits
        with open(log, "a+", errors="replace") as file:  # there is none where the program did not come as far as a device
            file.seek(0)
            entries = re.split(r"\n+(?=[^\t\n])", file.read().strip())  # all but the first line of each is indented
    found = [entry for entry in entries if entry]
    found += re.findall(r"^(?:Oclgrind - |OCLGRIND).*(?:\n.+)*", run.stderr, re.M)  # the API's errors, and its own
    return run, found


def moved_bytes(stdout):
    """What each launch of `matmul` moves in bytes (global loads, global stores, local loads), and lines that it can't account for."""
    launches, unknown = [], []
    for counts in re.findall(r"^Instructions executed for kernel 'matmul':\n((?: +\d+ - .*\n)*)", stdout, re.M):
        names = re.findall(r"^ +\d+ - (.*)$", counts, re.M)
        unknown += [name for name in names if not KNOWN.fullmatch(name)]
        moved = [re.findall(rf"- {kind} \((\d+) bytes\)$", counts, re.M) for kind in ("load global", "store global", "load local")]
        launches.append(tuple(sum(map(int, bytes_each)) for bytes_each in moved))
    return launches, unknown


def check(program, stage, shape):
    """Returns ("", what was checked) or (what is wrong, "")."""
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/table.csv"
        options = [word for pair in zip(("-m", "-n", "-k"), shape.split("x"), strict=True) for word in pair]
        run, found = simulate([*EVERYTHING, "--inst-counts"], program, "--stage", stage, *options, "--csv", table)
        if found or run.returncode != 0:
            return "\n".join([f"exit code {run.returncode}, Oclgrind found {len(found)}", run.stderr.strip(), *found[:1]]), ""
        with open(table) as file:
            row, = csv.DictReader(file)
    launches, unknown = moved_bytes(run.stdout)
    formula = tuple(int(row[f"kernel_{what}_bytes"]) for what in ("load", "store", "local_load"))
    if unknown:
        return "instructions that may move data uncounted: " + ", ".join(sorted(set(unknown))), ""
    if launches != [formula, formula]:  # the exact test and the accuracy test
        return f"the launches moved (loads, stores, local loads) {launches} bytes, the formula says {formula}", ""
    return "", f"{row['verified']}, nothing found; {formula[0]} bytes loaded, {formula[1]} stored, {formula[2]} from local memory, as said"


def need_oclgrind():
    if not shutil.which("oclgrind"):
        print("Oclgrind is not installed (package oclgrind)")
        sys.exit(77)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.split("\n")[0])
    program, stage, *shapes = sys.argv[1:]
    need_oclgrind()
    failures = 0
    for shape in shapes:
        wrong, good = check(program, stage, shape)
        print(f"{'FAIL' if wrong else 'ok  '} {stage} {shape}: {wrong or good}", flush=True)
        failures += bool(wrong)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
