"""The glossary and the lessons have the same terms: what a lesson defines has a row, each term of a row is on some
page, and the row says where it stands first.

A lesson puts a term into italics where it defines it, and nothing else, but for a heading within a paragraph, which
ends like a sentence: "*Too seldom.* ncu counts ..."
"""
import re

import pytest

from languages import glossary_rows
from support import ROOT, without_code


def pages():
    """{what the glossary calls a page: its text}, in the order in which a reader meets them: the primer, the lessons
    from 01 on, 00, and the notes."""
    first, *others = sorted(ROOT.glob("[0-9][0-9]_*"))
    found = {"primer": ROOT / "docs/primer.md"}
    for after, file in ("", "README.md"), (" notes", "notes.md"):
        found.update((folder.name[:2] + after, folder / file) for folder in (*others, first))
    ways = r"\n(Back|Next): \[.*\n\Z"  # to the neighbours, by their names
    return {name: re.sub(ways, "", page.read_text()) for name, page in found.items()}


def rows():
    """(a row's terms, OpenCL's beside them, the page), of the glossary's rows."""
    for row in glossary_rows():
        opencl = next((cell for head, cell in row.items() if head.startswith("OpenCL")), "")
        if "seen in" in row:
            yield terms(next(iter(row.values()))), terms(opencl), row["seen in"]


def terms(cell):
    """Of "wave (of blocks)" the brackets say which."""
    return [term.strip() for term in re.split("[,;]", re.sub(r" ?\(.*?\)|`", "", cell))]


def plain(term):
    """In the singular and without capitals."""
    return re.sub(r"(?<=\w)s\Z", "", " ".join(term.split())).lower()


PAGES, ROWS = pages(), [*rows()]
ITALICS = r"(?<![*\w])\*(\w[^*]*[\w)])\*(?![*\w])"
DEFINED = {
    page: {plain(term) for term in re.findall(ITALICS, without_code(text))}
    for page, text in PAGES.items()
    if "notes" not in page
}


def pages_with(term):
    """Those that have it as a word of its own; a name in capitals, as it stands."""
    any_case = 0 if re.search("[A-Z]{2}", term) else re.I
    word = re.compile(rf"(?<![\w-]){re.escape(term)}(?:s|es|d|ed)?(?![\w-])", any_case)
    return {page for page, text in PAGES.items() if word.search(" ".join(text.replace("`", "").split()))}


@pytest.mark.parametrize("names, _, page", ROWS, ids=[names[0] for names, _, _ in ROWS])
def test_a_row_names_the_page_where_its_term_stands_first(names, _, page):
    """That is the first lesson that defines it, or else the first page that has it. A word with two meanings has two
    rows, and is on the page of each."""
    having = {name: pages_with(name) for name in names}
    assert all(having.values()), f"on no page: {[name for name in names if not having[name]]}"
    own = {plain(name) for name in names}
    defining = {each for each, theirs in DEFINED.items() if theirs & own}
    others = {seen for theirs, _, seen in ROWS if theirs != names and own & {plain(name) for name in theirs}}
    candidates = (defining or set().union(*having.values())) - others
    assert page == next(each for each in PAGES if each in candidates)


@pytest.mark.parametrize("page", DEFINED)
def test_what_a_lesson_defines_has_a_row(page):
    known = {plain(name) for names, opencl, _ in ROWS for name in (*names, *opencl)}
    assert not DEFINED[page] - known
