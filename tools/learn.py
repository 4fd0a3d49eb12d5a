"""./run learn: the reader repairs or improves a small program until its goals are met. The reader's files and the
progress are in learn/, which git ignores."""
import json
import os
import pathlib
import subprocess
import sys
import textwrap
from difflib import unified_diff

import exercises
import packages
import process
from build import has_gpu, has_nvcc
from check_exercise import check
from command_line import Parser
from exercises import figure, shown, spoken
from process import fail, say
from programs import ROOT
from results import InvalidInput, write_whole

FOLDER = pathlib.Path(os.environ.get("LEARN_DIR") or ROOT / "learn")
PROGRESS = FOLDER / "progress.json"
GREEN, RED, FAINT, BOLD = ("\033[32m", "\033[31m", "\033[2m", "\033[1m")


def coloured(text, colour):
    return text if process.PLAIN or not sys.stdout.isatty() else f"{colour}{text}\033[0m"


# The screen


def table(verdict):
    lines = []
    for goal, met, counted in verdict.rows:
        unknown = counted == "-"  # nothing is counted of a wrong product
        mark = coloured("✓", GREEN) if met else "·" if unknown else coloured("✗", RED)
        lines.append(f"  {mark} {str(goal):58} {counted:>15}")
    return "\n".join(lines)


def show_task(exercise, file, done):
    every = exercises.listed()
    print(coloured(f"{exercise.name}  {exercise.title}", BOLD) +
          f"  ({len(done)} of {len(every)} exercises are done)\n\n{shown(exercise.task)}\n\n  {nearby(file)}\n")


def nearby(file):
    """A file as it is typed from here."""
    here = os.path.relpath(file)
    return here if len(here) < len(str(file)) else str(file)


def show_verdict(exercise, file, verdict, watching):
    if verdict.rows:
        print(table(verdict))
        if "shape" in exercise.settings and {goal.kind for goal in exercise.goals} & {"count", "predict"}:
            print(coloured(f"    counted at {exercise.settings['shape'].replace('x', ' x ')} (M x N x K)", FAINT))
    if verdict.said:
        print("\n" + textwrap.indent(verdict.said.replace(f"{file.parent}/", "").replace(f"{ROOT}/", ""), "  "))
    print()
    if verdict.done:
        print(coloured("Done.", GREEN) + f" ./run learn {exercise.name} --solution compares; next: ./run learn")
        if has_gpu() and has_nvcc() and file.suffix == ".cu":
            print(f"On the GPU here: ./run {nearby(file)} times it")
    else:
        save = "Save, and it is checked again; Ctrl-C ends. " if watching else ""
        print(coloured(f"{save}Stuck? ./run learn {exercise.name} --hint", FAINT))
    sys.stdout.flush()


def show_list(word, progress):
    """A dot for each exercise, a line a chapter; of a chapter that is named its titles and goals."""
    every = exercises.listed()
    for chapter in dict.fromkeys(each.chapter for each in every):
        its = [each for each in every if each.chapter == chapter]
        dots = "".join("●" if each.name in progress["done"] else "○" for each in its)
        idea = chapter.replace("_", " ")[3:] if chapter != "primer" else ""
        print(f"{its[0].name.partition('/')[0]:7} {dots:9}{idea}".rstrip())
    for each in named(word) if word else ():
        done = "●" if each.name in progress["done"] else "○"
        print(f"\n{done} {each.name}  {in_own_language(each).title}")
        print(textwrap.indent("\n".join(map(str, each.goals)), "        "))
    print(f"\n{len(progress['done'])} of {len(every)} are done. ./run learn 03/2 begins that one, --list 03 says more.")


# Progress


