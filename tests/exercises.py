"""An exercise's solution, NN_chapter/exercises/NAME.patch, does what it says of itself: exercises.py -k NN_chapter

Above its diff a patch has, for each command that a reader types once it is applied:

    run: build/bin/02_register_blocking_cpu_trace --size 64 --lines
    exit: 0
    prints: a regular expression that the output matches; as many of these as it takes

Without the patch the same commands must not do all of that, or they would show nothing.
"""
import functools
import re
import shlex
import shutil

import pytest

import mutate
from support import BUILD, ROOT, call

PATCHES = sorted(ROOT.glob("[0-9][0-9]_*/exercises/*.patch"))


def expectations(patch):
    """[(words of the command, exit code, [regular expression])] of what stands above the diff."""
    found = []
    for line in patch.read_text().split("\n--- ")[0].split("\n"):
        what, _, value = line.strip().partition(": ")
        if what == "run":
            found.append([shlex.split(value), 0, []])
        elif what == "exit":
            found[-1][1] = int(value)
        elif what == "prints":
            found[-1][2].append(value)
    assert found and all(patterns for _, _, patterns in found), "takes lines 'run: COMMAND' and, below each, 'prints: REGEX'"
    return found


once = functools.lru_cache(None)(call)  # several exercises begin with what the same command says of the chapter as it is


def unmet(words, exit_code, patterns, programs, folder):
    """What the command, run in `folder`, does not do of what is expected; "" if it does it all."""
    run = once(*(programs.get(word, word) for word in words), cwd=folder)
    lacking = [f"prints nothing like: {pattern}" for pattern in patterns if not re.search(pattern, run.stdout + run.stderr, re.M)]
    if run.returncode != exit_code:
        lacking.append(f"exit code {run.returncode}, expected {exit_code}")
    return "\n".join([*lacking, run.stdout, run.stderr]) if lacking else ""


def build_changed(word, chapter, folder):
    """The program build/bin/NAME_cpu_trace, or such, of the changed chapter; as it was where it is no emulated one."""
    name, _, variant = word.rpartition("/")[2].rpartition("_cpu")
    stage = name.partition(".")[0] == chapter  # or a step, CHAPTER.NAME
    if not name or not stage and not (folder / chapter / f"{name}.cu").exists():
        return BUILD / word.partition("/")[2]
    # As emulator/CMakeLists.txt has it; there NAME_cpu is address-sanitized, which leaves misaligned accesses alone.
    less_optimised = [] if stage else ["-O1" if variant else "-O0", "-fno-sanitize=alignment"]
    return mutate.build(folder, chapter, name, variant.lstrip("_") or "plain", *less_optimised)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: f"{patch.parent.parent.name}.exercise.{patch.stem}")
def test_solution(patch):
    chapter, expected = patch.parent.parent.name, expectations(patch)
    as_built = {word: BUILD / word.partition("/")[2] for words, _, _ in expected for word in words if word.startswith("build/")}
    for words, _, _ in expected:
        if not shutil.which(as_built.get(words[0], words[0])):
            pytest.skip(f"{words[0]} is not here")
    assert any(unmet(*each, as_built, ROOT) for each in expected), "without the patch all of this is so already: it shows nothing"
    folder = mutate.tree(chapter, patch=patch)
    changed = {word: build_changed(word, chapter, folder) for word in as_built}
    for each in expected:
        assert not unmet(*each, changed, folder)
