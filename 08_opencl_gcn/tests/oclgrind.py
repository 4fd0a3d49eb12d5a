"""The stages in Oclgrind, a simulator that checks every access: oclgrind.py -k clean, or -k fault.

Clean: the program must verify, Oclgrind must find nothing (no race, no access out of bounds, no uninitialised value, no barrier
that only some work-items reach, no API error), and what the kernel loads from global memory, stores to it and loads from local
memory, counted instruction by instruction, must be the program's own formula. Fault: of those planted in the kernels, Oclgrind or
the program's own verification must notice each. -s -k luck counts those that PoCL, which checks nothing, runs to the right result.
"""
import concurrent.futures
import csv
import os
import re
import subprocess

import pytest

from mutate import Fault, caught, tree
from support import ROOT, call, program, tool

CHAPTER = ROOT / "08_opencl_gcn"
# Shaped like Fiji, the R9 Fury X. One stage and one shape per process: a buffer in the place of one that was freed inherits what
# Oclgrind 21.10 knows of that one's uninitialised values, and its size.
FIJI = ("--local-mem-size", "65536", "--compute-units", "64", "--max-wgsize", "256")
RACES = (*FIJI, "--data-races", "--uniform-writes", "--check-api")  # a race also where two work-items write the same value
EVERYTHING = (*RACES, "--uninitialized")  # takes three times as long

# A line of --inst-counts. What moves data has its own line for each kind of memory only where it is a load or a store; a vload, an
# atomic, a copy or a memcpy on global memory would be a call or an instruction that is not named here.
KNOWN = re.compile(r"""(?:load|store)\ (?:private|local|global)\ \(\d+\ bytes\)
    | call\ _Z\d+(?:get_(?:global|local|group)_id|barrier)j\(\)
    | call\ _Z\d+(?:vload\d+m|vstore\d+Dv\d+_fm)PK?f\(\)   # on private memory; local is U3AS3, global U3AS1
    | call\ llvm\.(?:fmuladd\.f32|memset\.p0i8\.i64|lifetime\.(?:start|end)\.p0i8)\(\)
    | call\ store_tiles\(\)                                          # the kernel's own: what it executes is counted as well
    | add | alloca | and | ashr | bitcast | br | extractelement | fadd | fmul | getelementptr | icmp | insertelement | lshr | mul
    | or | phi | ret | sdiv | select | sext | shl | shufflevector | srem | sub | trunc | udiv | urem | xor | zext""", re.X)

# Each file, and the smallest shape that shows its faults: one tile of C, and two steps of k to find what one step leaves behind
# for the next. For resize, which runs with 01, whose tiles are the smallest: rows and columns that are not whole tiles.
FILES = {
    "01_naive": "16x16x2",
    "02_register_blocking": "128x128x2",
    "03_lds_blocking": "128x128x2",
    "04_1_unroll": "128x128x16",
    "04_2_wide_loads": "128x128x16",
    "04_unroll": "128x128x16",
    "05_double_buffer": "128x128x16",
    "resize": "17x3x5",
}
# Without a fault: one work-group whose tiles are padded, and several in both directions. A group reads what it wrote itself, so
# uninitialised values are followed in one group alone (and in 01's, which are small). From 04 on there are several steps of k in
# one group, or several groups in one step: both together take twice as long, and groups share nothing but C. The steps of 04
# find their tiles as 03 and 04 do, and 04_2 reads and writes them as 04 does.
CLEAN = [(file, shape.replace("128x128", "97x101").replace("16", "9"), RACES if file == "04_2_wide_loads" else EVERYTHING)
         for file, shape in FILES.items()]
CLEAN += [("01_naive", "1x1x1", EVERYTHING), ("01_naive", "33x18x9", EVERYTHING), ("02_register_blocking", "129x130x3", RACES),
          ("03_lds_blocking", "129x130x3", RACES), ("04_unroll", "129x130x1", RACES), ("05_double_buffer", "129x130x1", RACES)]

