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
import contextlib
import json
import os
import pathlib
import re
import shutil
import tempfile
import textwrap
import time

import build  # what only one verb takes is imported there
import packages
import process
import programs
from build import BUILD, has_gpu, has_nvcc
from packages import OPENCL, need
from process import fail, say
from programs import LADDER, ROOT, listed, meant
from results import Wrong, unwritable, write_whole
from stages import call_stage, see_it

# What ./run help shows: how a verb is called, what it does in a line, and what `./run help VERB` adds to that.
HELP = {
    "run": ("./run [NN] [OPTION...]", "run a stage, all of them, or your mine.cu", """\
NN is 03, 03_shared_blocking or another program. 04 runs all programs of that chapter, 04/1 its first step,
04/matmul the one that it ends with. Several may be named: 01 02. --steps runs all steps of all chapters.

NAMES

A file of your own, ./run mine.cu, takes the same options if it has launch_matmul(), and has a line "// multiples of 128x128x8"
if it takes only such shapes: see docs/own_kernel.md. Any other CUDA program, ./run any.cu [MORE.cu...] [-I FOLDER]
[-D NAME] [--fast] [ARGUMENTS...], runs on the emulator, which says what it counted and found. --fast only runs it.

--cpu verifies and counts on the CPU emulator, the default without a GPU or nvcc; in 08 it takes a CPU's OpenCL. --csv FILE
gathers the rows of all stages, --wide shows all columns, -v the output of the build tools (in front of any.cu:
what stands behind that name is the program's). `./run 03 --help` shows the options of a program.

Examples: ./run 03 --size 4096; ./run --sizes 1024:8192:1024 --csv ladder.csv; ./run 08 --stage 05; ./run 05 --gpu fury-x"""),
    "new": ("./run new mine.cu --from NN", "begin a stage of your own with a copy of one", "It overwrites no file."),
    "diff": ("./run diff [NN [NN]]", "show what a step changes; all steps in a list", """\
diff 04 shows each step of that stage, diff 03 04 compares two directly, diff alone lists how many lines every step changes.
--side shows both files whole, in two columns, on a terminal of at least 160."""),
    "view": ("./run view NN [NN]", "make a page to step through a kernel", """\
It shows what each warp reads and writes, in order. Two steps stand side by side. -m M -n N -k K choose the shape, --html FILE
the place. --caption 4 opens the page at its fourth explanation. NN may be a file of your own. view 07 shows which lane holds
which element of a fragment."""),
    "ablation": ("./run ablation [NN...]", "time a stage without each of its parts (GPU)", """\
Builds the stage with each of its parts left out, verifies these forms and times them in turns (at 8192, or --size N). Also
takes --repeat N, --device N and --csv FILE."""),
    "all": ("./run all [FOLDER]", "run every chapter, write CSVs to FOLDER", """\
Writes its CSVs, a description of the machine and a log to FOLDER (a new one, results-DATE-TIME, if none is named). --against
FOLDER2 then compares them with those. --cpu: see run."""),
    "compare": ("./run compare FOLDER FOLDER", "compare the CSVs of two such folders", "Runs nothing."),
    "plot": ("./run plot [FOLDER]", "draw the CSVs in FOLDER", """\
Without FOLDER it draws those in docs/results/h200 and the pictures of the chapters that show figures, docs/pictures, and writes
the tables of the READMEs."""),
    "translate": ("./run translate", "make the pages in Japanese and Chinese", """\
Makes each translated page of the English page and of its catalogue in docs/po/, and lists what waits for a translator."""),
    "book": ("./run book", "make a site of the pages, build/book", """\
In English, Japanese and Chinese, with search, the sources and the views of `./run view`. It works from the disk and on a server."""),
    "test": ("./test [NN...]", "run the tests, of these chapters or all", """\
./test mine.cu puts a stage of your own through what each stage has to pass, ./test 04/1 does so with one program.

Verifies every stage in every build; with --all it runs every test, with chapters (03 04) all of theirs. Only what the chosen
tests need is built and installed. The other options are ctest's: -R REGEX only the tests whose names match, -E REGEX all but
those, -N list them, -V show their output.

Examples: ./test 03; ./test -V -R faults; ./test --all -N""")}


def names():
    """The names that ./run takes. Where there is no CMake yet, which lists them, those that the ladder's files have."""
    if not shutil.which("cmake"):
        return f"Stages: {' '.join(programs.name(step) for step in programs.steps() if step.name == 'matmul.cu')}"
    stages = " ".join(each.name for each in listed("stage"))
    others = " ".join(each.name for each in listed() if each.kind not in LADDER)
    return f"Stages: {stages}\n\nPrograms: {others}"


