"""One idea lies between two steps of the ladder: it is named, and takes few lines."""
import itertools
import subprocess

import pytest

import exercises
import programs
from book import diff_notes
from support import ROOT, call

STEPS = programs.compared()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step.relative_to(ROOT)))
def test_a_step_is_small_and_says_what_it_changes(step):
    assert programs.changes(step) and programs.changed_lines(STEPS[step], step)[1] <= 155


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step.relative_to(ROOT)))
def test_notes_are_about_what_a_step_changes(step):
    assert [*diff_notes.faults(STEPS[step], step)] == []


def test_notes_are_about_steps():
    for file in ROOT.glob("[0-9][0-9]_*/diff.txt"):
        assert {*diff_notes.notes(file.parent)} <= {step.stem for step in STEPS if step.parent == file.parent}, file


KEPT = "".join(f"same({number});\n" for number in range(9))
OLD = f"// An idea.\none();\n{KEPT}two();  // of old\n{KEPT}three();\n"
NEW = f"// Another idea.\nONE();\n{KEPT}two();  // of new\n{KEPT}THREE();\nFOUR();\n"
NOTES = "[new]\n\n+ ONE()\nWhy one.\n\n- three();\nWhy\nthree.\n"


@pytest.mark.parametrize("notes, fault", [
    (NOTES, ""), (NOTES.replace("new]", "other]").replace("ONE()", "1"), ""),  # a step may have no notes
    (NOTES.replace("+ ONE()", "+ ONE(); same(0)"), ""),  # a statement of two lines
    (NOTES.replace("+ ONE", "+ GONE"), "'+ GONE()' is in 0"), (NOTES.replace("+ ONE()", "- same(3)"), "is in 0"),
    (NOTES.replace("+ ONE()", "+ )"), "is in 3"), (f"{NOTES}\n+ FOUR\nWhy four.\n", "another place"),
    (NOTES.partition("- three")[0], "lacks a note on '- three();'"),
    (NOTES.replace("- three();\n", ""), "takes lines '+ PART OF A LINE'")])
def test_a_stale_note_is_seen(notes, fault, tmp_path):
    """And so is a change of code without a note. A comment needs none, and the one at the top is no part of it."""
    old, new, file = tmp_path / "old.cu", tmp_path / "new.cu", tmp_path / "diff.txt"
    old.write_text(OLD), new.write_text(NEW), file.write_text(notes)
    found = [*diff_notes.faults(old, new)]
    assert fault in "".join(found) and len(found) == bool(fault), found
    if "[new]" in notes and not fault:
        assert [part.note for block in diff_notes.parts(old, new) for part in block] == ["Why one.", "", "Why three."]


def test_notes_stand_above_their_hunks():
    """./run diff prints them there, and the diff besides as it is."""
    step = ROOT / "11_wgmma/2_tma_store.cu"
    heading, *printed = call(ROOT / "run", "diff", "11/2").stdout.partition("--- ")[2].splitlines()
    names = [f"--label={programs.name(file)}" for file in (STEPS[step], step)]
    plain = subprocess.run(["diff", "-u", *names, STEPS[step], step], stdout=subprocess.PIPE, text=True).stdout
    assert [f"--- {heading}", *(line for line in printed if line[0] != "#")] == plain.splitlines()
    found = {}
    for at, line in enumerate(printed):
        if line[0] in "+-" and printed[at - 1][0] == "#":
            above = [*itertools.takewhile(lambda each: each[0] == "#", printed[at - 1 :: -1])]
            assert printed[at - 1 - len(above)][0] in " @", "a note stands within a hunk"
            note = " ".join(each[2:] for each in reversed(above))
            below = [*itertools.takewhile(lambda each: each[0] in "+- ", printed[at:])]
            found[note] = [diff_notes.Line(each[0], each[1:], 0, 0) for each in below]
    notes = diff_notes.notes(step.parent)[step.stem]
    assert sorted(found) == sorted(" ".join(exercises.shown(note.text).split()) for note in notes)
    for note in notes:
        block = found[" ".join(exercises.shown(note.text).split())]
        hunk = itertools.takewhile(lambda at: block[at].mark != " ", range(len(block)))
        assert any(diff_notes.begins_in(block, at, *note.places[0]) for at in hunk), note
