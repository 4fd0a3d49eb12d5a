"""One idea lies between two steps of the ladder: it is named, and takes few lines."""
import pytest

import programs
from book import diff_notes
from support import ROOT

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
