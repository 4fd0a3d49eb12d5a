"""Without the GPU's packages cuda_python.py says so in one line, and it refuses options that it does not take."""
import importlib
import sys

import pytest

from support import ROOT


@pytest.fixture
def cuda_python(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "00_machine_limits")
    return importlib.import_module("cuda_python")


def test_without_the_packages_one_line_says_so(cuda_python, monkeypatch, capsys):
    pytest.importorskip("numpy")
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert cuda_python.main([]) == 77 and capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("words", [["--size", "0"], ["--runs", "1001"], ["--overflow", "--size", "8192"]], ids=" ".join)
def test_refused(words, cuda_python, capsys):
    with pytest.raises(SystemExit) as refused:
        cuda_python.main(words)
    assert refused.value.code == 2 and "error: --" in capsys.readouterr().err
