"""./run plot: the pictures and the READMEs' tables are those of the CSVs; a bad CSV gives one line and leaves everything as it was.
Most of it is tried on the figures of a machine that is made up.
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

SOURCES = {"ladder": ("ladder", "limits"), "roofline": ("ladder", "limits"), "library_curves": ("library_curves",)}
MACHINE = "Made-up GPU,1.2.3,13.0,2026-01-01"
PRECISIONS = ["FP64", "FP32", "TF32", "FP16"]


def csv(header, rows):
    return "\n".join([f"{header},gpu,driver,cuda,date", *(",".join(map(str, (*row, MACHINE))) for row in rows)]) + "\n"


def made_up_ladder():
    for stage, gflops, of_byte, predicted in (("01_naive", 6200, 0.25, 1070), ("02_register_blocking", 15100, 2, 8560),
                                              ("03_shared_blocking", 14000, 31.75, 65000), ("04_unroll", 39400, 31.75, 65000),
                                              ("05_double_buffer", 51900, 31.75, 65000), ("06_wmma", 437500, 83.59, 357900)):
        peak, library = (989400, 757000) if "wmma" in stage else (66900, 51300)
        for n in range(1024, 8193, 1024):
            speed = round(gflops * (1 - 300 / n * (n < 8192)))
            yield (stage, n, n, n, "exact", speed, f"{100 * speed / peak:.1f}", f"{100 * speed / library:.1f}", library, of_byte,
                   "-" if of_byte < 3 else 2, predicted, f"{speed / predicted:.2f}")


def made_up_limits():
    for row in (("copy", "-", 4282, "-", 4917), ("read_2_write_1", "-", 4300, "-", 4917), ("shared_memory", "-", 33000, "-", 33454),
                ("fp32_fma", "-", "-", 65500, 66908), ("fp16_pairs", "-", "-", 131000, 133816),
                ("tensor_mma_sync", "-", "-", 620000, 989400)):
        yield *row, "97.0", 10
    for power in range(-2, 7):
        roof = min(65500, 4282 * 2.0**power)
        yield "sweep", 2.0**power, f"{0.97 * roof / 2.0**power:.0f}", f"{0.97 * roof:.0f}", f"{roof:.0f}", "97.0", 10


GOOD = {"ladder": csv("stage,m,n,k,verified,gflops,percent_of_peak,percent_of_cublas,cublas_gflops,flop_per_byte,"
                      "shared_flop_per_byte,predicted_gflops,measured_of_predicted", made_up_ladder()),
        "limits": csv("what,flop_per_byte,gbs,gflops,limit,percent_of_limit,repeats", made_up_limits()),
        "library_curves": csv("precision,n,median_ms,gflops,peak_gflops,repeats", (
            (precision, n, 1, f"{best / (1 + (half / n)**2):.0f}", peak, 20)
            for precision, best, peak, half in (("FP64", 61000, 66900, 500), ("FP32", 51400, 66908, 400),
                                                ("TF32", 430000, 494700, 1300), ("FP16", 757000, "-", 1600))
            for n in (256, 512, *range(1024, 8193, 512))))}
LINES = GOOD["ladder"].splitlines(keepends=True)
STAGES = sorted({line.split(",")[0] for line in LINES[1:]})
README = "# Title\n\n<!-- ladder -->\n| stage | ... |\n|---|---|\n" + "".join(
    f"| [{stage}]({stage}/README.md) | idea of {stage} | slides | 60 | ? | ? | ? | ? | ? | quoted |\n"
    for stage in STAGES) + "<!-- /ladder -->\n\nrest\n"
LAST_05 = next(line for line in LINES if line.startswith("05_double_buffer,8192"))


def write(folder, csvs):
    for name, text in csvs.items():
        (folder / f"{name}.csv").write_text(text)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with all that is made of the made-up CSVs."""
    folder = tmp_path_factory.mktemp("drawn")
    write(folder, GOOD)
    (folder / "README.md").write_text(README)
    run = call(sys.executable, ROOT / "tools/plot.py", folder, folder / "README.md")
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


