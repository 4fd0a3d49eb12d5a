"""The figures on the pages are those of the committed CSVs: tables and pictures are what ./run plot and
tools/counters.py make of them, another figure changes them, and a bad CSV or page gives one line and leaves everything
as it was."""
import pathlib
import re
import shutil

import pytest

import ablation
import counters
from book import pictures, plot, tables
from book.measured import Results
from programs import files
from results import InvalidInput, read
from support import BUILD, ROOT, program

RESULTS = ROOT / "docs/results/h200"
PAGES = ("README.md", "03_shared_blocking/README.md", "03_shared_blocking/notes.md")
HARDWARE = counters.by_stage(RESULTS / "counters.csv")
# Where the hardware's count differs from the emulator's by more than 1%: the result of the emulator's rule for the
# instructions that the compiler chose or for the tiles on 132 SMs, or how much L1's fills add to shared stores. The
# emulator's reference has the reasons.
OTHERWISE = {("03_shared_blocking", "shared_load_wavefronts"): 163840, ("06_wmma", "shared_load_wavefronts"): 12800,
             ("09_warp_tiling", "global_store_sectors"): 0,
             ("09_warp_tiling", "shared_load_wavefronts"): 96 * (2 * 256 + 64),
             ("11_wgmma", "global_load_requests"): 8 * 4 * 3, ("11_wgmma", "global_load_sectors"): 8 * 4 * 3 * 256,
             ("11_wgmma", "global_store_sectors"): 0}
FILLS = {("03_shared_blocking", "shared_store_wavefronts"): 0.08, ("04_unroll", "shared_store_wavefronts"): 0.08}


def test_all_is_what_plot_writes(monkeypatch):
    """Tables, quotes, the lists of the articles and pictures are up to date, and no picture is left over from earlier.
    """
    written = {}
    monkeypatch.setattr(plot, "write_whole", lambda *files: written.update(files))
    drawn = {RESULTS / f"{file.name.partition('.')[0]}.svg" for file in RESULTS.glob("*.svg")}  # bars for bars.ja
    assert plot.write(RESULTS, ROOT) == 0 and {*drawn, *pictures.drawn()} <= {*written}
    other = [file for file, text in written.items() if not file.exists() or file.read_text() != text]
    assert not other, f"not what ./run plot writes: {[str(file.relative_to(ROOT)) for file in other]}"


def test_every_table_is_on_a_page():
    marked = re.findall(r"<!-- (\w+) -->", "".join(page.read_text() for page in files("*.md")))
    assert set(marked) >= tables.NAMES_OF_TABLES


@pytest.mark.parametrize("chapter", sorted({row.stage.split("/")[0] for row in Results(RESULTS)("ablation")}))
def test_every_part_is_measured(chapter):
    measured = [(row.stage, row.without) for row in Results(RESULTS)("ablation") if row.stage.split("/")[0] == chapter]
    assert sorted(measured) == sorted((variant.stage, variant.without) for variant in ablation.variants(ROOT / chapter))


@pytest.fixture(scope="module")
def emulated():
    for stage in counters.STAGES:
        program(f"{stage}_cpu_trace")
    return counters.counted(BUILD / "bin")


def test_what_the_emulator_counts(emulated):
    for page, text in counters.pages(emulated, RESULTS).items():
        assert page.read_text() == text, f"{page} is not what tools/counters.py writes"


def test_how_tiles_flow(emulated):
    """flow.csv is what the stages' records say. With one stage in the pipeline a kernel loads and multiplies
    alternately. With more of them it loads beside the products, and never into one before its last tile was
    multiplied."""
    file = RESULTS.with_name("flow.csv")
    assert file.read_text() == counters.flows(BUILD / "bin", RESULTS)
    stages = {}
    for row in read(file):
        stages.setdefault(row.stage, []).append(row)
    by_turns = set()
    for stage, tiles in stages.items():
        assert [tile.k for tile in tiles] == [number * tile.tile_k for number, tile in enumerate(tiles)], stage
        loads, products = ({getattr(tile, column) for tile in tiles} for column in ("load", "multiply"))
        if not loads & products:
            by_turns.add(stage)
        for number, tile in enumerate(tiles):
            before = [each for each in tiles[:number] if each.pipeline_stage == tile.pipeline_stage != "-"]
            assert all(each.multiply < tile.store for each in before), stage
            assert tile.load <= tile.store <= tile.multiply, stage
    assert by_turns == {"03_shared_blocking", "04_unroll"}


@pytest.mark.parametrize("stage, column", [
    (stage, column) for stage in HARDWARE for column in counters.COMPARED])
def test_hardware_counts_what_the_emulator_counts(stage, column, emulated):
    theirs = HARDWARE[stage][column]
    ours = OTHERWISE.get((stage, column), emulated[1][stage][column])
    more = FILLS.get((stage, column), 0.01)
    assert -0.01 * ours <= theirs - ours <= more * ours, f"ncu counts {theirs}, the emulator {ours}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with the CSVs, the first page and a chapter's page, as ./run plot leaves it."""
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


# A file, the stage or kind of the row, the cell, its new text, and the message that follows; or a page, its words, and
# so on.
WRONG = (
    ("ladder", "03_shared_blocking,8192", "m", "8191", "has no row of 8192 x 8192 x 8192 for 03_shared_blocking"),
    ("ladder", "01_naive", "gflops", "1e-300", "gflops is '1e-300'"),
    ("ladder", "01_naive", "verified", "wrong", "verified is 'wrong'"),
    ("limits", "copy", "gpu", "X1", "has results of several machines"),
    ("limits", "fp32_fma", "gflops", "-", "lacks a figure"),
    ("README.md", "<!-- /ladder -->", "", "", "takes each table between"),
    ("03_shared_blocking/notes.md", "ablation -->", "", "abolition -->", "'abolition'"))


