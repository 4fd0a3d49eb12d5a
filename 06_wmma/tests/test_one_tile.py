"""Exercise 1's solution scales the whole tile. With half of x[], or in half of the lanes, it leaves the element that
the README names."""
import re

import pytest

from mutate import build, tree
from support import ROOT, call

LOOP = re.compile(r"(for \(.*\.num_elements)(;)")


@pytest.mark.parametrize("loop, first_wrong", (
    (r"\1\2", None),
    (r"\1 / 2\2", "C[0][8]"),
    (r"if (threadIdx.x < 16) \1\2", "C[4][0]"),
))
def test_solution(loop, first_wrong):
    folder = tree("06_wmma", patch=ROOT / "06_wmma/exercises/1_scaling.patch")
    source = folder / "06_wmma/one_tile.cu"
    text, loops = LOOP.subn(loop, source.read_text())
    assert loops == 1, "the solution has one loop over x[]"
    source.write_text(text)
    run = call(build(folder, "06_wmma", "one_tile", "plain", "-O0"))
    print(run.stdout, run.stderr)
    assert re.findall(r"(C\[\d+\]\[\d+\]) is", run.stderr) == ([first_wrong] if first_wrong else [])
    assert run.returncode == (1 if first_wrong else 0)
