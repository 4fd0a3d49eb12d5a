"""What ./run diff prints, as a page of the site (make_site.py): the code first, with the line numbers of both files, and the
comment at the top of the file folded below it."""
import html
import re

import programs

FILES = {programs.name(file): file for file in programs.steps()}


def lines_of(text, comments):
    """(is it of the comment at the top?, number in the old file, in the new file, its mark, its text) of each line of a unified
    diff; where lines are left out, all but the first are empty. comments: the lines that this comment has in both files."""
    numbers = [0, 0]
    for line in text.splitlines():
        if begins := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", line):
            numbers = [int(number) for number in begins.groups()]
            yield all(number <= of for number, of in zip(numbers, comments)), "", "", "", "⋯"
        elif not line.startswith("\\"):  # no newline at its end
            mark = line[:1] or " "
            here = ["" if mark == other else number for number, other in zip(numbers, "+-")]
            yield all(number == "" or number <= of for number, of in zip(here, comments)), *here, mark, line[1:]
            numbers = [number + (mark != other) for number, other in zip(numbers, "+-")]


def table(lines):
    """Of what lines_of() gives."""
    kinds = {"+": "new", "-": "old", "": "left"}
    rows = "".join(f'<tr class="{kinds.get(mark, "both")}"><td>{old}<td>{new}<td>{mark}<td>{html.escape(text)}\n'
                   for _, old, new, mark, text in lines)
    return f'<table class="diff">{rows}</table>'


def comment_lines(file):
    """How many the comment at the top of a file has."""
    lines = programs.text_of(file).splitlines()
    return len(lines) - len(programs.below_header(lines))


def shown(printed, source_page):
    """source_page: the address of the page that a source has."""
    parts = re.split(r"(?m)^(?=\S+ -> \S+: )", printed)[1:]
    sections, contents = [], []
    for part in parts:
        said, _, text = part.partition("\n--- ")
        said = re.match(r"(\S+) -> (\S+): (.*? with the comment)(.*)", " ".join(said.split()))
        old, new, count, changes = said.groups()
        files = [FILES.get(name) for name in (old, new)]
        below_names = text.partition("\n")[2].partition("\n")[2]
        lines = [*lines_of(below_names, [comment_lines(file) if file else 0 for file in files])]
        links = [f'<a href="{source_page(file)}">{name}</a>' if file else name for file, name in zip(files, (old, new))]
        anchor = html.escape(new)
        contents.append(f'<li><a href="#{anchor}">{old} → {new}</a>')
        top, code = [line for line in lines if line[0]], [line for line in lines if not line[0]]
        folded = f"<details><summary>The comment at the top of the file</summary>{table(top)}</details>"
        sections.append(f'<section id="{anchor}"><h2>{links[0]} → {links[1]}</h2><p>{html.escape(changes)} ({count})</p>'
                        f"{table(code)}{folded if top else ''}</section>")
    return (f"<ul>{''.join(contents)}</ul>" if len(parts) > 1 else "") + "".join(sections)
