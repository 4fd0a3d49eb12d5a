"""The steps between the .cl files: at most 60 changed lines each, and the same kernel with the same parameters everywhere."""
import difflib
import pathlib
import sys

files = sorted(pathlib.Path(sys.argv[1]).glob("[0-9][0-9]_*.cl"))
failures = len(files) != 5
KERNEL = ("kernel __attribute__((reqd_work_group_size(16, 16, 1)))\n"
          "void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {\n")
for file in files:
    if KERNEL not in file.read_text():
        print(f"{file.name}: the kernel is not declared as in the other stages")
        failures += 1
for before, after in zip(files, files[1:]):
    diff = difflib.unified_diff(before.read_text().splitlines(), after.read_text().splitlines(), n=0, lineterm="")
    changed = sum(line[0] in "+-" and line[:3] not in ("+++", "---") for line in diff)
    print(f"{before.name} -> {after.name}: {changed} changed lines")
    failures += changed > 60
sys.exit(1 if failures else 0)
