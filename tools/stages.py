"""./run [NAME...]: builds programs and runs them. The programs of stages print one table and write one CSV."""
import contextlib
import os
import pathlib
import re
import sys
import tempfile

import build
import packages
import process
import programs
from build import BUILD
from command_line import Parser, check_writable, need_tools, opencl_packages, programs_meant
from process import fail, say
from programs import LADDER, ROOT, listed
from results import write_whole

SHAPE = re.compile(rb"\b(\d+) x (\d+) x (\d+):\s")  # the shape of a product in a message
ERROR_MARK = b"\x15"  # see options.cpp
OF_ONE_PROGRAM = ("--lines-csv", "--record")  # the file holds the output of only one program


def call_stage(words, name, show):
    """Runs the program of a stage. Its errors come in its output, each after a mark, so that they stay below the rows
    and the header that it has printed before: they go to stderr, and every other line to `show`. Returns the exit code
    and the shape (M, N, K) of the wrong product, or None."""
    shape = None

    def sort(line):
        nonlocal shape
        if not line.startswith(ERROR_MARK):
            return show(line)
        sys.stderr.buffer.write(line.removeprefix(ERROR_MARK))
        sys.stderr.flush()
        if found := SHAPE.search(line):
            shape = shape or tuple(map(int, found.groups()))

    return process.call(words, name, sort, env={**os.environ, "ERRORS_IN_OUTPUT": "1"}), shape


def suggest_view(what, shape):
    """The command that shows the wrong product, unless no page can show matrices of that shape."""
    import view
    if shape and max(shape) <= view.LONGEST:
        options = "".join(f" -{edge} {length}" for edge, length in zip("mnk", shape))
        print(f"  See it: ./run view {what}{options}", file=sys.stderr, flush=True)


def chosen_programs(words, all_steps):
    """The programs that the words name; without words all stages, or all steps."""
    if words:
        return list(dict.fromkeys(each for word in words for each in programs_meant(word)))
    return listed(*LADDER) if all_steps else listed("stage")


def table_of(program):
    """The group of a program, because only programs of one group run together: the ladder, OpenCL, the others."""
    if program.kind in LADDER:
        return "ladder"
    return "opencl" if program.kind == "opencl" else "other"


def check(chosen, options, csv):
    """Ends the program if these programs can't be run together with these options."""
    names = [each.name for each in chosen]
    if apart := [each.name for each in chosen if table_of(each) != table_of(chosen[0])]:
        fail(2, f"{names[0]} and {apart[0]} have tables of their own: run one after the other")
    for option in OF_ONE_PROGRAM:
        if option in options and len(chosen) > 1:
            fail(2, f"{option} is for one program, such as ./run {chosen[-1].short}")
    if csv is not None and table_of(chosen[0]) == "other" and len(chosen) > 1:
        fail(2, f"--csv: each of these programs has columns of its own; name one of {' '.join(names)}")
    if csv is not None:
        check_writable(csv, "--csv")


def without_gpu_benchmarks(chosen):
    """The programs that can run on the emulator."""
    for program in chosen:
        if program.kind == "gpu":
            say(f"{program.name} times a library on a GPU: left out without one; blas_host times this CPU's")
    return [program for program in chosen if program.kind != "gpu"]


def run(words):
    given, options = Parser("", "--cpu --steps -v", "--csv").parse_known_args(words)
    process.verbose = given.v
    named = []
    while options and not options[0].startswith("-"):
        named.append(options.pop(0))
    chosen = chosen_programs(named, given.steps)
    if "--fit" in options and [each.name for each in chosen] == ["transfer"]:
        options.remove("--fit")
        return process.call([sys.executable, ROOT / "00_machine_limits/fit.py", *options])
    check(chosen, options, given.csv)
    if chosen[0].kind == "opencl":
        cpu = False
        packages.need(opencl_packages(given.cpu))
        if given.cpu:
            options += ["--platform", "Portable Computing Language"]
    else:
        cpu = build.emulated(given.cpu)
        if given.cpu:
            need_tools(cpu)
        if cpu:
            chosen = without_gpu_benchmarks(chosen)
    if not chosen:
        return 77
    if chosen[0].kind in LADDER:
        return run_stages(chosen, cpu, options, given.csv)
    return run_others(chosen, cpu, options, given.csv)


