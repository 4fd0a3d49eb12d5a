"""What nvcc makes of the programs: nvcc.py -k NAME_OF_A_PROGRAM; the environment variable NVCC names the compiler.

A stage builds by the nvcc line that its chapter's README shows, for the architecture that this line
names or else for sm_75, sm_80 and sm_90: no warning, no spill, no stack frame, no wgmma that ptxas
serialises, and the shared memory that the README states. So do the steps that lead to it, with their name in that line. Where there is a
GPU all of them also build for a debugger and verify: -G keeps nothing in registers, so that an address
aligned by luck shows.
"""
import os
import re
import shlex

import pytest

import ladder
from support import ROOT, call, tool

ARCHITECTURES = [f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in (75, 80, 90)]
STEPS = sorted(str(path.relative_to(ROOT)) for name in ("matmul", "[0-9]_*")
               for path in ROOT.glob(f"[0-9][0-9]_*/{name}.cu"))
OTHERS = ("one_tile", "types")  # no warning for any architecture, whatever the older ones leave out
KERNEL = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'\n.*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads\n.*Used (\d+) registers(?:.*?, (\d+) bytes smem)?")


def nvcc():
    named = os.environ.get("NVCC", "")  # NOTFOUND if CMake has found no nvcc
    return named if os.path.exists(named) else tool("nvcc")


def build(words, made):
    """Runs nvcc with `words`; wants no warning. Returns what it printed."""
    run = call(nvcc(), *words, "-Werror=all-warnings", "-o", made, cwd=ROOT)
    report = run.stdout + run.stderr
    assert run.returncode == 0 and made.exists() and "warning" not in report, report
    return report


@pytest.mark.parametrize("source", STEPS)
def test_stage_builds_without_spills(source, tmp_path):
    stage, _, file = source.partition("/")
    readme = (ROOT / stage / "README.md").read_text()
    line = re.search(rf"^    nvcc (.* {stage}/matmul\.cu .*)$", readme, re.M)
    stated = re.search(r"^Shared memory per block: (\d+) bytes", readme, re.M)
    assert line, "README.md needs a line '    nvcc ... NN_name/matmul.cu ...'"
    assert stated, "README.md needs a line 'Shared memory per block: ... bytes'"
    words = shlex.split(line[1].replace("matmul.cu", file), comments=True)
    at = words.index("-o")
    del words[at:at + 2]
    named = re.findall(r"code=(sm_\w+)", line[1])  # where others lack its instructions
    architectures = [] if named else ARCHITECTURES
    if not named:
        words.remove("-arch=native")
    if source == STEPS[0]:  # exactly as it stands; the harness takes longer than all of a stage, so that others are given it
        build([*words, ARCHITECTURES[0]], tmp_path / "alone")
    words.remove("-lcublas")
    report = build([*words, *architectures, "-fatbin", "-DHARNESS_COMPILED_APART", "-Xptxas=-v"], tmp_path / "fatbin")
    assert not re.search(r"Potential Performance Loss|is injected", report), report
    kernels = KERNEL.findall(report)
    assert {sm for _, sm, *_ in kernels} == set(named or ("sm_75", "sm_80", "sm_90")), report
    for name, sm, stack, stores, loads, registers, shared in kernels:
        print(f"{sm} {name}: {registers} registers, {shared or 0} bytes shared, {stores} + {loads} bytes spilled")
        assert (stack, stores, loads) == ("0", "0", "0"), f"{sm} {name} spills: {stack} stack, {stores} stores, {loads} loads"
        assert file != "matmul.cu" or int(shared or 0) == int(stated[1]), f"{sm} {name} uses {shared} bytes of shared memory, README.md states {stated[1]}"


@pytest.mark.parametrize("program", OTHERS)
def test_program_builds_for_every_architecture(program, tmp_path):
    # sm_80 has for these what sm_90 has.
    build(["-std=c++17", "-I.", "-fatbin", ARCHITECTURES[0], ARCHITECTURES[-1], "-Xcompiler=-Wall,-Wextra", "-DHARNESS_COMPILED_APART",
           *ROOT.glob(f"06_wmma/**/{program}.cu")], tmp_path / "fatbin")


def test_roofline_has_wgmma(tmp_path):
    report = build(["-std=c++17", "-I.", "-cubin", "-gencode=arch=compute_90a,code=sm_90a", "-DHARNESS_COMPILED_APART",
                    "-Xptxas=-v", "00_machine_limits/roofline.cu"], tmp_path / "cubin")
    found = re.search(r"Compiling entry function '\w*wgmma_chains\w*' for 'sm_90a'\n.*\n\s*(.*)\n.*Used (\d+) registers", report)
    assert found and found[1] == "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", report
    assert int(found[2]) > 128, "its sums are 128 registers a thread: this is the empty kernel of other architectures"


@pytest.mark.parametrize("source", STEPS + ["06_wmma/half2.cu", "06_wmma/plain.cu"])
def test_debug_build_verifies(source, tmp_path):
    if not call(tool("nvidia-smi"), "-L").stdout.startswith("GPU"):
        pytest.skip("no GPU")
    architecture = ladder.architecture((ROOT / source).read_text())
    build(["-g", "-G", "-std=c++17", f"-arch={architecture}", "-I.", source, "-lcublas"], tmp_path / "debug")
    for m, n, k in ((7, 5, 3), (130, 257, 9), (129, 132, 24)):
        assert call(tmp_path / "debug", "-m", m, "-n", n, "-k", k, "--verify-only").returncode in (0, 77)
