"""Oclgrind, a simulator of OpenCL devices that checks every access: its options, and what it counts."""
import re

# Shaped like Fiji, the R9 Fury X. One stage and one shape per process: a buffer in the place of one that was freed
# inherits what Oclgrind 21.10 knows of that one's uninitialised values, and its size.
FIJI = ("--local-mem-size", "65536", "--compute-units", "64", "--max-wgsize", "256")
# A race is also where two work-items write the same value.
RACES = (*FIJI, "--data-races", "--uniform-writes", "--check-api")
EVERYTHING = (*RACES, "--uninitialized")  # takes three times as long
COUNTS = "--inst-counts"  # the locale must be C: another one would group the counts' digits


def executed(output):
    """The instructions of each launch of the kernel matmul: a list of (what, bytes or "") for each, such as
    ("load global", "4096")."""
    kernels = re.findall(r"^Instructions executed for kernel 'matmul':\n((?: +\d+ - .*\n)*)", output, re.M)
    return [re.findall(r"- (.*?)(?: \((\d+) bytes\))?$", kernel, re.M) for kernel in kernels]
