"""An editor opens any stage and finds the headers: clangd, which editors ask, reads a stage of floats, one of fragments, a header of
common/, one for kernels and an OpenCL stage by ROOT/.clangd, and reports no error. Without the include paths it does.
"""
import concurrent.futures
import functools
import os
import re
import shutil

import pytest

from support import ROOT, call, tool

FILES = [ROOT / "01_naive/matmul.cu", ROOT / "06_wmma/matmul.cu", ROOT / "common/harness.h", ROOT / "07_fragment_probe/loads.cuh",
         *sorted(ROOT.glob("08_opencl_gcn/03*.cl"))]


@functools.lru_cache(None)
def clangd():
    path = tool("clangd")
    said = call(path, "--version").stdout
    version = re.search(r"clangd version (\d+)", said)
    if not version or int(version[1]) < 14:
        pytest.skip(f"takes clangd 14 or later, here is {said.strip()}")
    return path


def errors_of(file, folder):
    """clangd's complaints about a file, plus a note if it did not finish; "" if there are none."""
    run = call(clangd(), f"--check={file}", "--check-lines=1-1", "--log=info",
               env={**os.environ, "XDG_CONFIG_HOME": str(folder / "no config of the user's own")})
    said = re.findall(r"(?m)^E\[.*", run.stderr)
    return "\n".join(said[:5]) if said else "" if "All checks completed, 0 errors" in run.stderr else f"it ended: {run.stderr[-300:]}"


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """{file: errors_of() it}, two asked at a time."""
    clangd()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(FILES, pool.map(errors_of, FILES, [tmp_path_factory.mktemp("editor")] * len(FILES))))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_reads(file, errors):
    assert not errors[file]


def test_needs_the_include_paths(tmp_path):
    (tmp_path / "stage").mkdir()
    shutil.copy(FILES[0], tmp_path / "stage/matmul.cu")
    (tmp_path / ".clangd").write_text((ROOT / ".clangd").read_text().replace("-I", "-Ino/such/"))
    assert "'__global__'" in errors_of(tmp_path / "stage/matmul.cu", tmp_path)
