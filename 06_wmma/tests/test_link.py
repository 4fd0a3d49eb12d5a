"""docs/results/link.txt has what link.py prints with this machine's nvcc."""
import os
import re
import sys

import pytest

from support import ROOT, call

KEPT = (ROOT / "docs/results/link.txt").read_text().splitlines()


def test_kept_output_is_what_is_printed():
    run = call(sys.executable, "-B", ROOT / "06_wmma/link/link.py", "--nvcc", os.environ.get("NVCC") or "nvcc")
    assert run.returncode == 0, run.stderr
    printed = re.findall(r"(?m)^nvcc .*", run.stdout)
    assert printed, run.stdout
    release = printed[0].partition(",")[0]
    if not any(line.startswith(f"{release},") for line in KEPT):
        pytest.skip(f"link.txt has nothing of {release}")
    assert printed == [line for line in KEPT if line.startswith(f"{release},")]
