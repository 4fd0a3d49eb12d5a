"""What nvcc makes of a chapter's programs: nvcc.py -k NN_name; the environment variable NVCC names the compiler.

The nvcc line of the chapter's README builds its stage. Its steps, with their names in that line, compile for the architecture that
the line names, or else for sm_75, sm_80 and sm_90: no warning, no spill, no stack frame, no wgmma that ptxas serialises, and the
shared memory that the README states. Where there is a GPU all of them also build for a debugger and verify: -G keeps nothing in
registers, so that an address aligned by luck shows.
"""
import glob
import os
import re
import shlex

import pytest

from programs import PRODUCTS, PROGRAMS, ROOT
from support import BUILD, call, tool

ARCHITECTURES = [f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in (75, 80, 90)]
SPILLS = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'\n.*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads\n.*Used (\d+) registers(?:.*?, (\d+) bytes smem)?")


def of(*kinds):
    return pytest.mark.parametrize("program", [each for each in PROGRAMS if each.kind in kinds],
                                   ids=lambda each: f"{each.chapter}.{each.source.stem}")


def compiler():
    named = os.environ.get("NVCC", "")  # NOTFOUND if CMake has found no nvcc
    return named if os.path.exists(named) else tool("nvcc")


def nvcc(words, made):
    """Runs nvcc with `words`; wants no warning. Returns what it printed."""
    run = call(compiler(), *words, "-Werror=all-warnings", "-o", made, cwd=ROOT)
    report = run.stdout + run.stderr
    assert run.returncode == 0 and made.exists() and "warning" not in report, report
    return report


def line(program):
    """The words of the nvcc line in the chapter's README, of another step where this is one, without -o FILE; and what it states of
    shared memory."""
    readme = (ROOT / program.chapter / "README.md").read_text()
    found = re.search(rf"^    nvcc (.* {program.chapter}/matmul\.cu .*)$", readme, re.M)
    stated = re.search(r"^Shared memory per block: (\d+) bytes", readme, re.M)
    assert found and stated, "README.md needs lines '    nvcc ... NN_name/matmul.cu ...' and 'Shared memory per block: ... bytes'"
    words = shlex.split(found[1].replace("matmul.cu", program.source.name), comments=True)
    at = words.index("-o")
    words = words[:at] + words[at + 2:]
    return [each for word in words for each in (sorted(glob.glob(word, root_dir=ROOT)) or [word])], int(stated[1])


@of("stage")
def test_the_line_builds_it(program, tmp_path):
    """The first as it stands. The others' harness is the same: they are given what the build made of it, which saves minutes."""
    words, _ = line(program)
    made = [BUILD / "libharness.a", BUILD / "common/libharness_host.a"]
    if program is not next(each for each in PROGRAMS if each.kind == "stage") and all(file.exists() for file in made):
        words = [word for word in words if not word.startswith("common/")] + made
    nvcc([ARCHITECTURES[0] if word == "-arch=native" else word for word in words], tmp_path / "alone")


@of("stage", "step")
def test_no_spills(program, tmp_path):
    words, stated = line(program)
    named = set(re.findall(r"code=(sm_\w+)", " ".join(words)))  # where others lack its instructions
    words = [word for word in words if word not in ("-arch=native", "-lcublas") and not word.startswith("common/")]
    architectures = [] if named else ARCHITECTURES
    report = nvcc([*words, *architectures, "-fatbin", "-Xptxas=-v"], tmp_path / "fatbin")
    assert not re.search(r"Potential Performance Loss|is injected", report), report
    kernels = SPILLS.findall(report)
    assert {sm for _, sm, *_ in kernels} == (named or {"sm_75", "sm_80", "sm_90"}), report
    for name, sm, stack, stores, loads, registers, shared in kernels:
        print(f"{sm} {name}: {registers} registers, {shared or 0} bytes shared, {stores} + {loads} bytes spilled")
        assert (stack, stores, loads) == ("0", "0", "0"), f"{sm} {name} spills: {stack} stack, {stores} stores, {loads} loads"
        assert program.kind == "step" or int(shared or 0) == stated, f"{sm} {name}: {shared} bytes of shared memory, not {stated}"


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each.name in ("one_tile", "types")],
                         ids=lambda each: f"{each.chapter}.{each.name}")
def test_no_warning_for_any_architecture(program, tmp_path):
    """Whatever the older ones leave out. sm_80 has for these what sm_90 has."""
    nvcc(["-std=c++17", "-I.", "-fatbin", ARCHITECTURES[0], ARCHITECTURES[-1], "-Xcompiler=-Wall,-Wextra",
          program.source], tmp_path / "fatbin")


@pytest.mark.parametrize("chapter", ["00_machine_limits"])
def test_roofline_has_wgmma(chapter, tmp_path):
    report = nvcc(["-std=c++17", "-I.", "-cubin", "-gencode=arch=compute_90a,code=sm_90a", "-Xptxas=-v",
                   f"{chapter}/roofline.cu"], tmp_path / "cubin")
    kernels = [each for each in SPILLS.findall(report) if "wgmma" in each[0]]
    assert kernels and all(spilled == ["0", "0", "0"] for _, _, *spilled, _, _ in kernels), report
    assert max(int(each[5]) for each in kernels) > 128, "its sums are 128 registers a thread: these are empty kernels"


@pytest.mark.parametrize("program", PRODUCTS, ids=lambda each: f"{each.chapter}.{each.source.stem}")
def test_debug_build_verifies(program, tmp_path):
    if not call(tool("nvidia-smi"), "-L").stdout.startswith("GPU"):
        pytest.skip("no GPU")
    nvcc([word if word != "-O3" else "-G" for word in line(program)[0]], tmp_path / "debug")
    for m, n, k in ((7, 5, 3), (130, 257, 9), (129, 132, 24)):
        assert call(tmp_path / "debug", "-m", m, "-n", n, "-k", k, "--verify-only").returncode in (0, 77)
