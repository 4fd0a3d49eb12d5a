"""The stages pass gcn.py's gates, which can fail, and notes.md and gcn.txt have its output; bad input ends with one
clear line; no index is cut to 32 bits. All of it needs clang-19."""
import csv
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

from mutate import scratch
from support import ROOT, call, tool

CHAPTER = ROOT / "08_opencl_gcn"
sys.path.append(str(CHAPTER))
import gcn  # noqa: E402

# A value that each gate refuses.
REFUSED = {"vgpr_spills": 1, "sgpr_spills": 1, "vgprs": 129, "macs": 256, "macs_of_valu": 0.96,
           "macs_load_to_wait": None}


@functools.lru_cache(None)
def stages():
    """(what was printed of the chapter's stages, the rows of the CSV, the folder with the machine code)"""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    words = ["--check", "--csv", folder / "t.csv", "--save", folder / "s"]
    done = call(sys.executable, "-B", CHAPTER / "gcn.py", *words, CHAPTER)
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


@pytest.mark.parametrize("kept", (CHAPTER / "notes.md", ROOT / "docs/results/gcn.txt"), ids=lambda path: path.name)
def test_what_is_printed_was_kept(kept):
    text = kept.read_text()
    lines = stages()[0].split("\n")[1:]  # the first names the compiler's build
    assert not [line for line in lines if line not in text]


@pytest.mark.parametrize("column", REFUSED)
def test_a_gate_can_fail(column):
    good = {"stage": "04_unroll", "vgpr_spills": 0, "sgpr_spills": 0, "vgprs": 128, "macs": 512, "macs_of_valu": 0.97,
            "macs_load_to_wait": 0}
    other = {**good, "stage": "05_double_buffer", "macs_load_to_wait": 400}
    assert not [*gcn.gates([good, other])]
    refused = gcn.gates([good, {**other, column: REFUSED[column]}])
    assert [line.partition(":")[0] for line in refused] == ["05_double_buffer"]


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
    (lacking / "05_double_buffer.cl").write_text((CHAPTER / "05_double_buffer.cl").read_text())
    old.write_text("as it was\n")
    clang.write_text("#!/bin/sh\necho Debian clang version 14.0.6\n")
    clang.chmod(0o755)
    paths = {"OLD": old, "WRONG": wrong, "LACKING": lacking, "CLANG": clang, "NONE": tmp_path / "none"}
    words = [paths.get(word, word) for word in words]
    done = subprocess.run([sys.executable, "-B", CHAPTER / "gcn.py", *words], capture_output=True, text=True,
                          cwd=tmp_path, env={**os.environ, **environment})
    assert (done.returncode, bool(re.fullmatch(said, done.stderr))) == (code, True), done.stderr
    assert old.read_text() == "as it was\n"
    assert code not in (3, 77) or not done.stdout  # no table


def products_of_32_bits(text):
    """The lines of a kernel that multiply two variables in 32 bits: not optimised, each product there is one of
    LLVM's."""
    flags = "-x cl -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header -O0 -g1 -S -emit-llvm -o - -"
    run = subprocess.run([tool("clang-19"), *flags.split()], input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    places = re.findall(r"= mul (?:n[su]w )*i32 %\w+, %\w+, !dbg (!\d+)", run.stdout)
    lines = dict(re.findall(r"(?m)^(!\d+) = !DILocation\(line: (\d+)", run.stdout))
    return sorted({int(lines[place]) for place in places})


@pytest.mark.parametrize("file", sorted(CHAPTER.glob("*.cl")), ids=lambda file: file.stem)
def test_indices_have_64_bits(file):
    """A matrix of 46341 rows has more than 2^31 elements, and 8 GiB: what no simulator runs is read from the kernel."""
    text = file.read_text()
    assert products_of_32_bits(text) == []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if re.search(r"\(size_t\)(?!k[A-Z])", line.partition("//")[0]):
            fault = [*lines[:number - 1], line.replace("(size_t)", ""), *lines[number:]]
            assert products_of_32_bits("\n".join(fault)) == [number]
