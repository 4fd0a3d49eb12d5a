"""Editors find the headers: clangd, which they use, parses these files with ROOT/.clangd without an error."""
import os

import pytest

from support import ROOT, call, tool

FILES = ["06_wmma/matmul.cu", "common/stage.h", "08_opencl_gcn/03_lds_blocking.cl"]


@pytest.mark.parametrize("file", FILES)
def test_reads(file, tmp_path):
    no_config = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    said = call(tool("clangd"), f"--check={ROOT / file}", "--check-lines=1-1", "--log=info", env=no_config)
    assert "All checks completed, 0 errors" in said.stderr and "\nE[" not in said.stderr
