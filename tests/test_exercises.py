"""An exercise's solution, NN_chapter/exercises/NAME.patch, does what it states: test_exercises.py -k NN_chapter

Above its diff a patch has, for each command that a reader types after applying it:

    run: ./run 02 --cpu --size 64 --lines
    exit: 1, unless it is 0
    prints: a regular expression that the output matches; any number of these

In it `the load of As` and `the store to As` stand for a place, FILE:LINE, of the chapter that has As.

The test builds what such a command names from the changed chapter only, and starts it. test_run.py shows that ./run
builds what it starts.
"""
import functools
import pathlib
import re
import shlex

import pytest

import mutate
from command_line import programs_meant
from patches import description
from support import ROOT, call, program, tool

PATCHES = sorted(ROOT.glob("[0-9][0-9]_*/exercises/*.patch"))


def expectations(patch):
    """[(words of the command, exit code, [regular expression])] from the lines above the diff."""
    found = []
    for line in description(patch).split("\n"):
        what, _, value = line.partition(": ")
        if what == "run":
            found.append([shlex.split(value), 0, []])
        elif what == "exit":
            found[-1][1] = int(value)
        elif what == "prints":
            found[-1][2].append(value)
    assert found, "takes lines 'run: COMMAND'"
    assert all(patterns for _, _, patterns in found), "takes lines 'prints: REGEX' below each 'run: COMMAND'"
    return found


def located(pattern, folder):
    """The pattern with its phrases replaced by places in the chapter's `folder`."""
    def places(words):
        found = [f"{file.name}:{number}" for file in sorted(folder.glob("*.cu*"))
                 for number, line in enumerate(file.read_text().splitlines(), 1)
                 if re.search(rf"\b{words[1]}\b", line.partition("//")[0])]
        assert found, f"{folder.name} has no {words[1]}"
        return rf"\S*\b(?:{'|'.join(found)})\b"
    return re.sub(r"the (?:load of|store to) (\w+)", places, pattern)


def unmet(expected, started, chapter, root):
    """Runs the command's words in `root` and returns the expectation that is not met, or ""."""
    _, exit_code, patterns = expected
    run = call(*started, cwd=root)
    lacking = [f"prints nothing like: {pattern}" for pattern in patterns
               if not re.search(located(pattern, root / chapter), run.stdout + run.stderr, re.M)]
    if run.returncode != exit_code:
        lacking.append(f"exit code {run.returncode}, expected {exit_code}")
    return "\n".join([*lacking, run.stdout, run.stderr]) if lacking else ""


def started(words, root):
    """The command that `./run NAME [OPTION...]` starts, with the changed chapter in `root`. Any other command is
    started as typed."""
    if words[0] != "./run":
        return [tool(words[0]), *(program(pathlib.Path(word).name) if word.startswith("build/bin/") else word
                                  for word in words[1:])]
    meant, = programs_meant(words[1])
    options = [word for word in words[2:] if word != "--cpu"]
    if meant.kind == "opencl":  # it compiles its kernels at run time
        folder = root / meant.chapter
        return [program(meant.target()), "--platform", "Portable Computing Language", "--kernels", folder, *options]
    return [built(root, meant.chapter, meant.target()), *options]


@functools.lru_cache(None)
def built(root, chapter, target):
    return mutate.build(root, chapter, target, "trace")


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: f"{patch.parent.parent.name}.exercise.{patch.stem}")
def test_solution(patch):
    chapter, expected = patch.parent.parent.name, expectations(patch)
    root = mutate.tree(chapter, patch=patch)
    commands = [started(words, root) for words, _, _ in expected]
    for each, command in zip(expected, commands):
        assert not unmet(each, command, chapter, root)
