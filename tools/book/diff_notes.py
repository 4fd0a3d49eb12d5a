"""What a step changes, in parts that have notes. A chapter's diff.txt has the notes, separated by empty lines:

    [1_unroll]

    + constexpr int kTileK
    - float a[kThreadM]
    What these changes do and why, a sentence or two.

[1_unroll] begins the notes on the diff of 1_unroll.cu to the step before. The lines above a note's text are its places:
a part of an added line, or of a removed one, that begins in one hunk alone, and that may go on in the lines below it. A
hunk is lines that are added or removed without another line between them. The note stands beside the hunk of its first
place, and holds for what follows in the same block, up to the next place of a note. A block, which ./run diff begins
with @@, may change no code before its first note.
"""
import re
import subprocess
from typing import NamedTuple

import programs
from results import InvalidInput


class Line(NamedTuple):
    mark: str  # "+", "-" or " "
    text: str
    number: int  # in the new file; of a removed line that of the next one
    at: int  # of the output of diff -u, from 0


class Note(NamedTuple):
    places: tuple  # (mark, part of a line), ...
    text: str


class Part(NamedTuple):
    lines: list
    note: str  # "" for a part without one
    noted: bool  # whether a place of a note is in it


def notes(chapter):
    """{name of a step: its notes} of a chapter's folder."""
    file, found, own = chapter / "diff.txt", {}, []
    for paragraph in file.read_text().strip().split("\n\n") if file.exists() else ():
        if heading := re.fullmatch(r"\[(\w+)\]", paragraph):
            own = found.setdefault(heading[1], [])
            continue
        places = re.match(r"(?:[+-] .*\n)*", paragraph)[0]
        text = " ".join(paragraph[len(places) :].split())
        if not places or not text:
            raise InvalidInput(f"{file}: takes lines '+ PART OF A LINE' and below them a text: {paragraph}")
        own.append(Note(tuple((place[0], " ".join(place[1:].split())) for place in places.splitlines()), text))
    return found


def texts(chapters):
    """All notes of these folders, which the catalogue of tables has in other languages."""
    for chapter in chapters:
        for its in notes(chapter).values():
            yield from (note.text for note in its)


def code(line):
    """A line without its comment and white space, or "" for an #include."""
    return "" if line.text.startswith("#include") else re.sub(r"\s+", "", re.sub(r"//.*", "", line.text))


def changes_code(lines):
    """Whether lines change more than comments, white space and #includes."""
    old, new = ("".join(code(line) for line in lines if line.mark == mark) for mark in "-+")
    return old != new


def blocks(old, new):
    """The blocks of ./run diff below the comments at the top of both files, lists of lines."""
    lengths = [len(lines) - len(programs.below_header(lines))
               for lines in (programs.text_of(file).splitlines() for file in (old, new))]
    diff = subprocess.run(["diff", "-u", old, new], stdout=subprocess.PIPE, text=True, errors="replace").stdout
    found, numbers = [], [0, 0]
    for at, line in enumerate(diff.splitlines()[2:], 2):
        if begins := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", line):
            numbers, lines = [int(number) for number in begins.groups()], []
            found.append(lines)
        elif not line.startswith("\\"):  # "\ No newline at end of file"
            mark = line[:1] or " "
            if all(mark == other or number > top for number, other, top in zip(numbers, "+-", lengths)):
                lines.append(Line(mark, line[1:], numbers[1], at))
            numbers = [number + (mark != other) for number, other in zip(numbers, "+-")]
    return [lines for lines in found if any(line.mark != " " for line in lines)]


def hunks(block):
    """[(first, after the last)] of the hunks of a block."""
    marks = "".join(line.mark for line in block)
    return [found.span() for found in re.finditer("[+-]+", marks)]


def begins_in(block, at, mark, text):
    """Whether a text begins in that line of a block, if the line has the mark."""
    if block[at].mark != mark:
        return False
    line, *below = (" ".join(line.text.split()) for line in block[at:] if line.mark in (mark, " "))
    return 0 <= " ".join([line, *below]).find(text) < len(line)


def parts(old, new, noted=True):
    """The parts of each block: [[Part, ...], ...]. noted: whether `old` is the step before, which the notes are about.
    Raises InvalidInput if a note's place is not in one hunk alone."""
    every = blocks(old, new)
    where = [(block, hunk) for block in every for hunk in hunks(block)]
    text_at = {}  # {hunk: the text that begins there}
    for note in notes(new.parent).get(new.stem, ()) if noted else ():
        for at, (mark, text) in enumerate(note.places):
            found = [number for number, (block, hunk) in enumerate(where)
                     if any(begins_in(block, line, mark, text) for line in range(*hunk))]
            if len(found) != 1 or found[0] in text_at:
                wrong = f"is in {len(found)}" if len(found) != 1 else "is in one with another place"
                raise InvalidInput(f"{new.parent / 'diff.txt'}: [{new.stem}]: takes a part of a line of one hunk, and "
                                   f"'{mark} {text}' {wrong}")
            text_at[found[0]] = note.text if at == 0 else ""
    numbers, made = iter(range(len(where))), []
    for block in every:
        begins = [(0, None)]
        for (first, _), number in zip(hunks(block), numbers):
            if number not in text_at:
                continue
            while first > begins[-1][0] and block[first - 1].mark == " " and block[first - 1].text.lstrip()[:1] != "}":
                first -= 1
            if all(line.mark == " " for line in block[begins[-1][0] : first]):
                first = begins.pop()[0]
            begins.append((first, text_at[number]))
        ends = [first for first, _ in begins[1:]] + [len(block)]
        made.append([Part(block[first:end], note or "", note is not None) for (first, note), end in zip(begins, ends)])
    return made


def above(old, new):
    """{line of the output of diff -u, from 0: the note on the hunk that begins there}, in a step's diff."""
    every = [part for block in parts(old, new) for part in block if part.note]
    return {next(line.at for line in part.lines if line.mark != " "): part.note for part in every}


def faults(old, new):
    """Yields what is wrong with the notes on a step. A step without notes has no faults."""
    try:
        made = parts(old, new)
    except InvalidInput as wrong:
        yield str(wrong)
        return
    if new.stem in notes(new.parent):
        for part in (part for block in made for part in block):
            changed = [line for line in part.lines if line.mark != " "]
            if not part.noted and changes_code(changed):
                first = next(line for line in changed if code(line))
                yield f"{new.parent / 'diff.txt'}: [{new.stem}]: lacks a note on '{first.mark} {first.text.strip()}'"