def run_others(chosen, cpu, options, csv):
    """Runs programs that have tables of their own. Returns the exit code of the first that failed."""
    first_failure = 0
    with contextlib.closing(build.each_built([each.target(cpu) for each in chosen])) as built:
        for program, target in zip(chosen, built):
            if len(chosen) > 1:
                print(f"{target}:", flush=True)
            words = [*options, "--csv", csv] if csv else options
            code = process.call([BUILD / "bin" / target, *words], program.name)
            first_failure = first_failure or code
    return first_failure


def rows_only(stage, show):
    """A function that shows the lines of a program from its row on, because the header above it has been printed
    before."""
    begun = False

    def show_row(line):
        nonlocal begun
        begun = begun or line.startswith(f"{stage.row} ".encode())
        if begun:
            show(line)
    return show_row


def show(line):
    """Shows a line of a program, in place of the progress line if that is on the same terminal."""
    if sys.stdout.isatty() and sys.stderr.isatty() and not process.DUMB:
        line = b"\r\033[K" + line
    sys.stdout.buffer.write(line)
    sys.stdout.flush()


def has_options(program, options):
    """Whether a built program has the options among these words."""
    names = {each["name"] for each in programs.described(program)["options"]}
    return {word for word in options if re.match("--?[a-z]", word)} <= names


def run_stages(chosen, cpu, options, csv):
    """Runs several stages and merges their output into one table and one CSV. Of several stages only those run that
    have all options, such as --bf16; if none has, the first one refuses them."""
    result, with_rows, rows, ran = 0, False, [], False
    with tempfile.TemporaryDirectory(prefix="run-") as scratch, \
            contextlib.closing(build.each_built([each.target(cpu) for each in chosen])) as built:
        for stage, target in zip(chosen, built):
            program, file = BUILD / "bin" / target, pathlib.Path(scratch, f"{target}.csv")
            if len(chosen) > 1 and options and not has_options(program, options):
                continue
            ran = True
            words = [*options, "--csv", file] if csv else options
            shows = rows_only(stage, show) if with_rows else show
            code, shape = call_stage([program, *words], stage.name, shows)
            if code == 77 and with_rows:  # the GPU lacks something that this stage needs and the others do not
                continue
            with_rows = with_rows or code == 0
            result = result or code
            if code == 1 and cpu:
                suggest_view(stage.short, shape)
            if code > 1:
                return result  # the others would fail in the same way
            if csv and code == 0:
                header, *its_rows = file.read_text().splitlines(keepends=True)
                rows += its_rows if rows else [header, *its_rows]
    if not ran:
        return process.call([BUILD / "bin" / chosen[0].target(cpu), *options], chosen[0].name)
    if cpu and with_rows:
        print("Counted on the CPU: the prediction is the roofline's, and nothing was timed.")
    if csv and result == 0:
        write_whole((csv, "".join(rows)))
    if result == 0 and sys.stdout.isatty() and len({each.chapter for each in chosen}) == 1:
        show_next(chosen[-1])
    return result


def show_next(stage):
    """Shows commands that may follow a run of a stage."""
    name = stage.chapter[:2] if stage.kind == "stage" else stage.short
    after = [step for step, before in programs.compared().items() if before == stage.source]
    print(f"Next: ./run view {name} steps through it; exercises: ./run learn {stage.chapter[:2]}")
    if after:
        same = after[0].parent == stage.source.parent
        name = programs.short(after[0]) if same else after[0].parent.name[:2]
        print(f"      ./run diff {name} shows what changes next")
