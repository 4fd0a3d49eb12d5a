"""Without the GPU's packages cuda_python.py says so in one line."""
import importlib
import sys

import pytest

from support import ROOT


def test_without_the_packages_one_line_says_so(monkeypatch, capsys):
    pytest.importorskip("numpy")
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.syspath_prepend(ROOT / "00_machine_limits")
    assert importlib.import_module("cuda_python").main([]) == 77 and capsys.readouterr().err.count("\n") == 1
