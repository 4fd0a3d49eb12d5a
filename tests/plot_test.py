"""./run --plot: the pictures and the README's table are those of the CSVs; a bad CSV gives one line and leaves everything as it
was: plot_test.py ROOT. 77 where no Python has matplotlib. Most of it is tried on the figures of a machine that is made up.
"""
import contextlib
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from checks import check, end

root = pathlib.Path(sys.argv[1])
results = root / "docs/results/h200"
SOURCES = {"ladder": ("ladder", "limits"), "roofline": ("ladder", "limits"), "library_curves": ("library_curves",)}


def has_matplotlib(python):
    return shutil.which(python) and subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0


python = next(filter(has_matplotlib, (sys.executable, "python3", "/usr/bin/python3")), None)
if not python:
    print("no Python here has matplotlib (python3-matplotlib)")
    sys.exit(77)
if python != sys.executable and not os.environ.get("IN_THE_OTHER_PYTHON"):
    os.execvpe(python, [python, "-B", *sys.argv], {**os.environ, "IN_THE_OTHER_PYTHON": "yes"})
sys.dont_write_bytecode = True
sys.path.append(str(root / "tools"))
plot_py, tables = __import__("plot"), __import__("tables")


def plot(*words):
    """Runs plot.py's main(), which is quicker than starting it each time."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = plot_py.main([str(word) for word in words])
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def made_up():
    """{name: text} of the three CSVs. The figures are of no machine, but such as one could have."""
    machine = "Made-up GPU,1.2.3,13.0,2026-01-01"
    ladder = ["stage,m,n,k,verified,gflops,percent_of_peak,percent_of_cublas,cublas_gflops,flop_per_byte,shared_flop_per_byte,"
              "predicted_gflops,measured_of_predicted,gpu,driver,cuda,date"]
    for stage, gflops, of_byte, predicted in (("01_naive", 6200, 0.25, 1070), ("02_register_blocking", 15100, 2, 8560),
                                              ("03_shared_blocking", 14000, 31.75, 65000), ("04_unroll", 39400, 31.75, 65000),
                                              ("05_double_buffer", 51900, 31.75, 65000), ("06_wmma", 437500, 83.59, 357900)):
        peak, library = (989400, 757000) if "wmma" in stage else (66900, 51300)
        for n in range(1024, 8193, 1024):
            speed = round(gflops * (1 - 300 / n * (n < 8192)))
            ladder.append(f"{stage},{n},{n},{n},exact,{speed},{100 * speed / peak:.1f},{100 * speed / library:.1f},{library},"
                          f"{of_byte},{'-' if of_byte < 3 else 2},{predicted},{speed / predicted:.2f},{machine}")
    limits = ["what,flop_per_byte,gbs,gflops,limit,percent_of_limit,repeats,gpu,driver,cuda,date"]
    rows = [("copy", "-", 4282, "-", 4917), ("read_2_write_1", "-", 4300, "-", 4917), ("shared_memory", "-", 33000, "-", 33454),
            ("fp32_fma", "-", "-", 65500, 66908), ("fp16_pairs", "-", "-", 131000, 133816),
            ("tensor_mma_sync", "-", "-", 620000, 989400)]
    for power in range(-2, 7):
        roof = min(65500, 4282 * 2.0**power)
        rows.append(("sweep", 2.0**power, f"{0.97 * roof / 2.0**power:.0f}", f"{0.97 * roof:.0f}", f"{roof:.0f}"))
    limits += [f"{','.join(map(str, row))},97.0,10,{machine}" for row in rows]
    curves = ["precision,n,median_ms,gflops,peak_gflops,repeats,gpu,driver,cuda,date"]
    for precision, best, peak, half in (("FP64", 61000, 66900, 500), ("FP32", 51400, 66908, 400), ("TF32", 430000, 494700, 1300),
                                        ("FP16", 757000, "-", 1600)):
        for n in (256, 512, *range(1024, 8193, 512)):
            curves.append(f"{precision},{n},1,{best / (1 + (half / n)**2):.0f},{peak},20,{machine}")
    return {"ladder": "\n".join(ladder) + "\n", "limits": "\n".join(limits) + "\n", "library_curves": "\n".join(curves) + "\n"}


def made_up_readme(rows):
    table = "".join(f"| [{stage}]({stage}/README.md) | idea of {stage} | slides | 60 | ? | ? | ? | ? | ? | quoted |\n" for stage in rows)
    return f"# Title\n\n<!-- ladder -->\n| stage | ... |\n|---|---|\n{table}<!-- /ladder -->\n\nrest\n"


def words_of(picture):
    return "".join(xml.etree.ElementTree.parse(picture).getroot().itertext())


def check_pictures(folder, csvs, words, what):
    for name, sources in SOURCES.items():
        digests = [hashlib.sha256(csvs[source].encode()).hexdigest() for source in sources]
        path = folder / f"{name}.svg"
        text = words_of(path) if path.exists() else "none"
        missing = [word for word in (*digests, "TFLOP/s", *words["every"], *words[name]) if word not in text]
        check(not missing, f"{name}.svg, {what}: its lines, peaks, unit, machine, and of these CSVs", missing)


good = made_up()
lines = good["ladder"].splitlines(keepends=True)
stages = sorted({line.split(",")[0] for line in lines[1:]})
words = {"every": ["Made-up GPU"], "ladder": [*stages, "66.9", "989.4", "cuBLAS"],
         "roofline": [*stages, "4282 GB/s", "65.5 TFLOP/s (peak 66.9)", "620.0 TFLOP/s (peak 989.4)", "sweep"],
         "library_curves": ["FP64", "FP32", "TF32", "FP16", "peak FP64, FP32: 66.9", "peak TF32: 494.7"]}

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    readme = folder / "README.md"

    def write(csvs):
        for each, text in csvs.items():
            (folder / f"{each}.csv").write_text(text)

    write(good)
    readme.write_text(made_up_readme(stages))
    run = subprocess.run([python, "-B", root / "tools/plot.py", folder, readme], capture_output=True, text=True)
    check(run.returncode == 0 and not run.stderr, "draws made-up results", run.stderr)
    check_pictures(folder, good, words, "of made-up results")
    table = [line for line in readme.read_text().splitlines() if line.startswith("| [0")]
    for stage, cells in (("01_naive", "1.1 | 6.2 | 5.8 x | 9.3% | 12.1%"),
                         ("06_wmma", "357.9 | 437.5 | 1.2 x | 44.2% | 57.8%"),
                         ("03_shared_blocking", "65.0 | 14.0 | 0.22 x | 20.9% | 27.3%")):
        row = f"| [{stage}]({stage}/README.md) | idea of {stage} | slides | 60 | {cells} | quoted |"
        check(row in table, f"the table's row for {stage}", table)

    def redrawn(what, source, old, new, *pictures):
        """Another figure in one CSV: those pictures change, in their lines and not only in what they say of their source."""
        write(good)
        plot(folder, readme)
        before = contents(folder)
        assert old in good[source], old
        write({source: good[source].replace(old, new, 1)})
        run = plot(folder, readme)

        def lines_of(text):
            return [line for line in text.decode().splitlines() if "SHA-256" not in line]

        changed = [each for each in SOURCES if lines_of(before[f"{each}.svg"]) != lines_of((folder / f"{each}.svg").read_bytes())]
        check(run.returncode == 0 and changed == list(pictures), f"{what}: other pictures of {', '.join(pictures)}", (run, changed))

    row = next(line for line in lines if line.startswith("05_double_buffer,8192,8192,8192"))
    redrawn("another speed at 8192", "ladder", row, row.replace(",51900,", ",12345,"), "ladder", "roofline")
    changed = [line for line in readme.read_text().splitlines() if line.startswith("| [05_double_buffer]")][0]
    check("| 12.3 | 0.19 x |" in changed, "and another figure in the table", changed)
    redrawn("another bandwidth", "limits", "copy,-,4282", "copy,-,3000", "roofline")
    redrawn("another point of the sweep", "limits", "sweep,1.0,4154,4154", "sweep,1.0,2000,2000", "roofline")
    redrawn("another vendor's peak", "limits", "65500,66908", "65500,70000", "ladder", "roofline")
    redrawn("another speed of the library", "library_curves", "FP32,256,1,", "FP32,256,1,1", "library_curves")

    faults = [("ladder", "without 8192", "".join(line for line in lines if ",8192,8192,8192," not in line), "has no row of 8192 x"),
              ("ladder", "a stage without 8192", good["ladder"].replace(row, ""), "8192 x 8192 x 8192 for 05_double_buffer"),
              ("ladder", "of another version", good["ladder"].replace("predicted_g", "g", 1), "no column 'predicted_gflops'"),
              ("ladder", "verified, not timed", "".join(",".join(line.split(",")[:5]) + "\n" for line in lines), "no column 'gpu'"),
              ("ladder", "not compared with cuBLAS", good["ladder"].replace(",51300,", ",-,", 1), "01_naive has no cublas_gflops"),
              ("limits", "without a row", good["limits"].replace("fp32_fma,", "fma,"), "has no row 'fp32_fma'"),
              ("limits", "without the sweep", good["limits"].replace("sweep,", "swept,"), "has no row 'sweep'"),
              ("limits", "without its figure", good["limits"].replace("copy,-,4282", "copy,-,-"), "copy has no gbs"),
              ("limits", "of another GPU", good["limits"].replace("Made-up GPU", "X1"), "is of X1, driver 1.2.3, CUDA 13.0"),
              ("library_curves", "of another driver", good["library_curves"].replace("1.2.3", "9"), "is of Made-up GPU, driver 9")]
    for source, text in good.items():
        first, second, *_ = text.splitlines(keepends=True)
        fields = second.split(",")
        figure = first.split(",").index("gflops" if source != "limits" else "gbs")
        faults += [(source, "no rows", first, "has no rows"), (source, "empty", "", "has no rows"),
                   (source, "blank", "\n\n", "has no rows"),
                   (source, "cut within a line", text[:-3], "ends in the middle of line"),
                   (source, "a line cut short", text.replace(second, second[:12] + "\n"), "line 2: has "),
                   (source, "two machines", text.replace("1.2.3", "1.2.4", 1), "has rows of several machines")]
        for bad in ("many", "nan", "-5", "inf", ""):
            changed = ",".join([*fields[:figure], bad, *fields[figure + 1:]])
            faults.append((source, f"'{bad}' for a number", text.replace(second, changed), f"is '{bad}', expected a number"))
    write(good)
    plot(folder, readme)
    for source, what, text, said in faults:
        write({**good, source: text})
        before = contents(folder)
        run = plot(folder, readme)
        check(run.returncode == 2 and said in run.stderr and run.stderr.count("\n") == 1 and contents(folder) == before,
              f"{source}.csv, {what}: {run.stderr.strip().rpartition('/')[2]}", run)
    for source in good:
        write(good)
        (folder / f"{source}.csv").unlink()
        before = contents(folder)
        run = plot(folder, readme)
        check(run.returncode == 2 and f"{source}.csv: No such file" in run.stderr and run.stderr.count("\n") == 1
              and contents(folder) == before, f"no {source}.csv", run.stderr)
    write(good)
    for what, text, said in (("no marker", made_up_readme(stages).replace("<!-- /ladder -->", ""), "takes a table between"),
                             ("a stage without its row", made_up_readme(stages[1:]), "has 0 rows for 01_naive"),
                             ("a row of too few cells", made_up_readme(stages).replace(" | ?", "", 1), "has 9 cells, expected 10")):
        readme.write_text(text)
        before = contents(folder)
        run = plot(folder, readme)
        check(run.returncode == 2 and said in run.stderr and contents(folder) == before, f"a README, {what}", run.stderr)

    # The committed results.
    both = [folder / name for name in ("README.md", "README.ja.md")]
    for path in both:
        shutil.copy(root / path.name, path)
    committed = {}
    for source in good:
        path = results / f"{source}.csv"
        committed[source] = path.read_text() if path.exists() else ""
    write(committed)
    run = plot(folder, *both)
    check(run.returncode == 0 and not run.stderr, "draws the committed results", run.stderr)
    for path in both:
        check(path.read_text() == (root / path.name).read_text(), f"{path.name}'s ladder is that of ladder.csv: else ./run --plot")
    words = {"every": ["NVIDIA H200"], "ladder": [*stages, "66.9", "989.4"], "roofline": [*stages, "66.9", "989.4", "GB/s"],
             "library_curves": ["FP64", "FP32", "TF32", "FP16"]}
    check_pictures(results, committed, words, "as committed: else ./run --plot")

def check_chapter(folder):
    """The tables of a stage's README beside README.md."""
    for source, text in good.items():
        (folder / f"{source}.csv").write_text(text)
    (folder / "README.md").write_text(made_up_readme(stages))
    chapter = folder / "03_shared_blocking/README.md"
    chapter.parent.mkdir()
    empty = "# 03\n\n<!-- prediction -->\nold\n<!-- /prediction -->\n\n<!-- ncu -->\n<!-- /ncu -->\nrest\n"
    rates = f"stage,size,{','.join(tables.RATES)}\n03_shared_blocking,4096,{','.join(['12.34'] * len(tables.RATES))}\n"
    for what, text, counted, said in (("no rates.csv", empty, "", "rates.csv: No such file"),
                                      ("no row in it", empty, rates.replace("03_shared", "07_shared"), "no row for 03_shared"),
                                      ("no marker", empty.replace("<!-- ncu -->", ""), rates, "between '<!-- ncu -->' and"),
                                      ("nothing wrong", empty, rates, "")):
        chapter.write_text(text)
        (folder / "rates.csv").write_text(counted)
        if not counted:
            (folder / "rates.csv").unlink()
        run = plot(folder, folder / "README.md")
        now = chapter.read_text()
        if said:
            check(run.returncode == 2 and said in run.stderr and run.stderr.count("\n") == 1 and now == text, f"a chapter, {what}", run)
        else:
            check(run.returncode == 0 and "\nold\n" not in now and now.endswith("rest\n"), f"a chapter, {what}", run)
            for line in ("| shared memory, 33000 GB/s | 2.00 | 66.0 |", "| **predicted**, the least of these | | **65.0** |",
                         "| **measured** | | **14.0**, 0.22 x |", "| issue slots used | 12.3% |"):
                check(f"\n{line}\n" in now, f"its line {line}", now)


with tempfile.TemporaryDirectory() as name:
    check_chapter(pathlib.Path(name))
end()
