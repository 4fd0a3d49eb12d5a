"""count_mma.py counts what it should, and what docs/results keeps of it and of volta_code.py is what they print.
tests.cmake registers each test for what it needs: nothing but nvcc, cuobjdump as well, or a CUDA that still builds for
Volta.
"""
import os
import re
import subprocess
import sys

import pytest

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


def test_ptx_is_counted_without_cuobjdump_and_it_says_so():
    run = call(*COUNT, *NVCC, "--cuobjdump", "/nonexistent/cuobjdump")
    assert run.returncode == 0 and "PTX" in run.stdout and "cuobjdump" in run.stdout, run.stderr
    assert {numbers for _, _, numbers in counted(run.stdout)} == {(1, 1)}, run.stdout


def test_ptx_takes_nvcc_whose_package_is_named():
    run = subprocess.run([*COUNT, "--nvcc", "/nonexistent/nvcc"], capture_output=True, text=True)
    assert run.returncode == 77 and not run.stdout
    said = r"count_mma\.py: no compiler '.*': .* \(package nvidia-cuda-toolkit\)\n"
    assert re.fullmatch(said, run.stderr), run.stderr


def check_kept(name, printed):
    """What docs/results keeps of this nvcc is what is printed. Skips the test where it keeps another nvcc's alone."""
    release = re.search(r"nvcc [\d.]+", printed)[0]
    kept = re.split(r"\n\n(?=nvcc )", (ROOT / "docs/results" / name).read_text().strip())
    of_this = [part for part in kept if part.startswith(release)]
    if not of_this:
        pytest.skip(f"{name} has nothing of {release}")
    assert of_this == [printed.strip()]


def test_sass():
    run = call(*COUNT, *NVCC, "--cuobjdump", tool("cuobjdump"))
    assert run.returncode == 0 and "SASS" in run.stdout, run.stderr
    checked = 0
    for arch, what, numbers in counted(run.stdout):
        expected = SASS[what].get(arch) or (arch > 80 and SASS[what].get(80))
        assert not expected or numbers == expected, f"sm_{arch} {what}: {numbers}, expected {expected}"
        checked += bool(expected)
    assert checked >= 4, run.stdout
    transposed = [line for line in run.stdout.split("\n") if "column-major: 4 LDG" in line and "4 MOVM" in line]
    assert len(transposed) >= 2, "on sm_75 and later a column-major A is transposed in registers"
    assert "sm_70" in run.stdout, "sm_70 is counted, or named as not built"
    check_kept("machine_code.txt", run.stdout)


def test_volta_code():
    run = call(sys.executable, "-B", ROOT / "07_fragment_probe/volta_code.py", *NVCC, "--cuobjdump", tool("cuobjdump"))
    assert run.returncode == 0, run.stderr
    check_kept("volta_code.txt", run.stdout)
