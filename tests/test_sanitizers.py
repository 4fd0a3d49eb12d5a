"""compute-sanitizer finds nothing in the programs on a GPU: ./test -L sanitizer, or ./test -R 06_wmma.memcheck for one
tool and chapter.

build/sanitized.txt, which CMake writes, has a line for each: its chapter, the program and its words. A program that the
GPU can't run is skipped.
"""
import os
import shlex

import pytest

from support import BUILD, call, program, tool

TOOLS = "memcheck", "racecheck", "initcheck", "synccheck"
LIST = BUILD / "sanitized.txt"
SANITIZED = [shlex.split(line) for line in LIST.read_text().splitlines()] if LIST.exists() else []


@pytest.mark.parametrize("tool_name", TOOLS)
@pytest.mark.parametrize("line", SANITIZED, ids=lambda line: f"{line[0]}:{line[1]}")
def test_finds_nothing(line, tool_name):
    _, name, *words = line
    found = os.environ.get("COMPUTE_SANITIZER", "")  # it is NOTFOUND if CMake has found none
    sanitizer = found if os.path.exists(found) else tool("compute-sanitizer")
    run = call(sanitizer, "--tool", tool_name, "--error-exitcode", 1, program(name), *words)
    assert run.returncode == 0, run.stdout + run.stderr
