"""What nvcc makes of a chapter's programs: nvcc.py -k NN_name; the environment variable NVCC names the compiler.

Each is compiled for the architecture that the nvcc line of the chapter's README names, or else a stage for sm_75, sm_80 and sm_90,
and its steps for sm_90. A stage's line also links it. No warning; of a stage and its steps no spill, no stack frame, no wgmma that
ptxas serialises, and the shared memory that the README states.
"""
import glob
import os
import re
import shlex

import pytest

from programs import PROGRAMS, ROOT
from support import BUILD, call, tool

SPILLS = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'\n.*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads\n.*Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
FIRST = next(each for each in PROGRAMS if each.kind == "stage")


def of(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda each: f"{each.chapter}.{each.source.stem}")


def machine_code(*numbers):
    """nvcc's options for code of sm_NN."""
    return [f"-gencode=arch=compute_{number},code=sm_{number}" for number in numbers]


def compiler():
    named = os.environ.get("NVCC", "")  # NOTFOUND if CMake has found no nvcc
    return named if os.path.exists(named) else tool("nvcc")


def nvcc(words, made):
    """Runs nvcc with `words`; wants no warning. Returns what it printed."""
    run = call(compiler(), *words, "-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra", "-o", made, cwd=ROOT)
    report = run.stdout + run.stderr
    assert run.returncode == 0 and made.exists() and "warning" not in report, report
    return report


def line(program):
    """The words of the nvcc line on the chapter's pages, of another step where this is one, without -o FILE; and what it states of
    shared memory."""
    pages = "".join(page.read_text() for page in (ROOT / program.chapter).glob("*.md"))
    found = re.search(rf"^    nvcc (.* {program.chapter}/matmul\.cu .*)$", pages, re.M)
    stated = re.search(r"^Shared memory per block: (\d+) bytes", pages, re.M)
    assert found and stated, "the pages need lines '    nvcc ... NN_name/matmul.cu ...' and 'Shared memory per block: ... bytes'"
    words = shlex.split(found[1].replace("matmul.cu", program.source.name), comments=True)
    at = words.index("-o")
    words = words[:at] + words[at + 2:]
    words = ["-O0" if word == "-O3" else word for word in words]  # of the host's code: nvcc always optimises a kernel
    return [each for word in words for each in (sorted(glob.glob(word, root_dir=ROOT)) or [word])], int(stated[1])


@of([FIRST])
def test_the_line_builds_it_alone(program, tmp_path):
    """As it stands. Below, the harness is what the build made of it, which saves minutes."""
    nvcc([*machine_code("75"), *(word for word in line(program)[0] if word != "-arch=native")], tmp_path / "alone")


@of([each for each in PROGRAMS if each.kind in ("stage", "step")])
def test_no_spills(program, tmp_path):
    words, stated = line(program)
    named = set(re.findall(r"code=(sm_\w+)", " ".join(words)))  # where others lack its instructions
    libraries = [BUILD / "libharness.a", BUILD / "libharness_host.a"]
    links = program.kind == "stage" and all(file.exists() for file in libraries)
    words = [word for word in words if word != "-arch=native" and not word.startswith("common/")]
    words = [*words, *libraries] if links else [*(word for word in words if word != "-lcublas"), "-fatbin"]
    numbers = () if named else ("75", "80", "90") if program.kind == "stage" else ("90",)
    report = nvcc([*words, *machine_code(*numbers), "-Xptxas=-v"], tmp_path / "made")
    assert not re.search(r"Potential Performance Loss|is injected", report), report
    kernels = SPILLS.findall(report)
    assert {sm for _, sm, *_ in kernels} == (named or {f"sm_{number}" for number in numbers}), report
    for name, sm, stack, stores, loads, registers, shared in kernels:
        print(f"{sm} {name}: {registers} registers, {shared or 0} bytes shared, {stores} + {loads} bytes spilled")
        assert (stack, stores, loads) == ("0", "0", "0"), f"{sm} {name} spills: {stack} stack, {stores} stores, {loads} loads"
        assert program.kind == "step" or int(shared or 0) == stated, f"{sm} {name}: {shared} bytes of shared memory, not {stated}"


def included(source):
    """The text of a source and of its chapter's headers."""
    text = source.read_text()
    return text + "".join(included(ROOT / name) for name in re.findall(r'#include "(\d\d_\S+)"', text))


@of([each for each in PROGRAMS if each.kind in ("product", "other", "gpu")])
def test_no_warning(program, tmp_path):
    """For the newest architecture, whose wgmma has its registers in roofline; for the oldest, too, if that lacks instructions."""
    oldest = ["-gencode=arch=compute_75,code=compute_75"] * bool(re.search(r"mma\.h>|/ptx/", included(program.source)))
    report = nvcc(["-std=c++17", "-I.", "-fatbin", *oldest, *machine_code("90a"), "-Xptxas=-v", program.source], tmp_path / "fatbin")
    kernels = [each for each in SPILLS.findall(report) if "wgmma" in each[0]]
    assert all(each[2:5] == ("0", "0", "0") for each in kernels), report
    assert program.name != "roofline" or max(int(each[5]) for each in kernels) > 128, "its sums are 128 registers: these are empty"
