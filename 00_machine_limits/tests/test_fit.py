"""fit.py: the model's two rates come out of times made of them; files without such times are refused."""
import csv
import math
import re
import sys

import pytest

from mutate import Fault, tree
from support import ROOT, call

sys.path.append(str(ROOT / "00_machine_limits"))
from fit import ARTICLE, Point, fit

FIT = "00_machine_limits/fit.py"
H200 = ROOT / "docs/results/h200/transfer.csv"
HEADER = ("n,memory,h2d_ms,kernel_ms,d2h_ms,total_ms,model_ms,cpu_blas_ms,cpu_threads,cpu_over_gpu,"
          "kernel_gflops,t_x_ns,t_gpu_ns,crossover_n,repeats,sm_mhz,gpu,driver,cuda,date")
T_X, T_GPU = {"pageable": 0.35, "pinned": 0.08}, 1.6e-4  # ns per element, ns per flop
EXPECTED = {memory: (t_x, T_GPU, round(1.5 * t_x / T_GPU)) for memory, t_x in T_X.items()}
# What stands in fit.py, and what it becomes: copies and kernel exchanged; a wrong number of elements.
FAULTS = [Fault("fit", "fit.py", old, new) for old, new in (
    ("Point(n, to_device + to_host, kernel)", "Point(n, kernel, to_device + to_host)"),
    ("slope([3 * p.n**2 for p in points]", "slope([2 * p.n**3 for p in points]"))]


def point(n, t_x, t_gpu):
    """Copies of t_x ns an element and a kernel of t_gpu ns a flop."""
    return Point(n, 3 * n**2 * t_x * 1e-6, 2 * n**3 * t_gpu * 1e-6)


def test_recovers_exact_times():
    points = [point(n, 0.08, 1.6e-4) for n in (512, 1024, 8192)]
    f = fit(points)
    assert f.t_x_ns == pytest.approx(0.08) and f.t_gpu_ns == pytest.approx(1.6e-4)
    assert f.gbs() == pytest.approx(50) and f.tflops() == pytest.approx(6.25)
    assert f.crossover_n() == pytest.approx(750)
    assert f.error(f.worst(points)) == pytest.approx(0, abs=1e-12)
    assert f.model_ms(1000) == pytest.approx(3e6 * 0.08e-6 + 2e9 * 1.6e-10)


def test_transfer_and_computation_take_the_same_time_at_the_crossover():
    f = fit([point(4096, 0.3, 7e-4)])
    n = f.crossover_n()
    assert 3 * n**2 * f.t_x_ns == pytest.approx(2 * n**3 * f.t_gpu_ns)


def test_one_point_is_met_exactly():
    f = fit([ARTICLE])  # 805 MB in 0.070 s, 1.1e12 flop in 0.787 s
    assert ARTICLE == (8192, 70, 787)
    assert f.gbs() == pytest.approx(11.5, abs=0.05) and f.tflops() == pytest.approx(1.397, abs=0.0005)
    assert f.crossover_n() == pytest.approx(729, abs=0.5) and f.model_ms(8192) == pytest.approx(857)
    assert f.error(ARTICLE) == pytest.approx(0, abs=1e-12)


def test_small_sizes_count_as_much_as_large_ones():
    """The small one takes twice as long for its work: relative errors make T 1.2 times the large one's;
    with absolute errors the small one would not count."""
    points = [point(100, 0.2, 2e-4), point(10000, 0.1, 1e-4)]
    f = fit(points)
    assert f.t_x_ns == pytest.approx(0.12) and f.t_gpu_ns == pytest.approx(1.2e-4)
    assert f.worst(points).n == 100 and f.error(points[0]) == pytest.approx(-0.4)


def test_keeps_the_two_terms_apart():
    f = fit([point(500, 0.1, 1e-4), point(5000, 0.1, 3e-4)])
    assert f.t_x_ns == pytest.approx(0.1) and f.t_gpu_ns != pytest.approx(1e-4)


