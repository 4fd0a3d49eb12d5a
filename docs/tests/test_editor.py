"""An editor finds the headers: clangd, which editors ask, reads these files by ROOT/.clangd without an error; without its include
paths it does not."""
import os
import shutil

import pytest

from support import ROOT, call, tool

FILES = ["01_naive/matmul.cu", "06_wmma/matmul.cu", "common/harness.h", "07_fragment_probe/loads.cuh",
         "08_opencl_gcn/03_lds_blocking.cl"]


def reads(file, folder):
    no_config = {**os.environ, "XDG_CONFIG_HOME": str(folder / "none")}
    said = call(tool("clangd"), f"--check={file}", "--check-lines=1-1", "--log=info", env=no_config)
    return "All checks completed, 0 errors" in said.stderr and "\nE[" not in said.stderr


@pytest.mark.parametrize("file", FILES)
def test_reads(file, tmp_path):
    assert reads(ROOT / file, tmp_path)


def test_needs_the_include_paths(tmp_path):
    (tmp_path / "stage").mkdir()
    shutil.copy(ROOT / FILES[0], tmp_path / "stage/matmul.cu")
    (tmp_path / ".clangd").write_text((ROOT / ".clangd").read_text().replace("-I", "-Ino/such/"))
    assert not reads(tmp_path / "stage/matmul.cu", tmp_path)
