"""Editors find the headers: clangd, which they use, parses these files with ROOT/.clangd without an error."""
import os

import pytest

from support import ROOT, call, tool

FILES = ["06_wmma/matmul.cu", "common/stage.h", "08_opencl_gcn/03_lds_blocking.cl"]


@pytest.mark.parametrize("file", FILES)
def test_clangd_reports_no_error(file, tmp_path):
    no_config = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    # Diagnostics cover the whole file; the checks of each token, which take long, only line 1. Errors in .clangd are
    # logged as E[, but not counted.
    run = call(tool("clangd"), f"--check={ROOT / file}", "--check-lines=1-1", "--log=info", env=no_config)
    assert "All checks completed, 0 errors" in run.stderr and "\nE[" not in run.stderr
