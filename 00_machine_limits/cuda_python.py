"""The Zenn article's program: NumPy's matrices go to the GPU and C comes back, driven from Python (cuda.core and CuPy);
the kernel is CUDA C++, which NVRTC compiles.

Each run copies A and B with CuPy, launches the kernel of transfer_kernel.cuh with cuda.core, copies C back, does the
same product with NumPy and compares the two. As in the article CuPy copies on one stream and the kernel runs on
another, and neither waits for the other. Then the same is done again on one stream. Device memory holds NaN before,
so that a kernel which does not wait for its operands is seen. kernel_s is the time from the launch until the device is
idle. Where the kernel waits for the copies, what is left of them is part of it, because CuPy's copies return early.

Examples:    python3 00_machine_limits/cuda_python.py
             python3 00_machine_limits/cuda_python.py --overflow
"""
import argparse
import csv
import datetime
import math
import pathlib
import statistics
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
INT_END = 2**31  # elements that an int can index
ARTICLE = {"cpu_s": 1.705, "gpu_s": 0.857, "kernel_s": 0.787}  # an RTX 5060 Ti, N = 8192


class Missing(Exception):
    """What this machine lacks."""


def load():
    """Imports the packages as global names; the article's cuda.core.experimental has become cuda.core since."""
    global cp, np, cuda
    try:
        import numpy as np
        import cupy as cp
        import cuda.core as cuda
        if not hasattr(cuda, "Device"):
            import cuda.core.experimental as cuda
    except ImportError as error:
        raise Missing(f"{error}; the packages are numpy, cuda-core[cu13] and cupy-cuda13x, or for a driver of CUDA 12 "
                      "cuda-core[cu12] and cupy-cuda12x") from None
    try:
        cuda.Device().set_current()
        cp.empty(1)
    except Exception as error:
        raise Missing(f"the GPU can't be used: {str(error).splitlines()[0]}") from None


class Gpu:
    """The device, the article's stream and the kernel, compiled with int and with size_t."""

    def __init__(self):
        self.device = cuda.Device()
        self.device.set_current()
        # CuPy copies on the default stream.
        self.streams = {"two": self.device.create_stream(), "one": self.device.default_stream}
        chip = self.device.compute_capability
        options = cuda.ProgramOptions(std="c++17", arch=f"sm_{chip.major}{chip.minor}")
        names = ("matmul<int>", "matmul<size_t>")
        program = cuda.Program((FOLDER / "transfer_kernel.cuh").read_text(), "c++", options=options)
        module = program.compile("cubin", name_expressions=names)
        self.kernels = {name[7:-1]: module.get_kernel(name) for name in names}

    def launch(self, streams, index, m, n, k, *pointers):
        grid = math.ceil(n / 16), math.ceil(m / 16)
        config = cuda.LaunchConfig(grid=grid, block=(16, 16))
        cuda.launch(self.streams[streams], config, self.kernels[index], *(np.int32(x) for x in (m, n, k)), *pointers)

    def where(self):
        return {"gpu": self.device.name, "cuda_core": getattr(cuda, "__version__", "-"), "cupy": cp.__version__,
                "numpy": np.__version__, "date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"}


def poison(n):
    """Fills with NaN the memory that CuPy's pool hands out for the next three n x n matrices."""
    for each in [cp.empty((n, n), np.float32) for _ in range(3)]:
        each.data.memset(0xff, each.nbytes)
    cp.cuda.Device().synchronize()


def run_once(gpu, streams, A, B):
    """The article's steps and its clock, time.time()."""
    n = len(A)
    poison(n)
    start = time.time()
    A_device, B_device, C_device = cp.asarray(A), cp.asarray(B), cp.empty((n, n), np.float32)
    start_kernel = time.time()
    index = "int" if n * n <= INT_END else "size_t"
    gpu.launch(streams, index, n, n, n, A_device.data.ptr, B_device.data.ptr, C_device.data.ptr)
    gpu.device.sync()
    end_kernel = time.time()
    C = cp.asnumpy(C_device)
    end = time.time()
    expected = np.matmul(A, B)
    end_cpu = time.time()
    wrong = int(np.count_nonzero(~np.isclose(C, expected)))
    return {"to_device_s": start_kernel - start, "kernel_s": end_kernel - start_kernel, "to_host_s": end - end_kernel,
            "gpu_s": end - start, "cpu_s": end_cpu - end, "wrong": wrong, "allclose": "False" if wrong else "True"}


