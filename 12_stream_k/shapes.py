#!/usr/bin/env python3
"""Prints forty shapes that nobody chose, as --sizes takes them. M, N and K lie between 64 and 16384, evenly by their
logarithms, as multiples of 8; a product has at most 2^37 multiply-adds.
"""
import argparse
import random


def shapes(seed, count=40):
    draw, found = random.Random(seed), []
    while len(found) < count:
        M, N, K = (max(64, min(16384, round(64 * 2 ** (8 * draw.random()) / 8) * 8)) for _ in range(3))
        if M * N * K <= 2 ** 37:
            found.append(f"{M}x{N}x{K}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Example: ./run 12/matmul --sizes $(python3 12_stream_k/shapes.py 12)")
    parser.add_argument("seed", type=int, help="another list for each")
    print(",".join(shapes(parser.parse_args().seed)))
