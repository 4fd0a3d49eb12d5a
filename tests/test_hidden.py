"""Where a tool is missing, the tests that use it are skipped with a line that names it, and none fails: each tool is hidden in turn."""
import os
import pathlib
import subprocess
import sys

import pytest

from machine import BROWSERS
from support import ROOT, program

# What is hidden, as the skip line names it; the programs that PATH then lacks; the tests that use it.
HIDDEN = (
    ("nvcc", ("nvcc",), ("tests/nvcc.py", "-k", "01_naive")),
    ("nvcc", ("nvcc",), ("07_fragment_probe/tests/test_count_mma.py",)),
    ("nvcc", ("nvcc",), ("docs/tests/test_commands.py", "-k", "nvcc or count_mma")),
    ("nvcc", ("nvcc",), ("docs/tests/test_articles.py", "-k", "test_row and [3]")),  # compile_claims.py
    ("git", ("git",), ("docs/tests/test_commands.py", "-k", "git")),
    ("matplotlib", (), ("docs/tests/test_plot.py",)),
    ("pocl-opencl-icd", (), ("08_opencl_gcn/tests/devices.py", "-k", "cpu")),
    ("pocl-opencl-icd", (), ("08_opencl_gcn/tests/test_kernel_errors.py",)),
    ("oclgrind", ("oclgrind",), ("08_opencl_gcn/tests/oclgrind.py", "-k", "clean and 01_naive")),
    ("oclgrind", ("oclgrind",), ("tests/exercises.py", "-k", "08_opencl_gcn and past_k")),
    ("clang-19", ("clang-19",), ("08_opencl_gcn/tests/test_gcn.py",)),
    ("chromium", BROWSERS, ("tools/tests/test_pages.py", "-k", "hover")),
    ("clangd", ("clangd", "clangd-14"), ("docs/tests/test_editor.py",)),
)


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    """A folder of links to all that PATH has."""
    folder = tmp_path_factory.mktemp("bin")
    first = {path.name: path for directory in reversed(os.environ["PATH"].split(os.pathsep))
             for path in pathlib.Path(directory).glob("*")}
    for name, path in first.items():
        (folder / name).symlink_to(path)
    return folder


def environment(links, folder):
    """PATH is those links; matplotlib can't be imported, and OpenCL has no device."""
    (folder / "matplotlib.py").write_text("raise ImportError('hidden')\n")
    kept = {name: value for name, value in os.environ.items() if name not in ("NVCC", "CUDACXX")}
    return {**kept, "PATH": str(links), "PYTHONPATH": str(folder), "OCL_ICD_VENDORS": str(folder)}


@pytest.mark.parametrize("named, hidden, words", HIDDEN, ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_hidden(named, hidden, words, links, tmp_path):
    program("01_naive_cpu_trace")
    there = {links / name: (links / name).readlink() for name in hidden if (links / name).is_symlink()}
    for link in there:
        link.unlink()
    run = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", *words], cwd=ROOT, env=environment(links, tmp_path),
                         capture_output=True, text=True)
    for link, target in there.items():
        link.symlink_to(target)
    skipped = [line for line in run.stdout.splitlines() if line.startswith("SKIPPED")]
    assert run.returncode in (0, 77) and any(named in line for line in skipped), run.stdout + run.stderr
