"""what_it_adds finds the rules by which the emulator adds, and predicts how much a long sum loses."""
import csv

import pytest

from support import call, program

# Of the instructions by architecture: products that are added at once, bits that are kept. A WMMA product of TF32 is
# made of instructions of 4 k.
RULES = {70: (4, 23), 75: (4, 23), 80: (8, 24), 90: (16, 25)}
SINCE = {
    "mma_sync half": 70, "mma_sync half (half accumulators)": 70, "mma_sync bf16": 80, "mma_sync tf32": 80,
    "wgmma half": 90,
}


def found(name, tmp_path, *words):
    file = tmp_path / "adds.csv"
    done = call(program(name), "--csv", file, *words)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(file.read_text().splitlines()))


@pytest.mark.parametrize("sm", RULES)
def test_rules(sm, tmp_path):
    rows = found("what_it_adds_cpu", tmp_path, "--arch", f"sm_{sm}")
    assert [row["instruction"] for row in rows] == [name for name, since in SINCE.items() if since <= sm]
    products, bits = RULES[sm]
    for row in rows:
        name = row["instruction"]
        assert row["products"] == str(4 if "tf32" in name else products), name
        assert row["bits"] == str(bits), name
        assert row["c"] == "at once with the first products", name
        assert row["addend"] == "truncated toward zero", name
        of_half = "half accumulators" in name
        assert row["sum"] == ("rounded to nearest even" if of_half else "truncated toward zero"), name
        assert row["normalised"] == "no", name
        if not of_half:
            assert float(row["bias"]) == pytest.approx(float(row["predicted"]), rel=0.05), name
            assert float(row["bias"]) > 20 * abs(float(row["fp32"])), name
