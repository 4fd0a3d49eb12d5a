"""The figures of the pages are those of the committed CSVs: tables and pictures are what ./run plot and tools/counters.py make of them,
another figure changes them, a bad CSV or page gives one line and leaves everything as it was."""
import hashlib
import re
import shutil

import pytest

import ablation
import counters
import tables
from support import BUILD, ROOT, program

RESULTS = ROOT / "docs/results/h200"
TABLES = tables.pages(RESULTS, ROOT)
STAGES = tables.Results(RESULTS).stages()
HARDWARE = counters.by_stage(RESULTS / "counters.csv")
# Where the hardware counts otherwise than the emulator by more than 1%: what the emulator's rule gives for the instructions that the
# compiler chose or for the tiles that 132 multiprocessors cut, or how much more L1's fills make of shared stores. The reasons are in
# the emulator's reference.
OTHERWISE = {("03_shared_blocking", "shared_load_wavefronts"): 163840, ("06_wmma", "shared_load_wavefronts"): 12800,
             ("09_warp_tiling", "global_store_sectors"): 0, ("09_warp_tiling", "shared_load_wavefronts"): 96 * (2 * 256 + 64),
             ("11_wgmma", "global_load_requests"): 8 * 4 * 3, ("11_wgmma", "global_load_sectors"): 8 * 4 * 3 * 256,
             ("11_wgmma", "global_store_sectors"): 0}
FILLS = {("03_shared_blocking", "shared_store_wavefronts"): 0.08, ("04_unroll", "shared_store_wavefronts"): 0.08}


@pytest.mark.parametrize("page", TABLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page):
    assert page.read_text() == TABLES[page], "not what ./run plot writes"
    if row := STAGES.get(page.parent.name):
        assert "<!-- prediction -->" in page.read_text() and f"{row.gflops:T} TFLOP/s" in page.read_text()


def test_every_table_is_on_a_page():
    marked = re.findall(r"<!-- (\w+) -->", "".join(page.read_text() for page in ROOT.glob("**/*.md")))
    assert set(marked) >= set(tables.TABLES)


@pytest.mark.parametrize("picture", sorted(RESULTS.glob("*.svg")), ids=lambda picture: picture.name)
def test_picture_is_of_these_csvs(picture):
    sources = re.findall(r"(\w+\.csv), SHA-256 (\w+)", picture.read_text())
    assert sources and all(hashlib.sha256((RESULTS / name).read_bytes()).hexdigest() == digest for name, digest in sources)


@pytest.mark.parametrize("chapter", sorted({row.stage.split("/")[0] for row in tables.Results(RESULTS)("ablation")}))
def test_every_part_is_measured(chapter):
    measured = [(row.stage, row.without) for row in tables.Results(RESULTS)("ablation") if row.stage.split("/")[0] == chapter]
    assert measured == [(form.stage, form.without) for form in ablation.forms(ROOT / chapter)]


@pytest.fixture(scope="module")
def emulated():
    for stage in counters.STAGES:
        program(f"{stage}_cpu_trace")
    return counters.counted(BUILD / "bin")


def test_what_the_emulator_counts(emulated):
    for page, text in counters.pages(emulated, RESULTS).items():
        assert page.read_text() == text, f"{page} is not what tools/counters.py writes"


@pytest.mark.parametrize("stage, column", [
    (stage, column) for stage in HARDWARE for column in counters.COMPARED])
def test_hardware_counts_what_the_emulator_counts(stage, column, emulated):
    theirs = int(HARDWARE[stage][column])
    ours = OTHERWISE.get((stage, column), int(emulated[1][stage][column]))
    assert -0.01 * ours <= theirs - ours <= FILLS.get((stage, column), 0.01) * ours, f"ncu counts {theirs}, the emulator {ours}"


@pytest.fixture
def plotted(tmp_path):
    """plot.py's main() in a folder with the CSVs and the first page."""
    pytest.importorskip("matplotlib", reason="this Python has no matplotlib (python3-matplotlib)")
    import plot
    shutil.copytree(RESULTS, tmp_path / "h200")
    shutil.copytree(RESULTS.with_name("h100"), tmp_path / "h100")
    for page in ("README.md", "03_shared_blocking/README.md"):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    return lambda: plot.main([str(tmp_path / "h200"), str(tmp_path / "README.md")])


