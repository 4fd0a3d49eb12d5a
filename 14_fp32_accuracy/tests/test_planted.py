"""Faults of the method itself, each a change of a source in planted/, such as a product of low halves that is left out.
The program fails at the shape that stands above the change, and passes there without it."""
import pathlib

import pytest

import mutate
from edits import edited
from support import call, program

CHAPTER = "14_fp32_accuracy"
PLANTED = sorted(pathlib.Path(__file__).parent.glob("planted/*.diff"))


@pytest.mark.parametrize("path", PLANTED, ids=lambda path: path.stem)
def test_a_fault_of_the_method_is_noticed(path):
    heading, _, change = path.read_text().partition("\n\n")
    name, shape = heading.split(", ")
    target = CHAPTER if name == "matmul.cu" else f"{CHAPTER}.{pathlib.Path(name).stem}"
    folder = mutate.tree(CHAPTER)
    source = folder / CHAPTER / name
    source.write_text(edited(source.read_text(), change, path.name))
    words = "--sizes", shape, "--verify-only"
    assert call(program(f"{target}_cpu_trace"), *words).returncode == 0
    run = call(mutate.build(folder, CHAPTER, target, "plain", "-O1"), *words)
    print(run.stderr)
    assert run.returncode == 1, run.stderr