def shown_help(verb=""):
    """The text for one verb, or the list of all."""
    columns = min(shutil.get_terminal_size().columns, 100)

    def wrapped(text, first="", others=""):
        return textwrap.fill(" ".join(text.split()), columns, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)

    if verb:
        how, what, more = HELP[verb]
        if "NAMES" in more:
            more = more.replace("NAMES", names())
        return "\n\n".join([wrapped(f"{how}: {what}."), *map(wrapped, more.split("\n\n"))])
    width = max(len(how) for how, *_ in HELP.values()) + 6
    verbs = [wrapped(what, f"  {how}".ljust(width), " " * width) for how, what, _ in HELP.values()]
    return "\n\n".join([
        wrapped("./run builds and runs the programs, ./test proves them. NN is a chapter, such as 03, or a step, such as 04/1."),
        "\n".join(verbs), wrapped("Examples: ./run; ./run 03 --size 4096; ./run diff 03 04; ./test 03"),
        wrapped("""./run help VERB says more, ./run 03 --help shows a program's options. Missing packages are installed with apt if that is
                allowed, but not with NO_INSTALL=1. BUILD_DIR=FOLDER builds elsewhere than in build/."""),
        wrapped("""Exit codes: that of the first stage that failed, or ctest's; 1 if the build failed; 2 if something needed is missing or a
                file can't be written; 130 for Ctrl-C.""")])


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


def count(most):
    """An option's type: a whole number."""
    def number(text):
        if not (text.isdigit() and 1 <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"'{text}': takes a whole number from 1 to {most}")
        return int(text)
    return number


def show_help(words):
    """./run help [VERB], and --help after a verb or a program: then, where it is built, its own."""
    asked = next((word for word in words if not word.startswith("-") and word != "help"), "")
    if asked and asked not in HELP:
        for program in (BUILD / "bin" / each.target(cpu) for each in programs_meant(asked) for cpu in (False, True)):
            if program.exists():
                return process.call([program, "--help"])
        asked = "run"
    print(shown_help(asked))
    return 0


def need_tools():
    """What building any program takes here."""
    emulator = () if has_gpu() and has_nvcc() else ("libboost-context-dev",)
    need(("cmake", "g++", "ninja-build", *emulator))


def opencl_packages(cpu):
    """The packages that OpenCL programs need. PoCL runs OpenCL on the CPU."""
    packages.find_opencl()
    return OPENCL if cpu or not packages.icds() else OPENCL[:2]


def steps_meant(word):
    """The programs of the ladder that a word names: 04 all of that chapter's, 04/1 and 04/matmul one of them."""
    return [each for each in listed(*LADDER) if meant(word, each.chapter, each.source.stem)]


def programs_meant(word):
    """Those of the ladder, or else all of that name or of that chapter. Ends the program if there is none."""
    chosen = steps_meant(word) or [each for each in listed() if each.kind not in LADDER
                                   and (each.name == word or meant(word, each.chapter, each.source.stem))]
    if not chosen:
        names = [*VERBS, *(each.name for each in listed()), *map(str, pathlib.Path().glob("*.cu"))]
        of_chapters = [each.source for each in listed() if each.source.parent.parent == ROOT]
        fail(2, programs.unknown(word, of_chapters, names))
    return chosen


def refuse(verb, word, files):
    """Ends the program at a word that names none of what the verb takes."""
    fail(2, f"{verb}{programs.unknown(word, files)}")


def check_writable(path, option):
    """Ends the program now, rather than after the work, where a file can't be written or is not such a file."""
    if why := unwritable(path, option):
        fail(2, why)


def table_of(program):
    """What can't be run together: the ladder, OpenCL, the others."""
    return "ladder" if program.kind in LADDER else program.kind if program.kind == "opencl" else "other"


