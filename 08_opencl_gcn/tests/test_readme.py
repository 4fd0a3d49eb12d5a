"""What the READMEs say of this chapter is what the committed results hold, and the steps between the .cl files are small."""
import csv
import difflib

import pytest

from support import ROOT

CHAPTER, RESULTS = ROOT / "08_opencl_gcn", ROOT / "docs/results/h200"
FILES = sorted(CHAPTER.glob("[0-9][0-9]_*.cl"))
KERNEL = ("kernel __attribute__((reqd_work_group_size(16, 16, 1)))\n"
          "void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {\n")


def results(name):
    with open(RESULTS / name) as file:
        return {(row["stage"], row["m"]): row for row in csv.DictReader(file)}


OPENCL, CLBLAST, CUDA = results("opencl.csv"), results("opencl_clblast.csv"), results("ladder.csv")


@pytest.mark.parametrize("stage", [path.stem for path in FILES])
def test_row_of_the_table(stage):
    small, large, beside = OPENCL[stage, "4096"], OPENCL[stage, "8192"], CUDA[stage.replace("lds", "shared"), "8192"]
    tflops = [float(row["gflops"]) / 1000 for row in (small, large, beside)]
    assert (f"| {stage} | {tflops[0]:.1f} | {tflops[1]:.1f} | {float(large['predicted_gflops']) / 1000:.1f} | "
            f"{large['measured_of_predicted']} x | {large['percent_of_peak']}% | {CLBLAST[stage, '8192']['percent_of_clblast']}% | {tflops[2]:.1f} |"
            ) in (CHAPTER / "README.md").read_text()


def test_share_of_cuda():
    share = float(OPENCL["05_double_buffer", "8192"]["gflops"]) / float(CUDA["05_double_buffer", "8192"]["gflops"])
    assert f"{share:.1%} of CUDA's 05" in (CHAPTER / "README.md").read_text()


@pytest.mark.parametrize("readme", ("README.md", "README.ja.md"))
def test_row_in_the_readme_of_all(readme):
    last = OPENCL["05_double_buffer", "8192"]
    assert (f"| {float(last['predicted_gflops']) / 1000:.1f} | {float(last['gflops']) / 1000:.1f} | "
            f"{last['measured_of_predicted']} x | {last['percent_of_peak']}% |") in (ROOT / readme).read_text()


def test_kernel_is_declared_the_same_everywhere():
    assert len(FILES) == 5 and not [path.name for path in FILES if KERNEL not in path.read_text()]


@pytest.mark.parametrize("before, after", zip(FILES, FILES[1:]), ids=lambda path: path.stem)
def test_step_is_small(before, after):
    diff = difflib.unified_diff(before.read_text().splitlines(), after.read_text().splitlines(), n=0, lineterm="")
    changed = sum(line[0] in "+-" and line[:3] not in ("+++", "---") for line in diff)
    assert changed <= 60
