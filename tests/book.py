"""The READMEs as a book: book.py ROOT. No dead link; every chapter in the one form, with a solution for each exercise and the way
forward and back; README.md's sizes of the steps; README.ja.md with README.md's commands, links and figures.
"""
import pathlib
import re
import subprocess
import sys

from checks import check, end

root = pathlib.Path(sys.argv[1]).resolve()
SECTIONS = ("What changed", "Prediction", "Measurement", "Why they differ", "Run it", "Articles", "Exercises")
chapters = sorted(path.parent for path in root.glob("[0-9][0-9]_*/README.md"))
pages = [path for path in sorted(root.rglob("*.md")) if not {"build", ".git"} & set(path.relative_to(root).parts[:1])
         and not path.relative_to(root).parts[0].startswith((".", "results-"))]


def without_code(text):
    """Blocks of code say nothing of links and headings."""
    return re.sub(r"(?m)^    .*$|`[^`\n]*`", "", text)


def anchors(text):
    """The names that the headings have on a page, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?m)^    .*$", "", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path):
    """(target, anchor) of the links and pictures of a page; targets of the web are left out."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text())):
        if "://" not in target:
            yield tuple((target + "#").split("#")[:2])


def link_fault(page, target, anchor):
    to = (page.parent / target).resolve() if target else page
    if not to.exists():
        return f"{target} is not there"
    if root not in (to, *to.parents):
        return f"{target} is outside"
    if anchor and anchor not in anchors(to.read_text()):
        return f"{target} has no heading for #{anchor}"
    return ""


for page in pages:
    faults = [fault for link in links(page) if (fault := link_fault(page, *link))]
    check(not faults, f"{page.relative_to(root)}: every link leads somewhere", "\n".join(faults))
    hidden = re.findall(r"(?m)^(?:- |\d+\. ).*\n(?:  +.*\n)*\n(    \S.*)", page.read_text())
    check(not hidden, f"{page.relative_to(root)}: no code right below a list, which would take it for its text", hidden)
    left = re.findall(r"@\w+@|TODO|FIXME|XXX", page.read_text())
    check(not left, f"{page.relative_to(root)}: nothing is left to be filled in", left)

for at, chapter in enumerate(chapters):
    name, text = chapter.name, (chapter / "README.md").read_text()
    headings = re.findall(r"(?m)^## (.*)$", without_code(text))
    wanted = [section for section in SECTIONS if not (section == "What changed" and at == 0)]  # nothing is before the first
    check([heading for heading in headings if heading in SECTIONS] == wanted, f"{name}: its sections, in order", headings)
    opening = text.split("\n## ")[0]
    check(re.search(r"(?m)^# \d\d · .*\n\n\*\*[^*]+\?\*\*$", opening), f"{name}: begins with its question", opening[:200])
    check(re.search(r"(?m)^ {4,}(?!\./)\S|^!\[", opening), f"{name}: has a diagram above its first section")
    beside = [f"{way}: [{other.name[:2]} · {other.name[3:].replace('_', ' ')}](../{other.name}/README.md)"
              for way, other in (("Back", chapters[at - 1] if at else None), ("Next", (chapters + [None])[at + 1])) if other]
    last = text.rstrip("\n").split("\n")[-1]
    simple = re.sub(r"(?<=\d\d · )[^\]]*", "", last)
    check(simple == re.sub(r"(?<=\d\d · )[^\]]*", "", " · ".join([*beside, "[Glossary](../docs/glossary.md)"])), f"{name}: ends with the way back and forward, and to the terms", last)
    exercises = text.split("\n## Exercises\n")[-1]
    numbered = re.findall(r"(?ms)^(\d+)\. (.*?)(?=^\d+\. |\Z)", exercises)
    solutions = [re.findall(r"\(exercises/(\d+)_\w+\.patch\)", item) for _, item in numbered]
    patches = sorted(path.name for path in chapter.glob("exercises/*"))
    check(numbered and [number for number, _ in numbered] == [str(n + 1) for n in range(len(numbered))]
          and solutions == [[number] for number, _ in numbered] and len(patches) == len(numbered),
          f"{name}: each exercise has its solution", f"{solutions}\n{patches}")
    check(all(re.search(r"\*[^*]+\*", item) for _, item in numbered), f"{name}: and its answer")

readme = (root / "README.md").read_text()
sizes = subprocess.run([root / "run", "diff", "--sizes"], capture_output=True, text=True, check=True).stdout
steps = {line.split()[2]: line.split()[3] for line in sizes.splitlines()}
for stage, lines in steps.items():
    if not stage.endswith(".cl"):
        check(re.search(rf"(?m)^\| \[{stage}\][^|]*\|[^|]*\|[^|]*\| {lines} \|", readme), f"README.md: {stage} changes {lines} lines")
opencl = ", ".join(lines for stage, lines in steps.items() if stage.endswith(".cl"))
check(f" | {opencl} | " in readme, f"README.md: 08's steps change {opencl} lines")

# The Japanese README has the same commands, links and figures.
japanese = (root / "README.ja.md").read_text()


def commands(text):
    """Lines of code without their comments; of a list of folders their names."""
    lines = [re.sub(r"\s+#.*", "", line).rstrip() for line in re.findall(r"(?m)^    (.*)$", text)]
    return [re.sub(r" {2,}[^\d ].*", "", line) for line in lines if line]


def rows(text):
    """Of each table's row the cells in which nothing is to be translated: figures and links."""
    cells = [[cell.strip() for cell in line.split("|")] for line in re.findall(r"(?m)^\|(.*)\|$", text)]
    return [[cell for cell in row if re.fullmatch(r"[\d.,%x: -]+|\[.*\]\(.*\)", cell)] for row in cells]


def targets(text):
    return sorted(target for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", without_code(text)) if "README" not in target)


def first_difference(ours, theirs):
    pairs = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]]
    return f"README.md: {pairs[0][0]}\nREADME.ja.md: {pairs[0][1]}" if pairs else f"{len(ours)} and {len(theirs)}"


for what, of in (("commands", commands), ("figures in tables", rows), ("links", targets)):
    ours, theirs = of(readme), of(japanese)
    check(ours == theirs, f"README.ja.md: has README.md's {what}", first_difference(ours, theirs))
check(len(commands(readme)) > 30, "README.md: its commands are seen")
end()