def run_programs(words):
    given, options = Parser("", "--cpu --steps -v", "--csv").parse_known_args(words)
    process.verbose = given.v
    named = []
    while options and not options[0].startswith("-"):
        named.append(options.pop(0))
    chosen = list(dict.fromkeys(each for word in named for each in programs_meant(word))) or [
        each for each in listed(*LADDER) if given.steps or each.kind == "stage"]
    if "--fit" in options and [each.name for each in chosen] == ["transfer"]:
        options.remove("--fit")
        return process.call([sys.executable, ROOT / "00_machine_limits/fit.py", *options])
    ladder = chosen[0].kind in LADDER
    if apart := [each.name for each in chosen if table_of(each) != table_of(chosen[0])]:
        fail(2, f"{chosen[0].name} and {apart[0]} have tables of their own: run one after the other")
    for option in {"--lines-csv", "--record"} & set(options):
        if len(chosen) > 1:
            fail(2, f"{option} is for one program, such as ./run {programs.short(chosen[-1].source)}")
    if given.csv is not None and not ladder and len(chosen) > 1:
        fail(2, f"--csv: each of these programs has columns of its own; name one of {' '.join(each.name for each in chosen)}")
    if given.csv is not None:
        check_writable(given.csv, "--csv")
    kinds = {each.kind for each in chosen}
    if "opencl" in kinds:
        cpu, packages = False, opencl_packages(given.cpu)
        options += ["--platform", "Portable Computing Language"] * given.cpu
    else:
        cpu = build.emulated(given.cpu)
        packages = ["libboost-context-dev"] * (cpu and not kinds <= {"host", "gpu"})
        for program in [each for each in chosen if cpu and each.kind == "gpu"]:
            chosen.remove(program)
            say(f"{program.name} times a library on a GPU: left out without one; blas_host times this CPU's")
        if not chosen:
            return 77
    need(packages)
    if ladder:
        return run_stages(chosen, cpu, options, given.csv)
    result = 0
    with contextlib.closing(build.each_built([each.target(cpu) for each in chosen])) as built:
        for program, target in zip(chosen, built):
            if len(chosen) > 1:
                print(f"{target}:", flush=True)
            csv = ["--csv", given.csv] if given.csv else []
            code = process.call([BUILD / "bin" / target, *options, *csv], program.name)
            result = result or code
    return result


def run_stages(chosen, cpu, options, csv):
    """Runs several stages and merges their output into one table and one CSV."""
    result, with_rows, rows = 0, False, []
    erase = b"\r\033[K" * (sys.stdout.isatty() and sys.stderr.isatty() and not process.DUMB)  # erases a program's progress line
    with tempfile.TemporaryDirectory(prefix="run-") as scratch, \
            contextlib.closing(build.each_built([each.target(cpu) for each in chosen])) as built:
        for stage, target in zip(chosen, built):
            shown = not with_rows  # print the header only once

            def show(line):
                nonlocal shown
                shown = shown or line.startswith(f"{stage.row} ".encode())
                if shown:
                    sys.stdout.buffer.write(erase + line)
                    sys.stdout.flush()

            file = pathlib.Path(scratch, f"{target}.csv")
            code, shape = call_stage([BUILD / "bin" / target, *options, *(["--csv", file] if csv else [])], stage.name, show)
            if code == 77 and with_rows:  # this GPU lacks something that the others don't need
                continue
            with_rows, result = with_rows or code == 0, result or code
            if code == 1 and cpu:
                see_it(programs.short(stage.source), shape)
            if code > 1:
                return result  # the others would fail in the same way
            if csv and code == 0:
                rows += file.read_text().splitlines(keepends=True)[bool(rows):]
    if cpu and with_rows:
        print("Counted on the CPU: the prediction is the roofline's, and nothing was timed.")
    if csv and result == 0:
        write_whole((csv, "".join(rows)))
    if result == 0 and sys.stdout.isatty() and len({each.chapter for each in chosen}) == 1:
        show_next(chosen[-1])
    return result


def show_next(stage):
    """What one may type after a stage has run."""
    name = stage.chapter[:2] if stage.kind == "stage" else programs.short(stage.source)
    after = [step for step in programs.steps() if programs.before(step) == stage.source]
    print(f"Next: ./run view {name} steps through it; exercises: {stage.chapter}/README.md")
    if after:
        same = after[0].parent == stage.source.parent
        name = programs.short(after[0]) if same else after[0].parent.name[:2]
        print(f"      ./run diff {name} shows what changes next")


