"""The change of a step as HTML: in a lesson below the lines that it quotes, or on a page of its own. New lines are
highlighted, the others are grey, and the comment at the top of the file is left out. Beside each part is its note."""
import functools
import html
import os
import re

import programs
from book import diff_notes


def pairs(words):
    """[(a step, the next one)] for the words after ./run diff: two steps, or each step of a chapter with the one before
    it."""
    named = [[step for step in programs.steps() if programs.meant(word, step.parent.name, step.stem)] for word in words]
    if len(words) == 2:
        return [(first[-1], second[-1]) for first, second in [named] if first and second]
    return [(before, step) for step, before in programs.compared().items() if step in named[0]]


def anchor(step):
    """The id of a step's diff in its lesson: diff-04.1."""
    return f"diff-{programs.short(step).replace('/', '.')}"


@functools.lru_cache(None)
def parts(old, new):
    noted = programs.compared().get(new) == old
    return [part for block in diff_notes.parts(old, new, noted) for part in block]


def begins(old, new):
    """{the number of the new file's line at which a part begins: the part's id}"""
    changed = [next(line for line in part.lines if line.mark != " ") for part in parts(old, new)]
    return {line.number: f"{anchor(new)}-{at}" for at, line in enumerate(changed, 1)}


def marked_up(text, address):
    """A note's `code` and [links](TARGET) as HTML. address: returns the address to which a link leads."""
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, False))
    return re.sub(r"\[([^]]*)\]\(([^)]*)\)", lambda link: f'<a href="{address(link[2])}">{link[1]}</a>', text)


def stripped(lines):
    """The lines without empty ones before and after them that stay."""
    at = [number for number, line in enumerate(lines) if line.mark != " " or line.text.strip()]
    return lines[at[0] : at[-1] + 1]


def shown_lines(lines, coloured):
    """The lines of a part. Those that change comments or #includes alone are no more prominent than others."""
    shown, lines = [], stripped(lines)
    for hunk in re.finditer("[+-]+| +", "".join(line.mark for line in lines)):
        its = lines[slice(*hunk.span())]
        dim = "" if diff_notes.changes_code(its) else ' class="dim"'
        for mark, text, *_ in its:
            if mark == "+":
                text = html.escape(text, False) if dim else coloured(text)
                shown.append(f"<ins{dim}>+ {text}\n</ins>")
            elif mark == "-":
                shown.append(f"<del{dim}>- {html.escape(text, False)}\n</del>")
            else:
                shown.append(f"  {html.escape(text, False)}\n")
    return "".join(shown)


def shown(old, new, address, coloured, say=str, translations=None, quotes=()):
    """The parts of a diff. address: returns the address to which a link leads from the chapter's folder. coloured:
    highlights a line. say: translates a phrase. quotes: [(id, its lines)] of the page, to which the parts with such
    lines lead."""

    def source_page(file):
        return address(os.path.relpath(file, new.parent))

    made = []
    for (number, name), part in zip(begins(old, new).items(), parts(old, new)):
        links = []
        if programs.compared().get(new) == old:  # the source's page has links back, too
            links.append(f'<a href="{source_page(new)}#L{number}">{say("line {}").format(number)}</a>')
        if quote := next((quote for quote, lines in quotes if quoted(part, lines)), ""):
            links.append(f'<a href="#{quote}">{say("quoted in the text")}</a>')
        note = part.note and marked_up((translations or {}).get(part.note, part.note), address)
        beside = f'<p>{note} <small>{" · ".join(links)}</small></p>' if links else ""
        made.append(f'<div class="part" id="{name}">{beside}<pre>{shown_lines(part.lines, coloured)}</pre></div>')
    names = " → ".join(f'<a href="{source_page(file)}">{programs.name(file)}</a>' for file in (old, new))
    return f'<div class="diff highlight"><p>{names}</p>{"".join(made)}</div>'


def quoted(part, lines):
    """Whether a quote has one of the part's new lines of code."""
    new = {line.text.strip() for line in part.lines if line.mark == "+" and len(diff_notes.code(line)) > 9}
    return bool(new & {line.strip() for line in lines})
