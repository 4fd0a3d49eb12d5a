"""fit.py: the model's two rates come out of times made of them; files without such times are refused."""
import csv
import re
import sys

import pytest

from support import ROOT, call

FIT = (sys.executable, "-B", ROOT / "00_machine_limits/fit.py")
H200 = ROOT / "docs/results/h200/transfer.csv"
T_X, T_GPU = {"pageable": 0.35, "pinned": 0.08}, 1.6e-4  # ns per element, ns per flop


def row(n, memory):
    element, kernel = n * n * T_X[memory] * 1e-6, 2 * n**3 * T_GPU * 1e-6
    return f"{n},{memory},{2 * element:.6f},{kernel:.6f},{element:.6f}\n"


GOOD = "n,memory,h2d_ms,kernel_ms,d2h_ms\n" + "".join(row(n, memory) for n in (512, 2048, 8192) for memory in T_X)


def fits(out):
    """T_x and T_gpu by kind of memory, and each crossover, as fit.py prints them."""
    found = re.findall(r"(?m)^(\w+): T_x (\S+) ns.* T_gpu (\S+) ns.*\n.* N = (\d+);", out)
    return {memory: (float(t_x), float(t_gpu), int(n)) for memory, t_x, t_gpu, n in found}


def test_fit_gives_what_went_in(tmp_path):
    (tmp_path / "transfer.csv").write_text(GOOD)
    assert fits(call(*FIT, tmp_path / "transfer.csv").stdout) == {
        memory: (t_x, T_GPU, round(1.5 * t_x / T_GPU)) for memory, t_x in T_X.items()}


def test_it_is_the_model_that_transfer_wrote():
    """The columns of the committed CSV that transfer computed itself; `./run transfer --fit` prints the same."""
    printed = fits(call(ROOT / "run", "transfer", "--fit", H200).stdout)
    for line in csv.DictReader(H200.read_text().splitlines()):
        figures = [float(line[name]) for name in ("t_x_ns", "t_gpu_ns", "crossover_n")]
        assert printed[line["memory"]] == pytest.approx(figures, rel=1e-3)


@pytest.mark.parametrize("text, named", (
    ("", "rows"), (GOOD[:-20], "line 7"), (GOOD.replace("kernel_ms", "kernel_us"), "kernel_ms"),
    (GOOD.replace("512", "nan", 1), "'nan'"), (None, "transfer.csv")))
def test_bad_file_is_refused_in_one_line(tmp_path, text, named):
    if text is not None:
        (tmp_path / "transfer.csv").write_text(text)
    run = call(*FIT, tmp_path / "transfer.csv")
    assert run.returncode == 2 and named in run.stderr and run.stderr.count("\n") == 1 and not run.stdout