def run_diff(words):
    parser = Parser("diff", "--side")
    parser.add_argument("steps", nargs="*")
    given = parser.parse_args(words)
    if given.side and not given.steps or len(given.steps) > 2 or len(given.steps) == 1 and given.steps[0].endswith(".cu"):
        fail(2, "diff: takes a chapter, two steps such as 03 04/1 or 03 mine.cu, or none")
    steps = programs.steps()

    def found(word):
        """The steps that the text names: all of a chapter, those whose names begin with it, or a file of one's own."""
        if word.endswith(".cu") and pathlib.Path(word).is_file():
            return [pathlib.Path(word)]
        return [file for file in steps if meant(word, file.parent.name, file.stem)] or refuse("diff: ", word, steps)

    if len(given.steps) == 2:
        pairs = [[found(word)[-1] for word in given.steps]]
    else:
        chosen = found(given.steps[0]) if given.steps else steps
        pairs = [(before, step) for step in chosen if (before := programs.before(step))]
    columns = shutil.get_terminal_size((203, 24)).columns
    if given.side and columns < 160:
        say(f"--side takes a terminal of 160 columns; this one has {columns}")
    for number, (before, after) in enumerate(pairs):
        if number and given.steps:
            print()
        every, below = programs.changed_lines(before, after)
        print(textwrap.fill(f"{programs.name(before)} -> {programs.name(after)}: {below} lines, {every} with the comment",
                            min(columns, 100), subsequent_indent="    "))
        if changes := programs.changes(after):
            print(textwrap.fill(changes, min(columns, 100), initial_indent="    ", subsequent_indent="    "))
        sys.stdout.flush()
        if given.steps:
            labels = [f"--label={programs.name(file)}" for file in (before, after)]
            how = ["-y", "-t", f"-W{columns}"] if given.side and columns >= 160 else ["-u", *labels]
            process.call(["diff", f"--color={'never' if process.PLAIN else 'auto'}", *how, before, after])
    if not [before for before, _ in pairs]:
        print(f"nothing comes before {given.steps[0]}, the first step")
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
    process.verbose = given.v
    have = {chapter.name: chapter for chapter in sorted(ROOT.glob("[0-9][0-9]_*")) if ablation.patches_of(chapter)}
    named = {word: [name for name in have if meant(word, name, "matmul")] for word in given.stages}
    chosen = [have[name] for name in have if not named or any(name in its for its in named.values())]
    for word, its in named.items():
        if not its:
            refuse("ablation: ", word, [chapter / "matmul.cu" for chapter in have.values()])
    if given.csv is not None:
        check_writable(given.csv, "--csv")
    if not has_nvcc() or not has_gpu():
        fail(77, "ablation: times forms of the stages on a GPU, which takes one, and nvcc")
    need(("git",))
    options = {"--size": given.size or "8192", "--repeat": given.repeat, "--device": given.device}
    try:
        return ablation.run(chosen, [word for option in options.items() if option[1] for word in option], given.csv)
    except Wrong as wrong:  # a patch is older than its source
        fail(1, str(wrong))


def run_view(words):
    import view
    from user_kernel import Own

    parser = Parser("view", "-v", "--html --caption")
    parser.add_argument("steps", nargs="*")
    for option in ("-m", "-n", "-k"):
        parser.add_argument(option, type=count(view.LONGEST))
    given = parser.parse_args(words)
    process.verbose = given.v
    if given.html is not None:
        check_writable(given.html, "--html")
    if given.steps in (["7"], ["07"], ["07_fragment_probe"]):
        if given.caption is not None:
            fail(2, "view: --caption: view 07 has none")
        return show_page(given.html, "07_fragment_probe", view.page("Fragments", view.fragments(), "fragments"))
    if not 1 <= len(given.steps) <= 2:
        fail(2, "view: takes a step, such as 03 or 04/1, or two, which it shows side by side; or 07, for fragments")
    chosen = []
    for word in given.steps:
        found = [Own(word)] if word.endswith(".cu") else steps_meant(word)
        if not found:
            refuse("view: ", word, [each.source for each in listed(*LADDER)])
        chosen.append(found[-1])  # a chapter's own step is its last
    there = len(view.captions(chosen[0].name))
    if given.caption is not None and given.caption not in map(str, range(1, there + 1)):
        fail(2, f"view: --caption '{given.caption}': {chosen[0].name} has {there}; takes a whole number from 1 to that")
    need(("libboost-context-dev",))
    if steps := [each.target(cpu=True) for each in chosen if not isinstance(each, Own)]:
        build.build(steps)
    records = []
    for each in chosen:
        shape = [asked or usual for asked, usual in zip((given.m, given.n, given.k), view.usual_shape(each.name))]
        if isinstance(each, Own):
            shape = [asked or least for asked, least in zip((given.m, given.n, given.k), each.rounded(shape))]
            record = view.record(each.emulated(), shape)
            records.append(view.read(record, each.name, shape, each.path.resolve().parents[1]))
        else:
            records.append(view.read(view.record(BUILD / "bin" / each.target(cpu=True), shape), each.name, shape))
    names = [each.name for each in chosen]
    return show_page(given.html, "_and_".join(names).replace("/", "."), view.page(" and ".join(names), records),
                     f"#////{given.caption}" if given.caption else "")