def test_noise_of_one_percent_moves_it_by_no_more():
    points = []
    for i in range(9):
        n, transfer, kernel = point(512 << i // 2, 0.08, 1.6e-4)
        points.append(Point(n, transfer * (1 + 0.01 * (i * 7 % 3 - 1)),
                            kernel * (1 + 0.01 * (i * 5 % 3 - 1))))
    f = fit(points)
    assert f.t_x_ns == pytest.approx(0.08, rel=0.01) and f.t_gpu_ns == pytest.approx(1.6e-4, rel=0.01)
    assert 0 < abs(f.error(f.worst(points))) < 0.021


def row(n, memory):
    """A row as the model has it."""
    element, kernel = n * n * T_X[memory] * 1e-6, 2 * n**3 * T_GPU * 1e-6
    return (f"{n},{memory},{2 * element:.6f},{kernel:.6f},{element:.6f},{3 * element + kernel:.6f},"
            "1,-,-,-,6250,1,1,1,5,1980,GPU,1,13.0,2026-01-01\n")


GOOD = HEADER + "\n" + "".join(row(n, memory) for n in (512, 2048, 8192) for memory in T_X)
LAST = row(512, "pinned")


def fits(out):
    """T_x and T_gpu by kind of memory, and each crossover, as fit.py prints them."""
    found = re.findall(r"^(\w+): T_x (\S+) ns per element .* T_gpu (\S+) ns per flop .*\n.* at N = (\d+);",
                       out, re.M)
    return {memory: (float(t_x), float(t_gpu), int(n)) for memory, t_x, t_gpu, n in found}


@pytest.fixture
def fit_text(tmp_path):
    """What fits the text of a CSV."""
    def run_fit(text, folder=ROOT):
        (tmp_path / "transfer.csv").write_text(text)
        return call(sys.executable, "-B", folder / FIT, tmp_path / "transfer.csv")
    return run_fit


def test_fit_gives_what_went_in(fit_text):
    run = fit_text(GOOD)
    assert run.returncode == 0 and fits(run.stdout) == EXPECTED, run.stderr
    assert "the same time at N = 729" in run.stdout


def test_fit_finds_columns_by_name(fit_text):
    turned = "".join(",".join(line.split(",")[::-1]) + "\n" for line in GOOD.splitlines())
    assert fits(fit_text(turned).stdout) == EXPECTED


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_changes_the_fit(fit_text, fault):
    run = fit_text(GOOD, tree("00_machine_limits", [fault]))
    assert run.returncode == 0 and fits(run.stdout) != EXPECTED


def test_it_is_the_model_that_transfer_wrote():
    """The columns of the committed CSV that transfer computed itself."""
    printed = fits(call(sys.executable, "-B", ROOT / FIT, H200).stdout)
    for row in csv.DictReader(H200.read_text().splitlines()):
        t_x, t_gpu, crossover = printed[row["memory"]]
        assert math.isclose(float(row["t_x_ns"]), t_x, rel_tol=1e-3)
        assert math.isclose(float(row["t_gpu_ns"]), t_gpu, rel_tol=1e-3)
        assert int(row["crossover_n"]) == crossover


def test_run_hands_on_to_it():
    run = call(ROOT / "run", "transfer", "--fit", H200)
    assert run.returncode == 0 and run.stdout == call(sys.executable, "-B", ROOT / FIT, H200).stdout


@pytest.mark.parametrize("text, said", (
    ("", "has no rows"), (GOOD[:-40], "ends in the middle of line 7"), (HEADER + "\n", "has no rows"),
    (GOOD.replace("kernel_ms", "kernel_us"), "has no column 'kernel_ms'"),
    (GOOD.replace(",d2h_ms", ""), "has no column 'd2h_ms'"),
    (GOOD + "512,pinned,1\n", "line 8: has 3 fields"),
    (GOOD + LAST.replace("512", "x", 1), "n is 'x'"),
    (GOOD + LAST.replace("512", "nan", 1), "n is 'nan'"),
    (GOOD + LAST.replace("512", "inf", 1), "n is 'inf'"), (GOOD + LAST.replace("512", "0", 1), "n is '0'"),
    (GOOD + LAST.replace("512", "-", 1), "line 8: n is '-'"),
    (GOOD + LAST.replace("pinned,", "pinned,-", 1), "h2d_ms is '-0.0"),
), ids=lambda value: None if "," in value or not value else value)
def test_fit_refuses(fit_text, text, said):
    run = fit_text(text)
    assert run.returncode == 2 and said in run.stderr and not run.stdout
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr


@pytest.mark.parametrize("words, said", (
    ((), "takes one file"), (("a", "b"), "takes one file"), (("--fast",), "takes one file"),
    (("missing.csv",), "missing.csv: No such file or directory; transfer writes it"), (("/dev/zero",), "no regular file")))
def test_bad_command_line(words, said):
    run = call(sys.executable, "-B", ROOT / FIT, *words)
    assert run.returncode == 2 and said in run.stderr and run.stderr.count("\n") == 1