def check_pictures(folder, csvs, machine, words):
    """Each has its lines, peaks, unit and machine, and is of these CSVs."""
    for name, sources in SOURCES.items():
        text = "".join(xml.etree.ElementTree.parse(folder / f"{name}.svg").getroot().itertext())
        digests = [hashlib.sha256(csvs[source].encode()).hexdigest() for source in sources]
        assert [word for word in (*digests, "TFLOP/s", machine, *words[name]) if word not in text] == [], f"{name}: else ./run plot"


def test_made_up_results(drawn):
    check_pictures(drawn, GOOD, "Made-up GPU", {
        "ladder": [*STAGES, "66.9", "989.4", "cuBLAS"],
        "roofline": [*STAGES, "4282 GB/s", "65.5 TFLOP/s (peak 66.9)", "620.0 TFLOP/s (peak 989.4)", "sweep"],
        "library_curves": [*PRECISIONS, "peak FP64, FP32: 66.9", "peak TF32: 494.7"]})
    for stage, cells in (("01_naive", "1.1 | 6.2 | 5.8 x | 9.3% | 12.1%"), ("06_wmma", "357.9 | 437.5 | 1.2 x | 44.2% | 57.8%"),
                         ("03_shared_blocking", "65.0 | 14.0 | 0.22 x | 20.9% | 27.3%")):
        row = f"| [{stage}]({stage}/README.md) | idea of {stage} | slides | 60 | {cells} | quoted |\n"
        assert row in (drawn / "README.md").read_text()


@pytest.mark.parametrize("what, source, old, new, pictures", [
    ("speed at 8192", "ladder", LAST_05, LAST_05.replace(",51900,", ",12345,"), ["ladder", "roofline"]),
    ("bandwidth", "limits", "copy,-,4282", "copy,-,3000", ["roofline"]),
    ("point of the sweep", "limits", "sweep,1.0,4154,4154", "sweep,1.0,2000,2000", ["roofline"]),
    ("vendor's peak", "limits", "65500,66908", "65500,70000", ["ladder", "roofline"]),
    ("speed of the library", "library_curves", "FP32,256,1,", "FP32,256,1,1", ["library_curves"])], ids=lambda text: text[:20])
def test_another_figure_changes_its_pictures(what, source, old, new, pictures, folder):
    def lines():  # what they say of their source changes always
        return {name: [line for line in (folder / f"{name}.svg").read_text().splitlines() if "SHA-256" not in line] for name in SOURCES}

    before = lines()
    assert old in GOOD[source]
    write(folder, {source: GOOD[source].replace(old, new, 1)})
    assert plot.main([str(folder), str(folder / "README.md")]) == 0
    after = lines()
    assert [name for name in SOURCES if before[name] != after[name]] == pictures
    assert ("| 12.3 | 0.19 x |" in (folder / "README.md").read_text()) == (what == "speed at 8192")


