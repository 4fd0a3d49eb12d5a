"""count_mma.py counts what it should, where the tools are."""
import os
import re
import subprocess
import sys

from support import ROOT, call, tool

COUNT = (sys.executable, "-B", ROOT / "07_fragment_probe/count_mma.py")
NVCC = ("--nvcc", os.environ.get("NVCC") or "nvcc")
# (half, float) or (global, shared): how many instructions it takes, by architecture.
SASS = {
    "mma_sync": {70: (8, 16), 75: (4, 4), 80: (2, 2)},
    "mma.m8n8k4": {70: (2, 4), 75: (2, 4)},  # the steps of one set; later chips have no such instruction
    "load_matrix_sync": {75: (4, 2), 80: (4, 1)},
}


def counted(text):
    """[(architecture, what, the two numbers)]"""
    line = r"sm_(\d+) +(mma_sync|mma\.m8n8k4|load_matrix_sync),? [ A]*\w+: (\d+) .*; \w+: (\d+) "
    found = [(int(arch), what, (int(a), int(b))) for arch, what, a, b in re.findall(line, text)]
    assert len(found) >= 4, text
    return found


def test_without_cuobjdump_it_counts_ptx_and_says_so():
    run = call(*COUNT, *NVCC, "--cuobjdump", "/nonexistent/cuobjdump")
    assert run.returncode == 0 and "PTX" in run.stdout and "cuobjdump" in run.stdout, run.stderr
    assert {numbers for _, _, numbers in counted(run.stdout)} == {(1, 1)}, run.stdout


def test_with_cuobjdump_it_counts_machine_code():
    run = call(*COUNT, *NVCC, "--cuobjdump", tool("cuobjdump"))
    assert run.returncode == 0 and "SASS" in run.stdout, run.stderr
    checked = 0
    for arch, what, numbers in counted(run.stdout):
        expected = SASS[what].get(arch) or (arch > 80 and SASS[what].get(80))
        assert not expected or numbers == expected, f"sm_{arch} {what}: {numbers}, expected {expected}"
        checked += bool(expected)
    assert checked >= 4, run.stdout
    turned = [line for line in run.stdout.split("\n") if "column-major: 4 LDG" in line and "4 MOVM" in line]
    assert len(turned) >= 2, "on sm_75 and later a column-major A is turned in registers"
    assert "sm_70" in run.stdout, "sm_70 is counted, or named as not built"


def test_without_nvcc_one_line_names_the_package():
    run = subprocess.run([*COUNT, "--nvcc", "/nonexistent/nvcc"], capture_output=True, text=True)
    assert run.returncode == 77 and not run.stdout
    assert re.fullmatch(r"count_mma\.py: no compiler '.*': .* \(package nvidia-cuda-toolkit\)\n", run.stderr), run.stderr