RACE, UNINITIALISED, RESULT = "data race", "Uninitialized value", r"C\[\d+\]\[\d+\] is |a write outside C"
WRONG = rf"Invalid (read|write|memory)|exceeds static array|{RACE}|{RESULT}"
# kind, what it looks like, what it becomes, at how many places each file has it, in the order of FILES, what must be said. None:
# not planted, as such lines are those of 03, 04 or 05. The simulator takes its time.
PATTERNS = (
    ("no barrier", r"\bbarrier\([^;]*;", r";", (0, 0, 2, 2, 2, 2, 2, 0), RACE),
    ("wrong fence", r"CLK_LOCAL_MEM_FENCE", r"CLK_GLOBAL_MEM_FENCE", (0, 0, 2, 2, 2, 2, 2, 0), RACE),
    ("barrier for half", r"\bbarrier\(", r"if (item < 128) \g<0>", (0, 0, 2, 2, 2, 2, 2, 0), "divergence detected"),
    ("no toggle", r"buffer \^= 1", r"buffer ^= 0", (0, 0, 0, 0, 0, 0, 1, 0), RESULT),
    ("no toggle", r"buffer \^ 1", r"buffer", (0, 0, 0, 0, 0, 0, 2, 0), RACE),
    ("not zeroed", r" = (?:\{\{0\.0f\}\}|0\.0f);", r";", (1, 1, 1, None, None, 1, 1, 0), UNINITIALISED),
    ("no guard", r"if \(k \+ kStepK < K\)", r"", (0, 0, 0, 0, 0, 0, 1, 0), WRONG),
    ("a step too many", r"(?<=; )k < K(?=;)", r"k <= K", (1, 1, 1, None, None, 1, 1, 0), WRONG),
    # Off by one: rows and columns in global memory, of loads and stores; then places in local memory.
    ("tile", r"get_group_id\(\d\) \* kTile[MN]", r"\g<0> + 1", (0, 0, 2, None, None, None, 2, 0), WRONG),
    ("row", r"\(size_t\)(row|k|c_row|b_k|\([^()]*\)) \* (?=[KN]\b|\w+_cols)", r"(size_t)(\1 + 1) * ",
     (3, 3, 3, 3, None, None, 3, 2), WRONG),
    ("step of the pointer", r"\(size_t\)kStepK \* N", r"(size_t)(kStepK + 1) * N", (0, 0, 0, 0, None, None, 1, 0), WRONG),
    ("step of the pointer", r"_from \+= kStepK", r"\g<0> + 1", (0, 0, 0, 0, None, None, 1, 0), WRONG),
    ("column", r"\+ (?:k|col|col \+ j|c_col|b_col)(?=\])|\+ (?:a_k|b_col)(?=;| \+ e\])", r"\g<0> + 1",
     (3, 3, 3, None, None, None, 3, 2), WRONG),
    ("local store", r"(?<=As\[)(?:a_k \+ [3e]|a_row)|(?<=a_k \+ 0\]\[)a_row|(?<=\[)b_(?:k|col)(?=\])", r"\g<0> + 1",
     (0, 0, 2, 2, None, None, 4, 0), WRONG),
    ("local load", r"(?<=\[)s(?=\])", r"s + 1", (0, 0, 0, None, None, None, 2, 0), WRONG),
    ("local load", r"(?<=\[)(?:row|col)(?= \+ [ij](?: / 4|\]))", r"\g<0> + 1", (0, 0, 2, None, 2, None, 2, 0), WRONG),
    ("place in the tile", r"(?:item|warp) [/%] (?:2|16)\b", r"(\g<0> + 1)", (0, 0, 2, None, None, None, 4, 0), WRONG),
    # Padding and unpadding.
    ("no guard", r"row >= to_rows|col >= to_cols", r"0", (0, 0, 0, 0, 0, 0, 0, 2), WRONG),
    ("no guard", r"row < from_rows|col < from_cols", r"1", (0, 0, 0, 0, 0, 0, 0, 2), WRONG),
    ("no guard", r"inside \? (.*) : 0\.0f", r"\1", (0, 0, 0, 0, 0, 0, 0, 1), WRONG),
    ("from for to", r"(?<=[=*<] )to_(?=rows|cols)", r"from_", (0, 0, 0, 0, 0, 0, 0, 3), WRONG),
    ("to for from", r"(?<=[=*<] )from_(?=rows|cols)", r"to_", (0, 0, 0, 0, 0, 0, 0, 3), WRONG),
)


