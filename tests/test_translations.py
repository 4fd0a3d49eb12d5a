"""The translated pages are what ./run translate makes of the English pages and the catalogues, and have the English
pages' figures, commands and links. Texts that wait for a translator are listed, and do not fail."""
import re
import shutil

import pytest

from languages import glossary
from programs import files
from support import ROOT, tool

polib = pytest.importorskip("polib", reason="python3-polib is missing")
from book import translate  # needs polib

LESSON, MARK = "03_shared_blocking/README", translate.MARKS["ja"]
CATALOGUES = sorted(ROOT.glob("docs/po/*/*.po"))


def name(value):
    return str(value.relative_to(ROOT)) if value in CATALOGUES else ""


def older(root):
    """{page or catalogue that differs from the result of ./run translate: its first paragraph that differs}"""
    tool("po4a")
    texts, waiting = translate.all_made(root)
    print(*translate.listed(waiting, root), sep="\n")
    found = {}
    for file, text in texts.items():
        parts, old = text.split("\n\n"), file.read_text().split("\n\n") if file.exists() else []
        if parts != old:
            new = next((part for part in parts if part not in old), "a paragraph less")
            found[str(file.relative_to(root))] = translate.beginning(new.replace(MARK, ""))
    return {file: found[file] for file in found if file.endswith(".md")} or found


def test_no_page_is_older_than_its_english_page():
    found = "".join(f"\n{page}: {paragraph}" for page, paragraph in older(ROOT).items())
    assert not found, f"older than their English pages: commit what './run translate' makes of them:{found}"


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=name)
def test_paragraphs_have_the_same_facts(catalogue):
    found = "\n".join(translate.faults(polib.pofile(str(catalogue))))
    assert not found, f"differs from the English page:\n{found}"


TRANSLATED = sorted(path for place in ("", "docs/", "docs/articles/", "[0-9][0-9]_*/")
                    for path in ROOT.glob(f"{place}*.??.md"))
OF_ALL = ("docs/articles/README.md",)  # a page in three languages


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_an_english_page_says_so(page):
    """Except links to chapters, for which the first page says it."""
    mark = {".ja": " (英語)", ".zh": " (英文)"}[page.with_suffix("").suffix]
    for line in page.read_text().splitlines():
        for text, target, after in re.findall(r"\[([^]]*)\]\(([^)\s#:]+\.md)[^)\s]*\)(.{0,5})", line):
            to = str((page.parent / target).resolve().relative_to(ROOT))
            if text != "English" and not re.match(r"\d\d_|.*\.(ja|zh)\.md$", to) and to not in OF_ALL:
                assert after.startswith(mark), f"[{text}]({target}) leads to an English page: takes '{mark.strip()}'"


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: str(page.relative_to(ROOT)))
def test_pictures_are_in_the_language_of_the_page(page):
    language = page.with_suffix("").suffix
    assert [link for link in re.findall(translate.PICTURE, page.read_text())
            if "://" not in link and "actions/" not in link and not link.endswith(f"{language}.svg")] == []


@pytest.mark.parametrize("language", translate.MARKS)
def test_glossary_says_what_the_tables_catalogue_says(language):
    """The meaning of a word has one translation, which ./run view shows, too."""
    catalogue = polib.pofile(str(ROOT / f"docs/po/{language}/tables.po"))
    words = {entry.msgid.strip(): entry.msgstr.strip() for entry in catalogue}
    lines = (ROOT / f"docs/glossary.{language}.md").read_text().splitlines()
    rows = [line.split(" | ")[1].replace("`", "") for line in lines if line.count(" | ") > 2]
    lacking = [term for term, row in glossary().items()
               if "meaning" in row and not any(cell.startswith(words[row["meaning"]]) for cell in rows)]
    assert not lacking, f"another meaning than in docs/po/{language}/tables.po: {lacking}"


