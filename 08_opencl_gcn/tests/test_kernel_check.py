"""What ./run learn says of a kernel in OpenCL that does not compile or has a race, and without a simulator."""
import pytest

import check_exercise
import exercises
import packages
from support import program, tool

EXERCISE = exercises.meant("08/2")[0]


@pytest.fixture
def said_of(tmp_path):
    """What is said of a kernel with this text."""
    program("08_opencl_gcn")
    tool("oclgrind")

    def check(text):
        file = tmp_path / EXERCISE.file
        file.write_text(text)
        verdict = check_exercise.check(EXERCISE, file)
        assert not verdict.done
        return verdict.said
    return check


def test_the_compilers_words(said_of):
    said = said_of("odd text\n")
    assert f"{EXERCISE.file}:1:1: unknown type name 'odd'" in said and "tempfile" not in said, said


def test_a_race_has_its_place(said_of):
    text = EXERCISE.solution()
    barrier = text.rindex("barrier(")
    said = said_of(text[:barrier] + "//" + text[barrier:])
    assert "race" in said and f"of {EXERCISE.file}" in said and "!dbg" not in said, said


def test_a_missing_simulator_is_named(tmp_path, monkeypatch, capfd):
    program("08_opencl_gcn")
    monkeypatch.setenv("NO_INSTALL", "1")
    monkeypatch.setitem(packages.PACKAGES, "oclgrind", "programs no-such-program")
    file = tmp_path / EXERCISE.file
    file.write_text(EXERCISE.solution())
    assert not check_exercise.check(EXERCISE, file).rows
    said = capfd.readouterr().err
    assert "oclgrind" in said and said.count("\n") == 1, said
