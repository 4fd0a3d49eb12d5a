"""The stages in Oclgrind, a simulator that checks every access: test_oclgrind.py -k clean, or -k fault.

Clean: the program must verify, Oclgrind must find nothing (no race, no access out of bounds, no uninitialised value, no
barrier that only some work-items reach, no API error), and what the kernel loads from global memory, stores to it and
loads from local memory, counted instruction by instruction, must be the program's own formula. Fault: faults
are injected into the kernels one at a time, and Oclgrind or the program's own verification must notice each.
"""
import csv
import os
import re
import subprocess

import pytest

import faults
import mutate
from oclgrind import COUNTS, EVERYTHING, RACES, executed
from support import ROOT, call, program, tool

CHAPTER = ROOT / "08_opencl_gcn"
MOVED = "load global", "store global", "load local"

# Each file, and the smallest shape that shows its faults: one tile of C, and two k-tiles, to find what one leaves
# behind for the next. For resize, which runs with 01, whose tiles are the smallest, rows and columns that are not whole
# tiles.
FILES = {
    "01_naive": "16x16x2",
    "02_register_blocking": "128x128x2",
    "03_lds_blocking": "128x128x2",
    "04_1_unroll": "128x128x16",
    "04_2_wide_loads": "128x128x16",
    "04_unroll": "128x128x16",
    "05_double_buffer": "128x128x16",
    "resize": "17x3x5"}
# Without a fault: one work-group whose tiles are padded, and several in both directions. Uninitialised values are
# followed in the first and in the last, which has what the others have.
CLEAN = [
    ("01_naive", "9x9x2", RACES),
    ("02_register_blocking", "97x101x2", RACES),
    ("03_lds_blocking", "97x101x2", RACES),
    ("04_1_unroll", "97x101x9", RACES),
    ("04_2_wide_loads", "97x101x9", RACES),
    ("04_unroll", "97x101x9", RACES),
    ("05_double_buffer", "97x101x9", EVERYTHING),
    ("resize", "17x3x5", EVERYTHING),
    ("01_naive", "1x1x1", EVERYTHING),
    ("01_naive", "33x18x9", EVERYTHING),
    ("02_register_blocking", "129x130x3", RACES)]

RACE, DIVERGENCE, UNINITIALISED = "data race", "divergence detected", "Uninitialized value"
WRONG = (rf"Invalid (?:read|write|memory)|exceeds static array|{RACE}|"
         r"C\[\d+\]\[\d+\] is |was not written|a write outside C")


def mutations():
    """(file, fault, what is said) for the lines that the step before lacks: the simulator takes its time."""
    lines, entries = set(), faults.equivalent(CHAPTER.name)
    for file in FILES:
        for fault in faults.in_file(f"08_opencl_gcn/{file}.cl"):
            barrier = fault.old.startswith("barrier")
            is_new = faults.line_text(fault) not in lines or barrier
            if is_new and not any(faults.covers(entry, fault) for entry in entries):
                said = RACE if barrier else UNINITIALISED if fault.kind == "zero" else WRONG
                yield pytest.param(file, fault, said, id=str(fault))
                if barrier and fault.kind == "drop":
                    half = fault._replace(kind="half", before="if (get_local_id(1) < 8) ", after="")
                    yield pytest.param(file, half, DIVERGENCE, id=str(half))
        lines.update((CHAPTER / f"{file}.cl").read_text().splitlines())


def words_for(file, shape):
    m, n, k = shape.split("x")
    stage = "01" if file == "resize" else file
    return [program("08_opencl_gcn"), "--verify-only", "--stage", stage, "-m", m, "-n", n, "-k", k]


@pytest.mark.parametrize("file, shape, checks", CLEAN, ids=[f"{file} {shape}" for file, shape, _ in CLEAN])
def test_clean(file, shape, checks, tmp_path):
    table = tmp_path / "table.csv"
    run = call(tool("oclgrind"), *checks, COUNTS, *words_for(file, shape), "--csv", table,
               env={**os.environ, "LC_ALL": "C"})
    assert run.returncode == 0 and not run.stderr, run.stderr
    launches = [dict.fromkeys(MOVED, 0) for _ in range(2)]  # of the exact test, of the accuracy test
    for launch, instructions in zip(launches, executed(run.stdout), strict=True):
        for what, amount in instructions:
            if what in MOVED:
                launch[what] += int(amount)
            # A vload, an atomic or a copy of global or local memory (U3AS1, U3AS3) would move what is not counted.
            assert not re.search(r"^call.*(?:U3AS|atom|async|memcpy)|^(?:atomic|cmpxchg)", what), what
    row, = csv.DictReader(table.read_text().splitlines())
    formula = [int(row[f"kernel_{what}_bytes"]) for what in ("load", "store", "local_load")]
    assert [list(launch.values()) for launch in launches] == [formula, formula], "the bytes moved are not the formula's"


@pytest.mark.parametrize("file, fault, said", mutations())
def test_fault_is_caught(file, fault, said):
    checks, copy = EVERYTHING if said == UNINITIALISED else RACES, mutate.tree(CHAPTER.name, [fault]) / CHAPTER.name
    words = [tool("oclgrind"), *checks, *words_for(file, FILES[file]), "--kernels", copy]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as run:
        output = ""
        for line in run.stderr:
            output += line
            if re.search(said, line):
                run.kill()  # noticed: the rest would take the longest
                print("caught:", line)
                return
    assert False, output[-2000:]
