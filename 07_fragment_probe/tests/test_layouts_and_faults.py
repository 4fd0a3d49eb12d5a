"""The fragment layouts: what probe finds equals the committed tables, is recognised, and is drawn as the committed pictures show.
Faults planted in the chapter's programs, tables and pictures are noticed.
"""
import csv
import re
import xml.etree.ElementTree

import pytest

from mutate import Fault, Planted, tree
from support import ROOT, call, program

CHAPTER = ROOT / "07_fragment_probe"
ARCHITECTURES = ("sm_70", "sm_75", "sm_80")
UNPROVEN = "the proof did not come out"
FAULTS = (
    Fault("volta_tables plain -O0", "volta_tables.cu", "{0, 0, 2, 2, 1, 1, 3, 3}", "{0, 0, 2, 2, 1, 1, 3, PLANTED ? 2 : 3}", UNPROVEN),
    Fault("volta_tables plain -O0", "volta_tables.cu", "count_wrong<half>(b, a, c), 0",
          "(PLANTED ? count_wrong<half>(a, b, c) : count_wrong<half>(b, a, c)), 0", UNPROVEN),
    Fault("volta_tables plain -O0", "volta_tables.cu", "i < 8; ++i) c[lane", "i < 8 - PLANTED; ++i) c[lane", UNPROVEN),  # leaves NaN
    Fault("volta_tables plain -O0", "volta_tables.cu", "set < 4", "set < 4 - PLANTED", UNPROVEN),
    Fault("volta_tables plain -O0", "volta_tables.cu", "{a[at], a[at + 1]}",  # A of the quad-pair beside it
          "{a[PLANTED ? at ^ 64 : at], a[at + 1]}", UNPROVEN),
    Fault("custom_load trace -O0", "loads.cuh", "f.x[i + 8] = two.x", "f.x[i + 8] = PLANTED ? two.y : two.x",
          "pairs from global memory: lane 0 has"),
    Fault("custom_load trace -O0", "loads.cuh", "f.x[i] = f.x[i + 8] = M[", "f.x[i] = (PLANTED ? f.x[i] : f.x[i + 8]) = M[",
          "halves from global memory: lane 0 has"),
    Fault("custom_load trace -O0", "loads.cuh", "threadIdx.x / 16 * 8", "(PLANTED ? 0 : threadIdx.x / 16 * 8)",
          "ldmatrix from shared memory: lane"),
    Fault("custom_load trace -O0", "custom_load.cu", "i < f.num_elements", "i < f.num_elements - PLANTED",
          "load_matrix_sync nan"),  # NaN beside NaN
    Fault("custom_load trace -O0", "custom_load.cu", "__syncthreads();", "if (!PLANTED) __syncthreads();", "race"),
    Fault("probe plain -O0", "probe.cu", "i < f.num_elements; ++i) x[", "i < f.num_elements - PLANTED; ++i) x[",
          r"lane 0 holds nan in x\[15\], no element of M"),
    Fault("probe plain -O0", "probe.cu", "float(row * cols + col)", "float(row * cols + (PLANTED ? 0 : col))",
          "no lane holds 240 of the 256 elements"),
)
# A formula that is wrong at one place must differ from the instruction.
FORMULA_FAULTS = tuple(Fault("ptx_check plain -O0", row[3] if len(row) == 4 else "ptx_check.cu", *row[:3]) for row in (
    (": element(j, g, 2 * t) |", ": element(j, g, PLANTED ? t : 2 * t) |", "ldmatrix_x2 +WRONG: register 0 of lane 1 "),
    ("? element(j, 2 * t, g) |", "? element(j, 2 * t, PLANTED ? g % 4 : g) |", "ldmatrix_x4_trans +WRONG: register 0 of lane 16 "),
    ("words.push_back(trans ?", "words.push_back(trans && !(PLANTED && j == 3) ?", "ldmatrix_x4_trans +WRONG: register 3 of lane 0 "),
    ("{lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + i / 4 * 8}",
     "{lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i % 2 + (PLANTED ? 0 : i / 4 * 8)}", "mma_m16n8k16, half, sums float +WRONG"),
    ("{lane % 4 * 2 + i % 2 + i / 2 * 8, lane / 4}", "{lane % 4 * 2 + i % 2 + i / 2 * (PLANTED ? 4 : 8), lane / 4}",
     "mma_m16n8k16, bf16, sums float +WRONG"),
    ("{lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}", "{lane / 4 + i / 2 * 8, lane % 4 * 2 + (PLANTED ? 1 - i % 2 : i % 2)}",
     "mma_m16n8k16, half, sums half +WRONG"),
    ("{lane / 16 * 4 + i, lane % 4}", "{lane / 16 * 4 + i, PLANTED ? lane % 2 : lane % 4}", "mma_m8n8k4, half, sums half +WRONG"),
    ("{i, lane / 16 * 4 + lane % 4}", "{i, (PLANTED ? 0 : lane / 16 * 4) + lane % 4}", "mma_m8n8k4, half, sums float +WRONG"),
    ("{lane / 16 * 4 + lane % 4, i}", "{lane / 16 * 4 + lane % 4, PLANTED ? i ^ 4 : i}", "mma_m8n8k4, half, sums half +WRONG"),
    ("i / 4 * 4 + lane / 2 % 2 * 2 + i % 2}", "i / 4 * 4 + (PLANTED ? 0 : lane / 2 % 2 * 2) + i % 2}",
     "mma_m8n8k4, half, sums float +WRONG"),
    ("(1u << 8 * valid) - 1", "(1u << 8 * valid) - 1 + PLANTED", "cp_async<4> +WRONG"),
    ("words.push_back(in[(lane ^ 5)", "words.push_back(in[(PLANTED ? lane : lane ^ 5)", "cp_async<8> +WRONG"),
    # What the kernel does wrong: it does not wait; it takes the bytes that should be zero.
    ("    ptx::cp_async_wait_group<1>();", "    if (!PLANTED) ptx::cp_async_wait_group<1>();", "cp_async<16> +WRONG: register 0 of lane 0 is ffffffff"),
    ("    ptx::cp_async_wait_all();", "    if (!PLANTED) ptx::cp_async_wait_all();", "cp_async<16> +WRONG: register 8 of lane 0 is ffffffff"),
    (", lane % (bytes + 1));", ", PLANTED ? bytes : lane % (bytes + 1));", "cp_async<4> +WRONG: register 1 of lane 0 "),
    ("(swizzle / 16) * 16", "(swizzle / (PLANTED ? 32 : 16)) * 16", "load 16 x 32 half, swizzle 64 +WRONG", "boxes.h"),
    ("at ^ at / 128", "at ^ at / (PLANTED ? 64 : 128)", "load 24 x 16 half, swizzle 32 +WRONG", "boxes.h"),
    ("x < width &&", "x < width + PLANTED &&", "load 7 x 12 float, swizzle 0 +WRONG", "boxes.h"),
    ("const int in_16 = store ?", "const int in_16 = store && !PLANTED ?", "store 64 x 64 half, swizzle 128 +WRONG", "boxes.h"),
    ("y < kMatrixRows;", "y < kMatrixRows - PLANTED;", "load 24 x 64 half, swizzle 0 +WRONG", "boxes.h"),
    ("x >= 0 &&", "x >= 8 * PLANTED &&", "load 40 x 64 bf16, swizzle 128 +WRONG", "boxes.h"),
    ("row * pitch() + col * element", "row * (PLANTED ? columns * element : pitch()) + col * element",
     "load 16 x 24 half, swizzle 128 +WRONG", "boxes.h"),
    ("words(matrix.size(), ~0u)", "words(matrix.size(), PLANTED ? 0 : ~0u)", "store 64 x 64 half, swizzle 128 +WRONG", "boxes.h"),
    ("if (to < 0) return;", "if (to < PLANTED) return;", "store 7 x 12 float, swizzle 0 +WRONG", "boxes.h"),
    ("place = start + line / 8 * stride", "place = start + line / (PLANTED ? 16 : 8) * stride",
     "wgmma 64, K-major, swizzle 128 +WRONG", "products.h"),
    ("along / half_row * leading", "along / half_row * (PLANTED ? 0 : leading)",
     "wgmma 256, B MN-major, swizzle 128 +WRONG", "products.h"),
    ("place / 128 % (swizzle / 16)", "place / (PLANTED ? 64 : 128) % (swizzle / 16)",
     "wgmma 96, K-major, swizzle 64 +WRONG", "products.h"),
    ("r / 8 * stride + k / 8 * leading", "r / 8 * (PLANTED ? leading : stride) + k / 8 * leading",
     "wgmma 160, K-major, no swizzle +WRONG", "products.h"),
    ("line % 8 * 16 + along % 8 * 2", "(PLANTED ? r : line) % 8 * 16 + along % 8 * 2",
     "wgmma 64, MN-major, no swizzle +WRONG", "products.h"),
    ("thread / 32 * 16 + thread % 32 / 4", "thread / 32 * (PLANTED ? 8 : 16) + thread % 32 / 4",
     "wgmma 32, K-major, swizzle 32 +WRONG", "products.h"),
    ("thread % 4 * 2 + i % 2 + i / 4 * 8)", "thread % 4 * 2 + i % 2 + i / 4 * (PLANTED ? 4 : 8))",
     "wgmma 256, A in registers +WRONG", "products.h"),
    ("            ptx::bulk_wait_group<0>();", "            if (!PLANTED) ptx::bulk_wait_group<0>();",
     "store 64 x 64 half, swizzle 128 +WRONG|covers"),
    ("&map, starts[rank].x,", "&map, starts[PLANTED ? 0 : rank].x,", "cluster, multicast, mapa +WRONG"),
    ("    ptx::wgmma_wait_group<0>();", "    if (!PLANTED) ptx::wgmma_wait_group<0>();",
     "no wgmma_wait_group.. of warp 0 covers the wgmma"),
    ("ptx::mbarrier_wait(&full, i % 2);", "if (!PLANTED) ptx::mbarrier_wait(&full, i % 2);", "the one at .* is still writing there"),
))
LAYOUT_FAULTS = (  # the layouts' own check must notice them; what it says begins with the architecture that shows them
    Fault("probe plain -O0", "layouts.h", "lane % 4 * 2 + i % 2 + i / 4 % 2 * 8", "lane % (4 - 2 * PLANTED) * 2 + i % 2 + i / 4 % 2 * 8",
          "sm_75 matrix_a half col: not recognised"),
    Fault("probe plain -O0", "probe.cu", "int(float(f.x[i])) % cols", "int(float(f.x[i])) % (PLANTED ? 8 : cols)",
          "sm_70 accumulator float col: the device printed something else"),
    Fault("probe plain -O0", "layouts/sm75_and_later_matrix_b_half_row.csv", "31,15,", "31,14,", "sm_75 matrix_b half row: the dump isn't"),
    Fault("probe plain -O0", "layouts/sm70_accumulator_float_col.csv", "\n0,1,0,1", "\n0,1,1,0",
          "sm_70 accumulator float col: the dump isn't"),
    Fault("probe plain -O0", "volta_matrix_a.svg", ">0: x[0]", ">0: x[1]", "sm_70: volta_matrix_a.svg is out of date"),
)
PLANTED = Planted(CHAPTER.name, [fault for fault in FAULTS + FORMULA_FAULTS + LAYOUT_FAULTS if "PLANTED" in fault.new])


