"""The variants of the stages that ./run ablation times, each without a part, are right: on the emulator, traced, at
shapes that no tile divides, with aligned rows and without. So they are exact and free of races, and their traffic is
what their formulas state."""
import re

import pytest

import ablation
import mutate
from support import ROOT, call, tool

CHAPTERS = sorted(chapter for chapter in ROOT.glob("[0-9][0-9]_*") if ablation.patches_of(chapter))
INCLUDE = re.compile(r"(?m)^#include .*$")


def together(forms):
    """The source of one program with all variants, which is built faster than many programs: its first argument selects
    one."""
    each = ["\n".join((*INCLUDE.findall(form.text), f"namespace form_{number} {{", f'#line 1 "{number}/matmul.cu"',
                       INCLUDE.sub("", form.text), "}\n")) for number, form in enumerate(forms)]
    mains = ", ".join(f"form_{number}::main" for number in range(len(forms)))
    return "".join(each) + ("#include <cstdlib>\nint main(int argc, char** argv) {\n"
                            f"    int (*const mains[])(int, char**) = {{{mains}}};\n"
                            "    return mains[atoi(argv[1])](argc - 1, argv + 1);\n}\n")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_forms_are_right(chapter):
    tool("git")
    forms, folder = ablation.forms(chapter), mutate.tree(chapter.name)
    assert len({(form.stage, form.without) for form in forms}) == len(forms)
    (folder / chapter.name / "forms.cu").write_text(together(forms))
    program = mutate.build(folder, chapter.name, "forms", "trace", "-O1")
    for number, form in enumerate(forms):  # the traced build finds races in any order
        run = call(program, number, "--sizes", ",".join(ablation.RAGGED))
        assert run.returncode == 0, f"{form}: {run.stderr}"
