"""transfer and library_curves: the fit of a CSV, no time for a wrong BLAS, and faults in transfer's kernel and fit."""
import os
import re
import subprocess

import pytest

import mutate
from mutate import Fault, Planted, caught
from support import call, program

FAULTS = (
    Fault("transfer plain -O0", "transfer.cu", "row >= M ||", "(row >= M && !PLANTED) ||", "a write outside C"),
    Fault("transfer plain -O0", "transfer.cu", "col >= N)", "(col >= N && !PLANTED))", "a write outside C"),
    Fault("transfer plain -O0", "transfer.cu", "k < K; ++k", "k < K - PLANTED; ++k", "expected"),
    Fault("transfer plain -O0", "transfer.cu", "A[size_t(row) * K + k]", "A[size_t(row) * (PLANTED ? N : K) + k]", "expected"),
)
FIT_FAULTS = (
    Fault("transfer plain -O0", "fit.h", 'cell("h2d_ms") + cell("d2h_ms"), cell("kernel_ms")',
          'cell(PLANTED ? "kernel_ms" : "h2d_ms") + !PLANTED * cell("d2h_ms"), '
          'PLANTED ? cell("h2d_ms") + cell("d2h_ms") : cell("kernel_ms")'),
    Fault("transfer plain -O0", "fit.h", "transfer.add(3 * p.n * p.n,",
          "transfer.add(PLANTED ? 2 * p.n * p.n * p.n : 3 * p.n * p.n,"),
)
PLANTED = Planted("00_machine_limits", FAULTS + FIT_FAULTS)

HEADER = ("n,memory,h2d_ms,kernel_ms,d2h_ms,total_ms,model_ms,cpu_blas_ms,cpu_threads,cpu_over_gpu,kernel_gflops,t_x_ns,t_gpu_ns,"
          "crossover_n,repeats,sm_mhz,gpu,driver,cuda,date")
T_X, T_GPU = {"pageable": 0.35, "pinned": 0.08}, 1.6e-4  # ns per element, ns per flop
EXPECTED = {memory: (t_x, T_GPU, round(1.5 * t_x / T_GPU)) for memory, t_x in T_X.items()}


def row(n, memory):
    """A row as the model has it."""
    element, kernel = n * n * T_X[memory] * 1e-6, 2 * n**3 * T_GPU * 1e-6
    return (f"{n},{memory},{2 * element:.6f},{kernel:.6f},{element:.6f},{3 * element + kernel:.6f},1,-,-,-,6250,1,1,1,5,1980,"
            "GPU,1,13.0,2026-01-01\n")


GOOD = HEADER + "\n" + "".join(row(n, memory) for n in (512, 2048, 8192) for memory in T_X)
LAST = row(512, "pinned")


def fits(out):
    """T_x and T_gpu by kind of memory, and each crossover, as --fit prints them."""
    found = re.findall(r"^(\w+): T_x (\S+) ns per element .* T_gpu (\S+) ns per flop .*\n.* at N = (\d+);", out, re.M)
    return {memory: (float(t_x), float(t_gpu), int(n)) for memory, t_x, t_gpu, n in found}


@pytest.fixture
def fit(tmp_path):
    """What reads the text of a CSV: fit(text), or fit(text, run) with another program's run()."""
    def run_fit(text, run=lambda *words: call(program("transfer_cpu"), *words)):
        (tmp_path / "transfer.csv").write_text(text)
        return run("--fit", tmp_path / "transfer.csv")
    return run_fit


def test_fit_gives_what_went_in(fit):
    run = fit(GOOD)
    assert run.returncode == 0 and fits(run.stdout) == EXPECTED and "the same time at N = 729" in run.stdout


def test_fit_finds_columns_by_name(fit):
    assert fits(fit("".join(",".join(line.split(",")[::-1]) + "\n" for line in GOOD.splitlines())).stdout) == EXPECTED


@pytest.mark.parametrize("text, said", (
    ("", "is empty"), (GOOD[:-40], "ends in the middle of a line"), (HEADER + "\n", "has no rows"),
    (GOOD.replace("kernel_ms", "kernel_us"), "has no column 'kernel_ms'"), (GOOD.replace(",d2h_ms", ""), "has no column 'd2h_ms'"),
    (GOOD + "512,pinned,1\n", "line 8 has 3 fields"),
    (GOOD + LAST.replace("512", "x", 1), "n is 'x'"), (GOOD + LAST.replace("512", "nan", 1), "n is 'nan'"),
    (GOOD + LAST.replace("pinned,", "pinned,-", 1), "h2d_ms is '-0.0"),
), ids=lambda value: None if "," in value or not value else value)
def test_fit_refuses(fit, text, said):
    run = fit(text)
    assert run.returncode == 2 and said in run.stderr and len(run.stderr.strip().splitlines()) == 1, run.stderr


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_is_caught(fault):
    caught(PLANTED.run(fault, "--verify-only"), fault)


