"""The page: page/view.html or page/fragments.html, with all files that it includes, and with its data."""
import html
import json
import pathlib
import re

from languages import LANGUAGES
from view import layouts
from view.explanations import words

FOLDER = pathlib.Path(__file__).parent / "page"


def page(title, records, template="view"):
    """The whole page in one file. A line /* include FILE */ is replaced by that file, whose path is relative to the
    template."""
    text = re.sub(
        r"/\* include (\S+) \*/\n",
        lambda line: (FOLDER / line[1]).read_text(),
        (FOLDER / f"{template}.html").read_text(),
    )
    glossary = [words(language) for language in LANGUAGES]
    for mark, fill in (
        ("TITLE", html.escape(title)),
        ('"GLOSSARY"', json.dumps(glossary, ensure_ascii=False)),
        ('"RECORDS"', json.dumps(records, separators=(",", ":")).replace("</", "<\\/")),
    ):
        text = text.replace(mark, fill, 1)
    return text


def fragments():
    """{chips: {"matrix_a half col": 16 * row + column for each lane and x[i], lane by lane}} from 07's table."""
    return {chips: of for chips, of in layouts.maps().items() if "matrix_a half col" in of}
