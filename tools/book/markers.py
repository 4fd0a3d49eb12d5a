"""What stands on a page between <!-- NAME --> and <!-- /NAME -->, and how a table is written there."""
import re
import textwrap

from results import Wrong


class Head(str):
    """A table's heading. "<" marks a column of text; the first is one."""


def markdown(items):
    """The text of one table, or of several."""
    lines = []
    for item in items:
        if isinstance(item, Head):
            rule = "|".join("---" if not at or "<" in cell else "---:" for at, cell in enumerate(item.split("|")))
            if lines:
                lines.append("")
            lines += [f"| {item.replace('<', '')} |", f"|{rule}|"]
        else:
            lines.append(f"| {item} |")
    return "\n".join(lines) + "\n"


def with_rows(block, rows):
    """A block of what ./run prints, with these rows below its heading in the place of those that it has. Lines
    further to the right than a row belong to the row above them."""
    lines = block.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines, 1) if line.startswith("    stage ")), len(lines))
    below = [line for line in lines[at:] if not re.match(r"    (\d\d_|  )", line)]
    return "".join([*lines[:at], *(textwrap.indent(row, "    ") + "\n" for row in rows), *below])


def filled(page, made):
    """The page's text with what made(name, what stands there) returns between each pair of markers. Raises Wrong."""

    def with_table(block):
        margin, name, old = block.groups()
        table = textwrap.indent(made(name, re.sub(f"(?m)^{margin}", "", old)), margin)
        return f"{margin}<!-- {name} -->\n{table}{margin}<!-- /{name} -->\n"

    text, blocks = re.subn(
        r"(?ms)^( *)<!-- (\w+) -->\n(.*?)^\1<!-- /\2 -->\n", with_table, page.read_text(errors="replace")
    )
    if 2 * blocks != len(marks := re.findall(r"<!-- /?\w+ -->", text)):
        raise Wrong(f"{page}: takes each table between '<!-- NAME -->' and '<!-- /NAME -->', and has {' '.join(marks)}")
    return text
