"""roofline_host's rows agree with each other; blas_host times no BLAS that is wrong."""
import csv
import functools
import math
import os
import pathlib
import subprocess
import tempfile

import pytest

from mutate import scratch
from support import call, program, tool


def test_roofline_host(tmp_path):
    path = tmp_path / "host.csv"
    run = call(program("roofline_host"), "--size", 8, "--repeat", 2, "--csv", path)
    assert run.returncode == 0, run.stderr
    copied, fma, *points = csv.DictReader(path.read_text().splitlines())
    assert len(points) == 9 and {point["what"] for point in points} == {"sweep"}
    for point in points:
        intensity, gbs, gflops, limit = (float(point[name]) for name in ("flop_per_byte", "gbs", "gflops", "limit"))
        assert math.isclose(limit, min(float(fma["gflops"]), float(copied["gbs"]) * intensity), rel_tol=1e-3), point
        assert math.isclose(gflops, gbs * intensity, rel_tol=1e-3), point


# A BLAS that FAULT makes wrong: in all products, in the last element, or in those that are timed.
BLAS = """
#include <cstdlib>
static const int fault = atoi(getenv("FAULT"));
template <class T> void gemm(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
    static int calls = 0;  // of floats and of doubles: each has 4 that are verified, then the timed
    ++calls;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            T sum = (fault == 1 && i == m - 1 && j == n - 1) || (fault == 2 && calls > 4);
            for (int p = 0; p < k; ++p) sum += a[i * lda + p] * b[p * ldb + j];
            c[i * ldc + j] = sum;
        }
}
extern "C" {
void cblas_sgemm(int, int, int, int m, int n, int k, float, const float* a, int lda, const float* b, int ldb,
                 float, float* c, int ldc) { gemm(m, n, k, a, lda, b, ldb, c, ldc); }
void cblas_dgemm(int, int, int, int m, int n, int k, double, const double* a, int lda, const double* b, int ldb,
                 double, double* c, int ldc) { gemm(m, n, k, a, lda, b, ldb, c, ldc); }
int openblas_get_num_threads() { return 1; }
char* openblas_get_config() { static char text[] = "stub"; return text; }
}
"""


@functools.lru_cache(None)
def library(source):
    """The folder of a library in OpenBLAS's place."""
    made = pathlib.Path(tempfile.mkdtemp(dir=scratch())) / "libopenblas.so.0"
    words = [tool("g++"), "-O1", "-shared", "-fPIC", "-x", "c++", "-", "-o", made]
    subprocess.run(words, input=source, text=True, check=True)
    return str(made.parent)


def with_blas(folder, fault=0, source=BLAS):
    return subprocess.run([program("blas_host"), "--sizes", "64:64:1", "--repeat", "2", "--csv", folder / "curves.csv"],
                          capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": library(source), "FAULT": str(fault)})


def test_without_a_blas_one_line_says_so(tmp_path):
    run = with_blas(tmp_path, source="")
    assert run.returncode == 77 and run.stderr.count("\n") == 1


@pytest.mark.parametrize("fault", (1, 2))
def test_wrong_blas_leaves_no_row(fault, tmp_path):
    run = with_blas(tmp_path, fault)
    assert run.returncode == 1 and run.stderr and not list(tmp_path.iterdir())


def test_right_blas_is_timed(tmp_path):
    run = with_blas(tmp_path)
    assert run.returncode == 0, run.stderr
    rows = list(csv.DictReader((tmp_path / "curves.csv").read_text().splitlines()))
    assert [(row["precision"], row["n"]) for row in rows] == [("FP64", "64"), ("FP32", "64")]
    assert len(list(tmp_path.iterdir())) == 1, "something else is left"
