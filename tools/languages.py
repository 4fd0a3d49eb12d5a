"""The languages of the pages, the glossary, and the catalogue of words in tables."""
import collections
import json
import re

from programs import ROOT

FIGURE = r"(?<![\w{.,])\d+(?:[.,]\d+)*(?![\w}])"
LANGUAGES = {"en": "English", "ja": "日本語", "zh": "中文"}


def glossary_rows(root=ROOT):
    """Yields the rows of the glossary's tables, {heading: cell}, of plain text. The first cell is the term."""
    for table in re.findall(r"(?m)(?:^\|.*\n)+", (root / "docs/glossary.md").read_text()):
        heads, _, *rows = [
            [re.sub(r" ?\(\[.*?\]\(.*?\)\)|`", "", cell).strip() for cell in line.split("|")[1:-1]]
            for line in table.splitlines()
        ]
        for row in rows:
            yield dict(zip((head.removesuffix(" here") for head in heads), row))


def glossary(root=ROOT):
    """{term: {"meaning": ..., "日本語": ..., "中文": ...}}, of all rows of a term."""
    found = collections.defaultdict(dict)
    for row in glossary_rows(root):
        found[next(iter(row.values()))].update(row)
    return found


def translations(language, root=ROOT):
    """{English text: its translation}, without translations that are out of date"""
    file = root / f"docs/po/{language}/tables.po"
    entries = re.findall(
        r'(?m)^(#, fuzzy\n(?:#.*\n)*)?msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)',
        file.read_text() if file.is_file() else "",
    )
    texts = (
        ["".join(map(json.loads, text.splitlines())).strip() for text in each] for fuzzy, *each in entries if not fuzzy
    )
    return {english: own for english, own in texts if own}


def template(text):
    """A text without its figures, such as "{1} GB/s", because no catalogue has figures; and the figures."""
    figures = re.findall(FIGURE, text)
    numbers = iter(range(1, len(figures) + 1))
    return re.sub(FIGURE, lambda _: f"{{{next(numbers)}}}", text), figures


def with_figures(text, figures):
    return re.sub(r"\{(\d+)\}", lambda found: figures[int(found[1]) - 1], text)


def translated(text, language):
    """A text of a generated table in another language; the English one if it has no translation."""
    key, figures = template(text)
    return with_figures(translations(language).get(key, key), figures)
