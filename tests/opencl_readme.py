"""08's README says what gcn.py prints and what the committed results hold: opencl_readme.py ROOT. 77 without the GCN compiler."""
import csv
import pathlib
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
chapter, results = root / "08_opencl_gcn", root / "docs/results/h200"
readme = (chapter / "README.md").read_text()


def speeds(name):
    with open(results / name) as file:
        return {(row["stage"], row["m"]): row for row in csv.DictReader(file)}


lines = []
opencl, cuda = speeds("opencl.csv"), speeds("ladder.csv")
for stage in sorted(path.stem for path in chapter.glob("0*.cl")):
    small, large, beside = opencl[stage, "4096"], opencl[stage, "8192"], cuda[stage.replace("lds", "shared"), "8192"]
    tflops = [float(row["gflops"]) / 1000 for row in (small, large, beside)]
    lines.append(f"| {stage} | {tflops[0]:.1f} | {tflops[1]:.1f} | {float(large['predicted_gflops']) / 1000:.1f} | "
                 f"{large['measured_of_predicted']} x | {large['percent_of_peak']}% | {large['percent_of_clblast']}% | {tflops[2]:.1f} |")
last, beside = opencl["05_double_buffer", "8192"], cuda["05_double_buffer", "8192"]
of_cuda = f"{float(last['gflops']) / float(beside['gflops']):.1%} of CUDA's 05"
ours, theirs = (len(path.read_text().splitlines()) for path in (chapter / "05_double_buffer.cl", root / "05_double_buffer/matmul.cu"))
lines.append(f"{of_cuda}, in {ours} lines instead of {theirs}, and")
row = (f"| {float(last['predicted_gflops']) / 1000:.1f} | {float(last['gflops']) / 1000:.1f} | {last['measured_of_predicted']} x | "
       f"{last['percent_of_peak']}% |")
for readme_of_all in ("README.md", "README.ja.md"):
    if row not in (root / readme_of_all).read_text():
        sys.exit(f"{readme_of_all} lacks, in the row of 08: {row}")

compiled = subprocess.run([sys.executable, "-B", chapter / "gcn.py"], capture_output=True, text=True)
lines += [line for line in compiled.stdout.split("\n")[1:] if line]  # the first names the compiler's build
missing = [line for line in lines if line not in readme]
if missing:
    sys.exit("README.md of 08_opencl_gcn lacks:\n" + "\n".join(missing))
sys.exit(compiled.returncode)