def time_all(gpu, n, runs):
    """Prints the article's two tables; returns the rows of all runs."""
    A, B = (np.random.rand(n, n).astype(np.float32) for _ in range(2))
    rows = [{"n": n, "streams": streams, "run": run + 1, **run_once(gpu, streams, A, B)}
            for streams in gpu.streams for run in range(runs)]
    for row in rows:
        row["kernel_tflops"] = 2 * n**3 / row["kernel_s"] / 1e12
    print(f"N = {n}, means of {runs} runs, by time.time(){'the article, RTX 5060 Ti, N = 8192':>50}")
    for streams in gpu.streams:
        these = [row for row in rows if row["streams"] == streams]
        mean = {name: statistics.mean(row[name] for row in these) for name in ARTICLE}
        print(f"{streams} stream{'s' * (streams == 'two')}")
        for what, name in (("CPU (NumPy)", "cpu_s"), ("GPU", "gpu_s"), ("GPU (launch to sync)", "kernel_s")):
            def detail(s, size):
                return {"cpu_s": "", "gpu_s": f"{s['cpu_s'] / s['gpu_s']:5.1f} times",
                        "kernel_s": f"{2 * size**3 / s['kernel_s'] / 1e12:5.1f} TFLOP/s"}[name]
            print(f"    {what:<20}{mean[name]:8.3f} s {detail(mean, n):<14}(run 1: {these[0][name]:.3f} s)"
                  f"{ARTICLE[name]:12.3f} s {detail(ARTICLE, 8192)}".rstrip())
        equal = sum(row["allclose"] == "True" for row in these)
        wrong = ", ".join(str(row["wrong"]) for row in these)
        print(f"    np.allclose: {equal} of {runs} runs; elements of C that differ: {wrong}")
    return rows


def pieces(array, step=2**28):
    return (array[at:at + step] for at in range(0, array.size, step))


def overflow(gpu, n):
    """Launches three products in which one matrix each has more than 2^31 elements, with int and with size_t. So much
    NaN lies before that matrix that a negative index ends there. All operands are 1, so every element must be K."""
    memory = cp.empty(INT_END + n * n, np.float32)
    rows = []
    print(f"N = {n}: {n * n} elements, {n * n - INT_END} more than an int can index")
    for what, (m, columns, k) in (("A", (n, 16, n)), ("B", (16, n, n)), ("C", (n, n, 16))):
        for index in gpu.kernels:
            memory.data.memset(0xff, memory.nbytes)
            before, large = memory[:INT_END], memory[INT_END:]
            others = {name: cp.full(size, np.nan if name == "C" else 1, np.float32)
                      for name, size in (("A", m * k), ("B", k * columns), ("C", m * columns)) if name != what}
            if what != "C":
                for piece in pieces(large):
                    piece.fill(1)
            matrices = {**others, what: large}
            gpu.device.sync()
            gpu.launch("two", index, m, columns, k, *(matrices[name].data.ptr for name in "ABC"))
            gpu.device.sync()
            wrong = sum(int(cp.count_nonzero(piece != k)) for piece in pieces(matrices["C"]))
            beside = sum(int(cp.count_nonzero(piece == piece)) for piece in pieces(before))  # NaN is unequal to itself
            rows.append({"large": what, "m": m, "n": columns, "k": k, "index": index, "wrong": wrong,
                         "written_before_c": beside})
            print(f"    {what} is large, {m} x {columns} x {k}, {index:<6}: {wrong} of {m * columns} elements wrong"
                  + f", {beside} written before C, 2^32 elements from their place" * (what == "C"))
    return rows


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, help="matrices of N x N (default 8192)", metavar="N")
    parser.add_argument("--runs", type=int, help="runs of each (default 5)", metavar="R")
    parser.add_argument("--overflow", action="store_true",
                        help="at N = 46341: what int indices do, which end at 2^31 elements")
    parser.add_argument("--csv", help="also write the rows to FILE", metavar="FILE")
    given = parser.parse_args(words)
    if given.overflow and (given.size, given.runs) != (None, None):
        parser.error("--overflow takes no --size and no --runs: its size is the smallest whose indices overflow")
    n = math.isqrt(INT_END) + 1 if given.overflow else 8192 if given.size is None else given.size
    runs = 5 if given.runs is None else given.runs
    if not 1 <= n <= 100000 or not 1 <= runs <= 1000:
        parser.error("--size takes a number from 1 to 100000, --runs one from 1 to 1000")
    try:
        load()
        gpu = Gpu()
        free, needed = cp.cuda.runtime.memGetInfo()[0], 4 * (INT_END + n * n) + 2**31 if given.overflow else 12 * n * n
        if free < needed:
            raise Missing(f"N = {n} takes {needed / 2**30:.0f} GiB of device memory, {free / 2**30:.0f} are free")
    except Missing as what:
        print(f"cuda_python.py: {what}", file=sys.stderr)
        return 77
    rows = overflow(gpu, n) if given.overflow else time_all(gpu, n, runs)
    if given.csv:
        with open(given.csv, "w", newline="") as file:
            rows = [{**row, **gpu.where()} for row in rows]
            table = csv.DictWriter(file, rows[0], lineterminator="\n")
            table.writeheader()
            for row in rows:
                table.writerow({name: f"{x:.6g}" if isinstance(x, float) else x for name, x in row.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
