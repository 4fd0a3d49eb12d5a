"""transfer: faults in its kernel; blas_host: no time for a wrong BLAS."""
import os
import re
import subprocess

import pytest

import mutate
from mutate import Fault, Planted
from support import call, program

FAULTS = (
    Fault("transfer plain -O0", "transfer_kernel.cuh", "row >= M ||", "(row >= M && !PLANTED) ||",
          "a write outside C"),
    Fault("transfer plain -O0", "transfer_kernel.cuh", "col >= N)", "(col >= N && !PLANTED))",
          "a write outside C"),
    Fault("transfer plain -O0", "transfer_kernel.cuh", "k < K; ++k", "k < K - PLANTED; ++k", "expected"),
    Fault("transfer plain -O0", "transfer_kernel.cuh", "A[Index(row) * K + k]",
          "A[Index(row) * (PLANTED ? N : K) + k]", "expected"),
    # Right, but it loads what it has already loaded: the bytes alone tell.
    Fault("transfer trace -O0", "transfer_kernel.cuh", "float acc = 0.0f;",
          "float acc = PLANTED ? A[0] * 0.0f : 0.0f;", "bytes loaded from device memory, stated are"),
)
test_fault_is_caught, test_without_a_fault_it_passes = Planted("00_machine_limits", FAULTS).tests("--verify-only")


@pytest.mark.parametrize("name", ("transfer_cpu", "transfer_cpu_trace"))
def test_cpu_builds(name):
    run = call(program(name))
    assert run.returncode == 0 and "The kernel is exact" in run.stdout
    assert ("the bytes moved are those stated" in run.stdout) == ("trace" in name)
    assert "Nothing was timed: the GPU build times." in run.stdout


BLAS = """
#include <cmath>
#include <cstdlib>
#include <cstring>
static bool planted(const char* fault) { const char* text = getenv("FAULT"); return text && !std::strcmp(text, fault); }
template <class T> void gemm(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
    if (planted("another matrix' leading dimension")) lda = ldb = lda < ldb ? lda : ldb;
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
    static int calls = 0;  // of floats and of doubles: each has 4 that are verified, then the timed
    const char* text = getenv("FAULT");
    if (++calls > 4 && text && !std::strcmp(text, "wrong in the timed products")) c[0] += 1;
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
    """What runs blas_host with `source` in OpenBLAS's place."""
    folders = {}

    def run(source, *words, fault=""):
        if source not in folders:
            folders[source] = folder = tmp_path_factory.mktemp("blas")
            (folder / "blas.cpp").write_text(source)
            subprocess.run([mutate.how()["compiler"], "-O1", "-shared", "-fPIC", folder / "blas.cpp", "-o",
                            folder / "libopenblas.so.0"], check=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folders[source]), "FAULT": fault}
        return subprocess.run([program("blas_host"), "--sizes", "64:64:1", *words],
                              capture_output=True, text=True, env=environment)
    return run


def test_without_a_blas(with_blas):
    run = with_blas("")
    assert run.returncode == 77 and "libopenblas0" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("fault", BLAS_FAULTS)
def test_wrong_blas_is_not_timed(with_blas, fault, tmp_path):
    run = with_blas(BLAS, "--repeat", "2", "--csv", tmp_path / "curves.csv", fault=fault)
    assert run.returncode == 1 and "expected" in run.stderr and not list(tmp_path.iterdir())


def test_what_was_timed_must_be_right(with_blas):
    """A library that is right as long as it is verified, and wrong in the last of the timed products."""
    run = with_blas(BLAS, "--repeat", "2", fault="wrong in the timed products")
    assert run.returncode == 1 and "OpenBLAS, N = 64: " in run.stderr, run.stderr


def test_right_blas_is_timed(with_blas, tmp_path):
    run = with_blas(BLAS, "--repeat", "2", "--csv", tmp_path / "curves.csv")
    assert run.returncode == 0 and "stand-in" in run.stdout
    header, *rows = (tmp_path / "curves.csv").read_text().splitlines()
    assert header == ("precision,n,median_ms,min_ms,max_ms,gflops,peak_gflops,percent_of_peak,repeats,"
                      "sm_mhz,memory_mhz,cpu,threads,library,date")
    assert [line.split(",")[:2] for line in rows] == [["FP64", "64"], ["FP32", "64"]]
    assert len(list(tmp_path.iterdir())) == 1, "something else is left"