def read_progress():
    try:
        found = json.loads(PROGRESS.read_text())
        names = {each.name for each in exercises.listed()}
        return {"done": [name for name in found["done"] if name in names], "hints": dict(found["hints"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"done": [], "hints": {}}


def save_progress(progress):
    write_whole((PROGRESS, json.dumps(progress, indent=1) + "\n"))


def mark_done(exercise):
    progress = read_progress()
    if exercise.name not in progress["done"]:
        progress["done"].append(exercise.name)
        save_progress(progress)


# The verb


def reader_file(exercise):
    """The reader's file, which is written if it is not there."""
    file = FOLDER / exercise.file
    FOLDER.mkdir(exist_ok=True)
    if not file.exists():
        write_whole((file, exercise.start()))
    return file


def check_once(exercise, file, watching=False):
    """Checks the file once, and shows the verdict. Returns whether all goals are met."""
    process.show_progress("checking")
    verdict = check(exercise, file)
    process.show_progress("")
    show_verdict(exercise, file, verdict, watching)
    if verdict.done:
        mark_done(exercise)
    return verdict.done


def watch(exercise, file):
    """Checks the file now and whenever it is saved, until its goals are met. Returns the exit code."""
    words = ["inotifywait", "-mq", "-e", "close_write,moved_to,delete,moved_from", "--format", "%e %f", FOLDER]
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True) as saves:
        try:
            seen = file.read_bytes()  # before the check: the file may be saved meanwhile
            if check_once(exercise, file, watching=True):
                return 0
            for line in saves.stdout:
                if line.split(" ", 1)[1].strip() != file.name:
                    continue
                if not file.exists():  # an editor may put a new one in its place
                    say(f"{nearby(file)} is gone; ./run learn {exercise.name} begins it anew")
                    continue
                if file.read_bytes() == seen:
                    continue
                seen = file.read_bytes()
                print("\n" + "-" * 80 + "\n")
                if check_once(exercise, file, watching=True):
                    return 0
        finally:
            process.end(saves)
    return 1


def next_of(progress):
    return next((each for each in exercises.listed() if each.name not in progress["done"]), None)


def in_own_language(exercise):
    """The exercise in the language of the terminal, if its page is translated."""
    language = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return exercises.translated(exercise, language[:2]) if language[:2].isalpha() else exercise


def named(word):
    """The exercises that a word names. Exits if there is none."""
    found = exercises.meant(word)
    if not found:
        chapters = dict.fromkeys(each.name.partition("/")[0] for each in exercises.listed())
        fail(2, f"learn '{word}': takes an exercise, such as 03/2, of {' '.join(chapters)}; --list shows them")
    return found


def chosen(word, progress):
    """The exercise that a word names, or the next one that is not done."""
    if not word:
        return next_of(progress)
    return next((each for each in named(word) if each.name not in progress["done"]), named(word)[0])


def show_hint(exercise, progress):
    hints = exercise.hints()
    number = min(progress["hints"].get(exercise.name, 0) + 1, len(hints))
    for each in range(number):
        print(shown(f"{each + 1}. {hints[each]}"))
    more = "another --hint says more" if number < len(hints) else "--solution shows all of it"
    print(coloured(f"\nHint {number} of {len(hints)}; {more}.", FAINT))
    progress["hints"][exercise.name] = number
    FOLDER.mkdir(exist_ok=True)
    save_progress(progress)


def show_solution(exercise):
    before, after = (text.split("\n") for text in (exercise.start(), exercise.solution()))
    for line in list(unified_diff(before, after, lineterm="", n=2))[2:]:
        colour = GREEN if line[:1] == "+" else RED if line[:1] == "-" else FAINT if line[:1] == "@" else ""
        print(coloured(line, colour) if colour else line)
    for goal in exercise.goals:
        if goal.kind == "predict":
            print(f"{spoken(goal.what)} = {figure(goal.asked)}")
    print("\n" + shown(exercise.why()))


def run(words):
    parser = Parser("learn", "--hint --solution --reset --list --once -v")
    parser.add_argument("exercise", nargs="?")
    given = parser.parse_args(words)
    process.verbose = given.v
    try:
        return run_given(given)
    except InvalidInput as wrong:
        fail(1, f"learn: {wrong}")


def run_given(given):
    progress = read_progress()
    if given.list:
        show_list(given.exercise, progress)
        return 0
    exercise = chosen(given.exercise, progress)
    if not exercise:
        print("All exercises are done. ./run learn NN/K takes one again.")
        return 0
    exercise = in_own_language(exercise)
    if given.hint or given.solution:
        (show_hint(exercise, progress) if given.hint else show_solution(exercise))
        return 0
    if given.reset and (FOLDER / exercise.file).exists():
        old = FOLDER / f"{exercise.file}.old"
        (FOLDER / exercise.file).replace(old)
        print(f"Begun anew; what was there is {nearby(old)}.")
    file = reader_file(exercise)
    show_task(exercise, file, progress["done"])
    os.environ["EMULATOR_FOLDER"] = f"{FOLDER.resolve()}/"
    if given.once or not sys.stdout.isatty() or packages.need((), ("inotify-tools",)):
        return 0 if check_once(exercise, file) else 1
    return watch(exercise, file)