def bad_csvs():
    """(its name, what is wrong with it, its text, what must be said)"""
    ladder, limits, curves = GOOD.values()
    yield "ladder", "without 8192", "".join(line for line in LINES if ",8192,8192,8192," not in line), "has no row of 8192 x"
    yield "ladder", "a stage without 8192", ladder.replace(LAST_05, ""), "8192 x 8192 x 8192 for 05_double_buffer"
    yield "ladder", "of another version", ladder.replace("predicted_g", "g", 1), "no column 'predicted_gflops'"
    yield "ladder", "verified, not timed", "".join(",".join(line.split(",")[:5]) + "\n" for line in LINES), "no column 'gpu'"
    yield "ladder", "not compared with cuBLAS", ladder.replace(",51300,", ",-,", 1), "01_naive has no cublas_gflops"
    yield "limits", "without a row", limits.replace("fp32_fma,", "fma,"), "has no row 'fp32_fma'"
    yield "limits", "without the sweep", limits.replace("sweep,", "swept,"), "has no row 'sweep'"
    yield "limits", "without its figure", limits.replace("copy,-,4282", "copy,-,-"), "copy has no gbs"
    yield "limits", "of another GPU", limits.replace("Made-up GPU", "X1"), "is of X1, driver 1.2.3, CUDA 13.0"
    yield "library_curves", "of another driver", curves.replace("1.2.3", "9"), "is of Made-up GPU, driver 9"
    for source, text in GOOD.items():
        first, second, *_ = text.splitlines(keepends=True)
        yield source, "no rows", first, "has no rows"
        yield source, "empty", "", "has no rows"
        yield source, "blank", "\n\n", "has no rows"
        yield source, "cut within a line", text[:-3], "ends in the middle of line"
        yield source, "a line cut short", text.replace(second, second[:12] + "\n"), "line 2: has "
        yield source, "two machines", text.replace("1.2.3", "1.2.4", 1), "has rows of several machines"
        yield source, "not there", None, f"{source}.csv: No such file"
        for bad in ("many", "nan", "-5", "inf", ""):
            cells = second.split(",")
            cells[first.split(",").index("gflops" if source != "limits" else "gbs")] = bad
            yield source, f"'{bad}' for a number", text.replace(second, ",".join(cells)), f"is '{bad}', expected a number"


@pytest.mark.parametrize("source, text, said", [pytest.param(source, text, said, id=f"{source}.csv, {what}")
                                                for source, what, text, said in bad_csvs()])
def test_bad_csv(source, text, said, folder, capsys):
    (folder / f"{source}.csv").unlink()
    write(folder, {source: text} if text is not None else {})
    refused(folder, capsys, said)


@pytest.mark.parametrize("old, new, said", [
    ("<!-- /ladder -->", "", "takes a table between"),
    ("| [01_naive]", "| [no_stage]", "has 0 rows for 01_naive"),
    (" | ?", "", "has 9 cells, expected 10")])
def test_bad_readme(old, new, said, folder, capsys):
    (folder / "README.md").write_text(README.replace(old, new, 1))
    refused(folder, capsys, said)


CHAPTER = "# 03\n\n<!-- prediction -->\nold\n<!-- /prediction -->\n\n<!-- ncu -->\n<!-- /ncu -->\nrest\n"
RATES = f"stage,size,{','.join(tables.RATES)}\n03_shared_blocking,4096,{','.join(['12.34'] * len(tables.RATES))}\n"


@pytest.mark.parametrize("chapter, rates, said", [
    (CHAPTER, None, "rates.csv: No such file"), (CHAPTER, RATES.replace("03_shared", "07_shared"), "no row for 03_shared"),
    (CHAPTER.replace("<!-- ncu -->", ""), RATES, "between '<!-- ncu -->' and"), (CHAPTER, RATES, "")],
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
    for line in ("| shared memory, 33000 GB/s | 2.00 | 66.0 |", "| **predicted**, the least of these | | **65.0** |",
                 "| **measured** | | **14.0**, 0.22 x |", "| issue slots used | 12.3% |"):
        assert f"\n{line}\n" in now


def test_committed_results(tmp_path):
    results = ROOT / "docs/results/h200"
    committed = {source: (results / f"{source}.csv").read_text() for source in GOOD}
    write(tmp_path, committed)
    readmes = [shutil.copy(ROOT / name, tmp_path) for name in ("README.md", "README.ja.md")]
    assert plot.main([str(tmp_path), *map(str, readmes)]) == 0
    for name in ("README.md", "README.ja.md"):
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(), f"{name}'s ladder is not ladder.csv's: ./run plot"
    check_pictures(results, committed, "NVIDIA H200", {
        "ladder": [*STAGES, "66.9", "989.4"], "roofline": [*STAGES, "66.9", "989.4", "GB/s"], "library_curves": PRECISIONS})
