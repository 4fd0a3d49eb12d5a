"""./run plot: the pictures and the READMEs' tables are those of the committed CSVs; another figure changes them; a bad CSV gives one
line and leaves everything as it was.
"""
import hashlib
import shutil
import sys
import xml.etree.ElementTree

import pytest

from support import ROOT, call

pytest.importorskip("matplotlib", reason="this Python has no matplotlib (python3-matplotlib)")
import plot  # noqa: E402
import tables  # noqa: E402

RESULTS = ROOT / "docs/results/h200"
SOURCES = {"ladder": ("ladder", "limits"), "roofline": ("ladder", "limits"), "library_curves": ("library_curves",),
           "opencl": ("opencl",)}
GOOD = {name: (RESULTS / f"{name}.csv").read_text() for name in ("ladder", "limits", "library_curves", "opencl")}
LINES = GOOD["ladder"].splitlines(keepends=True)
STAGES = sorted({stage for stage, *_ in (line.split(",") for line in LINES[1:]) if "/" not in stage})
README = (ROOT / "README.md").read_text()
LAST_05 = next(line for line in LINES if line.startswith("05_double_buffer,8192"))


def changed(source, begin, column, value):
    """The text of a CSV with another value in the first row that begins so."""
    header, *lines = GOOD[source].splitlines(keepends=True)
    row = next(line for line in lines if line.startswith(begin))
    cells = row.split(",")
    cells[header.split(",").index(column)] = value
    return GOOD[source].replace(row, ",".join(cells), 1)


