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
    run = call(program, "--sizes", ablation.RAGGED[0], "--order", "random")  # the traced build finds races in any order
    assert run.returncode == 0, run.stderr
    assert [name for name, *_ in map(str.split, run.stdout.splitlines()) if name in names] == names


def test_whose_code_counts():
    """The kernel with wide accesses, and in 09 that of whole tiles: matmul<true> and matmul<true, false>."""
    kernels = {f"_ZN6form_06matmulI{flags}EEviiiPKfS2_Pf": flags for flags in ("Lb0ELb0E", "Lb0ELb1E", "Lb1ELb0E", "Lb1ELb1E")}
    assert [flags for name, flags in kernels.items() if ablation.timed(name)] == ["Lb1ELb0E"]
    assert [ablation.timed(f"_Z6matmulI{flags}EEviii") for flags in ("Lb0E", "Lb1E", "13__nv_bfloat16Lb1E")] == [False, True, True]


def test_programs_are_kept(tmp_path, monkeypatch):
    """They are built again when a form or a header is another."""
    report = "function 'f'\n\n 0 bytes spill stores, 0 bytes spill loads\nUsed 9 registers"
    words, forms = [], ablation.forms(CHAPTERS[0])
    monkeypatch.setattr(ablation, "nvcc", lambda *given, **_: words.append(given) or report)
    monkeypatch.setattr(ablation.machine, "build", lambda targets: None)
    for expected in (len(forms) + 2, 0):  # the forms, forms.cu, the program
        words.clear()
        ablation.build(CHAPTERS[:1], tmp_path, tmp_path)
        assert len(words) == expected
    monkeypatch.setattr(ablation, "forms", lambda chapter: [forms[0], *(form._replace(text=form.text + " ") for form in forms[1:])])
    ablation.build(CHAPTERS[:1], tmp_path, tmp_path)
    assert len(words) == len(forms) + 2
