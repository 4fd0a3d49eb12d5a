"""Each exercise is red at its start and with the wrong solutions of its page, and green with its solution:
test_learn.py -k NN_chapter"""
import pathlib

import pytest

import check_exercise
import exercises
import packages

EVERY = exercises.listed()


def verdict(exercise, text, folder):
    if exercise.file.endswith(".cl") and (missing := packages.missing_of((*packages.OPENCL, "oclgrind"))):
        pytest.skip(f"not installed: {', '.join(missing)}")
    file = pathlib.Path(folder, exercise.file)
    file.write_text(text)
    return check_exercise.check(exercise, file)


def states(verdict):
    return {str(goal): met for goal, met, _ in verdict.rows}


def answered(exercise, text):
    """The text with the counts of its page as predictions."""
    for goal in exercise.goals:
        if goal.kind == "predict":
            name = exercises.spoken(goal.what)
            text = text.replace(f"// Prediction: {name} = ?", f"// Prediction: {name} = {exercises.figure(goal.asked)}")
    return text


@pytest.mark.parametrize("exercise", EVERY, ids=lambda each: f"{each.chapter}.{each.number}")
def test_exercise(exercise, tmp_path):
    assert exercise.hints() and exercise.why() and exercise.task
    begun = verdict(exercise, exercise.start(), tmp_path)
    assert begun.rows and not begun.done, "it compiles, and a goal is not met"
    solved = verdict(exercise, answered(exercise, exercise.solution()), tmp_path)
    assert solved.done, (states(solved), solved.said)
    for goal, text in exercise.wrong():
        red = [str(each) for each, met, _ in verdict(exercise, answered(exercise, text), tmp_path).rows if not met]
        assert str(exercises.goal_of(goal, "")) in red, (goal, red)
