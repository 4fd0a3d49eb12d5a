"""Checks the reader's file of an exercise: compiles and runs it, and compares what it does with the goals."""
import csv
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import advice
import build
import exercises
import oclgrind
import packages
import programs
from command_line import need_tools, opencl_packages
from exercises import figure, spoken
from results import InvalidInput
from user_kernel import UserKernel, round_up

# Where a product is verified before its accesses are counted: a single element, edges within a tile, several tiles,
# many k-tiles.
SHAPES = ("1x1x1", "7x5x3", "37x129x65", "130x264x24", "33x36x300")
SECONDS = 30  # after which a program does not end
LINES = 14  # of a program's message
COLUMNS = 78  # of what is said below the table, which is indented
ELEMENT = {"fp32": 4, "fp16": 2}
TOO_LITTLE = "The result is correct, but not by the kernels: they load fewer bytes than A and B have."
OTHER = "another program"  # stands in place of a count
COMPILING = 120  # seconds, for a kernel in OpenCL, which the device compiles


class Verdict(NamedTuple):
    """What a check found. rows: [(goal, whether it is met, what was counted)]; said: lines below the table."""
    rows: list
    said: str = ""

    @property
    def done(self):
        return bool(self.rows) and all(met for _, met, _ in self.rows)


def shapes_of(settings, multiples):
    """The shapes at which the product is verified; the last one is that at which accesses are counted."""
    asked = settings["also"].split() if "also" in settings else SHAPES
    *before, counted = ["x".join(map(str, round_up(shape.split("x"), multiples)))
                        for shape in (*asked, settings["shape"])]
    return ",".join(dict.fromkeys([each for each in before if each != counted] + [counted]))


def statement(source, number):
    """The code from a line on, counted from 1, to the end of a statement; without comments."""
    code = ""
    for line in source[number - 1:]:
        code += line.partition("//")[0].rstrip()
        if code.endswith((";", "{", "}")):
            break
    return code


def lines_of(what, lines, text):
    """The lines that a goal such as "wavefronts per load of Bs" is about: those of statements that name the array."""
    unit, access, array = exercises.COUNT.fullmatch(what).groups()
    memory = {"wavefronts": "shared", "sectors": "global"}[unit]
    source = text.split("\n")
    return [each for each in lines if each["kind"] == access.split()[0] and each["memory"] == memory and
            re.search(rf"\b{array}\b", statement(source, int(each["line"].rpartition(":")[2])))]


def line_count(what, lines, text):
    """A goal's count of the statements that name an array, such as "wavefronts per load of Bs", or None."""
    its = lines_of(what, lines, text)
    cost, requests = (sum(int(each[column]) for each in its) for column in ("cost", "requests"))
    return cost / requests if requests else None


def counted_of(goal, row, lines, text):
    """The count that a goal is about, or None if there is none."""
    if exercises.COUNT.fullmatch(goal.what)[1]:
        return line_count(goal.what, lines, text)
    if goal.what not in row:
        raise InvalidInput(f"no program counts '{goal.what}'")
    return 0.0 if row[goal.what] == "-" else float(row[goal.what])


def near(number, counted):
    return abs(number - counted) <= 0.005 * max(1, counted)


def judged(goal, counted, text):
    """(whether the goal is met, what the table shows)"""
    found = "none" if counted is None else figure(counted)
    if goal.kind == "predict":
        typed = exercises.predicted(text, goal)
        if not isinstance(typed, float):
            return False, "no number" if typed else "not typed yet"
        if counted is None or not near(counted, goal.asked):
            return False, OTHER  # the count is to be predicted, not changed
        met = near(typed, counted)
        return met, found if met else f"not {figure(typed)}"
    return counted is not None and goal.met(counted), found


def filled(line):
    """A line of a message, broken where it is too long for the screen."""
    if len(line) <= COLUMNS:
        return line
    indent = re.match(" *", line)[0]
    return textwrap.fill(line.strip(), COLUMNS, initial_indent=indent, subsequent_indent=indent + "  ",
                         break_long_words=False, break_on_hyphens=False)


