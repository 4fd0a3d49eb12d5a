"""An exercise's solution, NN_chapter/exercises/NAME.patch, does what it says of itself: exercises.py -k NN_chapter

Above its diff a patch has, for each command that a reader types once it is applied:

    run: build/bin/02_register_blocking_cpu_trace --size 64 --lines
    exit: 1, where it is not 0
    prints: a regular expression that the output matches; as many of these as it takes

In it `the load of As` and `the store to As` stand for a place, FILE:LINE, of the chapter where As is named.
"""
import re
import shlex

import pytest

import plant
from support import BUILD, ROOT, call, tool

PATCHES = sorted(ROOT.glob("[0-9][0-9]_*/exercises/*.patch"))


def expectations(patch):
    """[(words of the command, exit code, [regular expression])] of what stands above the diff."""
    found = []
    for line in patch.read_text().split("\n--- ")[0].split("\n"):
        what, _, value = line.partition(": ")
        if what == "run":
            found.append([shlex.split(value), 0, []])
        elif what == "exit":
            found[-1][1] = int(value)
        elif what == "prints":
            found[-1][2].append(value)
    assert found and all(patterns for _, _, patterns in found), "takes lines 'run: COMMAND' and, below each, 'prints: REGEX'"
    return found


def located(pattern, folder):
    """The pattern with the places in the chapter's `folder` that its words stand for."""
    def places(words):
        found = [f"{file.name}:{number}" for file in sorted(folder.glob("*.cu*"))
                 for number, line in enumerate(file.read_text().splitlines(), 1)
                 if re.search(rf"\b{words[1]}\b", line.partition("//")[0])]
        assert found, f"{folder.name} has no {words[1]}"
        return rf"\S*\b(?:{'|'.join(found)})\b"
    return re.sub(r"the (?:load of|store to) (\w+)", places, pattern)


def unmet(expected, chapter, programs, root):
    """Runs the command in `root` and returns what it does not do of what is expected, or ""."""
    words, exit_code, patterns = expected
    run = call(*(programs.get(word, word) for word in words), cwd=root)
    lacking = [f"prints nothing like: {pattern}" for pattern in patterns
               if not re.search(located(pattern, root / chapter), run.stdout + run.stderr, re.M)]
    if run.returncode != exit_code:
        lacking.append(f"exit code {run.returncode}, expected {exit_code}")
    return "\n".join([*lacking, run.stdout, run.stderr]) if lacking else ""


def build_changed(word, chapter, root):
    """The program build/bin/NAME_cpu_trace, or such, of the changed chapter; as it was where it is no emulated one."""
    name, _, variant = word.rpartition("/")[2].rpartition("_cpu")
    stage = name.partition(".")[0] == chapter  # or a step, CHAPTER.NAME
    if not name or not stage and not (root / chapter / f"{name}.cu").exists():
        return BUILD / word.partition("/")[2]
    return plant.build(root, chapter, name, variant.lstrip("_") or ("plain" if stage else "trace"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: f"{patch.parent.parent.name}.exercise.{patch.stem}")
def test_solution(patch):
    chapter, expected = patch.parent.parent.name, expectations(patch)
    root = plant.tree(chapter, patch=patch)
    built = {word: build_changed(word, chapter, root) for words, _, _ in expected for word in words if word.startswith("build/")}
    for words, _, _ in expected:
        tool(built.get(words[0], words[0]))
    for each in expected:
        assert not unmet(each, chapter, built, root)
