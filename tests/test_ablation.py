"""The variants of the stages that ./run ablation times, each without a part, are correct: on the emulator, traced, at
shapes that no tile divides, with aligned rows and without. So they are exact and free of races, and their traffic is
what their formulas state."""
import re

import pytest

import ablation
import mutate
from support import ROOT, call

CHAPTERS = sorted(chapter for chapter in ROOT.glob("[0-9][0-9]_*") if ablation.changes_of(chapter))
INCLUDE = re.compile(r"(?m)^#include .*$")


def together(variants):
    """The source of one program with all variants, which is built faster than many programs: its first argument selects
    one."""
    each = ["\n".join((*INCLUDE.findall(variant.text), f"namespace variant_{number} {{",
                       f'#line 1 "{number}/matmul.cu"', INCLUDE.sub("", variant.text), "}\n"))
            for number, variant in enumerate(variants)]
    mains = ", ".join(f"variant_{number}::main" for number in range(len(variants)))
    return "".join(each) + ("#include <cstdlib>\nint main(int argc, char** argv) {\n"
                            f"    int (*const mains[])(int, char**) = {{{mains}}};\n"
                            "    return mains[atoi(argv[1])](argc - 1, argv + 1);\n}\n")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_variants_are_correct(chapter):
    variants, folder = ablation.variants(chapter), mutate.tree(chapter.name)
    assert len({(variant.stage, variant.without) for variant in variants}) == len(variants)
    (folder / chapter.name / "variants.cu").write_text(together(variants))
    program = mutate.build(folder, chapter.name, "variants", "trace", "-O1")
    for number, variant in enumerate(variants):  # the traced build finds races in any order
        run = call(program, number, "--sizes", ",".join(ablation.RAGGED))
        assert run.returncode == 0, f"{variant}: {run.stderr}"
