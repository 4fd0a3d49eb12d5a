"""One idea lies between two steps of the ladder: it is named, and takes few lines."""
import pytest

import programs
from support import ROOT

STEPS = [step for step in programs.steps() if programs.before(step)]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step.relative_to(ROOT)))
def test_a_step_is_small_and_says_what_it_changes(step):
    assert programs.changes(step) and programs.changed_lines(programs.before(step), step)[1] <= 155
