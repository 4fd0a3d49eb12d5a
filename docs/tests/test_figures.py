"""The figures in the READMEs are those of the committed results: all that `./run plot` writes into them, and figures in the text.
(test_commands.py has those that programs print.)
"""
import csv

import pytest

import ablation
import tables
from support import ROOT

RESULTS = ROOT / "docs/results/h200"
LADDER = tables.read_ladder(RESULTS / "ladder.csv")
NAMES = {"L1 hit": "L1 hit, 32 KiB", "L2 hit": "L2 hit, 8 MiB", "device memory": "device memory, 1 GiB",
         "MUFU": "MUFU, mean of EX2 and LG2", "MULTIPLY64": "64-bit multiply, four instructions",
         "FP32": "FP32, no TF32", "FP16": "FP16, FP32 sums"}


def rows(name):
    with open(RESULTS / name) as file:
        return list(csv.DictReader(file))


def cells(*values):
    return f"| {' | '.join(values)} |"


def stages():
    """(page, what its text says) of the stages at 8192."""
    for row in LADDER:
        if row["m"] == tables.SIZE and "/" not in row["stage"]:
            yield f"{row['stage']}/README.md", f"**{row['gflops'] / 1000:.1f} TFLOP/s**, {row['percent_of_peak']}% of"
    cuda, opencl = (next(row["gflops"] for row in of if (row["stage"], row["m"]) == ("05_double_buffer", tables.SIZE))
                    for of in (LADDER, tables.read_opencl(RESULTS / "opencl.csv")))
    yield "08_opencl_gcn/README.md", f"{opencl / cuda:.1%} of CUDA's 05"


def bf16():
    """(page, a row of its table) of a stage with halves and with bfloat16."""
    sizes = {(row["stage"], row["m"]): row for row in rows("bf16.csv")}
    for stage in dict.fromkeys(name for name, _ in sizes):
        at = [sizes[stage, m] for m in ("8192", "4096")]
        tera = [[f"{float(row[column]) / 1000:.1f}" for row in at] for column in ("gflops", "cublas_gflops")]
        yield f"{stage.split()[0]}/README.md", cells("bfloat16" if " " in stage else "FP16", *tera[0], at[0]["sm_mhz"], *tera[1],
                                                     at[0]["cublas_mhz"])


def h100():
    """The rows of 11's table."""
    for row in rows("../h100/ladder.csv") + rows("../h100/sizes.csv"):
        if row["stage"] == "11_wgmma":
            yield cells(row["m"], f"{float(row['gflops']) / 1000:.1f}", f"{row['percent_of_cublas']}%", row["sm_mhz"])


def machine():
    """What 00_machine_limits/README.md must have."""
    sweep = [row for row in rows("limits.csv") if row["what"] == "sweep"]
    yield cells("flop per byte", *(row["flop_per_byte"] for row in sweep))
    yield cells("TFLOP/s", *(f"{float(row['gflops']) / 1000:.2f}" for row in sweep))
    yield cells("of the roof", *(f"{row['percent_of_limit']}%" for row in sweep))
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


EXPECTED = [*stages(), *bf16(), *(("11_wgmma/README.md", text) for text in h100()),
            *(("00_machine_limits/README.md", text) for text in machine())]


@pytest.mark.parametrize("page, text", EXPECTED, ids=lambda text: " ".join(text.split())[:60])
def test_figure(page, text):
    assert text in (ROOT / page).read_text(), f"{page} lacks:\n{text}"


GENERATED = {**{ROOT / name: tables.first_page(ROOT / name, RESULTS, LADDER) for name in ("README.md", "README.ja.md")},
             **tables.chapters(RESULTS, ROOT, LADDER, tables.read_limits(RESULTS / "limits.csv"))}


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables(page):
    assert page.read_text() == GENERATED[page], "not what ./run plot writes"


def test_every_stage_is_measured():
    measured = {page for page, _ in EXPECTED} - {"00_machine_limits/README.md"}
    assert measured == {f"{path.parent.name}/README.md" for path in ROOT.glob("[0-9][0-9]_*/matmul.c*")}


@pytest.mark.parametrize("chapter", sorted({row["stage"].split("/")[0] for row in rows("ablation.csv")})
                         if (RESULTS / "ablation.csv").exists() else ())
def test_every_part_is_measured(chapter):
    measured = [(row["stage"], row["without"]) for row in rows("ablation.csv") if row["stage"].split("/")[0] == chapter]
    assert measured == [(form.stage, form.without) for form in ablation.forms(ROOT / chapter)]
