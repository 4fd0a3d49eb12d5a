"""The page: page/view.html or page/fragments.html, with all files that it includes, and with its data."""
import base64
import html
import json
import pathlib
import re
import zlib

from languages import LANGUAGES
from view import layouts
from view.explanations import words

FOLDER = pathlib.Path(__file__).parent / "page"
# Names in kernels of what belongs to A, B or C, which have the matrix's colour wherever code is shown.
OF_MATRIX = {"a": ["A", "As", "a"], "b": ["B", "Bs", "b"], "c": ["C", "Cs", "acc"]}


def page(title, records, template="view", folder=None):
    """The whole page in one file. A line /* include FILE */ is replaced by that file, whose path is relative to the
    template. folder: where the page will be, with others: its style and its script are written there once for all, and
    its data are packed."""
    text = re.sub(
        r"/\* include (\S+) \*/\n",
        lambda line: (FOLDER / line[1]).read_text(),
        (FOLDER / f"{template}.html").read_text(),
    )
    glossary = [words(language) for language in LANGUAGES]
    text = text.replace('"GLOSSARY"', json.dumps(glossary, ensure_ascii=False), 1)
    text = text.replace('"OF_MATRIX"', json.dumps(OF_MATRIX), 1)
    if template == "view":
        records = [{**each, "blocks": [in_differences(block) for block in each.get("blocks", ())]} for each in records]
    if folder:
        text = apart(text, folder, records)
    text = text.replace("TITLE", html.escape(title), 1)
    return text.replace('"RECORDS"', json.dumps(records, separators=(",", ":")).replace("</", "<\\/"), 1)


def in_differences(block):
    """A block of a record whose events and notes have, for their numbers, the differences from the row before that has
    the same first cell: the same site of the warp, or the same kind. Many are 0 then, so that a packed page is half as
    large. withNumbers() in page/record.js adds them up."""
    return {**block, "warps": list(map(differences, block["warps"])), "notes": differences(block["notes"])}


def differences(rows):
    last = {}

    def difference(value, before):
        if isinstance(value, int) and isinstance(before, int):
            return value - before
        if isinstance(value, list) and isinstance(before, list) and len(value) == len(before):
            return list(map(difference, value, before))
        return value

    made = []
    for key, *cells in rows:
        made.append([key, *difference(cells, last.get(key))])
        last[key] = cells
    return made


def packed(data, then):
    """A script that calls `then`, a function in JavaScript, with the data. They are compressed: as text, records and
    an index of words would be four times as long."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
    bits = f'Uint8Array.from(atob("{base64.b64encode(zlib.compress(text, 9)).decode()}"), each => each.charCodeAt())'
    stream = f'new Blob([{bits}]).stream().pipeThrough(new DecompressionStream("deflate"))'
    return f"new Response({stream}).json().then({then})\n"


def apart(text, folder, records):
    """The page with links to view.css and view.js, which this writes. The records stay in the page."""
    before, style, between, script, after = re.fullmatch(
        r"(?s)(.*)<style>\n(.*)</style>\n(.*)<script>\n(.*)</script>(.*)", text
    ).groups()
    data = 'const RECORDS = "RECORDS";\n'
    (folder / "view.css").write_text(style)
    (folder / "view.js").write_text(script.replace(data, "", 1))
    load = """records => {
  window.RECORDS = records
  document.body.append(Object.assign(document.createElement("script"), { src: "view.js" }))
}"""
    linked = f"<script>\n{packed(records, load)}</script>"
    return f'{before}<link rel="stylesheet" href="view.css">\n{between}{linked}{after}'


def fragments():
    """{chips: {"matrix_a half col": 16 * row + column for each lane and x[i], lane by lane}} from 07's table."""
    return {chips: of for chips, of in layouts.maps().items() if "matrix_a half col" in of}
