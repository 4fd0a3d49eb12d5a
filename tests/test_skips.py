"""A file of Python tests ends with 77, which ctest shows as skipped, where one of its tests was skipped and none failed."""
import os
import subprocess
import sys

import pytest

from support import ROOT

TESTS = {"passes": "pass", "skips": "pytest.skip('it lacks something')", "fails": "assert False"}


@pytest.mark.parametrize("kinds, code", ((["passes"], 0), (["skips"], 77), (["passes", "skips"], 77),
                                         (["passes", "skips", "fails"], 1)), ids=str)
def test_exit_code(kinds, code, tmp_path):
    file = tmp_path / "test_of_each_kind.py"
    file.write_text("import pytest\n" + "".join(f"def test_that_{kind}():\n    {TESTS[kind]}\n" for kind in kinds))
    run = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", file], cwd=tmp_path,
                         env={**os.environ, "PYTHONPATH": str(ROOT / "tests")}, capture_output=True, text=True)
    assert run.returncode == code, run.stdout + run.stderr
