"""The programs in correct_programs, each correct and in a style that is usual in public code: ./run FILE reports
nothing but notes. The first line of a program says what is usual in it, and its exit code is 0 only if its result is
correct."""
import os

import pytest

from support import ROOT, call

PROGRAMS = sorted((ROOT / "tests/correct_programs").glob("*.cu"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_nothing_is_reported(program):
    run = call(ROOT / "run", program, env={**os.environ, "NO_INSTALL": "1"})
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert "The emulator found:" not in said and "Never freed" not in said, said
