"""The figures of the pages are those of the committed CSVs: tables and pictures are what ./run plot and
tools/counters.py make of them, another figure changes them, a bad CSV or page gives one line and leaves everything as
it was."""
import pathlib
import re
import shutil

import pytest

import ablation
import counters
from book import pictures, plot, tables
from book.measured import Results
from support import BUILD, ROOT, program

RESULTS = ROOT / "docs/results/h200"
PAGES = ("README.md", "03_shared_blocking/README.md", "03_shared_blocking/notes.md")
HARDWARE = counters.by_stage(RESULTS / "counters.csv")
# Where the hardware counts otherwise than the emulator by more than 1%: what the emulator's rule gives for the
# instructions that the compiler chose or for the tiles that 132 multiprocessors cut, or how much more L1's fills make
# of shared stores. The reasons are in the emulator's reference.
OTHERWISE = {("03_shared_blocking", "shared_load_wavefronts"): 163840, ("06_wmma", "shared_load_wavefronts"): 12800,
             ("09_warp_tiling", "global_store_sectors"): 0,
             ("09_warp_tiling", "shared_load_wavefronts"): 96 * (2 * 256 + 64),
             ("11_wgmma", "global_load_requests"): 8 * 4 * 3, ("11_wgmma", "global_load_sectors"): 8 * 4 * 3 * 256,
             ("11_wgmma", "global_store_sectors"): 0}
FILLS = {("03_shared_blocking", "shared_store_wavefronts"): 0.08, ("04_unroll", "shared_store_wavefronts"): 0.08}


def test_all_is_what_plot_writes(monkeypatch):
    """Tables, the lists of the articles, pictures; and no picture is an older one's."""
    written = {}
    monkeypatch.setattr(plot, "write_whole", lambda *files: written.update(files))
    assert plot.write(RESULTS, ROOT) == 0 and {*RESULTS.glob("*.svg"), *pictures.drawn()} <= {*written}
    other = [file for file, text in written.items() if not file.exists() or file.read_text() != text]
    assert not other, f"not what ./run plot writes: {[str(file.relative_to(ROOT)) for file in other]}"


def test_every_table_is_on_a_page():
    marked = re.findall(r"<!-- (\w+) -->", "".join(page.read_text() for page in ROOT.glob("**/*.md")))
    assert set(marked) >= tables.NAMES_OF_TABLES


@pytest.mark.parametrize("chapter", sorted({row.stage.split("/")[0] for row in Results(RESULTS)("ablation")}))
def test_every_part_is_measured(chapter):
    measured = [(row.stage, row.without) for row in Results(RESULTS)("ablation") if row.stage.split("/")[0] == chapter]
    assert sorted(measured) == sorted((form.stage, form.without) for form in ablation.forms(ROOT / chapter))


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
    theirs = HARDWARE[stage][column]
    ours = OTHERWISE.get((stage, column), emulated[1][stage][column])
    more = FILLS.get((stage, column), 0.01)
    assert -0.01 * ours <= theirs - ours <= more * ours, f"ncu counts {theirs}, the emulator {ours}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with the CSVs, the first page and a chapter's, as ./run plot leaves it."""
    folder = tmp_path_factory.mktemp("drawn")
    for name in ("h100", "h200"):
        shutil.copytree(RESULTS.with_name(name), folder / name)
    for page in PAGES:
        (folder / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / page, folder / page)
    assert plotted(folder) == 0
    return folder


@pytest.fixture
def copy(drawn, tmp_path):
    return pathlib.Path(shutil.copytree(drawn, tmp_path / "copy"))


def plotted(folder):
    return plot.write(folder / "h200", folder)


def contents(folder):
    return {str(path.relative_to(folder)): re.sub(r"(?m)^.*SHA-256.*$", "", path.read_text(errors="replace"))
            for path in folder.rglob("*.*") if path.is_file()}


# Of which file, in the first row of which stage or kind, which cell, made what, and what is then said; or of a page
# which words.
WRONG = (
    ("ladder", "03_shared_blocking,8192", "m", "8191", "has no row of 8192 x 8192 x 8192 for 03_shared_blocking"),
    ("ladder", "01_naive", "gflops", "1e-300", "gflops is '1e-300'"),
    ("ladder", "01_naive", "verified", "wrong", "verified is 'wrong'"),
    ("limits", "copy", "gpu", "X1", "has results of several machines"),
    ("limits", "fp32_fma", "gflops", "-", "lacks a figure"),
    ("README.md", "<!-- /ladder -->", "", "", "takes each table between"),
    ("03_shared_blocking/notes.md", "ablation -->", "", "abolition -->", "'abolition'"))


def change(folder, name, row, column, to):
    """Also of the header, which is the row that begins with its own first word."""
    path = folder / f"h200/{name}.csv"
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(row))
    cells = lines[at].split(",")
    cells[lines[0].split(",").index(column)] = to
    lines[at] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")


def test_another_figure_changes_its_pages_and_pictures(drawn, copy):
    change(copy, "ladder", "03_shared_blocking,8192", "gflops", "12345")
    assert plotted(copy) == 0
    before, after = contents(drawn), contents(copy)
    assert sorted(name for name in after if after[name] != before[name] and not name.endswith(".csv")) == [
        *PAGES[1:], "README.md", "h200/bars.svg", "h200/ladder.svg", "h200/roofline.svg"]


@pytest.mark.parametrize("name, row, column, to, said", WRONG)
def test_what_is_wrong_is_named(name, row, column, to, said, copy, capsys):
    """In one line, and everything is left as it was."""
    if column:
        change(copy, name, row, column, to)
    else:
        (copy / name).write_text((copy / name).read_text().replace(row, to))
    before = contents(copy)
    code, error = plotted(copy), capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1) and said in error, error
    assert contents(copy) == before


def test_a_new_chapter_gets_a_row(tmp_path):
    (tmp_path / "README.md").write_text("<!-- ladder -->\n<!-- /ladder -->\n")
    page, = tables.pages(RESULTS, tmp_path).values()
    assert re.search(r"(?m)^\| \[04_unroll\]\(04_unroll/README.md\) \| \w.* \| [\d.]+ \| [\d.]+ \| ", page)
