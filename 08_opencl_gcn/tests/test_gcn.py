"""The stages pass gcn.py's gates and notes.md has what it prints of them; with a fault planted they don't pass; bad input ends
with one clear line. All of it takes clang-19.
"""
import csv
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

from plant import scratch
from support import ROOT, call

CHAPTER = ROOT / "08_opencl_gcn"
sys.path.append(str(CHAPTER))
import gcn  # noqa: E402

# One for each gate. What is broken; the file; what is changed there: patterns that are found once each, and what they become; what
# must be said.
UNROLL, DOUBLE = "04_unroll.cl", "05_double_buffer.cl"
KERNEL = r"(?=void matmul\()"
LOADS = r"(        if \(k \+ kStepK < K\) \{\n(?:            .*\n)*)        \}\n(\n(?:.*\n)*?)"  # and what follows
STORES = r"(        store_tiles.*\n)"
FAULTS = (
    ("spills: room for 4 waves wanted", "02_register_blocking.cl", [(KERNEL, "__attribute__((amdgpu_waves_per_eu(4)))\n")],
     r"[1-9]\d* VGPRs and 0 SGPRs spilled, expected none"),
    ("spills: few SGPRs allowed", "03_lds_blocking.cl", [(KERNEL, "__attribute__((amdgpu_num_sgpr(12)))\n")],
     r"0 VGPRs and [1-9]\d* SGPRs spilled, expected none"),
    ("VGPRs: loads behind the multiplies", DOUBLE, [(LOADS + STORES, r"\2\1        }\n\3")],
     r"(1[3-9]|2\d)\d VGPRs, expected 128 or fewer .*"),
    ("MACs: half as deep", DOUBLE, [("enum { kStepK = 8 }", "enum { kStepK = 4 }")], "256 MACs in the main loop, expected 512"),
    ("VALU: guards at the edges of A and B", DOUBLE,
     [(r"(?<=            a_next = )(?=\*)", "tile_row + item / 2 >= M ? (float4)(0.0f) : "),
      (r"(?<=            b_next = )(?=\*)", "tile_col + item % 32 * 4 >= N ? (float4)(0.0f) : ")],
     r"[5-9]\d\.\d\d% of the VALU instructions are MACs, expected 97% or more"),
    ("wait: stores before the multiplies", DOUBLE, [(LOADS + STORES, r"\1        }\n\3\2")],
     "0 MACs between a global load and its wait, expected 400 to 512"),
    ("wait: no load in the loop that multiplies", UNROLL, [(r"#pragma unroll\n(?= *for \(int s)", "#pragma nounroll\n")],
     "None MACs between a global load and its wait, expected 0 to 0"),
)


@functools.lru_cache(None)
def stages():
    """(what was printed of the chapter's stages, the rows of the CSV, the folder with the machine code)"""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    done = call(sys.executable, "-B", CHAPTER / "gcn.py", "--check", "--csv", folder / "t.csv", "--save", folder / "s", CHAPTER)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert [path.name for path in folder.glob("t.csv*")] == ["t.csv"]  # nothing lies beside it
    return done.stdout, list(csv.DictReader((folder / "t.csv").read_text().splitlines())), folder / "s"


def test_csv_has_what_is_printed_and_waves_are_those_of_llvm():
    printed, rows, assembly = stages()
    assert [row["stage"] for row in rows] == [path.stem for path in sorted(CHAPTER.glob("0*.cl"))]
    for row in rows:
        values = [f"{float(value):.1%}" if name in ("macs_of_all", "macs_of_valu") else value
                  for name, value in row.items() if gcn.COLUMNS[name]]
        assert re.search(rf"^{row['stage']} .*$", printed, re.M)[0].split()[:len(values)] == values
        occupancy = re.findall(r"^; Occupancy: (\d+)$", (assembly / f"{row['stage']}.s").read_text(), re.M)
        assert occupancy == [row["waves_per_simd"]], row["stage"]


