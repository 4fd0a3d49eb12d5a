"""Stages that leave their matrices are caught by the traced build as ./run starts it, without a shape."""
import re

import pytest

import mutate
from support import call

PAST = r"(just|\d+ bytes) past the end of \d+ bytes of device memory"
FAULTS = {  # the stage, what is replaced (a pattern) how often, what it becomes, what must be said
    "03 without its guards": (
        "03_shared_blocking",
        r"(tile_\w+ \+ \w+ < [MN]|c_row < M && c_col < N)", 3, r"(true || \1)",
        r"7 x 5 x 3: threads in forward order: .*"
        r"\(out of bounds: 03_shared_blocking/matmul.cu:\d+ reads 4 bytes, "
        r"just past the end of 84 bytes of device memory \(block 0, thread 7\)\)"),
    "05 loads a row past K": (
        "05_double_buffer", r"k \+ b_k < K \?", 1, "true ?",
        r"out of bounds: 05_double_buffer/matmul.cu:\d+ reads (4|16) bytes, " + PAST),
    "03 writes 5000 elements past C": (
        "03_shared_blocking", r"C\[size_t", 1, "C[5000 + size_t",
        r"out of bounds: 03_shared_blocking/matmul.cu:\d+ writes 4 bytes, " + PAST),
}


@pytest.mark.parametrize("stage, code, times, becomes, said", FAULTS.values(), ids=FAULTS)
def test_traced_run_says_where(stage, code, times, becomes, said):
    folder = mutate.tree(stage)
    path = folder / stage / "matmul.cu"
    text, count = re.subn(code, becomes, path.read_text())
    assert count == times
    path.write_text(text)
    run = call(mutate.build(folder, stage, stage, "trace"))
    assert run.returncode == 3 and re.search(said, run.stderr), run.stderr[-1000:]
    print("caught:", run.stderr.strip().splitlines()[-1])
