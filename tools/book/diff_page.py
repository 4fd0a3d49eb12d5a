"""The output of ./run diff as a page of the site: for each pair of steps the code first, with the line numbers of both
files, and the comment at the top of the file folded below it."""
import html
import re
import subprocess

import programs


def pairs(words):
    """[(a step, the next one)] for the words after ./run diff: two steps, or each step of a chapter with the one before
    it."""
    named = [[step for step in programs.steps() if programs.meant(word, step.parent.name, step.stem)] for word in words]
    if len(words) == 2:
        return [(first[-1], second[-1]) for first, second in [named] if first and second]
    return [(before, step) for step in named[0] if (before := programs.before(step))]


def lines_of(text, comments):
    """Yields (whether it belongs to the comment at the top, number in the old file, number in the new file, mark, text)
    for each line of a unified diff. Where lines are left out, all cells but the first are empty. comments: how many
    lines the comment has in both files."""
    numbers = [0, 0]
    for line in text.splitlines():
        if begins := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", line):
            numbers = [int(number) for number in begins.groups()]
            yield all(number <= length for number, length in zip(numbers, comments)), "", "", "", "⋯"
        elif not line.startswith("\\"):  # "\ No newline at end of file"
            mark = line[:1] or " "
            here = ["" if mark == other else number for number, other in zip(numbers, "+-")]
            yield all(number == "" or number <= length for number, length in zip(here, comments)), *here, mark, line[1:]
            numbers = [number + (mark != other) for number, other in zip(numbers, "+-")]


def table(lines, coloured):
    """An HTML table of the lines that lines_of() yields. coloured: highlights a line of code."""
    kinds = {"+": "new", "-": "old", "": "left"}
    rows = "".join(
        f'<tr class="{kinds.get(mark, "both")}"><td>{old}<td>{new}<td>{mark}<td>{coloured(text) if mark else text}\n'
        for _, old, new, mark, text in lines
    )
    return f'<div class="highlight"><table class="diff">{rows}</table></div>'


def comment_lines(file):
    """How many lines the comment at the top of a file has."""
    lines = programs.text_of(file).splitlines()
    return len(lines) - len(programs.below_header(lines))


def section(old, new, source_page, coloured):
    """The part of the page about one pair. source_page: returns the address of the page of a source."""
    diff = subprocess.run(["diff", "-u", old, new], stdout=subprocess.PIPE, text=True, errors="replace").stdout
    below_names = diff.partition("\n")[2].partition("\n")[2]
    lines = list(lines_of(below_names, [comment_lines(old), comment_lines(new)]))
    top, code = [line for line in lines if line[0]], [line for line in lines if not line[0]]
    every, below = programs.changed_lines(old, new)
    links = " → ".join(f'<a href="{source_page(file)}">{programs.name(file)}</a>' for file in (old, new))
    said = f"{html.escape(programs.changes(new))} ({below} lines, {every} with the comment)"
    folded = ""
    if top:
        folded = f"<details><summary>The comment at the top of the file</summary>{table(top, coloured)}</details>"
    name = html.escape(programs.name(new))
    return f'<section id="{name}"><h2>{links}</h2><p>{said}</p>{table(code, coloured)}{folded}</section>'


def shown(words, source_page, coloured):
    """The page's body, or "" if the words name no pair."""
    found = pairs(words)
    contents = [
        f'<li><a href="#{html.escape(programs.name(new))}">{programs.name(old)} → {programs.name(new)}</a>'
        for old, new in found
    ]
    sections = "".join(section(old, new, source_page, coloured) for old, new in found)
    return f"<ul>{''.join(contents)}</ul>{sections}" if len(found) > 1 else sections
