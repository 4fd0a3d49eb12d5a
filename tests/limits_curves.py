"""transfer and library_curves of 00_machine_limits in their CPU builds: options, the fit of a CSV, and that their checks can fail.

Faults in the kernel and in the fit go into one changed copy of transfer.cu (and fit.h), each behind a number that the environment
gives. Faults of a BLAS go into a library that stands in for OpenBLAS.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import emulated
from checks import check, end

parser = argparse.ArgumentParser()
emulated.add_arguments(parser)  # the source is transfer.cu
parser.add_argument("--programs", nargs=3, required=True, help="transfer_cpu, library_curves_cpu and transfer_cpu_trace")
arguments = parser.parse_args()
transfer, curves, traced = arguments.programs

HEADER = ("n,memory,h2d_ms,kernel_ms,d2h_ms,total_ms,model_ms,cpu_blas_ms,cpu_threads,cpu_over_gpu,kernel_gflops,t_x_ns,t_gpu_ns,"
          "crossover_n,repeats,sm_mhz,gpu,driver,cuda,date")
T_X, T_GPU = {"pageable": 0.35, "pinned": 0.08}, 1.6e-4  # ns per element, ns per flop


def row(n, memory):
    """A row as the model has it."""
    element, kernel = n * n * T_X[memory] * 1e-6, 2 * n**3 * T_GPU * 1e-6
    return (f"{n},{memory},{2 * element:.6f},{kernel:.6f},{element:.6f},{3 * element + kernel:.6f},1,-,-,-,6250,1,1,1,5,1980,"
            "GPU,1,13.0,2026-01-01")


GOOD = "\n".join([HEADER] + [row(n, memory) for n in (512, 2048, 8192) for memory in T_X]) + "\n"


def run(program, *words, **environment):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr.strip()


def refused(program, code, said, *words):
    got, _, error = run(program, *words)
    check(got == code and said in error and error.count("\n") == 0,
          f"{pathlib.Path(program).name} {' '.join(map(str, words))}: {got}, {error}")


def fits(out):
    """T_x and T_gpu by kind of memory, and each crossover, as --fit prints them."""
    found = re.findall(r"^(\w+): T_x (\S+) ns per element .* T_gpu (\S+) ns per flop .*\n.* at N = (\d+);", out, re.M)
    return {memory: (float(t_x), float(t_gpu), int(n)) for memory, t_x, t_gpu, n in found}


EXPECTED = {memory: (t_x, T_GPU, round(1.5 * t_x / T_GPU)) for memory, t_x in T_X.items()}


def check_options():
    for program in (transfer, curves):
        for value in ("0", "abc", "", "1x"):
            refused(program, 2, f"--repeat '{value}': takes a whole number from 1 to", "--repeat", value)
        refused(program, 2, "--sizes '64': takes FIRST:LAST:STEP", "--sizes", "64")
        refused(program, 2, "unknown option '--fast'", "--fast")
        refused(program, 2, "unexpected argument '64'", "64")
        refused(program, 2, "--device", "--device", "0")
        code, out, _ = run(program, "--help")
        check(code == 0 and "--verify-only" in out and "Exit codes" in out, f"{pathlib.Path(program).name} --help")
    refused(transfer, 2, "--csv: only the GPU build takes it", "--csv", "x.csv")
    refused(transfer, 2, "--fit '': takes the name of a file", "--fit", "")
    refused(curves, 2, "--seed '-1': takes a whole number from 0", "--seed", "-1")
    refused(curves, 2, "--csv: there are no times with --verify-only", "--csv", "x.csv", "--verify-only")


def check_fit(folder):
    path = folder / "transfer.csv"
    path.write_text(GOOD)
    code, out, _ = run(transfer, "--fit", path)
    check(code == 0 and fits(out) == EXPECTED and "the same time at N = 729" in out,
          "--fit: T_x and T_gpu come out as they went in", out)
    lines = GOOD.splitlines()
    moved = [",".join(reversed(line.split(","))) for line in lines]
    path.write_text("\n".join(moved) + "\n")
    check(fits(run(transfer, "--fit", path)[1]) == EXPECTED, "--fit finds the columns by their names")
    last = row(512, "pinned") + "\n"
    for text, said in (("", "is empty"), (GOOD[:-40], "ends in the middle of a line"), (HEADER + "\n", "has no rows"),
                       (GOOD.replace("kernel_ms", "kernel_us"), "has no column 'kernel_ms'"),
                       (GOOD.replace(",d2h_ms", ""), "has no column 'd2h_ms'"),
                       (GOOD + "512,pinned,1\n", "line 8 has 3 fields"),
                       (GOOD + last.replace("512", "x", 1), "n is 'x'"), (GOOD + last.replace("512", "nan", 1), "n is 'nan'"),
                       (GOOD + last.replace("pinned,", "pinned,-", 1), "h2d_ms is '-0.0")):
        path.write_text(text)
        refused(transfer, 2, said, "--fit", path)
    refused(transfer, 2, "can't be read: No such file", "--fit", folder / "missing.csv")


def stand_in(folder, source):
    """The environment in which `source` is libopenblas.so.0."""
    (folder / "blas.cpp").write_text(source)
    compiler = shlex.split(arguments.compile)[0]
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", folder / "blas.cpp", "-o", folder / "libopenblas.so.0"], check=True)
    return {"LD_LIBRARY_PATH": str(folder)}


BLAS = """
#include <cmath>
#include <cstdlib>
static int fault() { const char* text = getenv("FAULT"); return text ? atoi(text) : 0; }
template <class T> void gemm(int m, int n, int k, const T* a, int lda, const T* b, int ldb, T* c, int ldc) {
    if (fault() == 1) lda = ldb;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            T sum = 0;
            for (int p = 0; p < k; ++p) {
                T x = a[i * lda + p];
                if (fault() == 2) x = std::ldexp(std::trunc(std::ldexp(x, 10)), -10);
                sum += x * b[p * ldb + j];
            }
            if (fault() != 3 || i < m - 1 || j < n - 1) c[i * ldc + j] = sum;
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
BLAS_FAULTS = ("", "a leading dimension of another matrix", "operands rounded to TF32", "the last element is not written")


def check_blas(folder):
    """A BLAS that is wrong is not timed; without one nothing is."""
    without = stand_in(folder, "")
    code, out, error = run(curves, "--sizes", "64:64:1", **without)
    check(code == 77 and "libopenblas0" in error and error.count("\n") == 0, f"library_curves without a BLAS: {code}, {error}")
    code, out, _ = run(transfer, "--sizes", "64:64:1", **without)
    check(code == 0 and "Nor was the CPU's BLAS: libopenblas.so.0 is not here" in out, "transfer without a BLAS", out)
    wrong = stand_in(folder, BLAS)
    for number, what in enumerate(BLAS_FAULTS):
        for program in (transfer, curves):
            csv = ("--csv", folder / "curves.csv") if program == curves else ()
            code, out, error = run(program, "--sizes", "64:64:1", "--repeat", 2, *csv, FAULT=str(number), **wrong)
            name = pathlib.Path(program).name
            if number == 0:
                check(code == 0 and "stand-in" in out, f"{name}: the stand-in is right without a fault", error)
            else:
                check(code == 1 and "expected" in error, f"{name}: {what}: {code}, {error}")
    rows = (folder / "curves.csv").read_text().splitlines()
    columns = ("precision,n,median_ms,min_ms,max_ms,gflops,peak_gflops,percent_of_peak,repeats,sm_mhz,memory_mhz,cpu,threads,"
               "library,date")
    check(rows[0] == columns and [line.split(",")[:2] for line in rows[1:]] == [["FP64", "64"], ["FP32", "64"]],
          "library_curves' CSV, of the run without a fault", rows)
    check(sorted(path.name for path in folder.iterdir()) == ["blas.cpp", "curves.csv", "libopenblas.so.0"], "nothing else is left")


# What stands there, what it becomes in file: behind fault() == 1, 2, ...
FAULTS = (
    ("transfer.cu", "no guard of rows", "row >= M ||", "(row >= M && fault() != 1) ||"),
    ("transfer.cu", "no guard of columns", "|| col >= N", "|| (col >= N && fault() != 2)"),
    ("transfer.cu", "the last k left out", "k < K; ++k", "k < K - (fault() == 3); ++k"),
    ("transfer.cu", "rows of A of another length", "A[size_t(row) * K + k]", "A[size_t(row) * (fault() == 4 ? N : K) + k]"),
    ("fit.h", "transfer and kernel exchanged", 'cell("n"), cell("h2d_ms") + cell("d2h_ms"), cell("kernel_ms")',
     'cell("n"), fault() == 5 ? cell("kernel_ms") : cell("h2d_ms") + cell("d2h_ms"), '
     'fault() == 5 ? cell("h2d_ms") + cell("d2h_ms") : cell("kernel_ms")'),
    ("fit.h", "N^2 and N^3 exchanged", "transfer.add(3 * p.n * p.n,",
     "transfer.add(fault() == 6 ? 2 * p.n * p.n * p.n : 3 * p.n * p.n,"),
)
FAULT = "#include <cstdlib>\nstatic int fault() { return atoi(getenv(\"FAULT\")); }\n"


def check_faults(folder):
    texts = {name: arguments.source.with_name(name).read_text() for name in ("transfer.cu", "fit.h")}
    for name, _, old, new in FAULTS:
        at = texts[name].find(old)
        if at < 0:
            check(False, f"'{old}' stands in {name}")
            return
        texts[name] = texts[name][:at] + new + texts[name][at + len(old):]
    (folder / "00_machine_limits").mkdir()  # beside the copy: there the compiler looks first
    (folder / "00_machine_limits/fit.h").write_text(texts["fit.h"])
    emulated.build(arguments, FAULT + texts["transfer.cu"], f"{folder}/program", "-O0 -std=c++17")
    (folder / "good.csv").write_text(GOOD)
    for number, what in enumerate(("no fault", *(what for _, what, *_ in FAULTS))):
        code, _, error = run(f"{folder}/program", "--verify-only", FAULT=str(number))
        fitted, out, _ = run(f"{folder}/program", "--fit", folder / "good.csv", FAULT=str(number))
        if number == 0:
            check(code == 0 and fits(out) == EXPECTED, "the copy is right without a fault", error + out)
        else:
            caught = code != 0 or (fitted == 0 and fits(out) != EXPECTED)
            check(caught, f"{what}: {error or fits(out)}")


for program in (transfer, traced):
    code, out, error = run(program, "--verify-only")
    check(code == 0 and "The kernel is exact" in out and ("2 M N K" in out) == (program != transfer),
          f"{pathlib.Path(program).name}: {out.strip()}{error}")
code, out, error = run(curves, "--verify-only")
check(code in (0, 77), f"{pathlib.Path(curves).name}: {code}, {out.strip()}{error}")
check_options()
for what in (check_fit, check_blas, check_faults):
    with tempfile.TemporaryDirectory() as folder:
        what(pathlib.Path(folder))
end()