@pytest.mark.parametrize("fault", FIT_FAULTS, ids=str)
def test_fault_changes_the_fit(fit, fault):
    run = fit(GOOD, lambda *words: PLANTED.run(fault, *words))
    assert run.returncode == 0 and fits(run.stdout) != EXPECTED


def test_without_a_fault_it_passes(fit):
    assert PLANTED.run("transfer plain -O0", "--verify-only").returncode == 0
    assert fits(fit(GOOD, lambda *words: PLANTED.run("transfer plain -O0", *words)).stdout) == EXPECTED


@pytest.mark.parametrize("name", ("transfer_cpu", "transfer_cpu_trace"))
def test_cpu_builds(name):
    run = call(program(name), "--verify-only")
    assert run.returncode == 0 and "The kernel is exact" in run.stdout and ("2 M N K" in run.stdout) == ("trace" in name)


BLAS = """
#include <cmath>
#include <cstdlib>
#include <cstring>
static bool planted(const char* fault) { const char* text = getenv("FAULT"); return text && !std::strcmp(text, fault); }
template <class T> void gemm(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
    if (planted("another matrix' leading dimension")) lda = ldb;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            T sum = 0;
            for (int p = 0; p < k; ++p) {
                T x = a[i * lda + p];
                if (planted("operands rounded to TF32")) x = std::ldexp(std::trunc(std::ldexp(x, 10)), -10);
                sum += x * b[p * ldb + j];
            }
            if (!planted("no last element") || i < m - 1 || j < n - 1) c[i * ldc + j] = sum;
        }
}
extern "C" {
void cblas_sgemm(int, int, int, int m, int n, int k, float, const float* a, int lda, const float* b, int ldb, float, float* c,
                 int ldc) { gemm(m, n, k, a, lda, b, ldb, c, ldc); }
void cblas_dgemm(int, int, int, int m, int n, int k, double, const double* a, int lda, const double* b, int ldb, double, double* c,
                 int ldc) { gemm(m, n, k, a, lda, b, ldb, c, ldc); }
int openblas_get_num_threads() { return 1; }
char* openblas_get_config() { static char text[] = "stand-in"; return text; }
}
"""
BLAS_FAULTS = re.findall(r'planted\("(.*?)"\)', BLAS)


@pytest.fixture(scope="module")
def with_blas(tmp_path_factory):
    """What runs a program with `source` in OpenBLAS's place."""
    folders = {}

    def run(source, name, *words, fault=""):
        if source not in folders:
            folders[source] = folder = tmp_path_factory.mktemp("blas")
            (folder / "blas.cpp").write_text(source)
            subprocess.run([mutate.how()["compiler"], "-O1", "-shared", "-fPIC", folder / "blas.cpp", "-o",
                            folder / "libopenblas.so.0"], check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folders[source]), "FAULT": fault}
        return subprocess.run([program(name), "--sizes", "64:64:1", *words], capture_output=True, text=True, env=environment)
    return run


def test_without_a_blas(with_blas):
    run = with_blas("", "library_curves_cpu")
    assert run.returncode == 77 and "libopenblas0" in run.stderr and len(run.stderr.strip().splitlines()) == 1
    run = with_blas("", "transfer_cpu")
    assert run.returncode == 0 and "Nor was the CPU's BLAS: libopenblas.so.0 is not here" in run.stdout


@pytest.mark.parametrize("name", ("transfer_cpu", "library_curves_cpu"))
@pytest.mark.parametrize("fault", BLAS_FAULTS)
def test_wrong_blas_is_not_timed(with_blas, name, fault, tmp_path):
    csv = ("--csv", tmp_path / "curves.csv") if name == "library_curves_cpu" else ()
    run = with_blas(BLAS, name, "--repeat", "2", *csv, fault=fault)
    assert run.returncode == 1 and "expected" in run.stderr and not list(tmp_path.iterdir())


def test_right_blas_is_timed(with_blas, tmp_path):
    run = with_blas(BLAS, "transfer_cpu", "--repeat", "2")
    assert run.returncode == 0 and "stand-in" in run.stdout
    run = with_blas(BLAS, "library_curves_cpu", "--repeat", "2", "--csv", tmp_path / "curves.csv")
    assert run.returncode == 0 and "stand-in" in run.stdout
    header, *rows = (tmp_path / "curves.csv").read_text().splitlines()
    assert header == ("precision,n,median_ms,min_ms,max_ms,gflops,peak_gflops,percent_of_peak,repeats,sm_mhz,memory_mhz,cpu,"
                      "threads,library,date")
    assert [line.split(",")[:2] for line in rows] == [["FP64", "64"], ["FP32", "64"]]
    assert len(list(tmp_path.iterdir())) == 1, "something else is left"
