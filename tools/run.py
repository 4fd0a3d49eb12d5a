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
import functools
import itertools
import os
import pathlib
import re
import shutil
import tempfile
import textwrap
import time
from typing import NamedTuple

import ladder  # what only one verb takes is imported there
import machine
from machine import BUILD, OPENCL, ROOT, fail, has_gpu, has_nvcc, need, say
from results import Wrong, part_of, write_whole


class Program(NamedTuple):
    name: str
    chapter: str
    kind: str  # "stage", "host" (times the CPU), "gpu" (times a GPU's library), "opencl" or "other"

    def target(self, cpu):
        """The name of its CMake target. For a stage on the CPU that is the traced build, which counts."""
        suffix = {"stage": "_cpu_trace", "other": "_cpu"}.get(self.kind, "") * bool(cpu)
        return self.name.replace("/", ".") + suffix


# How to find the programs in the chapters' folders; CMakeLists.txt uses the same patterns.
KINDS = (("matmul.cu", "stage"), ("[0-9]_*.cu", "stage"), ("matmul.cpp", "opencl"), ("*.cu", "other"),
         ("*_host.cpp", "host"))


def programs():
    for source in sorted((*ROOT.glob("[0-9][0-9]_*/*"), *ROOT.glob("[0-9][0-9]_*/tests/*.cu"))):
        chapter = source.relative_to(ROOT).parts[0]
        for kind in [kind for pattern, kind in KINDS if source.match(pattern)][:1]:
            if kind == "other" and "#include <cublas" in source.read_text():
                kind = "gpu"
            yield Program(ladder.name(source), chapter, kind)


PROGRAMS = list(programs())
STAGES = [program for program in PROGRAMS if program.kind == "stage"]
STAGE_NAMES = " ".join(program.name for program in STAGES if "/" not in program.name)
OTHER_NAMES = " ".join(program.name for program in PROGRAMS if program.kind != "stage")

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
Builds the stage with each of its parts left out, verifies these forms and times them in turns (at 8192, or --size). --programs
FOLDER keeps the built programs there. They can be built on another machine: with CUDAARCHS=90, say, for an H100.
run plot [FOLDER]: draws the CSVs in FOLDER. Without FOLDER it draws those in docs/results/h200 and writes the READMEs' tables.
run pictures: draws the chapters' pictures, docs/pictures, from what the kernels access.
run view STEP [STEP] [-m M] [-n N] [-k K] [--html FILE]: makes a page to step through a kernel: what each warp reads and writes,
in order. Two steps stand side by side. view 07: which lane holds which element of a fragment.
run test [--all] [OPTION...], or test: builds and runs the tests that verify every stage; with --all every test. The options are
ctest's: -R REGEX only the tests whose names match, -E REGEX all but those, -N list them, -V show their output.

{textwrap.fill(STAGE_NAMES + ', or just the number', 120, initial_indent='  STAGE      ', subsequent_indent=' ' * 13)}
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
    """An ArgumentParser that reports errors in one line."""

    def __init__(self, verb):
        super().__init__(prog=verb, add_help=False, allow_abbrev=False)

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
    its_chapter, _, its_step = word.rstrip("/").partition("/")
    return its_chapter in (chapter, chapter[:2], chapter[:2].removeprefix("0")) and step.startswith(its_step)


def check_writable(path, option, value):
    """Ends the program now, rather than after the work, where a file can't be written."""
    try:
        if option == "all":
            path.parent.mkdir(parents=True, exist_ok=True)
        if part := part_of(path):
            part.unlink()
    except OSError as error:
        fail(2, f"{option} '{value}': can't be written: {error.strerror}")


