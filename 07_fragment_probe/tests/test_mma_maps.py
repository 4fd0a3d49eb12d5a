"""mma.m16n8k16's and ldmatrix's maps: what mma_maps finds equals the committed table, and 10's README says it. Faults are noticed."""
import re

import pytest

from mutate import Fault, Planted, tree
from support import ROOT, call, program

CHAPTER = ROOT / "07_fragment_probe"
FAULTS = (
    Fault("mma_maps plain -O0", "mma_maps.cu", "M[i];", "M[PLANTED ? i ^ 8 : i];", "ldmatrix_x4: lane 0 differs"),
    Fault("mma_maps plain -O0", "mma_maps.cu", "else ptx::ldmatrix_x4(to, row);",
          "else if (PLANTED) ptx::ldmatrix_x4_trans(to, row); else ptx::ldmatrix_x4(to, row);", "ldmatrix_x4: lane 0 differs"),
    Fault("mma_maps plain -O0", "mma_maps.cu", "is_one(2 * r + 1, 8)", "is_one(2 * r + 1 - PLANTED, 8)",
          "exit code 1: mma_maps: element 1 of lane 0 is no element of A"),
    Fault("mma_maps plain -O0", "mma_maps.cu", "float(row == col)", "float(row == (PLANTED ? col ^ 1 : col))",
          "mma_m16n8k16 B: lane 0 differs"),
    Fault("mma_maps plain -O0", "layouts/mma_sync.csv", "A,31,7,15,15", "A,31,7,15,14", "mma_m16n8k16 A: lane 31 differs"),
)
PLANTED = Planted(CHAPTER.name, [fault for fault in FAULTS if "PLANTED" in fault.new])


def check_maps(run, folder, chapter=CHAPTER):
    """`run` runs mma_maps; the chapter has layouts/mma_sync.csv. Returns what it printed."""
    found = folder / "maps.csv"
    done = run("--csv", found)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"
    rows, expected = (path.read_text().splitlines()[1:] for path in (found, chapter / "layouts/mma_sync.csv"))
    assert len(rows) == len(expected) == 32 * (8 + 8 + 8 + 4 + 4)
    for row, other in zip(rows, expected):
        name, lane = row.split(",")[:2]
        assert row == other, f"{name}: lane {lane} differs"
    printed = re.findall(r"\d+,\d+", "\n".join(re.findall(r"(?m)^ +\d+  .*", done.stdout)))
    assert printed == [",".join(row.split(",")[3:]) for row in rows], "it prints something else"
    return done.stdout


def test_maps_of_the_emulator(tmp_path):
    shown = check_maps(lambda *words: call(program("mma_maps_cpu"), *words), tmp_path)
    lines = re.findall(r"(?m)^(\S+.*row = .*\S) +each element is held once$", shown)
    assert len(lines) == 5
    for line in lines:
        assert f"    {line}\n" in (ROOT / "10_async_mma/README.md").read_text(), line


def test_maps_of_this_gpu(tmp_path):
    check_maps(lambda *words: call(program("mma_maps"), *words), tmp_path)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_is_caught(fault, tmp_path):
    in_code = fault in PLANTED.faults
    chapter = CHAPTER if in_code else tree(CHAPTER.name, [fault]) / CHAPTER.name
    with pytest.raises(AssertionError, match=fault.said) as noticed:
        check_maps(lambda *words: PLANTED.run(fault if in_code else "mma_maps plain -O0", *words), tmp_path, chapter)
    print("caught:", str(noticed.value).splitlines()[0])
