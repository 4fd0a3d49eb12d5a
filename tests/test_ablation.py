"""The forms of the stages that ./run ablation times, each without a part, are right: on the emulator, traced, at a shape that no
tile fits. So they are exact and race-free, and their traffic is what their formulas say.
"""
import pytest

import ablation
import mutate
from support import ROOT, call

CHAPTERS = [chapter for chapter in sorted(ROOT.glob("[0-9][0-9]_*")) if ablation.forms(chapter)]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_forms_are_right(chapter):
    forms, folder = ablation.forms(chapter), mutate.tree(chapter.name)
    names = [form.name for form in forms]
    assert len({*names}) == len(names) and len({(form.stage, form.without) for form in forms}) == len(names)
    (folder / chapter.name / "forms.cu").write_text(ablation.program(forms))
    program = mutate.build(folder, chapter.name, "forms", "trace", "-O1")
    run = call(program, "--sizes", ablation.RAGGED[0], "--order", "random")  # what races does so in any order
    assert run.returncode == 0, run.stderr
    assert [name for name, *_ in map(str.split, run.stdout.splitlines()) if name in names] == names
