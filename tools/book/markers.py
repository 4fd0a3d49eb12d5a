"""The text on a page between <!-- NAME --> and <!-- /NAME -->, and how a table is written there."""
import re
import textwrap

from book.quotes import quoted
from programs import ROOT
from results import InvalidInput

# A block: its margin, its name, and of code the words that follow.
BLOCK = r"(?ms)^( *)<!-- (\w+)((?<=code)\s(?:(?!-->).)*?)? -->\n(.*?)^\1<!-- /\2 -->\n"


class Head(str):
    """A table's heading. "<" marks a column of text; the first column is one."""


class Sentence(str):
    """A line that is not a row of a table."""


def markdown(items):
    """The text of one table, or of several."""
    lines = []
    for item in items:
        if isinstance(item, Sentence):
            lines.append(item)
        elif isinstance(item, Head):
            rule = "|".join("---" if not at or "<" in cell else "---:" for at, cell in enumerate(item.split("|")))
            if lines:
                lines.append("")
            lines += [f"| {item.replace('<', '')} |", f"|{rule}|"]
        else:
            lines.append(f"| {item} |")
    return "\n".join(lines) + "\n"


def with_rows(block, rows):
    """A block of ./run's output, with these rows below its heading in place of the ones there. Lines that are indented
    further than a row belong to the row above them."""
    lines = block.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines, 1) if line.startswith("    stage ")), len(lines))
    below = [line for line in lines[at:] if not re.match(r"    (\d\d_|  )", line)]
    return "".join([*lines[:at], *(textwrap.indent(row, "    ") + "\n" for row in rows), *below])


def filled(page, made, root=ROOT):
    """The page's text with the result of made(name, old text) between each pair of markers. Raises InvalidInput."""

    def with_new(block):
        margin, name, words, old = block.groups()
        new = quoted(words or "", page, root) if name == "code" else made(name, re.sub(f"(?m)^{margin}", "", old))
        begin = block[0].partition(" -->\n")[0]
        return f"{begin} -->\n{textwrap.indent(new, margin)}{margin}<!-- /{name} -->\n"

    text, blocks = re.subn(BLOCK, with_new, page.read_text(errors="replace"))
    if 2 * blocks != len(marks := re.findall(r"(?m)^ *(<!-- (?:/?\w+ -->|code\s))", text)):
        marks = " ".join(" ".join(marks).split())
        raise InvalidInput(f"{page}: takes each table between '<!-- NAME -->' and '<!-- /NAME -->', and has {marks}")
    return text
