"""fit.py: the model's two rates come out of times made of them; files without such times are refused."""
import csv
import re
import sys

import pytest

from support import ROOT, call

sys.path.append(str(ROOT / "00_machine_limits"))
from fit import Point, fit

FIT = (sys.executable, "-B", ROOT / "00_machine_limits/fit.py")
H200 = ROOT / "docs/results/h200/transfer.csv"
T_X, T_GPU = {"pageable": 0.35, "pinned": 0.08}, 1.6e-4  # ns per element, ns per flop
HEADER = "n,memory,h2d_ms,kernel_ms,d2h_ms"


def point(n, t_x, t_gpu):
    """Copies of t_x ns an element and a kernel of t_gpu ns a flop."""
    return Point(n, 3 * n**2 * t_x * 1e-6, 2 * n**3 * t_gpu * 1e-6)


def test_model():
    points = [point(n, 0.08, 1.6e-4) for n in (512, 1024, 8192)]
    f = fit(points)
    assert f == pytest.approx((0.08, 1.6e-4)) and f.gbs() == pytest.approx(50) and f.tflops() == pytest.approx(6.25)
    assert f.error(f.worst(points)) == pytest.approx(0, abs=1e-12)
    n = f.crossover_n()
    assert 3 * n**2 * f.t_x_ns == pytest.approx(2 * n**3 * f.t_gpu_ns), "copies and kernel take the same time there"
    assert f.model_ms(1000) == pytest.approx(sum(point(1000, 0.08, 1.6e-4)[1:]))


def test_small_sizes_count_as_much_as_large_ones():
    """The small one takes twice as long for its work: relative errors make T 1.2 times the large one's;
    with absolute errors the small one would not count."""
    points = [point(100, 0.2, 2e-4), point(10000, 0.1, 1e-4)]
    f = fit(points)
    assert f == pytest.approx((0.12, 1.2e-4))
    assert f.worst(points).n == 100 and f.error(points[0]) == pytest.approx(-0.4)


def row(n, memory):
    element, kernel = n * n * T_X[memory] * 1e-6, 2 * n**3 * T_GPU * 1e-6
    return f"{n},{memory},{2 * element:.6f},{kernel:.6f},{element:.6f}\n"


GOOD = HEADER + "\n" + "".join(row(n, memory) for n in (512, 2048, 8192) for memory in T_X)
LAST = row(512, "pinned")


def fits(out):
    """T_x and T_gpu by kind of memory, and each crossover, as fit.py prints them."""
    found = re.findall(r"(?m)^(\w+): T_x (\S+) ns.* T_gpu (\S+) ns.*\n.* N = (\d+);", out)
    return {memory: (float(t_x), float(t_gpu), int(n)) for memory, t_x, t_gpu, n in found}


def test_fit_gives_what_went_in(tmp_path):
    columns_turned_round = "".join(",".join(line.split(",")[::-1]) + "\n" for line in GOOD.splitlines())
    for text in (GOOD, columns_turned_round):
        (tmp_path / "transfer.csv").write_text(text)
        assert fits(call(*FIT, tmp_path / "transfer.csv").stdout) == {
            memory: (t_x, T_GPU, round(1.5 * t_x / T_GPU)) for memory, t_x in T_X.items()}


def test_it_is_the_model_that_transfer_wrote():
    """The columns of the committed CSV that transfer computed itself; `./run transfer --fit` prints the same."""
    printed = call(ROOT / "run", "transfer", "--fit", H200).stdout
    assert printed == call(*FIT, H200).stdout
    for line in csv.DictReader(H200.read_text().splitlines()):
        assert fits(printed)[line["memory"]] == pytest.approx(
            [float(line[name]) for name in ("t_x_ns", "t_gpu_ns", "crossover_n")], rel=1e-3)


@pytest.mark.parametrize("text, named", (
    ("", "rows"), (HEADER + "\n", "rows"), (GOOD[:-20], "line 7"), (GOOD.replace("kernel_ms", "kernel_us"), "kernel_ms"),
    (GOOD + "512,pinned,1\n", "line 8"),
    *((GOOD + LAST.replace("512", bad, 1), f"'{bad}'") for bad in ("x", "nan", "inf", "0", "-"))))
def test_bad_file_is_refused_in_one_line(tmp_path, text, named):
    (tmp_path / "transfer.csv").write_text(text)
    run = call(*FIT, tmp_path / "transfer.csv")
    assert run.returncode == 2 and named in run.stderr and run.stderr.count("\n") == 1 and not run.stdout


def test_bad_command_line():
    for words in ((), ("a", "b"), ("missing.csv",)):
        run = call(*FIT, *words)
        assert run.returncode == 2 and run.stderr.count("\n") == 1