def show_page(html, name, text, place=""):
    """Writes it to the file that is asked for, or to one of that name, and opens it at that place where there is a display."""
    path = pathlib.Path(html or BUILD / "view" / f"{name}.html")
    if not html:
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole((path, text))
    print(f"{path}{place}")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        import webbrowser
        webbrowser.open(path.resolve().as_uri() + place)
    return 0


def run_compare(words):
    from compare import compare
    if len(words) != 2:
        fail(2, "compare: takes two folders of results")
    return compare(*(results("compare", word) for word in words))


def run_plot(words):
    from book import plot
    if len(words) > 1:
        fail(2, f"plot: unexpected argument '{words[1]}': takes one folder of results, or none")
    return plot.write(pathlib.Path(words[0])) if words else plot.write(ROOT / "docs/results/h200", ROOT)


def run_translate(words):
    need(("po4a", "python3-polib"))
    return process.call([packages.python_with("polib"), "-B", "-X", "utf8", "-m", "book.translate", *words], cwd=ROOT / "tools")


def run_new(words):
    import user_kernel
    return user_kernel.new(words, steps_meant)


def run_book(words):
    if words:
        fail(2, f"book: unexpected argument '{words[0]}': takes none")
    need(("python3-myst-parser", "furo", "libboost-context-dev"))
    targets = [each.target(cpu=True) for each in listed("stage")]
    build.build(targets)
    return process.call([packages.python_with("furo, myst_parser"), "-B", "-X", "utf8", "-m", "book.make_site", BUILD / "book",
                         *(BUILD / "bin" / each for each in targets)], cwd=ROOT / "tools")


def run_all(words):
    import all as everything
    from compare import compare
    parser = Parser("all", "--cpu -v", "--against")
    parser.add_argument("folder", nargs="?", default=time.strftime("results-%Y%m%d-%H%M%S"))
    given = parser.parse_args(words)
    process.verbose = given.v
    folder, against = pathlib.Path(given.folder), given.against is not None and results("--against", given.against)
    if against and folder.exists() and folder.samefile(against):
        fail(2, f"--against '{against}': that is where the results would go")
    if folder.exists() and not folder.is_dir():
        fail(2, f"all '{folder}': takes the name of a folder")
    cpu = build.emulated(given.cpu)
    missing = need(("libboost-context-dev",) * cpu, optional=(*opencl_packages(cpu), "libopenblas0"))
    build.build([each.target(cpu) for each in listed() if not (each.kind == "gpu" and cpu)
                   and not (each.kind == "opencl" and set(missing) & set(OPENCL))])
    folder.mkdir(parents=True, exist_ok=True)
    result = everything.run(folder, cpu)
    if against:
        compare(folder, against)
    return result


# What tests take besides what build/tests.txt names: packages, and the names of the tests, which are skipped without them.
TAKEN_BY = (
    (OPENCL, r"^08|^(articles|book|command_lines)$"), (("libopenblas0",), r"^00|^(articles|book)$"),
    (("oclgrind",), r"^08|^(articles|book)$|exercises$"), (("clang-19", "rocm-device-libs"), r"[.]gcn$|^(articles|book)$"),
    (("clang-format-14",), r"^style$"), (("python3-selenium", "chromium-driver"), r"^(site|view_pages)$"),
    (("po4a", "python3-polib"), r"^translations$"), (("python3-myst-parser", "furo"), r"^site$"),
    (("git",), r"^patches$|^ablation$|^page_tables$|^06|exercises$"))


def chosen_tests(options):
    """The names of the tests that ctest would run with these options, and for each what it needs: targets and packages."""
    listed = process.output("ctest", "--test-dir", BUILD, "--show-only=json-v1", *options)
    if wrong := re.match(r"RegularExpression::compile\(\): (.*)", listed):
        fail(2, f"a pattern is no regular expression: {wrong[1]}")
    names = [test["name"] for test in json.loads(listed or "{}").get("tests", [])]
    needs = {name: [] for name in names}
    for line in (BUILD / "tests.txt").read_text().splitlines():
        name, need = line.split()
        if name in needs:
            needs[name].append(need)
    return needs


