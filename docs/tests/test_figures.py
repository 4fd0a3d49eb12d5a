"""The figures in the READMEs are those of the committed results: the ladder, every stage's prediction and what ncu saw of it, the
tables of 00_machine_limits, and the H200's limits that the programs hold. (test_commands.py has those that programs print.)
"""
import csv

import pytest

import ablation
import tables
from support import ROOT

LIMITS = {"bandwidth": ("copy", "gbs"), "shared": ("shared_memory", "gbs"), "fp32": ("fp32_fma", "gflops"),
          "half2": ("fp16_pairs", "gflops"), "tensor": ("tensor_mma_sync", "gflops")}
NAMES = {"L1 hit": "L1 hit, 32 KiB", "L2 hit": "L2 hit, 8 MiB", "device memory": "device memory, 1 GiB",
         "MUFU": "MUFU, mean of EX2 and LG2", "MULTIPLY64": "64-bit multiply, four instructions",
         "FP32": "FP32, no TF32", "FP16": "FP16, FP32 sums"}


def rows(name):
    with open(ROOT / "docs/results/h200" / name) as file:
        return list(csv.DictReader(file))


def cells(*values):
    return f"| {' | '.join(values)} |"


def ablated():
    """{chapter: its rows of ablation.csv}"""
    found = {}
    for row in rows("ablation.csv") if (ROOT / "docs/results/h200/ablation.csv").exists() else ():
        found.setdefault(row["stage"].split("/")[0], []).append(row)
    return found


def stages():
    """(page, what it must have) of the stages' figures at 8192."""
    by_what, rates = {row["what"]: row for row in rows("limits.csv")}, {row["stage"]: row for row in rows("rates.csv")}
    limits = {name: float(by_what[what][column]) for name, (what, column) in LIMITS.items()}
    limits |= tables.clocks(rows("limits.csv"))
    at_8192 = [row for row in rows("ladder.csv") if row["m"] == row["n"] == row["k"] == "8192"]
    for chapter in sorted({path.parent for path in ROOT.glob("[0-9][0-9]_*/[0-9]_*.cu")}):
        yield f"{chapter.name}/README.md", "<!-- steps -->\n" + tables.steps(chapter, at_8192)
    for chapter, parts in ablated().items():
        yield f"{chapter}/README.md", "<!-- ablation -->\n" + tables.ablation(parts)
    for row in at_8192:
        if "/" not in row["stage"]:
            page = f"{row['stage']}/README.md"
            numbers = {name: None if row[name] == "-" else float(row[name])
                       for name in ("gflops", "predicted_gflops", "flop_per_byte", "shared_flop_per_byte")}
            predicted, measured = (f"{numbers[name] / 1000:.1f}" for name in ("predicted_gflops", "gflops"))
            yield page, f"**{measured} TFLOP/s**, {row['percent_of_peak']}% of"
            yield page, tables.prediction({**row, **numbers}, limits)
            yield page, "## Why they differ\n\n<!-- ncu -->\n" + tables.evidence(rates[row["stage"]])
            yield "README.md", cells("", predicted, measured, tables.times(numbers["gflops"] / numbers["predicted_gflops"]),
                                     f"{row['percent_of_peak']}%", f"{row['percent_of_cublas']}%", "")[2:-2]


def machine():
    """What 00_machine_limits/README.md must have."""
    sweep = [row for row in rows("limits.csv") if row["what"] == "sweep"]
    yield cells("flop per byte", *(row["flop_per_byte"] for row in sweep))
    yield cells("TFLOP/s", *(f"{float(row['gflops']) / 1000:.2f}" for row in sweep))
    yield cells("of the roof", *(f"{row['percent_of_limit']}%" for row in sweep))
    yield tables.machine_limits(rows("limits.csv"), (ROOT / "00_machine_limits/README.md").read_text())
    for row in rows("latency.csv"):
        if row["what"] == "l1_bandwidth":
            yield row["bytes_per_clock"]
        elif row["kind"] != "curve":
            yield cells(NAMES.get(row["kind"], row["kind"]), f"{float(row['cycles']):.1f}", row["volta"], row["pascal"])
    for row in rows("library_curves.csv"):
        if row["n"] == "8192":
            yield cells(NAMES.get(row["precision"], row["precision"]), f"{float(row['gflops']) / 1000:.1f}", f"{row['percent_of_peak']}%")
    for row in rows("transfer.csv"):
        ms = (f"{float(row[column]):.2f}" for column in ("h2d_ms", "kernel_ms", "d2h_ms", "total_ms", "cpu_blas_ms"))
        yield cells(row["n"], row["memory"], *ms, row["cpu_over_gpu"])
        yield cells(f"N = {row['crossover_n']}")


EXPECTED = [*stages(), *(("00_machine_limits/README.md", text) for text in machine())]


@pytest.mark.parametrize("page, text", EXPECTED, ids=lambda text: " ".join(text.split())[:60])
def test_figure(page, text):
    assert text in (ROOT / page).read_text(), f"{page} lacks:\n{text}"


def test_every_stage_is_measured():
    measured = {page for page, _ in EXPECTED } - {"README.md", "00_machine_limits/README.md"}
    assert measured == {f"{path.parent.name}/README.md" for path in ROOT.glob("[0-9][0-9]_*/matmul.cu")}


@pytest.mark.parametrize("chapter", ablated())
def test_every_part_is_measured(chapter):
    measured = [(row["stage"], row["without"]) for row in ablated()[chapter]]
    assert measured == [(form.stage, form.without) for form in ablation.forms(ROOT / chapter)]
