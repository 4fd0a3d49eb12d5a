"""The fragment chapter's README shows what its programs say: fragment_readme.py CHAPTER PROBE_CPU VOLTA_TABLES_CPU"""
import pathlib
import subprocess
import sys

chapter, probe, volta_tables = sys.argv[1:]
readme = (pathlib.Path(chapter) / "README.md").read_text()


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")


faults = [line for line in lines(volta_tables)[1:6] if f"    {line}\n" not in readme]  # the counts of wrong elements
for arch, shown in (("sm_70", "matrix_a, col_major, sm_70"), ("sm_80", "matrix_a, row_major and col_major, sm_75 and later")):
    formula = next(line for line in lines(probe, "--arch", arch) if line.startswith("row = "))
    row, col = formula.split(", ")
    if not any(row in line and col in line and shown in line for line in readme.split("\n")):
        faults.append(f"{formula} beside '{shown}'")
sys.exit("\n".join(f"README.md lacks: {fault}" for fault in faults) or 0)