def places(file, pattern):
    """Where a pattern stands in the file's code."""
    code = re.sub(r"//.*", lambda comment: " " * len(comment[0]), (CHAPTER / f"{file}.cl").read_text())
    return list(re.finditer(pattern, code))


def planted():
    """The faults, each with its file, line and kind as its name."""
    for column, file in enumerate(FILES):
        for kind, pattern, replacement, counts, said in PATTERNS:
            for place in places(file, pattern) if counts[column] else ():
                fault = Fault("08_opencl_gcn", f"{file}.cl", place[0], place.expand(replacement), said, place.span())
                line = place.string.count("\n", 0, place.start()) + 1
                yield pytest.param(fault, id=f"{file}.cl, line {line}, {kind}: {fault.old} -> {fault.new or 'nothing'}")


FAULTS = list(planted())


def copy_with(fault):
    return tree(CHAPTER.name, [fault]) / CHAPTER.name


def words_for(file, shape):
    m, n, k = shape.split("x")
    return ["--verify-only", "--stage", "01" if file == "resize" else file, "-m", m, "-n", n, "-k", k]


@pytest.mark.parametrize("file, shape, checks", CLEAN, ids=[f"{file} {shape}" for file, shape, _ in CLEAN])
def test_clean(file, shape, checks, tmp_path):
    table = tmp_path / "table.csv"
    run = call(tool("oclgrind"), *checks, "--inst-counts", program("08_opencl_gcn"), *words_for(file, shape), "--csv", table,
               env={**os.environ, "LC_ALL": "C"})  # another locale would group the counts' digits
    assert run.returncode == 0 and not run.stderr, run.stderr
    row, = csv.DictReader(table.read_text().splitlines())
    launches, unknown = [], []
    for counts in re.findall(r"^Instructions executed for kernel 'matmul':\n((?: +\d+ - .*\n)*)", run.stdout, re.M):
        unknown += [name for name in re.findall(r"^ +\d+ - (.*)$", counts, re.M) if not KNOWN.fullmatch(name)]
        moved = [re.findall(rf"- {kind} \((\d+) bytes\)$", counts, re.M) for kind in ("load global", "store global", "load local")]
        launches.append([sum(map(int, each)) for each in moved])
    assert not unknown, f"instructions that may move data uncounted: {sorted(set(unknown))}"
    formula = [int(row[f"kernel_{what}_bytes"]) for what in ("load", "store", "local_load")]
    assert launches == [formula, formula], "bytes moved by the exact test and by the accuracy test are not the formula's"


def test_no_place_of_a_fault_is_overlooked():
    tool("oclgrind")  # skipped with the faults
    found = [(row[:2], file, len(places(file, row[1])), row[3][at]) for row in PATTERNS for at, file in enumerate(FILES)]
    assert not [it for it in found if it[3] is not None and it[2] != it[3]]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_caught(fault):
    checks, said = (EVERYTHING if fault.said == UNINITIALISED else RACES), ""
    file = fault.file[:-3]
    words = [tool("oclgrind"), *checks, program(fault.program), *words_for(file, FILES[file]), "--kernels", copy_with(fault)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as run:
        for line in run.stderr:
            said += line
            if re.search(fault.said, line):
                run.kill()  # noticed: the rest would take the longest
                break
    caught(subprocess.CompletedProcess(words, run.returncode, "", said), fault)


def test_luck():
    def right(fault):
        file, copy = fault.file[:-3], copy_with(fault)
        words = [program(fault.program), "--platform", "portable", *words_for(file, FILES[file]), "--kernels", copy]
        try:
            return call(*words, timeout=60, env={**os.environ, "POCL_CACHE_DIR": str(copy)}).returncode == 0
        except subprocess.TimeoutExpired:  # work-items that wait for others forever
            return False

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        lucky = [parameter.id for parameter, luck in zip(FAULTS, pool.map(lambda it: right(*it.values), FAULTS)) if luck]
    print("", *lucky, f"{len(lucky)} of {len(FAULTS)} faults gave the right result on PoCL", sep="\n")
