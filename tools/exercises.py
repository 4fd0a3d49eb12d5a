"""The exercises: NN_chapter/exercises.md, and docs/exercises.md for the primer.

A page has a section for each exercise, "## 1. Title", which begins with the task. A block of code in the language
`goals` says what is checked:

    program: 03_shared_blocking/matmul.cu   the source that the reader gets a copy of; without it Start has a program
    shape: 128x128x128                      at which accesses are counted
    correct                                 a goal: the product is correct, at many shapes, in each order of the threads
    bank_conflict_factor <= 1               a goal: a count, a column of the program's CSV; a program with a main() of
                                            its own prints it, "bank conflict factor: 1"
    wavefronts per load of Bs <= 1          a goal: of the lines that name Bs; also sectors, and store to
    predict barriers_per_block = 16         a goal: the reader types the count before it is shown
    large indices                           a goal: correct where indices of elements pass 2^31
    also: 1x1x64                            further shapes at which the product is verified
    options: --config 64x64                 further words for the program

Its parts are "### Start", the changes that make the reader's file of the source (see edits.py), or a whole program;
"### Hints", a list; "### Solution", the changes that solve it, and why that is so; and "### Wrong", which only tests
read: solutions that must not pass, each a diff whose language is followed by the goal that it does not meet.
"""
import functools
import pathlib
import re
import textwrap
from typing import NamedTuple

import programs
from book.pages import optional_chapters
from edits import edited
from programs import ROOT
from results import InvalidInput

FENCE = r"(?ms)^```%s *([^\n]*)\n(.*?)^```\n?"
COUNT = re.compile(r"(wavefronts|sectors) per (load of|store to) (\w+)|[a-z][a-z0-9_]*")
LIMIT = re.compile(r"(.+?) (<=|>=|=) ([\d.]+)")
NAMES = ("program", "shape", "also", "options")  # of a goals block's settings


class Goal(NamedTuple):
    kind: str  # correct, large indices, count, predict
    what: str = ""  # the count
    compare: str = ""  # <=, >= or =
    asked: float = 0

    def __str__(self):
        if self.kind == "count":
            words = {"<=": "at most", ">=": "at least", "=": "exactly"}[self.compare]
            return f"{spoken(self.what)}: {words} {figure(self.asked)}"
        return {"predict": f"your prediction: {spoken(self.what)}", "correct": "correct at every shape, no race",
                "large indices": "correct with indices beyond 2^31"}[self.kind]

    def met(self, counted):
        return {"<=": counted <= self.asked + 0.005, ">=": counted >= self.asked - 0.005,
                "=": abs(counted - self.asked) < 0.005}[self.compare]


class Exercise(NamedTuple):
    page: pathlib.Path
    number: int
    title: str
    task: str
    settings: dict
    goals: tuple
    parts: dict  # {Start, Hints, Solution, Wrong: text}

    @property
    def chapter(self):
        return "primer" if self.page.parent == ROOT / "docs" else self.page.parent.name

    @property
    def name(self):
        """As a person types it: 03/2."""
        return f"{self.chapter[:2] if self.chapter != 'primer' else 'primer'}/{self.number}"

    @property
    def source(self):
        """The chapter's source, or None if the page has the whole program."""
        return ROOT / self.settings["program"] if "program" in self.settings else None

    @property
    def file(self):
        """The name of the reader's file: 03_2.cu."""
        return self.name.replace("/", "_") + (self.source.suffix if self.source else ".cu")

    def where(self):
        return f"{self.page.relative_to(ROOT)}, exercise {self.number}"

    def after(self, text, part):
        """The text after all changes that stand in a part of the page. Raises InvalidInput."""
        for _, diff in re.findall(FENCE % "diff", part):
            text = edited(text, diff, self.where())
        return text

    def start(self):
        """The text that the reader begins with. Raises InvalidInput."""
        given = self.parts.get("Start", "")
        text = self.source.read_text() if self.source else re.search(FENCE % "cpp", given)[2]
        return predictions(self.goals) + self.after(text, given)

    def solution(self):
        """The text that meets the goals, apart from predictions. Raises InvalidInput."""
        return self.after(self.start(), self.parts["Solution"])

    def why(self):
        return re.sub(FENCE % "diff", "", self.parts["Solution"]).strip()

    def wrong(self):
        """[(the goal that is not met, the text)]. Raises InvalidInput."""
        found = re.findall(FENCE % "diff", self.parts.get("Wrong", ""))
        return [(goal, edited(self.start(), diff, self.where())) for goal, diff in found]

    def hints(self):
        items = re.split(r"(?m)^\d+\. ", self.parts["Hints"])[1:]
        return [re.sub(r"\n +", " ", item.strip()) for item in items]