def test_warp_and_barrier_have_one_name_in_chinese():
    """The names in the glossary; a fence is something else."""
    texts = [*files("*.zh.md"), *ROOT.glob("tools/view/page/*"), *ROOT.glob("docs/toys/*.html")]
    other = re.compile(r".{0,9}(?<!\()线程束.{0,9}|.{0,9}栅栏(?! \(fence\)).{0,9}")
    others = [f"{text.relative_to(ROOT)}: {found}" for text in texts for found in other.findall(text.read_text())]
    assert not others, others


@pytest.mark.parametrize("english, own, wrong", [
    ("One has 1.7 of `As` [a](b.md#c)", "1 つは 1.7 を `As` [a](b.ja.md#c)", "1.8 を `As` [a](b.ja.md#c)"),
    ("One has 1.7 of `As` [a](b.md#c)", "1.7 を `As` [a](b.md#c)", "1.7 を `Bs` [a](b.md#c)"),
    ("One has 1.7 of `As` [a](b.md#c)", "1.7 を `As` [a](b.md#c)", "1.7 を `As` [a](b.md)"),
    ("See:\n\n    ./run 03  # why\n", "See:\n\n    ./run 03  # なぜ\n", "See:\n\n    ./run 04\n"),
    ("{lane 0} and {cost}", "{cost} と {lane 0}", "{cost} と {lane 1}")])
def test_another_figure_command_or_link_is_seen(english, own, wrong):
    assert [*translate.differences(english, own)] == [] != [*translate.differences(english, wrong)]


@pytest.mark.parametrize("bold, wrong", [("**一。** 二", "**一。**二"), ("一 **「二」** 三", "一**「二」** 三"),
                                         ("**一**二", "**`x`**二"), ("一。**「二」**。三", "一。**「二」**三")])
def test_words_that_are_not_bold_are_seen(bold, wrong):
    assert [*translate.not_bold(bold)] == [] != [*translate.not_bold(wrong)]


def test_a_line_break_ends_a_paragraph():
    """A backslash at the end of a line, as the rows of the articles' claims have it."""
    row = "- one\\\n  two\n  three\\\n  four\n"
    text, kept = translate.prepared(row)
    assert "two three" in text and translate.restored(text, kept) == row.replace("two\n  three", "two three")


@pytest.fixture
def copy(tmp_path):
    """A copy of the pages, and one of the catalogues."""
    tool("po4a")
    places = "*.md", "[0-9][0-9]_*/*.md", "docs/*.md", "docs/po/ja/[0t]*.po"
    for file in [path for place in places for path in ROOT.glob(place)]:
        if file.suffix == ".md" or file.stem in (LESSON.partition("/")[0], "tables"):
            (tmp_path / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, tmp_path / file.relative_to(ROOT))
    translate.write_whole(*translate.all_made(tmp_path)[0].items())
    return tmp_path


def test_a_changed_paragraph_falls_back_to_english(copy):
    english, own = copy / f"{LESSON}.md", copy / f"{LESSON}.ja.md"
    before, translated, waited = english.read_text(), own.read_text(), len(translate.all_made(copy)[1][own])
    catalogue = polib.pofile(str(copy / "docs/po/ja/03_shared_blocking.po"))
    done = {entry.msgid.strip() for entry in catalogue if not translate.waits(entry)}
    paragraph = next(part for part in before.split("\n\n") if part.count("\n") > 2 and part.replace("\n", " ") in done)
    changed = f"Now: {paragraph}"
    english.write_text(before.replace(paragraph, changed))
    assert older(copy) == {f"{LESSON}.ja.md": translate.beginning(changed)}

    texts, waiting = translate.all_made(copy)
    translate.write_whole(*texts.items())
    assert f"{MARK} {' '.join(changed.split())}" in own.read_text() and len(waiting[own]) == waited + 1

    english.write_text(before)
    assert translate.all_made(copy)[0][own] == translated


def test_the_first_run_on_an_empty_catalogue_makes_what_the_second_makes(copy):
    (copy / "docs/po/ja/03_shared_blocking.po").write_text("")
    first = translate.all_made(copy)[0]
    translate.write_whole(*first.items())
    assert translate.all_made(copy)[0] == first