def run_programs(words):
    parser = Parser("")
    for flag in (("--cpu",), ("--steps",), ("-v",), ("-h", "--help")):
        parser.add_argument(*flag, action="store_true")
    parser.add_argument("--csv")
    given, options = parser.parse_known_args(words)
    machine.verbose = given.v
    chosen = [each for each in STAGES if given.steps or "/" not in each.name]
    if options and not options[0].startswith("-"):
        word = options.pop(0)
        chosen = [each for each in STAGES if meant(word, each.chapter, each.name.partition("/")[2])] or [
            each for each in PROGRAMS if each.kind != "stage" and (each.name == word or meant(word, each.chapter))]
        if not chosen:
            fail(2, f"unknown stage '{word}': takes one of {STAGE_NAMES}, or its number, or {OTHER_NAMES}")
    if given.help:
        return show_help(chosen)
    if "--fit" in options and [program.name for program in chosen] == ["transfer"]:
        words = [word for word in options if word != "--fit"]
        return machine.call([sys.executable, ROOT / "00_machine_limits/fit.py", *words])
    kinds = {program.kind for program in chosen}
    csv = given.csv
    if csv is not None:
        if not csv or csv.startswith("-"):
            fail(2, f"--csv '{csv}': takes the name of a file" + f"; for one of that name write ./{csv}" * bool(csv))
        if "stage" not in kinds and len(chosen) > 1:
            fail(2, f"--csv: each of these programs has columns of its own; name one of {' '.join(each.name for each in chosen)}")
        check_writable(csv, "--csv", csv)
    if "opencl" in kinds:
        cpu, packages = False, opencl_packages(given.cpu)
        options += ["--platform", "Portable Computing Language"] * given.cpu
    else:
        cpu = emulated(given.cpu)
        packages = ["libboost-context-dev"] * (cpu and not kinds <= {"host", "gpu"})
        for program in [each for each in chosen if cpu and each.kind == "gpu"]:
            chosen = [each for each in chosen if each is not program]
            (say if chosen else functools.partial(fail, 2))(
                f"{program.name} times a library on a GPU: left out without one; "
                "blas_host times this CPU's")
    need(("cmake", "g++", "ninja-build", *packages))
    machine.build([program.target(cpu) for program in chosen])
    if "stage" in kinds:
        return run_stages(chosen, cpu, options, csv)
    result = 0
    for program in chosen:
        if len(chosen) > 1:
            print(f"{program.target(cpu)}:", flush=True)
        code = machine.call([BUILD / "bin" / program.target(cpu), *options, *(["--csv", csv] if csv else [])], program.name)
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
        write_whole((pathlib.Path(csv), "".join(rows)))
    return result


def show_step(before, after):
    every, below = ladder.changed_lines(before, after)
    print(f"{ladder.name(before):<24} -> {ladder.name(after):<24} {below:3} changed lines, {every:3} with the comment",
          flush=True)
    if changes := ladder.changes(after):
        print(f"    {changes}", flush=True)


