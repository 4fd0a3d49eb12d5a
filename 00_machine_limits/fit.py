#!/usr/bin/env python3
"""fit.py FILE: fits the model of the Zenn article, T = 3 N^2 T_x + 2 N^3 T_gpu, to the times in FILE.

FILE is a CSV that transfer wrote (its --csv); there is one for the H200:

Example:  python3 00_machine_limits/fit.py docs/results/h200/transfer.csv

T_x is the time to move one element, T_gpu the time of one flop. Each is fitted on its own, to the copies
and to the kernel, with relative errors: a small N counts as much as a large one.
Exit codes: 0 fitted, 2 bad command line or file
"""
import pathlib
import sys
from typing import NamedTuple

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from results import InvalidInput, read


class Point(NamedTuple):
    """One product of two N x N matrices of floats."""
    n: float
    transfer_ms: float  # A and B to the device and C back: 3 N^2 elements
    kernel_ms: float  # 2 N^3 flop


class Fit(NamedTuple):
    t_x_ns: float
    t_gpu_ns: float

    def model_ms(self, n):
        return (3 * n**2 * self.t_x_ns + 2 * n**3 * self.t_gpu_ns) * 1e-6

    def error(self, point):
        """model / measured - 1, of the whole time"""
        return self.model_ms(point.n) / (point.transfer_ms + point.kernel_ms) - 1

    def worst(self, points):
        return max(points, key=lambda point: abs(self.error(point)))

    def crossover_n(self):
        """Here transfer and computation take the same time."""
        return 1.5 * self.t_x_ns / self.t_gpu_ns

    def gbs(self):
        return 4 / self.t_x_ns

    def tflops(self):
        return 1e-3 / self.t_gpu_ns


ARTICLE = Point(8192, 857 - 787, 787)  # its table: 0.857 s in all, 0.787 s the kernel's, on an RTX 5060 Ti


def slope(xs, ys):
    """The a that makes the sum of (a x / y - 1)^2 least."""
    shares = [x / y for x, y in zip(xs, ys)]
    return sum(shares) / sum(share**2 for share in shares)


def fit(points):
    return Fit(slope([3 * p.n**2 for p in points], [p.transfer_ms * 1e6 for p in points]),
               slope([2 * p.n**3 for p in points], [p.kernel_ms * 1e6 for p in points]))


def read_points(path):
    """The points of a CSV by the kind of host memory. Raises InvalidInput."""
    points = {}
    numbers = ("n", "h2d_ms", "kernel_ms", "d2h_ms")
    for at, row in enumerate(read(path, numbers), 2):
        for name in numbers:
            if getattr(row, name) == "-":
                raise InvalidInput(f"{path}, line {at}: {name} is '-', expected a number above 0")
        points.setdefault(row.memory, []).append(Point(row.n, row.h2d_ms + row.d2h_ms, row.kernel_ms))
    return points


def report(all_points):
    print("T = 3 N^2 T_x + 2 N^3 T_gpu, fitted with relative errors: small N count, too. The model has no\n"
          "constant term: what it takes to start each copy and launch is missing from it.")
    for memory, points in sorted(all_points.items()):
        f = fit(points)
        worst = f.worst(points)
        print(f"{memory}: T_x {f.t_x_ns:.4g} ns per element ({f.gbs():.4g} GB/s), "
              f"T_gpu {f.t_gpu_ns:.4g} ns per flop ({f.tflops():.4g} TFLOP/s)\n"
              f"    transfer and computation take the same time at N = {f.crossover_n():.0f}; "
              f"the model is furthest off at N = {worst.n:.0f}: {100 * f.error(worst):+.1f}%")
    f = fit([ARTICLE])
    print(f"The article's rates: {f.gbs():.3g} GB/s, {f.tflops():.2g} TFLOP/s: "
          f"the same time at N = {f.crossover_n():.0f}")


def main(words):
    if words in (["--help"], ["-h"]):
        print(__doc__.strip())
        return 0
    if len(words) != 1 or words[0].startswith("-"):
        print("fit.py: takes one file, a CSV of transfer; see --help", file=sys.stderr)
        return 2
    try:
        report(read_points(pathlib.Path(words[0])))
    except InvalidInput as wrong:
        print(f"fit.py: {wrong}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