def message(run, file):
    """A program's message, without the name of the file in front."""
    text = re.sub(rf"(?m)^(?:(?:[^\s:]*/)?{re.escape(file.stem)}|indices): ", "", run.stderr.strip("\n"))
    lines = "\n".join(map(filled, text.split("\n"))).split("\n")
    return "\n".join(lines[:LINES] + [f"... and {len(lines) - LINES} lines more"] * (len(lines) > LINES))


def started(words, seconds=None):
    """Runs a program; one that does not end has failed."""
    seconds = seconds or SECONDS
    try:
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 1, "", f"it has not ended after {seconds} seconds: is there a loop "
                                                         "without an end, or a wait for what never comes?")


def kernel_of(exercise, file):
    folders = ["-I", str(exercise.source.parent)] if exercise.source else []
    return UserKernel(file, folders)


def check_product(exercise, file):
    """Verifies and counts a file with launch_matmul()."""
    text = file.read_text(errors="replace")
    kernel = kernel_of(exercise, file)
    program = kernel.emulated()
    about = programs.described(program)
    rows, said, counts, lines = [], "", None, []
    with tempfile.TemporaryDirectory(prefix="learn-") as scratch:
        of_rows, of_lines = pathlib.Path(scratch, "rows.csv"), pathlib.Path(scratch, "lines.csv")
        run = started([program, "--sizes", shapes_of(exercise.settings, about["multiples"]), "--all-orders", "--csv",
                       of_rows, "--lines-csv", of_lines, *exercise.settings.get("options", "").split()])
        if run.returncode == 0:
            counts = list(csv.DictReader(of_rows.read_text().splitlines()))[-1]
            lines = list(csv.DictReader(of_lines.read_text().splitlines()))
    correct = run.returncode == 0
    if not correct:
        said = message(run, file)
    elif loads_too_little(counts, ELEMENT[about["types"][0]]):
        correct, said = False, TOO_LITTLE
    for goal in exercise.goals:
        if goal.kind == "large indices" and correct:
            large = started([kernel.emulated("indices"), "--both-ends"])
            rows.append((goal, *yes(large.returncode == 0)))
            said = said or (message(large, file) if large.returncode else "")
        elif goal.kind == "large indices":
            rows.append((goal, False, ""))
        else:
            rows.append(row_of(goal, correct, lambda goal: counted_of(goal, counts, lines, text), text))
    if any(what == OTHER for _, _, what in rows):
        said = said or "The prediction is about the program as it was; --reset begins anew."
    if unmet := [goal.what for goal, met, _ in rows if correct and goal.kind == "count" and not met]:
        said = said or costly(unmet[0], lines, text)
    return Verdict(rows, said)


def yes(met):
    return met, "yes" if met else "no"


def row_of(goal, correct, count, text):
    """The table's row for a goal about the result or a count. count(goal): what the program counted, or None."""
    if goal.kind == "correct":
        return goal, *yes(correct)
    return goal, *(judged(goal, count(goal), text) if correct else (False, "-"))


def loads_too_little(row, element):
    m, n, k = (int(row[edge]) for edge in "mnk")
    return int(row["global_load_bytes"]) < (m * k + k * n) * element


def costly(what, lines, text):
    """The costliest line of those that an unmet goal is about, in a sentence; "" if it is about no lines."""
    if exercises.COUNT.fullmatch(what)[1]:  # the goal names the array, and says what can be reached
        worst = max(lines_of(what, lines, text), key=lambda each: int(each["cost"]), default=None)
        said = worst and worst["said"]
    else:
        memory = {"sectors_per_request": "global", "bank_conflict_factor": "shared"}.get(what)
        worst = advice.costliest([each for each in lines if each["memory"] == memory])
        said = worst and f"{worst['said']} {worst['remedy']}"
    return textwrap.fill(f"{said}.", COLUMNS, break_on_hyphens=False) if said else ""


def printed(what, output):
    """The number that a program prints after a count's name, such as "lines visited: 32", or None."""
    found = re.search(rf"(?m)^{re.escape(spoken(what))}: *(\d+(?:\.\d+)?)$", output)
    return float(found[1]) if found else None