def show_side_by_side(before, after):
    """Both files whole, in two columns; < marks what goes, > what comes, | what changes."""
    import difflib
    width = max(10, (shutil.get_terminal_size((203, 24)).columns - 3) // 2)
    red, green, plain = ("\033[31m", "\033[32m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
    lines = list(difflib.ndiff(before.read_text().splitlines(), after.read_text().splitlines()))
    # A line that was changed is a - and a + with ? below one or both. Such pairs share a row; so do
    # the other - and + between them, as they come.
    pairs = re.compile(r" |-\?\+\??|-\+\?|(?:-(?!\?|\+\?)|\+)+")
    for match in pairs.finditer("".join(line[0] for line in lines)):
        found = lines[match.start():match.end()]
        columns = ([line[2:] for line in found if line[0] in kinds] for kinds in (" -", " +"))
        for left, right in itertools.zip_longest(*columns):
            mark = "<" if right is None else ">" if left is None else " " if match[0] == " " else "|"
            left, right = left or "", right or ""
            for at in range(0, max(len(left), len(right), 1), width):  # a longer line goes on below
                row = f"{left[at:at + width]:{width}}", f"{right[at:at + width]}"
                if mark != " ":
                    row = f"{red}{row[0]}{plain}", f"{green}{row[1]}{plain}"
                print(f" {mark} ".join(row).rstrip(" "))


def run_diff(words):
    parser = Parser("diff")
    for option in ("--side", "--sizes"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("steps", nargs="*")
    given = parser.parse_args(words)
    if given.sizes and (given.steps or given.side) or given.side and not given.steps or len(given.steps) > 2:
        fail(2, "diff: takes a chapter, two steps such as 03 04/1, or none")
    steps = ladder.steps()

    def found(word):
        """The steps that the text names: all of a chapter, or those whose names begin with it."""
        files = [file for file in steps if meant(word, file.parent.name, file.name * (file.stem != "matmul"))]
        if not files:
            fail(2, f"diff '{word}': takes one of {STAGE_NAMES}, or its number; 04/1 for the first step "
                    "of 04; 08/NN for a stage of the OpenCL chapter")
        return files

    if len(given.steps) == 2:
        pairs = [[found(word)[-1] for word in given.steps]]
    else:
        chosen = found(given.steps[0]) if given.steps else steps
        pairs = [(before, step) for step in chosen if (before := ladder.before(step))]
    for before, after in pairs:
        show_step(before, after)
        if given.side:
            show_side_by_side(before, after)
        elif given.steps:
            labels = [f"--label={ladder.name(file)}" for file in (before, after)]
            machine.call(["diff", "--color=auto", "-u", *labels, before, after])
    return 0


def results(verb, folder):
    """A folder of results."""
    if not list(pathlib.Path(folder).glob("*.csv")):
        fail(2, f"{verb} '{folder}': takes a folder of results")
    return pathlib.Path(folder)


def run_ablation(words):
    import ablation
    parser = Parser("ablation")
    parser.add_argument("stages", nargs="*")
    parser.add_argument("-v", action="store_true")
    for option in ("--csv", "--programs", "--size", "--repeat", "--device"):
        parser.add_argument(option)
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
        check_writable(given.csv, "--csv", given.csv)
    if given.programs is not None and not os.path.isdir(given.programs):
        fail(2, f"--programs '{given.programs}': takes a folder")
    if not has_nvcc() or not has_gpu() and not given.programs:
        fail(77, "ablation: times forms of the stages on a GPU, which takes one, and nvcc")
    need(("cmake", "g++", "ninja-build"))
    options = {"--size": given.size or "8192", "--repeat": given.repeat, "--device": given.device}
    return ablation.run(chosen, [word for option in options.items() if option[1] for word in option], given.csv, given.programs)


def run_view(words):
    import view

    def whole_number(text):
        if not (text.isdigit() and 1 <= int(text) <= view.LONGEST):
            raise argparse.ArgumentTypeError(f"'{text}': takes a whole number from 1 to {view.LONGEST}")
        return int(text)

    parser = Parser("view")
    parser.add_argument("steps", nargs="*")
    for option in ("-m", "-n", "-k"):
        parser.add_argument(option, type=whole_number)
    parser.add_argument("--html")
    parser.add_argument("-v", action="store_true")
    given = parser.parse_args(words)
    machine.verbose = given.v
    if given.html is not None:
        check_writable(given.html, "--html", given.html)
    if given.steps in (["7"], ["07"], ["07_fragment_probe"]):
        return show_page(given.html, "07_fragment_probe", view.page("Fragments", view.fragments(), "fragments"))
    if not 1 <= len(given.steps) <= 2:
        fail(2, "view: takes a step, such as 03 or 04/1, or two, which it shows side by side; or 07, for fragments")
    traced = {ladder.name(file): file for file in ladder.steps() if file.suffix == ".cu"}
    chosen = []
    for word in given.steps:
        found = [name for name in traced if meant(word, name.partition("/")[0], name.partition("/")[2])]
        if not found:
            fail(2, f"view '{word}': takes one of {' '.join(name for name in traced if '/' not in name)}, or its number; 04/1 for "
                    "the first step of 04; 07 for fragments. What runs in OpenCL is not traced")
        chosen.append(found[-1])  # a chapter's own step is its last
    need(("cmake", "g++", "ninja-build", "libboost-context-dev"))
    targets = {name: f"{name.replace('/', '.')}_cpu_trace" for name in chosen}
    machine.build(list(targets.values()))
    records = []
    for name in chosen:
        shape = [asked or usual for asked, usual in zip((given.m, given.n, given.k), view.default_shape(traced[name].read_text()))]
        record = view.record(BUILD / "bin" / targets[name], shape)
        records.append(view.read(record, name, shape))
    return show_page(given.html, "_and_".join(chosen).replace("/", "."), view.page(" and ".join(chosen), records))


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
    parser = Parser("all")
    parser.add_argument("folder", nargs="?", default=time.strftime("results-%Y%m%d-%H%M%S"))
    parser.add_argument("--against", type=lambda word: results("--against", word))
    for flag in ("--cpu", "-v"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args(words)
    machine.verbose = given.v
    folder = pathlib.Path(given.folder)
    if not given.folder:
        fail(2, "all '': takes the name of a folder")
    if given.against and folder.exists() and folder.samefile(given.against):
        fail(2, f"--against '{given.against}': that is where the results would go")
    new = not folder.exists()
    check_writable(folder / "steps.csv", "all", folder)
    try:
        cpu = emulated(given.cpu)
        missing = need(("cmake", "g++", "ninja-build", *["libboost-context-dev"] * cpu),
                       optional=(*opencl_packages(cpu), "libopenblas0"))
        others = [step.program(cpu) for step in everything.steps(cpu) if step.name != "ladder"]
        if set(missing) & set(OPENCL):
            others = [name for name in others if name not in {each.name for each in PROGRAMS if each.kind == "opencl"}]
        machine.build([*(stage.target(cpu) for stage in STAGES), *others])
        with machine.lock("all.lock", "running all"):
            result = everything.run(folder, given.against, cpu)
    finally:
        if new and not list(folder.iterdir()):
            folder.rmdir()
    if given.against:
        compare(folder, given.against)
    return result


def run_test(words):
    machine.name = "test"
    parser = Parser("")
    for flag in ("--all -N -V -VV -Q --progress --rerun-failed --stop-on-failure --schedule-random --print-labels "
                 "--output-on-failure").split():
        parser.add_argument(flag, action="store_true")
    for option in "-R -E -L -LE -I -j --timeout --repeat --output-junit".split():
        parser.add_argument(option)
    given = parser.parse_args(words)  # ctest would silently ignore unknown options
    machine.verbose = given.V or given.VV
    every = given.all or given.rerun_failed or given.R or given.L or given.LE or given.I  # or those that are named
    boost, thorough = ("libboost-context-dev",), ("oclgrind", "clang-19", "rocm-device-libs", "python3-matplotlib", "clang-format-14",
                                                  "chromium")
    need(("cmake", "g++", "ninja-build", *boost * (not has_nvcc())), (*boost, "libgtest-dev", "python3-pytest"),
         (*OPENCL, "libopenblas0", *thorough * bool(every)))
    machine.find_opencl()
    machine.build(["all" if every else "everyday"])
    ctest = ["ctest", "--test-dir", BUILD]
    chosen = [word for word in words if word != "--all"] + ["-LE", "thorough"] * (not every)
    # Counted first, as it also begins ctest's log anew.
    left = None if every else re.search(r"Total Tests: (\d+)", machine.output(*ctest, "-N", "-L", "thorough"))
    code = machine.call([*ctest, "--output-on-failure", "--no-tests=error", f"-j{machine.CORES}", *chosen])
    if left:
        print(f"{left[1]} more tests, of planted faults, exercises, nvcc lines and the texts: ./test --all")
    return code


VERBS = {"ablation": run_ablation, "all": run_all, "compare": run_compare, "diff": run_diff, "pictures": run_pictures,
         "plot": run_plot, "test": run_test, "view": run_view}


def main(words):
    """Returns the exit code."""
    verb = words[0] if words else ""
    asked = {"-h", "--help"} & set(words)
    if verb in VERBS and asked:
        return show_help(STAGES)
    if verb not in ("compare", "diff", "plot") and not asked:
        machine.check_paths()
    return VERBS[verb](words[1:]) if verb in VERBS else run_programs(words)


if __name__ == "__main__":
    for descriptor in range(3):  # otherwise the next opened file would get a closed stream's descriptor
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stderr = sys.stderr or open(os.devnull, "w")
    try:
        if sys.stdout is None:
            raise OSError(9, "is closed", "stdout")
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        code = 141 if isinstance(error, BrokenPipeError) else 2
        if code == 2:
            say(f"{error.filename or 'stdout'}: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except SystemExit as ended:
        if ended.code > 128 and sys.stderr.isatty():  # Erase ^C, or a program's progress
            sys.stderr.write("\r\033[K")
        raise
    sys.exit(code)
