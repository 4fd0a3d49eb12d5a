"""./run mine.cu, ./test mine.cu and ./run new. A file with launch_matmul() is a stage of the user's: it is verified and
counted (timed on a GPU) like the chapters' stages, and advice.py says what to try next. Any other program runs
unchanged on the emulator, which then prints what it found."""
import csv
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

import advice
import build
import process
import programs
from command_line import check_writable, need_tools, refuse, steps_meant
from process import fail
from programs import ROOT, described
from registers import Registers
from results import write_whole
from stages import call_stage, suggest_view
from user_kernel import UserKernel, round_up

SKIPPED = 77  # a program's exit code
NO_ROWS = {"--help", "-h", "--describe"}


def name_places(kernel):
    """Lets reports name places as the command line names the file: relative to this folder, or in full."""
    os.environ["EMULATOR_FOLDER"] = "/" if kernel.path.is_absolute() else f"{pathlib.Path.cwd()}/"


def run(words):
    """./run FILE.cu [OPTION...]"""
    kernel = UserKernel(words[0], words[1:])
    name_places(kernel)
    if not kernel.is_stage:  # --fast only runs the program
        os.environ["EMULATOR_SUMMARY"] = "1"
        if kernel.lines_csv is not None:
            check_writable(kernel.lines_csv, "--lines-csv")
            os.environ["EMULATOR_LINES_CSV"] = kernel.lines_csv
        with Registers(kernel):
            return process.call([kernel.emulated("plain" if kernel.fast else "trace"), *kernel.words], kernel.name)
    csv_file = kernel.read_words_of_stage()
    for file, option in (csv_file, "--csv"), (kernel.lines_csv, "--lines-csv"):
        if file is not None:
            check_writable(file, option)
    if not build.emulated(kernel.cpu):
        if kernel.lines_csv is not None:
            fail(2, "--lines-csv: a GPU counts nothing; --cpu does")
        return run_stage(kernel, kernel.words, False, csv_file)
    with Registers(kernel) as registers:
        code = run_stage(kernel, kernel.words, True, csv_file)
        for problem in registers.problems():
            print(f"\n{problem}")
            code = code or 1
    return code


def show(line):
    sys.stdout.buffer.write(line)
    sys.stdout.flush()


def run_stage(kernel, words, cpu, csv_file):
    """Verifies the kernel, counts or times it, and says what to try next."""
    program = kernel.emulated() if cpu else kernel.compiled()
    with tempfile.TemporaryDirectory(prefix="run-") as scratch:
        of_rows, of_lines = pathlib.Path(scratch, "rows.csv"), pathlib.Path(scratch, "lines.csv")
        if not NO_ROWS & set(words):
            words = [*words, "--csv", of_rows]
            if cpu:
                words += ["--lines-csv", of_lines]
        code, shape = call_stage([program, *words], kernel.name, show)
        text, lines = (file.read_text(errors="surrogateescape") if file.exists() else ""
                       for file in (of_rows, of_lines))
    if code == 0:
        write_whole(*((file, text) for file, text in ((csv_file, text), (kernel.lines_csv, lines)) if file is not None))
    if code == 0 and text:
        row = list(csv.DictReader(text.splitlines()))[-1]
        of_lines = list(csv.DictReader(lines.splitlines()))
        print()
        if cpu:
            sentences = advice.counted(row, of_lines, described(program)["arithmetic"], kernel.half)
        else:
            sentences = advice.place_in_ladder(kernel, row)
        for sentence in sentences:
            print(textwrap.fill(sentence, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    if code == 1 and cpu:
        suggest_view(shlex.quote(str(kernel.path)), shape)
    return code


def test_commands_of_01():
    """The commands by which ctest runs 01's programs: {"cpu": [word...], "trace": [word...]}."""
    build.configure(tests=True)
    build.build_configured(["01_naive_cpu", "01_naive_cpu_trace"])  # ctest does not list a program that is not built
    tests = build.tests_of_ctest(["-R", "^01_naive[.](cpu|trace)$"])
    return {test["name"].partition(".")[2]: test["command"][1:] for test in tests}


def with_multiples(words, multiples):
    """The same words with shapes that a program takes, and without the demand that every configuration is launched."""
    for word in words:
        if re.match(r"\d+x", word):
            shapes = ["x".join(map(str, round_up(shape.split("x"), multiples))) for shape in word.split(",")]
            yield ",".join(dict.fromkeys(shapes))
        elif word != "--all-configs":
            yield word


def test(words):
    """./test FILE.cu: the tests that each stage must pass, as ctest would run them on 01."""
    kernel = UserKernel(words[0], [word for word in words[1:] if word != "-V"])
    if not kernel.is_stage:
        fail(2, f"{words[0]}: has no launch_matmul(); ./run {shlex.quote(words[0])} runs it")
    if kernel.words:
        fail(2, f"{words[0]}: takes a file with launch_matmul(), and no more options")
    name_places(kernel)
    process.verbose = "-V" in words
    need_tools(cpu=True)
    typed, multiples, result = test_commands_of_01(), [1, 1, 1], 0
    commands = ("plain", typed["cpu"]), ("trace", typed["trace"]), ("indices", ["--both-ends"])
    for variant, its_words in commands:
        if variant == "indices" and multiples != [1, 1, 1]:
            continue
        program = kernel.emulated(variant)
        if variant != "indices":
            multiples = described(program)["multiples"]
        run = subprocess.run([program, *with_multiples(its_words, multiples)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        verdict = {0: "Passed", SKIPPED: "Skipped"}.get(run.returncode, "Failed")
        print(f"{kernel.name}.{variant:10}{verdict}", flush=True)
        sys.stderr.buffer.write(run.stderr)
        sys.stderr.flush()
        if verdict == "Failed":
            result = result or run.returncode
    return result


def new(words):
    """./run new FILE.cu --from NN: a copy of that step to begin with."""
    if len(words) != 3 or words[1] != "--from" or not words[0].endswith(".cu"):
        fail(2, "new: takes a file and a step, such as ./run new mine.cu --from 03")
    found = steps_meant(words[2])
    if not found:
        refuse("new: ", words[2], [each.source for each in programs.listed(*programs.LADDER)])
    source = found[-1].source
    try:
        pathlib.Path(words[0]).open("x").write(source.read_text())
    except FileExistsError:
        fail(2, f"new '{words[0]}': exists already")
    print(f"{words[0]} is a copy of {source.relative_to(ROOT)}; next: ./run {shlex.quote(words[0])}")
    return 0