def change(folder, name, row, column, to):
    """Changes a cell; the header is the row that begins with its own first word."""
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
        *PAGES[1:], "README.md", "h200/bars.svg", "h200/flow.svg", "h200/ladder.svg", "h200/roofline.svg"]


@pytest.mark.parametrize("name, row, column, to, said", WRONG)
def test_what_is_wrong_is_named(name, row, column, to, said, copy, capsys):
    """The message is one line, and everything stays as it was."""
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


KERNEL = """\
// The header: C[1] = 1
__global__ void first(float* C) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        C[i] = 0;

        __syncthreads();
    }
    if (C[0]) {
        C[1] = 1;
    } else {
        C[1] = 2;
    }
}

__global__ void second(float* C) {
    C[0] = 0;
    __syncthreads();
}
"""


def quote(folder, marker, kernel=KERNEL):
    """The lines of code that a page has after ./run plot."""
    (folder / "kernel.cu").write_text(kernel)
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs/page.md").write_text(f"Before\n\n<!-- {marker} -->\nold\n<!-- /code -->\n\nAfter\n")
    (folder / "README.md").write_text("# None\n")
    text = tables.pages(RESULTS, folder)[folder / "docs/page.md"]
    begin, code, end = re.split(r"```(?:cuda)?\n", text)
    assert begin == f"Before\n\n<!-- {marker} -->\n[kernel.cu](../kernel.cu)\n", "a link to the source"
    assert end == "<!-- /code -->\n\nAfter\n"
    return code.splitlines()


@pytest.mark.parametrize("marker, lines", [
    ('from "C[1] = 1"', "10"), ('from "void second("', "16-19"), ('from "if (C[0])"', "9-13"),
    ('from "#pragma unroll"', "3-8"), ('in "void second(" from "__syncthreads"', "18"),
    ('in "void first(" from "C[i] = 0" to "}"', "5-8"), ('from "C[i] = 0" from "if (C[0]) {" to "1;"', "5 9-10"),
    ('from "void second("\n     to "C[0] = 0"\n     from "__syncthreads"', "16-17 18")])
def test_quoted_lines(marker, lines, tmp_path):
    """The quoted lines, by their numbers in the kernel; lines that are left out between them appear as "..."."""
    quoted = [line.strip() for line in quote(tmp_path, f"code kernel.cu {marker}")]
    wanted, kernel, last = [], KERNEL.splitlines(), None
    for piece in lines.split():
        first, end = int(piece.split("-")[0]), int(piece.split("-")[-1])
        wanted += ["..."] * (last is not None and first > last + 1)
        wanted += [line.strip() for line in kernel[first - 1 : end]]
        last = end
    assert quoted == wanted


NOT_INDENTED = """\
namespace x {
void host(int a) {
#ifdef FAST
    f(a);
#else
    g(a);
#endif
    h(a);
}
int last(int a);
}  // namespace x
"""


@pytest.mark.parametrize("text, first, last", [("void host(", 2, 9), ("int last(", 10, 10)])
def test_what_ends_a_quoted_statement(text, first, last, tmp_path):
    """Neither a conditional of the preprocessor nor the brace that closes the namespace around it."""
    quoted = quote(tmp_path, f'code kernel.cu from "{text}"', "// A header\n" + NOT_INDENTED)
    assert quoted == NOT_INDENTED.splitlines()[first - 1:last]


def test_a_quote_keeps_its_indents(tmp_path):
    assert quote(tmp_path, 'code kernel.cu from "#pragma unroll"')[:3] == [
        "#pragma unroll", "for (int i = 0; i < 2; ++i) {", "    C[i] = 0;"]


def test_another_line_in_a_source_changes_the_page(tmp_path):
    marker = 'code kernel.cu from "void second("'
    assert quote(tmp_path, marker, KERNEL.replace("C[0] = 0;", "C[0] = 7;")) != quote(tmp_path, marker)


@pytest.mark.parametrize("marker, said", [
    ("code", "takes code FILE"), ("code kernel.cu", "takes code FILE"), ('code kernel.cu "first"', "takes code FILE"),
    ('code other.cu from "a"', "other.cu is not a file"),
    (f'code {ROOT}/01_naive/matmul.cu from "a"', "matmul.cu is not a file"),
    ('code README.md from "None"', "README.md is not a file"),
    ('code kernel.cu from "third"', 'no line of the file has "third"'),
    ('code kernel.cu from "C[i]" to "third"', 'from "C[i]" on has "third"'),
    ('code kernel.cu from "__syncthreads"', "lines 7, 18 of the file"),
    ('code kernel.cu in "void" from "C[i]"', "lines 2, 16 of the file"),
    ('code kernel.cu in "void second(" from "C[i]"', 'of "void second(" has "C[i]"'),
    ('code kernel.cu from "if (C[0])" from "C[i]"', "below the piece before")])
def test_a_quote_that_names_no_place_is_refused(marker, said, tmp_path):
    with pytest.raises(InvalidInput) as wrong:
        quote(tmp_path, marker)
    assert said in str(wrong.value) and "page.md" in str(wrong.value) and f"<!-- {marker} -->" in str(wrong.value)


def test_a_quote_has_20_lines_at_most(tmp_path):
    def of_second(lines):
        kernel = KERNEL.replace("    C[0] = 0;\n", "    C[0] = 0;\n" * (lines - 3))
        return quote(tmp_path, 'code kernel.cu from "void second("', kernel)

    assert len(of_second(20)) == 20
    with pytest.raises(InvalidInput, match="21 lines"):
        of_second(21)