def run_test(words):
    process.command = "test"
    if words and words[0].endswith(".cu"):
        import user_kernel
        return user_kernel.test(words)
    parser = Parser("", "--all -N -V -VV -Q --progress --rerun-failed --stop-on-failure --schedule-random --print-labels "
                    "--output-on-failure", "-R -E -L -LE -I --repeat --output-junit")
    for option in ("-j", "--timeout"):
        parser.add_argument(option, type=count(10**6))
    parser.add_argument("chapters", nargs="*")
    given = parser.parse_args(words)  # unknown options ended it: ctest would ignore them
    process.verbose = given.V or given.VV
    if given.chapters and given.R:
        fail(2, "takes chapters, such as 03 04, or -R REGEX, not both")
    patterns = []
    for word in given.chapters:
        its = [each for each in listed() if meant(word, each.chapter, each.source.stem)] or refuse(
            "", word, [each.source for each in listed() if each.source.parent.parent == ROOT])
        patterns += [each.test + "[.][^.]*$" for each in its] if "/" in word else [its[0].chapter[:3]]
    options = []
    for name, value in vars(given).items():
        if value and name not in ("all", "chapters"):
            options += [f"-{name}" if len(name) < 3 else "--" + name.replace("_", "-"), *[str(value)] * (value is not True)]
    if patterns:
        options += ["-R", f"^({'|'.join(dict.fromkeys(patterns))})"]
    # All, or those that are named.
    every = given.all or given.chapters or given.rerun_failed or given.R or given.L or given.LE or given.I
    options += ["-LE", "thorough"] * (not every)
    boost = ("libboost-context-dev",)
    need(boost * (not has_nvcc()), boost)
    packages.find_opencl()
    build.configure(tests=True)
    needs = chosen_tests(options)
    if not needs:
        fail(2, "no test has such a name; ./test -N lists those of ./test, ./test --all -N all")
    if given.N:  # ctest would also say of each test which of its programs is not built
        print(*needs, f"{len(needs)} tests", sep="\n")
        return 0
    wanted = {each for its in needs.values() for each in its}
    taken = [package for packages, names in TAKEN_BY if any(re.search(names, name) for name in needs)
             for package in packages]
    if packages.missing_of([*packages.HAS.keys() & wanted, *taken]):
        need((), packages.HAS.keys() & wanted, taken)
        build.configure(tests=True)
        wanted = {each for its in chosen_tests(options).values() for each in its}
    targets = sorted(wanted - packages.HAS.keys())
    build.build(["all"] if "all" in targets else targets or ["harness_host"])
    code = process.call(["ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error", f"-j{build.CORES}", *options])
    if not every:
        print("Planted faults, exercises, nvcc lines and the texts: ./test --all, or ./test 03 for all of a chapter")
    return code


VERBS = {"ablation": run_ablation, "all": run_all, "book": run_book, "compare": run_compare, "diff": run_diff, "new": run_new,
         "plot": run_plot, "test": run_test, "translate": run_translate, "view": run_view}


def main(words):
    """Returns the exit code."""
    if words[:1] == ["-v"] and words[1:] and words[1].endswith(".cu"):  # behind its name it is the program's
        process.verbose = True
        words = words[1:]
    verb = words[0] if words else ""
    if verb.endswith(".cu"):
        import user_kernel
        build.check_paths()
        return user_kernel.run(words)
    if verb == "help" or {"-h", "--help"} & set(words):
        return show_help(words)
    if verb not in ("compare", "diff", "plot", "translate"):
        build.check_paths()
        need_tools()  # CMake lists the programs
    return VERBS[verb](words[1:]) if verb in VERBS else run_programs(words)


def open_all():
    """Opens what is closed of the input and the outputs, before another file takes its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))
            if number == 1:
                fail(2, "the output is closed")


if __name__ == "__main__":
    try:
        open_all()
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what Python still flushes
        code = 141 if isinstance(error, BrokenPipeError) else 2
        if code == 2:
            elsewhere = "; BUILD_DIR=FOLDER builds elsewhere" * str(error.filename).startswith(str(BUILD))
            say(f"{error.filename or 'output'}: {error.strerror}{elsewhere}")
    except SystemExit as ended:
        if ended.code > 128 and sys.stderr.isatty():  # Erase ^C, or a program's progress
            sys.stderr.write("\r\033[K")
        raise
    sys.exit(code)