def write(folder, csvs):
    for name, text in csvs.items():
        (folder / f"{name}.csv").write_text(text)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with all that is made of the CSVs."""
    folder = tmp_path_factory.mktemp("drawn")
    write(folder, GOOD)
    readmes = [shutil.copy(ROOT / name, folder) for name in ("README.md", "README.ja.md")]
    run = call(sys.executable, ROOT / "tools/plot.py", folder, *readmes)
    assert run.returncode == 0 and not run.stderr, run.stderr
    return folder


@pytest.fixture
def folder(drawn, tmp_path):
    return shutil.copytree(drawn, tmp_path / "copy")


def refused(folder, capsys, said):
    """plot.py ends with 2 and one line, which has `said`, and changes nothing."""
    before = contents(folder)
    code, error = plot.main([str(folder), str(folder / "README.md")]), capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1) and said in error, error
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["README.md", "README.ja.md"])
def test_committed_tables(name, drawn):
    assert (drawn / name).read_text() == (ROOT / name).read_text(), f"{name}'s tables are not those of the CSVs: ./run plot"


@pytest.mark.parametrize("name, words", [
    ("ladder", [*STAGES, "66.9", "989.4", "cuBLAS"]),
    ("roofline", [*STAGES, "4290 GB/s", "65.9 TFLOP/s (peak 66.9)", "TFLOP/s (peak 989.4)", "sweep"]),
    ("library_curves", ["FP64", "FP32", "TF32", "FP16", "peak FP64, FP32: 66.9", "peak TF32: 494.7"]),
    ("opencl", ["01_naive", "05_double_buffer", "slide 43, naive: 6.6%", "slide 58, the last: 73.8%", "% of peak"])],
    ids=lambda name: name if isinstance(name, str) else "")
@pytest.mark.parametrize("of", ["committed", "drawn"])
def test_picture(of, name, words, drawn):
    """It has its lines, peaks, unit and machine, and is of these CSVs."""
    picture = (RESULTS if of == "committed" else drawn) / f"{name}.svg"
    text = "".join(xml.etree.ElementTree.parse(picture).getroot().itertext())
    digests = [hashlib.sha256(GOOD[source].encode()).hexdigest() for source in SOURCES[name]]
    assert [word for word in (*digests, *["TFLOP/s"] * (name != "opencl"), "NVIDIA H200", *words) if word not in text] == [], "else ./run plot"


@pytest.mark.parametrize("source, begin, column, value, pictures", [
    ("ladder", "05_double_buffer,8192", "gflops", "12345", ["ladder", "roofline"]),
    ("limits", "copy", "gbs", "3000", ["roofline"]),
    ("limits", "sweep,1,", "gflops", "2000", ["roofline"]),
    ("limits", "fp32_fma", "limit", "70000", ["ladder", "roofline"]),
    ("library_curves", "FP32,256", "gflops", "10000", ["library_curves"]),
    ("opencl", "02_register_blocking,8192", "percent_of_peak", "50", ["opencl"])])
def test_another_figure_changes_its_pictures(source, begin, column, value, pictures, folder):
    def lines():  # what they say of their source changes always
        return {name: [line for line in (folder / f"{name}.svg").read_text().splitlines() if "SHA-256" not in line] for name in SOURCES}

    before = lines()
    write(folder, {source: changed(source, begin, column, value)})
    assert plot.main([str(folder), str(folder / "README.md")]) == 0
    after = lines()
    assert [name for name in SOURCES if before[name] != after[name]] == pictures
    assert ("| 65.9 | 12.3 | " in (folder / "README.md").read_text()) == (value == "12345")


def bad_csvs():
    """(its name, what is wrong with it, its text, what must be said)"""
    ladder, limits, curves, _ = GOOD.values()
    yield "ladder", "without 8192", "".join(line for line in LINES if ",8192,8192,8192," not in line), "has no row of 8192 x"
    yield "ladder", "a stage without 8192", ladder.replace(LAST_05, ""), "8192 x 8192 x 8192 for 05_double_buffer"
    yield "ladder", "of another version", ladder.replace("predicted_g", "g", 1), "no column 'predicted_gflops'"
    yield "ladder", "verified, not timed", "".join(",".join(line.split(",")[:5]) + "\n" for line in LINES), "no column 'gpu'"
    yield "ladder", "not compared with cuBLAS", changed("ladder", "01_naive", "cublas_gflops", "-"), "01_naive has no cublas_gflops"
    yield "limits", "without a row", limits.replace("fp32_fma,", "fma,"), "has no row 'fp32_fma'"
    yield "limits", "without the sweep", limits.replace("sweep,", "swept,"), "has no row 'sweep'"
    yield "limits", "without its figure", changed("limits", "copy", "gbs", "-"), "copy has no gbs"
    yield "limits", "of another GPU", limits.replace("NVIDIA H200", "X1"), "is of X1, driver 580.159.04, CUDA 13.0"
    yield "library_curves", "of another driver", curves.replace("580.159.04", "9"), "is of NVIDIA H200, driver 9"
    for source, text in GOOD.items():
        first, second, *_ = text.splitlines(keepends=True)
        yield source, "no rows", first, "has no rows"
        yield source, "empty", "", "has no rows"
        yield source, "blank", "\n\n", "has no rows"
        yield source, "cut within a line", text[:-3], "ends in the middle of line"
        yield source, "a line cut short", text.replace(second, second[:12] + "\n"), "line 2: has "
        if source != "opencl":
            yield source, "two machines", text.replace("580.159.04", "9", 1), "has rows of several machines"
        yield source, "not there", None, f"{source}.csv: No such file"
        for bad in ("many", "nan", "-5", "inf", ""):
            bad_text = changed(source, second, "gflops" if source != "limits" else "gbs", bad)
            yield source, f"'{bad}' for a number", bad_text, f"is '{bad}', expected a number"


@pytest.mark.parametrize("source, text, said", [pytest.param(source, text, said, id=f"{source}.csv, {what}")
                                                for source, what, text, said in bad_csvs()])
def test_bad_csv(source, text, said, folder, capsys):
    (folder / f"{source}.csv").unlink()
    write(folder, {source: text} if text is not None else {})
    refused(folder, capsys, said)


@pytest.mark.parametrize("old, new, said", [
    ("<!-- /ladder -->", "", "takes a table between"),
    ("| [02_register_blocking]", "| [01_naive]", "has 2 rows for 01_naive"),
    (" | 6.2", "", "has 4 cells, expected 5"), ("<!-- timed -->", "", "takes a table between")])
def test_bad_readme(old, new, said, folder, capsys):
    (folder / "README.md").write_text(README.replace(old, new, 1))
    refused(folder, capsys, said)


def test_a_new_chapter_gets_a_row(folder):
    row, = (line for line in README.splitlines(keepends=True) if line.startswith("| [04_unroll]"))
    (folder / "README.md").write_text(README.replace(row, ""))
    assert plot.main([str(folder), str(folder / "README.md")]) == 0
    new = (folder / "README.md").read_text().splitlines()
    assert new[README.splitlines().index(row.rstrip())].startswith("| [04_unroll](04_unroll/README.md) | eight values of k at a time | 65.9 | 39.4 | ")


CHAPTER = "# 03\n\n<!-- prediction -->\nold\n<!-- /prediction -->\n\n<!-- ncu -->\n<!-- /ncu -->\nrest\n"
RATES = f"stage,size,{','.join(tables.RATES)}\n03_shared_blocking,4096,{','.join(['12.34'] * len(tables.RATES))}\n"


@pytest.mark.parametrize("chapter, rates, said", [
    (CHAPTER, None, "rates.csv: No such file"), (CHAPTER, RATES.replace("03_shared", "07_shared"), "no row for 03_shared"),
    (CHAPTER.replace("<!-- /ncu -->", ""), RATES, "between '<!-- ncu -->' and"), (CHAPTER, RATES, "")],
    ids=["no rates.csv", "no row in it", "no marker", "nothing wrong"])
def test_chapters_tables(chapter, rates, said, folder, capsys):
    page = folder / "03_shared_blocking/README.md"
    page.parent.mkdir()
    page.write_text(chapter)
    write(folder, {"rates": rates} if rates else {})
    if said:
        refused(folder, capsys, said)
        return
    assert plot.main([str(folder), str(folder / "README.md")]) == 0
    now = page.read_text()
    assert "\nold\n" not in now and now.endswith("rest\n")
    for line in ("| shared memory, 33286 GB/s | 2.00 | 66.6 |", "| **predicted**, the least of these | | **65.9** |",
                 "| **measured** | | **14.0**, 0.21 x |", "| issue slots used | 12.3% |"):
        assert f"\n{line}\n" in now
