"""Between two steps of the ladder stands the idea alone: few lines, no comment that changes where no statement does, no new name
for an old thing."""
import difflib
import itertools
import re

import pytest

import programs
from support import ROOT

STEPS = [step for step in programs.steps() if programs.before(step)]


def name(step):
    return str(step.relative_to(ROOT))


def code(line):
    return re.sub(r"\s*//.*", "", line).strip()


def hunks(old, new):
    return [each[1:] for each in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if each[0] != "equal"]


def parts(lines):
    """For each line the number of its part: a function with the comment above it, or lines between empty ones."""
    number, depth, found = 0, 0, []
    for line in lines:
        depth += code(line).count("{") - code(line).count("}")
        number += not line and not depth
        found.append(number)
    return [*found, number]


def comments_alone(old, new):
    """The first lines of comments that change in a part without a changed statement."""
    changed, where, statements = hunks(old, new), parts(new), set()
    for i, i_end, j, j_end in changed:
        if [code(line) for line in old[i:i_end] if code(line)] != [code(line) for line in new[j:j_end] if code(line)]:
            statements |= {where[at] for at in range(j, max(j_end, j + 1))}
    return [(old[i:i_end] + new[j:j_end])[0].strip() for i, i_end, j, j_end in changed
            if any("//" in line for line in old[i:i_end] + new[j:j_end])
            and not statements & {where[at] for at in range(j, max(j_end, j + 1))}]


def renamed(old, new):
    """Pairs of names: with the one in place of the other, every statement that names it is as before."""
    old, new = ([code(line) for line in lines if code(line)] for lines in (old, new))

    def names(lines):
        return set(re.findall(r"\b[A-Za-z_]\w*", " ".join(lines)))

    def twice(names):  # a thing with a name of its own is declared and used
        return {name for name in names if len(re.findall(rf"\b{name}\b", " ".join(old))) > 1}

    def differing(lines):
        return [line for i, i_end, j, j_end in hunks(lines, new) for line in lines[i:i_end] + new[j:j_end]]

    found, now = [], differing(old)
    for x, y in itertools.product(twice(names(now) & names(old) - names(new)), names(now) & names(new) - names(old)):
        then = differing([re.sub(rf"\b{x}\b", y, line) for line in old])
        if not any(re.search(rf"\b{y}\b", line) for line in then):
            found.append((x, y))
    return found


@pytest.mark.parametrize("step", STEPS, ids=name)
def test_a_step_is_small_and_says_what_it_changes(step):
    assert programs.changes(step) and programs.changed_lines(programs.before(step), step)[1] <= 100


@pytest.mark.parametrize("step", STEPS, ids=name)
def test_a_step_changes_no_word_alone(step):
    old, new = (programs.below_header(programs.text_of(file).splitlines()) for file in (programs.before(step), step))
    assert not comments_alone(old, new), "comments that change, and no statement beside them"
    assert not renamed(old, new), "new names for what stays"


OLD = "constexpr int kA = 1;  // one\n\n// Adds.\nint f(int a) {\n    // why\n    int b = a + kA;\n    return b;\n}\n".splitlines()


@pytest.mark.parametrize("word, other, alone, names", [
    ("Adds", "Sums", 1, 0), ("one", "two", 1, 0), ("why", "because", 1, 0), (r"\bb\b", "c", 0, 1), ("kA", "kB", 0, 1),
    ("a [+] kA;", "a - kA;", 0, 0), ("b = a", "c = 2 * a", 0, 0)])
def test_what_a_step_must_not_change_is_seen(word, other, alone, names):
    new = [re.sub(word, other, line) for line in OLD]
    assert (len(comments_alone(OLD, new)), len(renamed(OLD, new))) == (alone, names)