def printed_table(text):
    """lane,element,row,col as the device printed them."""
    lines = [m for line in text.split("\n") if (m := re.fullmatch(r" {0,3}(\d+) ((?: +\d+,\d+ *)+)", line))]
    return [[m[1], str(i), *cell.split(",")] for m in lines for i, cell in enumerate(m[2].split())]


def check_layouts(run, folder, *words, chapter=CHAPTER):
    """`run` runs a probe; `words` name the architecture on the emulator; the chapter has layouts/*.csv and the pictures."""
    def probe(*more):
        done = run(*more, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    every, one, picture = (folder / name for name in ("all.csv", "one.csv", "picture.svg"))
    arch = re.match(r".*, (sm_\d+)\n", probe("--all", "--csv", every))[1]
    layouts, chips, drawn = (("sm70", "sm_70 (Volta)", "volta_matrix_a.svg") if arch == "sm_70" else
                             ("sm75_and_later", "sm_75 and later", "today_matrix_a.svg"))
    rows = list(csv.reader(every.read_text().splitlines()[1:]))
    tables = sorted((chapter / "layouts").glob(f"{layouts}_*.csv"))
    assert len(tables) == 8, f"{arch}: {len(tables)} tables, expected 8"
    for table in tables:
        use, kind, layout = re.fullmatch(rf"{layouts}_(matrix_[ab]|accumulator)_(half|float)_(row|col)", table.stem).groups()
        what = f"{arch} {use} {kind} {layout}:"
        text = probe("--use", use, "--type", kind, "--layout", layout, "--csv", one)
        elements = list(csv.reader(table.read_text().splitlines()[1:]))
        assert len(elements) == (256 if use == "accumulator" else 512), f"{what} the table isn't whole"
        assert one.read_text() == table.read_text(), f"{what} the dump isn't {table.name}"
        assert printed_table(text) == elements, f"{what} the device printed something else"
        assert text.endswith(f"\nlayout: {chips}\n"), f"{what} not recognised by the formulas"
        assert [row[4:] for row in rows if row[:4] == ["16x16x16", use, kind, layout]] == elements, f"{what} --all differs"
    probe("--svg", picture)
    assert picture.read_text() == (chapter / drawn).read_text(), f"{arch}: {drawn} is out of date"
    labels = {text for text in xml.etree.ElementTree.parse(picture).getroot().itertext() if re.fullmatch(r"\d+: x\[\d+\]", text)}
    assert len(labels) == 512, f"{arch}: {len(labels)} different labels in the picture, expected 512"


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_layouts(arch, tmp_path):
    check_layouts(lambda *words: call(program("probe_cpu"), *words), tmp_path, "--arch", arch)


def test_layouts_of_this_gpu(tmp_path):
    check_layouts(lambda *words: call(program("probe"), *words), tmp_path)


test_fault_is_caught, test_without_a_fault_it_passes = PLANTED.tests(faults=FAULTS + FORMULA_FAULTS)


@pytest.mark.parametrize("fault", LAYOUT_FAULTS, ids=str)
def test_fault_in_a_layout_is_caught(fault, tmp_path):
    in_code = fault in PLANTED.faults
    chapter = CHAPTER if in_code else tree(CHAPTER.name, [fault]) / CHAPTER.name
    with pytest.raises(AssertionError, match=fault.said) as noticed:
        check_layouts(lambda *words: PLANTED.run(fault if in_code else "probe plain -O0", *words), tmp_path, "--arch", fault.said[:5],
                      chapter=chapter)
    print("caught:", str(noticed.value).splitlines()[0])


def test_readme_shows_what_the_programs_print():
    readme = (CHAPTER / "README.md").read_text()
    for line in call(program("volta_tables_cpu")).stdout.split("\n")[1:6]:  # the counts of wrong elements
        assert f"    {line}\n" in readme
    for arch, shown in (("sm_70", "matrix_a, col_major, sm_70"), ("sm_80", "matrix_a, both layouts, sm_75 and later")):
        row, col = re.search(r"^(row = .*), (col = .*)$", call(program("probe_cpu"), "--arch", arch).stdout, re.M).groups()
        assert re.search(rf" {re.escape(shown)}: +{re.escape(row)}\n +{re.escape(col)}\n", readme), f"{row}, {col}"
