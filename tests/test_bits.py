"""The emulator's products have the bits that an H100 has computed, in each configuration of a stage. All of these add
in the order of k, so that one digest stands for all of them.
"""
import csv

import pytest

from support import ROOT, call, program

with open(ROOT / "docs/results/h100/bits.csv") as file:
    ROWS = list(csv.DictReader(file))


@pytest.mark.parametrize("stage", ["06_wmma", "10_async_mma", "11_wgmma", "12_clusters"])
def test_products_have_an_h100s_bits(stage):
    shapes = ",".join(dict.fromkeys("{m}x{n}x{k}".format(**row) for row in ROWS))
    run = call(program(f"{stage}_bits_cpu"), "--bits", shapes)
    assert run.returncode == 0, run.stderr
    digests = {line.split(", ", 1)[1] for line in run.stdout.splitlines()}  # without the configuration
    assert digests == {"{m} x {n} x {k}, {data}: {digest}".format(**row) for row in ROWS}, run.stdout
