"""The stages with --bf16: halves in place of bfloat16 at the multiply are noticed, and the refusal of other stages names them."""
import re

import pytest

from mutate import Fault, Planted, caught
from support import ROOT, call, program

SOURCES = [path for path in sorted(ROOT.glob("[0-9][0-9]_*/*.cu")) if "stage.launch_bf16" in path.read_text()]
FAULTS = [Fault(f"{path.parent.name}.{path.stem}".removesuffix(".matmul"), path.name, old, new, r"C\[0\]\[0\] is \S+, expected")
          for path in SOURCES for old, new in (("ptx::Pair<T> a[", "half2 a["), ("wgmma_m64k16<T,", "wgmma_m64k16<half,"))
          if old in path.read_text()]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_is_caught(fault):
    planted = Planted(fault.program.partition(".")[0], [fault])
    caught(planted.run(fault, "--bf16", "--sizes", "7x5x3,40x24x72", "--verify-only"), fault)


def test_each_has_a_fault():
    assert len(FAULTS) == len(SOURCES) > 0


def test_refusal_names_them():
    said = call(program("01_naive_cpu"), "--bf16").stderr
    assert set(re.findall(r"\d\d_\w+", said.partition(": ")[2])) == {path.parent.name for path in SOURCES}, said