def check_opencl(exercise, file):
    """Verifies a kernel in OpenCL on the CPU. Meanwhile Oclgrind runs it at the shape at which accesses are counted."""
    need_tools(cpu=True)
    packages.need((*opencl_packages(cpu=True), "oclgrind"))
    program = build.BUILD / "bin" / exercise.source.parent.name
    if not program.exists() or not build.reusable(build.BUILD / "CMakeCache.txt"):
        build.configure()
    build.build_configured([program.name])
    shape = exercise.settings["shape"]
    with tempfile.TemporaryDirectory(prefix="learn-") as scratch:
        shutil.copy(exercise.source.with_name("resize.cl"), scratch)
        shutil.copy(file, pathlib.Path(scratch, exercise.source.name))
        words = [program, "--verify-only", "--kernels", scratch, "--stage", exercise.source.stem, "--sizes"]
        both = ([*words, shapes_of(exercise.settings, (1, 1, 1)), "--platform", "Portable Computing Language"],
                ["env", "LC_ALL=C", "oclgrind", *oclgrind.EVERYTHING, oclgrind.COUNTS, "--max-errors", "1", *words,
                 shape])
        with ThreadPoolExecutor() as threads:
            verified, simulated = threads.map(started, both, (COMPILING, COMPILING))
    counts = dict(zip("mnk", shape.split("x"))) | bytes_moved(simulated.stdout)
    runs = (verified, simulated) if verified.returncode == 3 else (simulated, verified)  # 3: it does not compile
    failed = next((run for run in runs if run.returncode or run is simulated and run.stderr), None)
    correct = not failed and not loads_too_little(counts, ELEMENT["fp32"])
    said = report(failed, program, exercise, file) if failed else "" if correct else TOO_LITTLE
    text = file.read_text(errors="replace")
    return Verdict([row_of(goal, correct, lambda goal: counted_of(goal, counts, [], text), text)
                    for goal in exercise.goals], said)


def bytes_moved(output):
    """What a kernel moves in its first launch, by Oclgrind's list of its instructions, such as local_load_bytes."""
    first = dict((oclgrind.executed(output) or [[]])[0])
    return {f"{memory}_{access}_bytes": first.get(f"{access} {memory}", "0")
            for memory in ("global", "local") for access in ("load", "store")}


def report(run, program, exercise, file):
    """What Oclgrind or the device's compiler says, with the reader's file for the copy that was compiled."""
    copies = rf"[^\s']*\b(?:input|tempfile_\w+|{exercise.source.stem})\.cl\b"
    text = re.sub(copies, file.name, run.stderr.replace("\t", "  "))
    noise = r" *$|  Kernel: |.*, !dbg !|.* suppressing further errors$|\d+ errors? generated|.*source not available"
    run.stderr = "\n".join(line for line in text.split("\n") if not re.match(noise, line))
    return message(run, program)


def check_program(exercise, file):
    """Runs a program that has a main() of its own, and looks at what it prints."""
    program = kernel_of(exercise, file).emulated()
    os.environ["EMULATOR_SUMMARY"] = "1"
    run = started([program, *exercise.settings.get("options", "").split()])
    del os.environ["EMULATOR_SUMMARY"]
    run.stderr = textwrap.dedent(run.stdout.partition("\nThe emulator found:\n")[2]) or run.stderr
    text, correct = file.read_text(errors="replace"), run.returncode == 0
    if any(goal.kind == "large indices" for goal in exercise.goals):
        raise InvalidInput(f"{exercise.where()}: 'large indices' is a goal of a product")
    rows = [row_of(goal, correct, lambda goal: printed(goal.what, run.stdout), text) for goal in exercise.goals]
    return Verdict(rows, "" if correct else message(run, file))


def check(exercise, file):
    """The verdict on the reader's file. Without rows if it does not compile, which the compiler has said."""
    is_product = re.search(r"\blaunch_matmul\b", file.read_text(errors="replace"))
    how = check_opencl if file.suffix == ".cl" else check_product if is_product else check_program
    try:
        return how(exercise, file)
    except SystemExit as ended:
        if ended.code > 128:
            raise
        return Verdict([])
