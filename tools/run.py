"""Implements ./run: builds and runs programs, shows diffs, and calls the tools that make, compare and draw results."""
import signal
import sys


def stop(number, _):
    """Exits on a signal, and ignores further ones so that the clean-up is not interrupted."""
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


STOPPING = [each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
if __name__ == "__main__":
    for each in STOPPING:  # install these before the imports, which take a moment
        signal.signal(each, stop)

import argparse
import os
import pathlib
import shutil
import tempfile
import textwrap
import time

import machine  # what only one verb takes is imported there
import programs
from machine import BUILD, OPENCL, ROOT, fail, has_gpu, has_nvcc, need, say
from programs import LADDER, PROGRAMS
from results import Wrong, part_of, write_whole

CHAPTERS = " ".join(each.name for each in PROGRAMS if each.kind == "stage")
STEPS = [each for each in PROGRAMS if each.kind in LADDER]
OTHER_NAMES = " ".join(each.name for each in PROGRAMS if each.kind not in LADDER)
HELP = f"""\
./run builds and runs the programs, ./test proves them.

run [STAGE | PROGRAM] [--cpu] [OPTION...]: builds and runs one program or, in one table, all stages. 04 runs all
steps of that stage, and 04/1 the first of them. Without a stage, --steps runs the steps of all stages.
run all [FOLDER] [--against FOLDER2] [--cpu]: runs every chapter. Its CSVs, a description of the machine and a log are written
to FOLDER (a new one, results-DATE-TIME, if none is named). Then compares them with those in FOLDER2.
run compare FOLDER FOLDER2: compares the CSVs of two such folders, and runs nothing.
run diff STAGE [--side]: shows step by step what a stage changes. diff STAGE STAGE compares two stages
directly; 04/1 is the first step of 04. --side shows both files whole, in two columns that fill the
terminal. diff alone lists how many lines every step changes.
run ablation [STAGE...] [--size N] [--repeat N] [--device N] [--csv FILE]: measures what each part of a stage is worth, on a GPU.
Builds the stage with each of its parts left out, verifies these forms and times them in turns (at 8192, or --size).
run plot [FOLDER]: draws the CSVs in FOLDER. Without FOLDER it draws those in docs/results/h200 and writes the READMEs' tables.
run pictures: draws the chapters' pictures, docs/pictures, from what the kernels access.
run view STEP [STEP] [-m M] [-n N] [-k K] [--html FILE]: makes a page to step through a kernel: what each warp reads and writes,
in order. Two steps stand side by side. view 07: which lane holds which element of a fragment.
run test [--all] [OPTION...], or test: builds and runs the tests that verify every stage; with --all every test. The options are
ctest's: -R REGEX only the tests whose names match, -E REGEX all but those, -N list them, -V show their output.

{textwrap.fill(CHAPTERS + ', or just the number', 120, initial_indent='  STAGE      ', subsequent_indent=' ' * 13)}
{textwrap.fill(OTHER_NAMES, 120, initial_indent='  PROGRAM    ', subsequent_indent=' ' * 13)}
             the number of a chapter without a stage runs all of its programs
  --cpu      verify and count on the CPU emulator (the default without a GPU or nvcc); 08: use a CPU's OpenCL
  -v         show the whole output of the build tools
  OPTION...  those of the program; --wide shows all columns, --csv FILE gathers the rows of all stages

Examples:  ./run                                             ./run diff 03 04
           ./run 03_shared_blocking --size 4096              ./run all --against docs/results/h200
           ./run --sizes 1024:8192:1024 --csv ladder.csv     ./run plot
           ./run --gpu fury-x                                ./test
           ./run probe --svg fragment.svg                    ./test -R 03
           ./run 08 --stage 05                               ./test -V -R faults

Installs missing packages with apt if that is allowed; NO_INSTALL=1 forbids it. Exit codes: that of the first stage that failed, or
ctest's; also 1 if the build failed, 2 if something needed is missing or a file can't be written, 130 for Ctrl-C"""


class Parser(argparse.ArgumentParser):
    """Reports errors in one line. Takes the names of flags, and of options with a value."""

    def __init__(self, verb, flags="", options=""):
        super().__init__(prog=verb, add_help=False, allow_abbrev=False)
        for flag in flags.split():
            self.add_argument(flag, action="store_true")
        for option in options.split():
            self.add_argument(option)

    def error(self, message):
        fail(2, f"{self.prog}: {message.removeprefix('argument ')}; see --help".removeprefix(": "))


def show_help(chosen):
    """And the options of the first of these programs that is built."""
    print(HELP, flush=True)
    for program in (BUILD / "bin" / each.target(cpu) for each in chosen for cpu in (False, True)):
        if program.exists():
            print(flush=True)
            return machine.call([program, "--help"])
    print("\nOnce a stage is built, its options are shown here.")
    return 0


def emulated(cpu):
    """Whether to use the CPU emulator."""
    if not cpu and has_gpu() and not has_nvcc():
        say("there is a GPU but no nvcc: running on the CPU emulator")
    return cpu or not has_gpu() or not has_nvcc()


def opencl_packages(cpu):
    """The packages that OpenCL programs need. PoCL runs OpenCL on the CPU."""
    machine.find_opencl()
    return OPENCL if cpu or not machine.icds() else OPENCL[:2]


def meant(word, chapter, step=""):
    """Does a word such as 04, 4, 04_unroll or 04/1 name that chapter and, if it has a part for one, that step of it?"""
    its_chapter, _, its_step = word.partition("/")
    return its_chapter in (chapter, chapter[:2], chapter[:2].removeprefix("0")) and step.startswith(its_step)


def steps_meant(word):
    """The programs of the ladder that a word names: all of a chapter, or those whose names begin with it."""
    return [each for each in STEPS if meant(word, each.chapter, each.name.partition("/")[2])]


def check_writable(path, option):
    """Ends the program now, rather than after the work, where a file can't be written."""
    try:
        part_of(path).touch()
        part_of(path).unlink()
    except OSError as error:
        fail(2, f"{option} '{path}': can't be written: {error.strerror}")


def run_programs(words):
    given, options = Parser("", "--cpu --steps -v -h --help", "--csv").parse_known_args(words)
    machine.verbose = given.v
    chosen = [each for each in STEPS if given.steps or each.kind == "stage"]
    if options and not options[0].startswith("-"):
        word = options.pop(0)
        chosen = steps_meant(word) or [each for each in PROGRAMS
                                       if each.kind not in LADDER and (each.name == word or meant(word, each.chapter))]
        if not chosen:
            fail(2, f"unknown stage '{word}': takes one of {CHAPTERS}, or its number, or {OTHER_NAMES}")
    if given.help or given.h:
        return show_help(chosen)
    if "--fit" in options and [each.name for each in chosen] == ["transfer"]:
        options.remove("--fit")
        return machine.call([sys.executable, ROOT / "00_machine_limits/fit.py", *options])
    ladder = chosen[0].kind in LADDER
    if given.csv is not None and not ladder and len(chosen) > 1:
        fail(2, f"--csv: each of these programs has columns of its own; name one of {' '.join(each.name for each in chosen)}")
    if given.csv is not None:
        check_writable(given.csv, "--csv")
    kinds = {each.kind for each in chosen}
    if "opencl" in kinds:
        cpu, packages = False, opencl_packages(given.cpu)
        options += ["--platform", "Portable Computing Language"] * given.cpu
    else:
        cpu = emulated(given.cpu)
        packages = ["libboost-context-dev"] * (cpu and not kinds <= {"host", "gpu"})
        for program in [each for each in chosen if cpu and each.kind == "gpu"]:
            chosen.remove(program)
            say(f"{program.name} times a library on a GPU: left out without one; blas_host times this CPU's")
        if not chosen:
            return 2
    need(("cmake", "g++", "ninja-build", *packages))
    machine.build([each.target(cpu) for each in chosen])
    if ladder:
        return run_stages(chosen, cpu, options, given.csv)
    result = 0
    for program in chosen:
        if len(chosen) > 1:
            print(f"{program.target(cpu)}:", flush=True)
        csv = ["--csv", given.csv] if given.csv else []
        code = machine.call([BUILD / "bin" / program.target(cpu), *options, *csv], program.name)
        result = result or code
    return result


def run_stages(chosen, cpu, options, csv):
    """Runs several stages and merges their output into one table and one CSV."""
    result, with_rows, rows = 0, False, []
    erase = b"\r\033[K" * (sys.stdout.isatty() and sys.stderr.isatty())  # erases a program's progress line
    with tempfile.TemporaryDirectory(prefix="run-") as scratch:
        for stage in chosen:
            shown = not with_rows  # print the header only once

            def show(line):
                nonlocal shown
                shown = shown or line.startswith(f"{stage.name} ".encode())
                if shown:
                    sys.stdout.buffer.write(erase + line)
                    sys.stdout.flush()

            file = pathlib.Path(scratch, f"{stage.target(cpu)}.csv")
            code = machine.call([BUILD / "bin" / stage.target(cpu), *options, *(["--csv", file] if csv else [])], stage.name, show)
            if code == 77 and with_rows:  # this GPU lacks something that the others don't need
                continue
            with_rows, result = with_rows or code == 0, result or code
            if code > 1:
                return result  # the others would fail in the same way
            if csv and code == 0:
                rows += file.read_text().splitlines(keepends=True)[bool(rows):]
    if cpu:
        print("Counted on the CPU: the prediction is the roofline's, and nothing was timed.")
    if csv and result == 0:
        write_whole((csv, "".join(rows)))
    return result


def run_diff(words):
    parser = Parser("diff", "--side")
    parser.add_argument("steps", nargs="*")
    given = parser.parse_args(words)
    if given.side and not given.steps or len(given.steps) > 2:
        fail(2, "diff: takes a chapter, two steps such as 03 04/1, or none")
    steps = programs.steps()

    def found(word):
        """The steps that the text names: all of a chapter, or those whose names begin with it."""
        files = [file for file in steps if meant(word, file.parent.name, file.name * (file.stem != "matmul"))]
        if not files:
            fail(2, f"diff '{word}': takes one of {CHAPTERS}, or its number; 04/1 for the first step "
                    "of 04; 08/NN for a stage of the OpenCL chapter")
        return files

    if len(given.steps) == 2:
        pairs = [[found(word)[-1] for word in given.steps]]
    else:
        chosen = found(given.steps[0]) if given.steps else steps
        pairs = [(before, step) for step in chosen if (before := programs.before(step))]
    columns = shutil.get_terminal_size((203, 24)).columns
    for before, after in pairs:
        every, below = programs.changed_lines(before, after)
        print(f"{programs.name(before):<24} -> {programs.name(after):<24} {below:3} changed lines, {every:3} with the comment")
        if changes := programs.changes(after):
            print(f"    {changes}")
        sys.stdout.flush()
        if given.steps:
            labels = [f"--label={programs.name(file)}" for file in (before, after)]
            how = ["-y", "-t", f"-W{columns}"] if given.side else ["-u", *labels]
            machine.call(["diff", "--color=auto", *how, before, after])
    return 0


def results(verb, folder):
    """A folder of results."""
    if not list(pathlib.Path(folder).glob("*.csv")):
        fail(2, f"{verb} '{folder}': takes a folder of results")
    return pathlib.Path(folder)


def run_ablation(words):
    import ablation
    parser = Parser("ablation", "-v", "--csv --size --repeat --device")
    parser.add_argument("stages", nargs="*")
    given = parser.parse_args(words)
    machine.verbose = given.v
    try:
        have = {chapter.name: chapter for chapter in sorted(ROOT.glob("[0-9][0-9]_*")) if ablation.forms(chapter)}
    except Wrong as wrong:  # a patch is older than its source
        fail(1, str(wrong))
    chosen = [have[name] for name in have if not given.stages or any(meant(word, name) for word in given.stages)]
    for word in given.stages:
        if not any(meant(word, name) for name in have):
            fail(2, f"ablation '{word}': takes one of {' '.join(have)}, or its number")
    if given.csv is not None:
        check_writable(given.csv, "--csv")
    if not has_nvcc() or not has_gpu():
        fail(77, "ablation: times forms of the stages on a GPU, which takes one, and nvcc")
    need(("cmake", "g++", "ninja-build"))
    options = {"--size": given.size or "8192", "--repeat": given.repeat, "--device": given.device}
    return ablation.run(chosen, [word for option in options.items() if option[1] for word in option], given.csv)


def run_view(words):
    import view

    def whole_number(text):
        if not (text.isdigit() and 1 <= int(text) <= view.LONGEST):
            raise argparse.ArgumentTypeError(f"'{text}': takes a whole number from 1 to {view.LONGEST}")
        return int(text)

    parser = Parser("view", "-v", "--html")
    parser.add_argument("steps", nargs="*")
    for option in ("-m", "-n", "-k"):
        parser.add_argument(option, type=whole_number)
    given = parser.parse_args(words)
    machine.verbose = given.v
    if given.html is not None:
        check_writable(given.html, "--html")
    if given.steps in (["7"], ["07"], ["07_fragment_probe"]):
        return show_page(given.html, "07_fragment_probe", view.page("Fragments", view.fragments(), "fragments"))
    if not 1 <= len(given.steps) <= 2:
        fail(2, "view: takes a step, such as 03 or 04/1, or two, which it shows side by side; or 07, for fragments")
    chosen = []
    for word in given.steps:
        found = steps_meant(word)
        if not found:
            fail(2, f"view '{word}': takes one of {CHAPTERS}, or its number; 04/1 for the first step of 04; 07 for fragments. "
                    "What runs in OpenCL is not traced")
        chosen.append(found[-1])  # a chapter's own step is its last
    need(("cmake", "g++", "ninja-build", "libboost-context-dev"))
    machine.build([each.target(cpu=True) for each in chosen])
    records = []
    for each in chosen:
        shape = [asked or usual for asked, usual in zip((given.m, given.n, given.k), view.usual_shape(each.name))]
        records.append(view.read(view.record(BUILD / "bin" / each.target(cpu=True), shape), each.name, shape))
    names = [each.name for each in chosen]
    return show_page(given.html, "_and_".join(names).replace("/", "."), view.page(" and ".join(names), records))


def show_page(html, name, text):
    """Writes it to the file that is asked for, or to one of that name, and opens it where there is a display."""
    path = pathlib.Path(html or BUILD / "view" / f"{name}.html")
    if not html:
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole((path, text))
    print(path)
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        import webbrowser
        webbrowser.open(path.resolve().as_uri())
    return 0


def run_compare(words):
    from compare import compare
    if len(words) != 2:
        fail(2, "compare: takes two folders of results")
    return compare(*(results("compare", word) for word in words))


def run_plot(words):
    if len(words) > 1:
        fail(2, f"plot: unexpected argument '{words[1]}': takes one folder of results, or none")
    need(("python3-matplotlib",))
    files = words or [ROOT / "docs/results/h200", ROOT / "README.md", ROOT / "README.ja.md"]
    return machine.call([machine.python_with("matplotlib"), ROOT / "tools/plot.py", *files])


def run_pictures(words):
    import pictures
    if words:
        fail(2, f"pictures: unexpected argument '{words[0]}': takes none")
    need(("cmake", "g++", "ninja-build", "libboost-context-dev"))
    machine.build(pictures.targets())
    return pictures.write()


def run_all(words):
    import all as everything
    from compare import compare
    parser = Parser("all", "--cpu -v", "--against")
    parser.add_argument("folder", nargs="?", default=time.strftime("results-%Y%m%d-%H%M%S"))
    given = parser.parse_args(words)
    machine.verbose = given.v
    folder, against = pathlib.Path(given.folder), given.against is not None and results("--against", given.against)
    if against and folder.exists() and folder.samefile(against):
        fail(2, f"--against '{against}': that is where the results would go")
    if folder.exists() and not folder.is_dir():
        fail(2, f"all '{folder}': takes the name of a folder")
    cpu = emulated(given.cpu)
    missing = need(("cmake", "g++", "ninja-build", *["libboost-context-dev"] * cpu),
                   optional=(*opencl_packages(cpu), "libopenblas0"))
    machine.build([each.target(cpu) for each in PROGRAMS if not (each.kind == "gpu" and cpu)
                   and not (each.kind == "opencl" and set(missing) & set(OPENCL))])
    folder.mkdir(parents=True, exist_ok=True)
    result = everything.run(folder, cpu)
    if against:
        compare(folder, against)
    return result


def run_test(words):
    machine.name = "test"
    given = Parser("", "--all -N -V -VV -Q --progress --rerun-failed --stop-on-failure --schedule-random --print-labels "
                   "--output-on-failure", "-R -E -L -LE -I -j --timeout --repeat --output-junit").parse_args(words)
    machine.verbose = given.V or given.VV  # unknown options ended it: ctest would ignore them
    every = given.all or given.rerun_failed or given.R or given.L or given.LE or given.I  # or those that are named
    boost, thorough = ("libboost-context-dev",), ("oclgrind", "clang-19", "rocm-device-libs", "python3-matplotlib",
                                                  "clang-format-14", "python3-selenium", "chromium-driver")
    need(("cmake", "g++", "ninja-build", *boost * (not has_nvcc())), (*boost, "libgtest-dev", "python3-pytest"),
         (*OPENCL, "libopenblas0", *thorough * bool(every)))
    machine.find_opencl()
    machine.build(["all" if every else "everyday"])
    chosen = [word for word in words if word != "--all"] + ["-LE", "thorough"] * (not every)
    code = machine.call(["ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error", f"-j{machine.CORES}", *chosen])
    if not every:
        print("Planted faults, exercises, nvcc lines and the texts: ./test --all")
    return code


VERBS = {"ablation": run_ablation, "all": run_all, "compare": run_compare, "diff": run_diff, "pictures": run_pictures,
         "plot": run_plot, "test": run_test, "view": run_view}


def main(words):
    """Returns the exit code."""
    verb = words[0] if words else ""
    asked = {"-h", "--help"} & set(words)
    if verb in VERBS and asked:
        return show_help(STEPS)
    if verb not in ("compare", "diff", "plot") and not asked:
        machine.check_paths()
    return VERBS[verb](words[1:]) if verb in VERBS else run_programs(words)


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what Python still flushes
        code = 141 if isinstance(error, BrokenPipeError) else 2
        if code == 2:
            say(f"{error.filename or 'output'}: {error.strerror}")
    except SystemExit as ended:
        if ended.code > 128 and sys.stderr.isatty():  # Erase ^C, or a program's progress
            sys.stderr.write("\r\033[K")
        raise
    sys.exit(code)
