"""The pages that exist in several languages, and the links between pages. docs/po/ja/03_shared_blocking.po is the
catalogue of 03_shared_blocking/README.ja.md, docs/po/ja/03_shared_blocking.exercises.po that of its exercises.ja.md,
docs/po/ja/primer.po that of docs/primer.ja.md. docs/po/ja/tables.po has the words of generated tables, the captions of
./run view, and the notes on diffs."""
import collections
import csv
import re

from languages import LANGUAGES
from programs import ROOT, files

TABLES = "tables"


def sources(language, root=ROOT):
    """{catalogue: English page} of all pages that are translated into that language."""
    found = {}
    for file in sorted(root.glob(f"docs/po/{language}/*.po")):
        name = file.stem
        names = f"{name}/README", name.replace(".", "/"), f"docs/{name}", f"docs/{name}/README", f"docs/articles/{name}"
        places = [root / f"{each}.md" for each in names]
        if name != TABLES:
            found[file] = next((place for place in places if place.exists()), places[0])
    return found


def translation(page, language):
    return page if language == "en" else page.with_suffix(f".{language}.md")


def english(pages):
    """The pages that are no translations, sorted."""
    return sorted(page for page in pages if page.suffixes[-2:-1] not in [[f".{each}"] for each in LANGUAGES])


def other_languages(page, own="en", root=ROOT):
    """Links from a page, in its `own` language, to the same page in other languages."""
    there = ["en"] + [each for each in LANGUAGES if page in sources(each, root).values()]
    return " · ".join(f"[{LANGUAGES[each]}]({translation(page, each).name})" for each in there if each != own)


# The place of a page in the site.


def place(page):
    """The place of a page in its language: docs/primer for docs/primer.ja.md, and a folder's index for its README."""
    return re.sub(r"(^|/)README$", r"\1index", re.sub(r"(\.\w\w)?\.md$", "", str(page.relative_to(ROOT))))


def on_top(page):
    """Whether the page is in the first level of the navigation, and not below another page."""
    return page.name == "README.md" or page.parent == ROOT or not (page.parent / "README.md").exists()


def of_site(language):
    """{place: page} of the site in that language: the translated pages, and the English ones of the first level that
    have no translation."""
    return {place(page): page for page in english(files("*.md"))
            if on_top(page) or translation(page, language).exists()}


def road(root):
    """{number of a chapter: its row of docs/road.csv}. An optional chapter has back_to, the chapter at which it
    rejoins the road. Some rows have an idea for the first page, which is longer than the chapter's heading."""
    file = root / "docs/road.csv"
    return {row["chapter"]: row for row in csv.DictReader(file.read_text().splitlines())} if file.exists() else {}


def optional_chapters(root):
    """{number of a chapter beside the road: number of the chapter to which it leads back}"""
    return {number: row["back_to"] for number, row in road(root).items() if row["back_to"]}


def navigation(pages):
    """{chapter's README: its last line, the links along the road and to its translations}. An optional chapter begins
    where it leaves the road, and goes on where it rejoins the road."""
    found, beside = {}, optional_chapters(pages[0].parent.parent) if pages else {}
    numbers = {page.parent.name[:2]: page for page in pages}
    road = [page for number, page in numbers.items() if number not in beside]
    for number, page in numbers.items():
        back = [other for other in road if other < min(page, numbers.get(beside.get(number), page))][-1:]
        on = [numbers[beside[number]]] if number in beside else [other for other in road if other > page][:1]
        links = []
        for word, others in (("Back", back), ("Next", on)):
            for other in others:
                title = re.match("# ([^:]*)", other.read_text())[1]
                links.append(f"{word}: [{title}](../{other.parent.name}/README.md)")
        links.append("[Glossary](../docs/glossary.md)")
        if others := other_languages(page, root=page.parent.parent):
            links.append(others)
        found[page] = " · ".join(links) + "\n"
    return found


def headings(text):
    return [
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.*)$", text)
    ]


def linked(root):
    """{page: the headings to which some page links}"""
    found = collections.defaultdict(set)
    for page in files("*.md", root):
        for target, anchor in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", page.read_text(errors="replace")):
            english = re.sub(r"\.(?:ja|zh)\.md$", ".md", target or page.name)
            found[(page.parent / english).resolve()].add(anchor)
    return found
