"""./run diff: shows what a step changes, with a note above each hunk. It reads only the sources and the notes, and
needs no build."""
import itertools
import pathlib
import shutil
import sys
import textwrap

import exercises
import process
import programs
from book import diff_notes
from command_line import Parser, refuse
from process import fail, say
from results import InvalidInput


def notes_of(before, after):
    """{line of the diff: the note above it}, if one is the step before the other. Stale notes are not shown."""
    try:
        return diff_notes.above(before, after) if programs.compared().get(after) == before else {}
    except InvalidInput as wrong:
        say(wrong)
        return {}


def show(before, after, columns):
    """Prints the diff of two files, and above each hunk its note."""
    notes, lines = notes_of(before, after), itertools.count()

    def line(text):
        if note := notes.get(next(lines)):
            print(textwrap.indent(exercises.shown(note, columns - 2), "# "), flush=True)
        sys.stdout.buffer.write(text)

    coloured = sys.stdout.isatty() and not process.PLAIN
    labels = [f"--label={programs.name(file)}" for file in (before, after)]
    process.call(["diff", f"--color={'always' if coloured else 'never'}", "-u", *labels, before, after], line=line)


def run(words):
    parser = Parser("diff", "--side")
    parser.add_argument("steps", nargs="*")
    given = parser.parse_args(words)
    one_file = len(given.steps) == 1 and given.steps[0].endswith(".cu")
    if given.side and not given.steps or len(given.steps) > 2 or one_file:
        fail(2, "diff: takes a chapter, two steps such as 03 04/1 or 03 mine.cu, or none")
    steps = programs.steps()

    def found(word):
        """The steps that a word names: all of a chapter, those whose names begin with it, or a file outside the
        chapters."""
        if word.endswith(".cu") and pathlib.Path(word).is_file():
            return [pathlib.Path(word)]
        its = [file for file in steps if programs.meant(word, file.parent.name, file.stem)]
        return its or refuse("diff: ", word, steps)

    if len(given.steps) == 2:
        pairs = [[found(word)[-1] for word in given.steps]]
    else:
        chosen = found(given.steps[0]) if given.steps else steps
        pairs = [(before, step) for step, before in programs.compared().items() if step in chosen]
    columns = shutil.get_terminal_size((203, 24)).columns
    if given.side and columns < 160:
        say(f"--side takes a terminal of 160 columns; this one has {columns}")
    for number, (before, after) in enumerate(pairs):
        if number and given.steps:
            print()
        every, below = programs.changed_lines(before, after)
        what = f"{programs.name(before)} -> {programs.name(after)}: {below} lines, {every} with the comment"
        print(textwrap.fill(what, min(columns, 100), subsequent_indent="    "))
        if changes := programs.changes(after):
            print(textwrap.fill(changes, min(columns, 100), initial_indent="    ", subsequent_indent="    "))
        sys.stdout.flush()
        if given.steps:
            if given.side and columns >= 160:
                colour = "never" if process.PLAIN else "auto"
                process.call(["diff", f"--color={colour}", "-y", "-t", f"-W{columns}", before, after])
            else:
                show(before, after, min(columns, 100))
    if not [before for before, _ in pairs]:
        print(f"{given.steps[0]} begins anew: it is compared with no other step")
    return 0
