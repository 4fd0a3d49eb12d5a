"""The README's figures are those of the programs and of the committed results: the table of ./run without a GPU, and the ladder."""
import csv
import pathlib
import subprocess
import sys

root, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
readme = (root / "README.md").read_text()
faults = []
for program in programs:
    row = subprocess.run([program], capture_output=True, text=True, check=True).stdout.rstrip("\n").split("\n")[-1]
    if row not in readme:
        faults.append(f"README.md lacks this row of ./run --cpu:\n{row}")

with open(root / "docs/results/h200/ladder.csv") as file:
    measured = [row for row in csv.DictReader(file) if row["m"] == row["n"] == row["k"] == "8192"]
for row in measured:
    stage, tflops, predicted = row["stage"], float(row["gflops"]) / 1000, float(row["predicted_gflops"]) / 1000
    cells = f"| {predicted:.1f} | {tflops:.1f} | {row['percent_of_peak']}% | {row['percent_of_cublas']}% |"
    if not any(line.startswith(f"| [{stage}]") and cells in line for line in readme.split("\n")):
        faults.append(f"README.md's ladder lacks, for {stage}: {cells}")
    chapter = (root / stage / "README.md").read_text()
    if f"**{tflops:.1f} TFLOP/s**" not in chapter or f"{row['percent_of_peak']}% of" not in chapter:
        faults.append(f"{stage}/README.md lacks **{tflops:.1f} TFLOP/s** or {row['percent_of_peak']}% of peak")
if len(measured) != len(programs):
    faults.append(f"{len(programs)} stages, but {len(measured)} measured at 8192")
sys.exit("\n".join(faults) if faults else 0)
