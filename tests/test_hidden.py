"""Where a tool is missing, the tests that use it are skipped with a line that names it: each tool is hidden in turn."""
import os
import pathlib
import subprocess
import sys

import pytest

from support import ROOT, program

# What is hidden, as the skip line names it; the programs that PATH then lacks; the tests that use it.
HIDDEN = (
    ("nvcc", "nvcc", "tests/nvcc.py -k 01_naive"),
    ("git", "git", "docs/tests/test_book.py -k git"),
    ("pocl-opencl-icd", "", "08_opencl_gcn/tests/devices.py -k cpu"),
    ("oclgrind", "oclgrind", "tests/exercises.py -k past_k"),
    ("clang-19", "clang-19", "08_opencl_gcn/tests/test_gcn.py"),
    ("chromium-driver", "chromedriver", "tools/tests/test_pages.py -k hover"),
    ("clangd", "clangd clangd-14", "docs/tests/test_editor.py"),
)


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    """A folder with links to all that PATH has; the first of a name stays."""
    there = tmp_path_factory.mktemp("bin")
    for folder in os.environ["PATH"].split(os.pathsep):
        for path in pathlib.Path(folder).glob("*"):
            if not os.path.lexists(there / path.name):
                (there / path.name).symlink_to(path)
    return there


@pytest.mark.parametrize("named, hidden, words", HIDDEN, ids=[f"{named}: {words}" for named, _, words in HIDDEN])
def test_hidden(named, hidden, words, links, tmp_path):
    program("01_naive_cpu_trace")
    away = [path for path in map(links.joinpath, hidden.split()) if os.path.lexists(path)]
    for path in away:
        path.rename(tmp_path / path.name)
    kept = {name: value for name, value in os.environ.items() if name not in ("NVCC", "CUDACXX")}  # and OpenCL has no device
    run = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", *words.split()], cwd=ROOT, capture_output=True, text=True,
                         env={**kept, "PATH": str(links), "PYTHONPATH": str(tmp_path), "OCL_ICD_VENDORS": str(tmp_path)})
    for path in away:
        (tmp_path / path.name).rename(path)
    skipped = [line for line in run.stdout.splitlines() if line.startswith("SKIPPED")]
    assert run.returncode in (0, 77) and any(named in line for line in skipped), run.stdout + run.stderr