def spoken(count):
    """A count in words; the name of an array stays as it is."""
    return count if " " in count else count.replace("_", " ")


def figure(number):
    """A number as one types it: no exponent, two decimals at most."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def predictions(goals):
    """The lines in which the reader types numbers."""
    lines = [f"// Prediction: {spoken(goal.what)} = ?\n" for goal in goals if goal.kind == "predict"]
    return "".join(lines) + "\n" * bool(lines)


def predicted(text, goal):
    """The number that the reader typed, 1,024 or 1024; the text if it is not a number; "" if nothing was typed."""
    found = re.search(rf"(?m)^// Prediction: {re.escape(spoken(goal.what))} *=(.*)$", text)
    typed = found[1].partition("//")[0].strip(" ?") if found else ""
    try:
        return float(typed.replace(",", ""))
    except ValueError:
        return typed


def goal_of(line, where):
    if line in ("correct", "large indices"):
        return Goal(line)
    kind = "predict" if line.startswith("predict ") else "count"
    limit = LIMIT.fullmatch(line.removeprefix("predict "))
    if not limit or not COUNT.fullmatch(limit[1]):
        raise InvalidInput(f"{where}: '{line}' is not a goal")
    return Goal(kind, limit[1], limit[2], float(limit[3]))


def exercise(page, number, title, text):
    where = f"{page}, exercise {number}"
    task, *parts = re.split(r"(?m)^### (.+)\n", text)
    goals = re.search(FENCE % "goals", task)
    if not goals:
        raise InvalidInput(f"{where}: has no goals")
    lines = [line.strip() for line in goals[2].strip().split("\n")]
    settings = dict(line.split(": ", 1) for line in lines if line.partition(":")[0] in NAMES)
    found = tuple(goal_of(line, where) for line in lines if line.partition(":")[0] not in NAMES)
    return Exercise(page, number, title, task[:goals.start()].strip(), settings, found,
                    dict(zip(parts[::2], parts[1::2])))


def pages():
    """The primer's page, those of the road's chapters, and those of the optional chapters."""
    beside = optional_chapters(ROOT)
    chapters = sorted(ROOT.glob("[0-9][0-9]_*/exercises.md"), key=lambda page: (page.parent.name[:2] in beside, page))
    return [ROOT / "docs/exercises.md", *chapters]


@functools.lru_cache(None)
def of_page(page):
    """The exercises of a page. Raises InvalidInput."""
    text = re.sub(r"(?m)^<a id=.*</a>\n+", "", page.read_text())  # of a translated page
    sections = re.split(r"(?m)^## (\d+)\. (.+)\n", text)[1:]
    return [exercise(page, int(number), title, text)
            for number, title, text in zip(sections[::3], sections[1::3], sections[2::3])]


def translated(exercise, language):
    """The exercise with the words of its page in that language, such as ja, if there is one. Raises InvalidInput."""
    page = exercise.page.with_suffix(f".{language}.md")
    if not page.exists():
        return exercise
    same = of_page(page)[exercise.number - 1]
    return exercise._replace(title=same.title, task=same.task, parts=dict(zip(exercise.parts, same.parts.values())))


def listed():
    """All exercises in reading order. Raises InvalidInput."""
    return [each for page in pages() if page.exists() for each in of_page(page)]


def meant(word):
    """The exercises that a word names: 03 all of that chapter, 03/2 one."""
    chapter, _, number = word.partition("/")
    return [each for each in listed()
            if (each.chapter == chapter or programs.meant(chapter, each.chapter)) and number in ("", str(each.number))]


def shown(text, columns=80):
    """Markdown for a terminal: paragraphs are filled, code stays, links become their text."""
    parts = []
    for paragraph in re.split(r"\n{2,}", text.strip()):
        paragraph = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph)
        spaced = not re.search("[\u3000-\u9fff]", paragraph)  # a terminal breaks Japanese anywhere
        if spaced and not paragraph.startswith(("    ", "```", "|", "- ")):
            paragraph = textwrap.fill(" ".join(paragraph.split()), columns, break_long_words=False,
                                      break_on_hyphens=False)
        parts.append(paragraph)
    return "\n\n".join(parts)