def contents(folder):
    return {str(path.relative_to(folder)): re.sub(r"(?m)^.*SHA-256.*$", "", path.read_text())
            for path in folder.rglob("*.*") if path.is_file()}


CHANGED = (  # of which file, what, made what, and which files change by it
    ("ladder.csv", ",51858,77.5", ",12345,77.5", "README.md h200/ladder.svg h200/roofline.svg"),
    ("limits.csv", ",4289.5,", ",3000.0,", "03_shared_blocking/README.md h200/roofline.svg"),
    ("library_curves.csv", "FP32,256,0.0113,0.0109,0.0132,2979", "FP32,256,0.0113,0.0109,0.0132,9979", "h200/library_curves.svg"),
    ("opencl.csv", ",5191,7.8,", ",5191,50,", "h200/opencl.svg"),
    ("rates.csv", "03_shared_blocking,4096,100,24.29", "03_shared_blocking,4096,100,99.29", "03_shared_blocking/README.md"),
)
WRONG = (  # of which file, what, made what, and what is then said
    ("ladder.csv", "03_shared_blocking,8192", "03_shared_blocking,8191", "has no row of 8192 x 8192 x 8192 for 03_shared_blocking"),
    ("ladder.csv", "predicted_g", "g", "has no column 'predicted_gflops'"),
    ("ladder.csv", ",6418,", ",many,", "gflops is 'many', expected a number above 0"),
    ("ladder.csv", ",6418,", ",nan,", "gflops is 'nan'"),
    ("ladder.csv", ",6418,", ",-5,", "gflops is '-5'"),
    ("ladder.csv", ",580.159.04,", ",9,", "has results of several machines"),
    ("limits.csv", "\ncopy,", "\ncopied,", "has no row of copy"),
    ("limits.csv", "NVIDIA H200,580", "X1,580", "has results of several machines"),
    ("limits.csv", ",65896.2,", ",-,", "lacks a figure"),
    ("library_curves.csv", "FP64,256,", "FP64,", "line 2: has "),
    ("library_curves.csv", None, "", "has no rows"),
    ("opencl.csv", None, "stage,m", "has no rows"),
    ("rates.csv", "\n03_shared", "\n07_shared", "has no row of 03_shared_blocking"),
    ("../README.md", "<!-- /ladder -->", "", "takes each table between"),
    ("../README.md", "<!-- ladder -->", "<!-- timed -->", "takes each table between"),
    ("../03_shared_blocking/README.md", "ablation -->", "abolition -->", "'abolition'"),
)


def change(folder, file, old, new):
    path = folder / "h200" / file
    text = path.read_text()
    assert old is None or old in text
    path.write_text(new if old is None else text.replace(old, new, 2 if "-->" in new else 1))  # both markers of a table


@pytest.mark.parametrize("file, old, new, files", CHANGED, ids=lambda value: value[:30])
def test_another_figure_changes_its_pages_and_pictures(file, old, new, files, plotted, tmp_path):
    assert plotted() == 0
    before = contents(tmp_path)
    change(tmp_path, file, old, new)
    assert plotted() == 0
    after = contents(tmp_path)
    assert sorted(name for name in after if after[name] != before[name] and not name.endswith(".csv")) == files.split()


@pytest.mark.parametrize("file, old, new, said", WRONG, ids=lambda value: str(value)[:30].strip())
def test_what_is_wrong_is_named(file, old, new, said, plotted, tmp_path, capsys):
    change(tmp_path, file, old, new)
    before = contents(tmp_path)
    code, error = plotted(), capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1) and said in error, error
    assert contents(tmp_path) == before


def test_a_new_chapter_gets_a_row(plotted, tmp_path):
    page = tmp_path / "README.md"
    text = page.read_text()
    row, = re.findall(r"(?m)^\| \[04_unroll\].*\n", text)
    page.write_text(text.replace(row, ""))
    assert plotted() == 0
    assert re.search(r"(?m)^\| \[04_unroll\]\(04_unroll/README.md\) \| \w.* \| 65.9 \| 39.4 \| ", page.read_text())
