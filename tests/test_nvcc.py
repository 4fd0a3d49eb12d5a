"""nvcc's output for a chapter's programs: test_nvcc.py -k NN_name; the environment variable NVCC names the compiler.

There is no warning. A stage is compiled to machine code, for the architecture of the nvcc line in its chapter's README,
or else for sm_75 and sm_90: no spill, no stack frame, no wgmma that ptxas serialises, and the shared memory that the
README or the notes state. Other programs are compiled only as far as errors and warnings need, which takes a third of
the time. All are compiled for the host, too, by the compiler that nvcc calls.
"""
import functools
import glob
import os
import re
import shlex

import pytest

import unchanged
from programs import ROOT, listed
from support import call, tool

KERNELS = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'\n"
                     r".*\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads\n"
                     r".*Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
STAGES, OTHERS = listed("stage"), listed("step", "product", "other", "gpu")


def for_each(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda each: f"{each.chapter}.{each.source.stem}")


def included(source):
    """The text of a source and of its chapter's headers."""
    text = source.read_text()
    return text + "".join(included(ROOT / name) for name in re.findall(r'#include "(\d\d_\S+)"', text))


@functools.lru_cache(None)
def compiler():
    """nvcc's path, and the versions of nvcc and of the host compiler that it calls."""
    named = os.environ.get("NVCC", "")  # it is NOTFOUND if CMake has found no nvcc
    path = named if os.path.exists(named) else tool("nvcc")
    return path, call(path, "--version").stdout + call("g++", "--version").stdout


def nvcc(program, words, made):
    """Compiles a program with the options `words`; fails at a warning. Returns nvcc's output, or the output kept from
    an earlier run if neither the program nor the harness nor a compiler has changed."""
    path, versions = compiler()
    name = f"{program.target()}.{made.name}.nvcc"
    harness = sorted(file for file in (ROOT / "common").rglob("*") if file.is_file())
    inputs = unchanged.hash_of(versions, " ".join(map(str, words)), included(program.source), *harness)
    if (said := unchanged.said_when_it_passed(name, inputs)) is not None:
        return said
    run = call(path, *words, "-Werror=all-warnings", "-o", made, cwd=ROOT)
    report = run.stdout + run.stderr
    assert run.returncode == 0 and made.exists() and "warning" not in report, report
    unchanged.keep(name, inputs, report)
    return report


def line(program):
    """The options of the nvcc line on the chapter's pages, the same on all, without -arch=native and -o FILE, and the
    shared memory that the pages state."""
    pages = "".join(page.read_text() for page in sorted((ROOT / program.chapter).glob("*.md")))
    found = re.findall(rf"^    nvcc (.* {program.chapter}/matmul\.cu .*)$", pages, re.M)
    stated = re.search(r"^Shared memory per block: (\d+) bytes", pages, re.M)
    assert found, "the pages need a line '    nvcc ... NN_name/matmul.cu ...'"
    assert stated, "the pages need a line 'Shared memory per block: ... bytes'"
    words, *others = [shlex.split(line, comments=True) for line in found]
    assert all(other == words for other in others), "the nvcc lines of the pages differ"
    at = words.index("-o")
    return [word for word in words[:at] + words[at + 2:] if word != "-arch=native"], int(stated[1])


@for_each(STAGES[:1])
def test_the_line_builds_it_alone(program, tmp_path):
    """The line for sm_75, with warnings of the host compiler, and without its optimisation, which takes long. Other
    programs use the same harness and libraries."""
    words = []
    for word in line(program)[0]:
        if word != "-O3":
            words += sorted(glob.glob(word, root_dir=ROOT)) or [word]
    nvcc(program, ["-O0", "-arch=sm_75", "-Xcompiler=-Wall,-Wextra", *words], tmp_path / "alone")


@for_each(STAGES)
def test_machine_code(program, tmp_path):
    words, stated = line(program)
    named = {*re.findall(r"code=(sm_\w+)", " ".join(words))}  # if other architectures lack its instructions
    wanted = named or {"sm_75", "sm_90"}
    of_libraries = [word for word in words if word.startswith("-lcublas")]
    assert of_libraries == [word for word in line(STAGES[0])[0] if word.startswith("-l")], "the line does not link"
    words = [word for word in words if not word.startswith("common/") and word not in of_libraries]
    words += [] if named else [f"-gencode=arch={sm.replace('sm', 'compute')},code={sm}" for sm in sorted(wanted)]
    report = nvcc(program, [*words, "-c", "-Xcompiler=-O0", "-Xptxas=-v"], tmp_path / "made")
    assert not re.search(r"Potential Performance Loss|is injected", report), report
    kernels = KERNELS.findall(report)
    assert {sm for _, sm, *_ in kernels} == wanted, report
    for name, sm, stack, stores, loads, registers, shared in kernels:
        print(f"{sm} {name}: {registers} registers, {shared or 0} bytes shared, {stores} + {loads} bytes spilled")
        spills = f"{sm} {name} spills: {stack} stack, {stores} stores, {loads} loads"
        assert (stack, stores, loads) == ("0", "0", "0"), spills
        assert int(shared or 0) == stated, f"{sm} {name}: {shared} bytes of shared memory, not {stated}"


@for_each(OTHERS)
def test_no_warning(program, tmp_path):
    """For the newest architecture whose instructions the book uses. If the oldest one lacks instructions, programs that
    are not steps are compiled for that, too."""
    numbers = ["90a"]
    if program.kind != "step" and re.search(r"mma\.h>|/ptx/", included(program.source)):
        numbers.append("75")
    targets = [f"-gencode=arch=compute_{number},code=compute_{number}" for number in numbers]
    nvcc(program, ["-std=c++17", "-I.", "-c", "-Xcicc", "-O0", *targets, program.source], tmp_path / "made")
