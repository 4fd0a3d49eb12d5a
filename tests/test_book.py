"""The pages as a book: every link leads somewhere, every exercise has its solution, and every command on a page or in
the notebook runs, or names an existing test, program or stage."""
import json
import re
import shutil

import pytest

from commands import check_exists, run, unbuilt
from book import faults
from book.pages import english, headings
from programs import files
from support import ROOT, without_code

PAGES = files("*.md")
PUBLIC_FAULTS = {fault.path for fault in faults.programs(ROOT)}
PROGRAMS = ("./run", "./test", "build/bin/", "nvcc ", "ncu ", "cuda-gdb ", "compute-sanitizer ", "git ", "python3 ",
            "cuobjdump ", "cmake ", "ctest ")
# Commands that take long and are run by other tests; ./test is only asked which tests it would run.
ELSEWHERE = (r"./test .*-R |./run (--)?all |./run (book|plot)$|./run (roofline|transfer$)|./run 00|"
             r"build/bin/transfer_cpu|python3 07_fragment_probe/count_mma.py|python3 06_wmma/link|python3 emulator/|"
             r"./(run|test) .*(mine|any|race)[.]cu|"
             r"cmake -S emulator|cmake --build build-emulator|ctest --test-dir build-emulator")


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them, or as a translation keeps them."""
    return {*re.findall(r'<a id="([^"]*)">', text), *headings(re.sub(r"(?m)^    .*$", "", text))}


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        # GitHub's pages of the site and of a workflow, and its badge, are outside the tree.
        link = re.sub(r"^(\.\./)+deployments/github-pages$", ".github/workflows/site.yml", link)
        link = re.sub(r"^\.\./\.\./actions/workflows/([^/]+)(/badge\.svg)?$", r".github/workflows/\1", link)
        target, _, anchor = link.partition("#")
        to = (page.parent / target).resolve() if target else page
        if "://" not in link:
            assert to.exists() and ROOT in (to, *to.parents), f"{link} is not there, or outside"
            assert not anchor or anchor in anchors(to.read_text()), f"{target} has no heading for #{anchor}"


@pytest.mark.parametrize("page", english(PAGES), ids=name)
def test_what_runs_is_built(page):
    """Commands are ./run or ./test, which build what they run. A debugger or profiler starts a program that such a
    command has built."""
    assert not unbuilt(page.read_text())


def reported():
    """The rows of the emulator's table of what it reports: what, and by what it is shown."""
    section = (ROOT / "emulator/README.md").read_text().partition("\n## What it reports\n")[2].partition("\n## ")[0]
    return re.findall(r"(?m)^\| (?!what |-)(.*) \| (.*) \|$", section)


@pytest.mark.parametrize("what, shown_by", reported())
def test_what_the_emulator_reports_is_shown(what, shown_by):
    """A program with this fault, of which test_public_faults.py runs each, or a test of that name."""
    links = re.findall(r"\[([\w.]+)\]\(([^)]*)\)", shown_by)
    assert links and ", ".join(f"[{name}]({path})" for name, path in links) == shown_by
    for name, path in links:
        file = (ROOT / "emulator" / path).resolve()
        suite, _, test = name.rpartition(".")
        assert file in PUBLIC_FAULTS and file.stem == name or \
            re.search(rf"\b{suite}, {test}\)" if suite else rf"\bdef {test}\(", file.read_text()), name


def test_the_emulator_reports_something():
    assert reported()


def test_next_follows_the_road():
    """From 01 on, "Next" leads through every lesson that is not optional, and each optional one leads back."""
    lessons = {page.parent.name: page.read_text() for page in ROOT.glob("[0-9][0-9]_*/README.md")}
    following = {name: "".join(re.findall(r"\bNext: \[[^]\n]*\]\(\.\./(\w+)/.*\n\Z", text))
                 for name, text in lessons.items()}
    road = {name for name, text in lessons.items() if "\n*Optional" not in text}
    seen, at = [], min(road)
    while at and at not in seen:
        seen, at = [*seen, at], following[at]
    assert seen == sorted(road) and {following[name] for name in lessons.keys() - road} <= road


def test_own_kernel_ends_at_03():
    """The last screen of that page has 03's row from the first page."""
    def counts(page, name):
        return re.findall(rf"(?m)^    {name} +(.*)$", (ROOT / page).read_text())[-1].split()

    assert counts("docs/own_kernel.md", "mine") == counts("README.md", "03_shared_blocking")


def shown(text):
    """(command, whether its comment says that it needs a GPU or a tool that is missing here) for each line of code that
    begins with a program's name; in the text, for commands with -R."""
    for line in re.findall(r"(?m)^    (\S.*)$", text):
        command, comment = (re.split(r"\s+#\s", line, maxsplit=1) + [""])[:2]
        if command.startswith(PROGRAMS):
            needs = re.search(r"\((?:GPU|toolkit: ([\w-]+))", comment)
            yield command.strip(), bool(needs) and not (needs[1] and shutil.which(needs[1]))
    for command in re.findall(r"`(\./test [^`]*-R [^`]*)`", text):
        if not re.search("NAME|NN", command):
            yield command, False


NOTEBOOK = ROOT / "docs/tour.ipynb"
CELLS = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
TYPED = re.findall(r"(?m)^!(\./.*)", "\n".join("".join(cell["source"]) for cell in CELLS))
SHOWN = {command: page for page in english(PAGES) for command in shown(page.read_text())}
SHOWN.update({(command, False): NOTEBOOK for command in TYPED if (command, False) not in SHOWN})


def test_notebook_has_its_outputs():
    """The notebook has the whole output of each cell, without errors, and without lines that were to be overwritten."""
    for cell in CELLS:
        assert cell["outputs"], cell["source"]
        for output in cell["outputs"]:
            text = "".join(output.get("text", []))
            assert output["output_type"] != "error" and not re.search("[\r\033]", text), cell["source"]


IDS = [f"{name(page)}: {command}" for (command, _), page in SHOWN.items()]


@pytest.mark.parametrize("command, elsewhere", SHOWN, ids=IDS)
def test_command(command, elsewhere):
    if elsewhere or command.startswith(("build/bin/", "nvcc ", "./test ")):
        check_exists(command)
    if not elsewhere and not re.match(ELSEWHERE, command):
        exit_code, said = run(f"{command} -N" if command.startswith("./test") else command)
        # Sources differ, an exercise is not solved, or a program has a fault on purpose.
        fails = command.startswith(("git diff --no-index", "./run learn", "./run tests/public_faults"))
        assert exit_code == 0 or exit_code == 1 and fails, said[-2000:]