def test_figures_of_the_slides():
    figures = ("= 8601.6 GFLOP/s", "= 21.94 flop per byte", "= 98 GFLOP/s", "= 40 per CU", "n = 88 ", " 6272\n", "= 80: 3 wave",
               "567 GFLOP/s, 6.6%", "2018 GFLOP/s, 23.5%", "5141 GFLOP/s, 59.8%", "6351 GFLOP/s, 73.8%")
    assert not [figure for figure in figures if figure not in stages()[0]]


def test_notes_have_what_is_printed():
    notes = (CHAPTER / "notes.md").read_text()
    assert not [line for line in stages()[0].split("\n")[1:] if line not in notes]  # the first names the compiler's build


@functools.lru_cache(None)
def compiled(name, text):
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    (folder / name).write_text(text)
    return gcn.compile_and_read("clang-19", folder / name, folder)


@pytest.mark.parametrize("what, name, edits, expected", FAULTS, ids=[fault[0] for fault in FAULTS])
def test_fault_is_caught(what, name, edits, expected):
    stages()  # skips where there is no compiler
    text = (CHAPTER / name).read_text()
    for pattern, replacement in edits:
        text, count = re.subn(pattern, replacement, text)
        assert count == 1, pattern
    said = list(gcn.gates([compiled(stage, text if stage == name else (CHAPTER / stage).read_text())
                           for stage in sorted({UNROLL, DOUBLE, name})]))
    assert all(line.startswith(f"{name[:-3]}: ") for line in said), said
    assert any(re.fullmatch(f"{name[:-3]}: {expected}", line) for line in said), said
    print("caught:", *said, sep="\n")


@pytest.mark.parametrize("words, code, said, environment", (
    (["--csv", "OLD", "WRONG"], 3, r"gcn\.py: .*/02_register_blocking\.cl:\d+:\d+: error: .*\n", {}),
    (["--check", "LACKING"], 1, r"gcn\.py: 04_unroll: there is no 04_unroll\.cl\n", {}),
    (["--csv", "none/t", "LACKING"], 2, r"gcn\.py: --csv '.*': can't be written: No such .*\n", {}),
    (["--save", "OLD", "LACKING"], 2, r"(?s).*--save '.*': File exists\n", {}),
    (["NONE"], 2, r"(?s).*none': takes a folder with stages.*", {}),
    (["--clang", "CLANG"], 77, r"gcn\.py: '.*' is 'Debian clang version 14\.0\.6', but pinned is clang 19: .*\n", {}),
    ([], 77, r"gcn\.py: no device libraries in /nonexistent: .*clang-19 and rocm-device-libs\n",
     {"HIP_DEVICE_LIB_PATH": "/nonexistent"}),
), ids=str)
def test_bad_input(words, code, said, environment, tmp_path):
    stages()  # skips where there is no compiler
    wrong, lacking, old, clang = (tmp_path / name for name in ("wrong", "lacking", "old.csv", "clang"))
    wrong.mkdir()
    lacking.mkdir()
    (wrong / "02_register_blocking.cl").write_text("odd text\n")
    (lacking / DOUBLE).write_text((CHAPTER / DOUBLE).read_text())
    old.write_text("as it was\n")
    clang.write_text("#!/bin/sh\necho Debian clang version 14.0.6\n")
    clang.chmod(0o755)
    paths = {"OLD": old, "WRONG": wrong, "LACKING": lacking, "CLANG": clang, "NONE": tmp_path / "none"}
    words = [paths.get(word, word) for word in words]
    done = subprocess.run([sys.executable, "-B", CHAPTER / "gcn.py", *words], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, **environment})
    assert (done.returncode, bool(re.fullmatch(said, done.stderr))) == (code, True), done.stderr
    assert old.read_text() == "as it was\n"
    assert code not in (3, 77) or not done.stdout  # no table
