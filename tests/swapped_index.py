"""Exercise 1 of 01_naive: with the roles of row and column exchanged among the lanes of a warp the result stays right, and each
load of A touches 32 sectors instead of 1. Makes the change in a copy, traces it, and reads the counts.
"""
import argparse
import re
import subprocess
import sys
import tempfile

import emulated

CHANGES = (("constexpr int kTileM = 16;", "constexpr int kTileM = 32;"), ("constexpr int kTileN = 32;", "constexpr int kTileN = 16;"),
           ("threadIdx.x / kTileN;", "threadIdx.x % kTileM;"), ("threadIdx.x % kTileN;", "threadIdx.x / kTileM;"),
           ("static_assert(kTileN == 32", "static_assert(kTileM == 32"))


def sectors_per_request(source, arguments):
    """Of the loads of A and of B, in 64 x 64 x 64."""
    with tempfile.TemporaryDirectory() as folder:
        emulated.build(arguments, source, f"{folder}/matmul", arguments.trace)
        printed = subprocess.run([f"{folder}/matmul", "--size", "64", "--lines"], check=True, capture_output=True, text=True).stdout
    print(printed)
    loads = re.findall(r"global load .* (\d+) requests +(\d+) sectors", printed)
    if [int(requests) for requests, _ in loads] != [64**3 // 32] * 2:  # a load by each warp at each k
        sys.exit(f"expected two loads of {64**3 // 32} requests")
    return [int(sectors) / int(requests) for requests, sectors in loads]


parser = argparse.ArgumentParser()
emulated.add_arguments(parser)
arguments = parser.parse_args()
source = arguments.source.read_text()
as_written = sectors_per_request(source, arguments)
for old, new in CHANGES:
    if source.count(old) != 1:
        sys.exit(f"'{old}' stands {source.count(old)} times in {arguments.source}, expected once")
    source = source.replace(old, new)
swapped = sectors_per_request(source, arguments)
if (as_written, swapped) != ([1, 4], [32, 1]):
    sys.exit(f"sectors per request of A and B: {as_written} as written, expected [1, 4]; {swapped} swapped, expected [32, 1]")
