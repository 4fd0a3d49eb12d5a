"""The commands that the READMEs show work, and the figures that they print on the emulator are those in the READMEs.

Commands that take no GPU are run; those marked (GPU) are not. Of ./test it is asked which tests it would run. Commands that
docs/articles.md has as well are left to test_articles.py.
"""
import re

import pytest

import counters
from commands import check_named, copy, lacking, run
from support import ROOT

PAGES = [ROOT / "README.md", ROOT / "docs/primer.md", ROOT / "docs/usage.md", *sorted(ROOT.glob("[0-9][0-9]_*/README.md"))]
PROGRAMS = ("./run", "./test", "build/bin/", "nvcc ", "ncu ", "cuda-gdb ", "compute-sanitizer ", "git ", "python3 ", "cuobjdump ",
            "cmake ", "ctest ")
# What takes long, and other tests run: run's, 00_machine_limits' and the articles'.
ELSEWHERE = r"./run (--)?all |./run roofline_host|./run 00|python3 07_fragment_probe/count_mma.py"
# Where the hardware counts otherwise than the emulator by more than 1%: what the emulator's rule gives for the instructions that the
# compiler chose or for the tiles that 132 multiprocessors cut, or how much more the hardware may count. The reasons are in
# emulator/README.md.
OTHERWISE = {("03_shared_blocking", "shared_load_wavefronts"): 163840, ("06_wmma", "shared_load_wavefronts"): 12800,
             ("09_warp_tiling", "global_store_sectors"): 0, ("09_warp_tiling", "shared_load_wavefronts"): 96 * (2 * 256 + 64),
             ("11_wgmma", "global_load_requests"): 8 * 4 * 3, ("11_wgmma", "global_load_sectors"): 8 * 4 * 3 * 256,
             ("11_wgmma", "global_store_sectors"): 0}
FILLS = {"03_shared_blocking": 0.08, "04_unroll": 0.08}  # shared stores that L1's fills hold up
HARDWARE = counters.by_stage(ROOT / "docs/results/h200/counters.csv")


def shown():
    """{command: page} of the lines of code that begin with a program's name and take no GPU."""
    found = {}
    for page in PAGES:
        for line in re.findall(r"(?m)^    (\S.*)$", page.read_text()):
            command, comment = (re.split(r"\s+#\s", line, maxsplit=1) + [""])[:2]
            if command.startswith(PROGRAMS) and "(GPU" not in comment:
                found.setdefault(command.strip(), str(page.relative_to(ROOT)))
    return found


SHOWN = shown()


def test_commands_are_seen():
    assert len(SHOWN) > 30, SHOWN


@pytest.mark.parametrize("command", SHOWN, ids=lambda command: f"{SHOWN[command]}: {command}")
def test_command(command):
    if re.match(ELSEWHERE, command) or f"`{command}`" in (ROOT / "docs/articles.md").read_text():
        return
    if command.startswith("./test ") and "-R" in command:
        return check_named(command)
    done = run(f"{command} -N" if command.startswith("./test") else command)
    if done.returncode and (lack := lacking(done)):
        pytest.skip(lack)
    assert done.returncode == 0 or done.returncode == 1 and command.startswith("git diff --no-index"), done.stdout[-2000:]


@pytest.mark.parametrize("page", ["README.md", "[0-9][0-9]_*/README.md", "emulator/README.md", "docs/*.md"])
def test_tests_that_the_text_names(page):
    for command in sorted({command for path in ROOT.glob(page) for command in re.findall(r"`(\./test [^`]*-R [^`]*)`", path.read_text())}):
        if "NAME" not in command:
            check_named(command)


@pytest.fixture(scope="module")
def emulated():
    """{stage: (its row, its counts)} at the default size, 256 x 256 x 256."""
    found, folder = {}, copy()[0]
    for stage in counters.STAGES:
        done = run(f"build/bin/{stage}_cpu_trace --csv {stage}.csv")
        assert done.returncode == 0, done.stdout
        found[stage] = done.stdout.splitlines()[-1], counters.by_stage(folder / f"{stage}.csv")[stage]
    return found


@pytest.mark.parametrize("stage", counters.STAGES)
def test_readme_has_the_row_of(stage, emulated):
    assert emulated[stage][0] in (ROOT / "README.md").read_text()


def test_table_of_counters(emulated):
    table = counters.table(HARDWARE, {stage: counts for stage, (_, counts) in emulated.items()})
    assert table in (ROOT / "emulator/README.md").read_text(), f"emulator/README.md lacks:\n{table}"


@pytest.mark.parametrize("stage", HARDWARE)
@pytest.mark.parametrize("column", counters.COMPARED)
def test_hardware_counts_what_the_emulator_counts(stage, column, emulated):
    theirs, ours = int(HARDWARE[stage][column]), OTHERWISE.get((stage, column), int(emulated[stage][1][column]))
    more = FILLS.get(stage, 0.01) if column == "shared_store_wavefronts" else 0.01
    assert -0.01 * ours <= theirs - ours <= more * ours, f"ncu counts {theirs}, the emulator {ours}"
