"""The READMEs as a book: no dead link; every chapter in the one form, with a solution for each exercise and the way forward and back;
README.ja.md with README.md's commands, links and figures.
"""
import re

import pytest

from support import ROOT, call

SECTIONS = ["What changed", "Prediction", "Measurement", "Why they differ", "Run it", "Exercises", "Reading along"]
CHAPTERS = sorted(path.parent for path in ROOT.glob("[0-9][0-9]_*/README.md"))
PAGES = sorted(path for path in ROOT.rglob("*.md") if not path.relative_to(ROOT).parts[0].startswith(("build", ".", "results-")))


def without_code(text):
    """Blocks of code say nothing of links and headings."""
    return re.sub(r"(?m)^    .*$|`[^`\n]*`", "", text)


def anchors(text):
    """The names that the headings have on a page, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?m)^    .*$", "", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def chapter_section(chapter, heading):
    return (chapter / "README.md").read_text().split(f"\n## {heading}\n")[-1].split("\n## ")[0]


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_page(page):
    text = page.read_text()
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if "://" not in link:
            # GitHub's page of a workflow, and its badge, lie beside the tree.
            link = re.sub(r"^\.\./\.\./actions/workflows/([^/]+)(/badge\.svg)?$", r".github/workflows/\1", link)
            target, _, anchor = link.partition("#")
            to = (page.parent / target).resolve() if target else page
            assert to.exists() and ROOT in (to, *to.parents), f"{link} is not there, or outside"
            assert not anchor or anchor in anchors(to.read_text()), f"{target} has no heading for #{anchor}"
    hidden = re.findall(r"(?m)^(?:- |\d+\. ).*\n(?:  +.*\n)*\n(    \S.*)", text)
    assert not hidden, "code right below a list would be taken for its text"
    rules = [line for line in without_code(text).splitlines() if "|---" in line]
    assert all(re.fullmatch(r" *\|[-:|]+\|", line) for line in rules), "a table has two rows in one line"
    assert not re.findall(r"@\w+@|TODO|FIXME|XXX", text), "something is left to be filled in"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=name)
def test_chapter(chapter):
    at, text = CHAPTERS.index(chapter), (chapter / "README.md").read_text()
    headings = [heading for heading in re.findall(r"(?m)^## (.*)$", without_code(text)) if heading in SECTIONS]
    assert headings == SECTIONS[at == 0:], "its sections, in order; nothing is before the first chapter"
    opening = text.split("\n## ")[0]
    assert re.search(r"(?m)^# \d\d · .*\n\n\*\*[^*]+\?\*\*$", opening), "begins with its question"
    assert re.search(r"(?m)^ {4,}(?!\./)\S|^!\[", opening), "has a diagram above its first section"
    assert "\n\nLegend: " in opening, "its diagram has a legend below it"
    ways = [f"{way}: [{other.name[:2]} · ](../{other.name}/README.md)"
            for way, other in zip(("Back", "Next"), (CHAPTERS[at - 1] if at else None, (CHAPTERS + [None])[at + 1])) if other]
    last = re.sub(r"(?<=\d\d · )[^\]]*", "", text.rstrip("\n").split("\n")[-1])
    assert last == " · ".join([*ways, "[Glossary](../docs/glossary.md)"]), "ends with the ways back and forward, and to the terms"


GLOSSARY = re.findall(r"(?m)^\| ([^|]+) \|.* \| (primer|\d\d) \|$", (ROOT / "docs/glossary.md").read_text())


@pytest.mark.parametrize("term, seen_in", GLOSSARY)
def test_glossary(term, seen_in):
    page = ROOT / "docs/primer.md" if seen_in == "primer" else next(ROOT.glob(f"{seen_in}_*/README.md"))
    forms = [form.strip(" `()") for form in re.split(r"[,;(]", term)]
    assert any(form.lower() in " ".join(page.read_text().lower().split()) for form in forms), f"{page} has none of {forms}"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=name)
def test_exercises(chapter):
    exercises = re.findall(r"(?ms)^(\d+)\. (.*?)(?=^\d+\. |\Z)", chapter_section(chapter, "Exercises"))
    numbers = [str(n + 1) for n in range(len(exercises))]
    assert exercises and [number for number, _ in exercises] == numbers
    assert [re.findall(r"\(exercises/(\d+)_\w+\.patch\)", text) for _, text in exercises] == [[number] for number in numbers]
    assert len(list(chapter.glob("exercises/*"))) == len(exercises), "a solution for each"
    folded = [re.findall(r"<details><summary>Answer</summary>\n\n +\S(?:.|\n)*?\n\n +</details>", text) for _, text in exercises]
    assert all(len(answers) == 1 for answers in folded), "an answer in each, folded away"


def test_sizes_of_the_steps():
    """No step changes more than 100 lines, and each says what it changes."""
    sizes = call(ROOT / "run", "diff", "--sizes").stdout
    steps = re.findall(r"(?m)^\S+ +-> \S+ +(\d+) changed lines.*\n    \S", sizes)
    assert len(steps) == len(sizes.splitlines()) / 2 >= 14 and all(int(lines) <= 100 for lines in steps), sizes


def commands(text):
    """Lines of code without their comments; of a list of folders their names."""
    lines = [re.sub(r"\s+#.*", "", line).rstrip() for line in re.findall(r"(?m)^    (.*)$", text)]
    return [re.sub(r" {2,}[^\d ].*", "", line) for line in lines if line]


def figures(text):
    """Of each table's row the cells in which nothing is to be translated: figures and links."""
    rows = [[cell.strip() for cell in line.split("|")] for line in re.findall(r"(?m)^\|(.*)\|$", text)]
    return [[cell for cell in row if re.fullmatch(r"[\d.,%x: -]+|\[.*\]\(.*\)", cell)] for row in rows]


def targets(text):
    return sorted(target for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", without_code(text)) if "README" not in target)


@pytest.mark.parametrize("of", [commands, figures, targets], ids=lambda of: of.__name__)
def test_japanese_readme_has_the_same(of):
    english, japanese = (of((ROOT / page).read_text()) for page in ("README.md", "README.ja.md"))
    assert english == japanese
    assert len(english) > 5
