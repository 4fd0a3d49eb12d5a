"""./run --plot: the pictures and the README's table are those of the CSV; a bad CSV gives one line and leaves everything as it was:
plot_test.py ROOT. 77 where no Python has matplotlib.
"""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from checks import check, end

root = pathlib.Path(sys.argv[1])
results = root / "docs/results/h200"


def has_matplotlib(python):
    return shutil.which(python) and subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0


python = next(filter(has_matplotlib, (sys.executable, "python3", "/usr/bin/python3")), None)
if not python:
    print("no Python here has matplotlib (python3-matplotlib)")
    sys.exit(77)


def plot(folder, *more):
    return subprocess.run([python, "-B", root / "tools/plot.py", folder, *more], capture_output=True, text=True)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


good = (results / "ladder.csv").read_text()
lines = good.splitlines(keepends=True)
stages = sorted({line.split(",")[0] for line in lines[1:]})
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    readme = folder / "README.md"
    shutil.copy(results / "ladder.csv", folder)
    shutil.copy(root / "README.md", readme)
    run = plot(folder, readme)
    check(run.returncode == 0 and not run.stderr, "draws the committed results", run.stderr)
    check(readme.read_text() == (root / "README.md").read_text(), "README.md's ladder is that of ladder.csv: else ./run --plot")
    digest = hashlib.sha256(good.encode()).hexdigest()
    for picture in ("ladder.svg", "roofline.svg"):
        for place, where in ((folder, "drawn"), (results, "committed")):
            text = "".join(xml.etree.ElementTree.parse(place / picture).getroot().itertext())
            missing = [word for word in (*stages, "TFLOP/s", "NVIDIA H200", "66.9", "989.4", digest) if word not in text]
            check(not missing, f"{picture}, as {where}: stages, peaks, unit, machine, and of this CSV: else ./run --plot", missing)

    last = [number for number, line in enumerate(lines) if line.startswith("05_double_buffer,8192,8192,8192")][0]
    fields = lines[last].split(",")
    column = lines[0].split(",").index("gflops")
    fields[column] = "12345"
    (folder / "ladder.csv").write_text("".join(lines[:last] + [",".join(fields)] + lines[last + 1:]))
    before = (folder / "ladder.svg").read_bytes()
    run = plot(folder, readme)
    changed = [line for line in readme.read_text().splitlines() if line.startswith("| [05_double_buffer]")][0]
    check(run.returncode == 0 and "| 12.3 |" in changed, "another speed in the CSV: another figure in the table", changed)
    check((folder / "ladder.svg").read_bytes() != before, "and another picture")

    header = lines[0]
    for what, text, said in (
            ("no rows", header, "has no rows"), ("empty", "", "has no rows"), ("blank", "\n\n", "has no rows"),
            ("cut within a line", good[:len(good) // 2], "ends in the middle of line"),
            ("a line cut short", good.replace(lines[3], lines[3][:20] + "\n"), "line 4: has "),
            ("of another version", good.replace("flop_per_byte", "intensity", 1), "has no column 'flop_per_byte'"),
            ("verified, not timed", "".join(",".join(line.split(",")[:6]) + "\n" for line in lines), "has no column 'gflops'"),
            ("a word for a number", good.replace(lines[2], lines[2].replace("2048", "many", 1)), "line 3: m is 'many', expected a"),
            ("two machines", good.replace("580.159.04", "570.1", 1), "has rows of several machines"),
            ("another GPU", good.replace("NVIDIA H200", "NVIDIA X1"), "'NVIDIA X1' has no line in the table of common/roofline.h"),
            ("without 8192", "".join(line for line in lines if ",8192,8192,8192," not in line), "has no row of 8192 x 8192")):
        (folder / "ladder.csv").write_text(text)
        before = contents(folder)
        run = plot(folder, readme)
        check(run.returncode == 2 and said in run.stderr and run.stderr.count("\n") == 1 and contents(folder) == before,
              f"a CSV, {what}: {run.stderr.strip()}", run)
    (folder / "ladder.csv").unlink()
    run = plot(folder, readme)
    check(run.returncode == 2 and "ladder.csv: No such file" in run.stderr and run.stderr.count("\n") == 1, "no CSV", run.stderr)
    (folder / "ladder.csv").write_text(good)
    readme.write_text(readme.read_text().replace("<!-- /ladder -->", ""))
    before = contents(folder)
    run = plot(folder, readme)
    check(run.returncode == 2 and "takes a table between" in run.stderr and contents(folder) == before, "no marker", run.stderr)
    readme.write_text((root / "README.md").read_text().replace("| [04_unroll]", "| [04_gone]"))
    run = plot(folder, readme)
    check(run.returncode == 2 and "has 0 rows for 04_unroll" in run.stderr, "a stage without its row", run.stderr)
end()
