"""./run: finds the verb. Each larger verb has a file of its own, which is imported only when it is needed."""
import signal
import sys


def stop(number, _):
    """Exits on a signal, and ignores further ones so that the clean-up is not interrupted."""
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


STOPPING = [each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
if __name__ == "__main__":
    for each in STOPPING:  # before the imports, which take a moment
        signal.signal(each, stop)

import importlib
import os
import pathlib
import shutil

import build
import packages
import process
from build import BUILD
from command_line import need_tools, programs_meant, results_folder
from process import fail, say
from programs import ROOT, listed
from usage import HELP, shown_help


def show_help(words):
    """./run help [VERB], and --help after a verb or a program; for a program that is built its own help follows."""
    asked = next((word for word in words if not word.startswith("-") and word != "help"), "")
    if asked and asked not in HELP and shutil.which("cmake"):
        for each in programs_meant(asked):
            for cpu in (False, True):
                program = BUILD / "bin" / each.target(cpu)
                if program.exists():
                    return process.call([program, "--help"])
    print(shown_help(asked if asked in HELP or not asked else "run"))
    return 0


def python(modules, *words):
    """Runs a Python that has these modules."""
    return process.call([packages.python_with(modules), "-B", "-X", "utf8", *words], cwd=ROOT / "tools")


def run_compare(words):
    from compare import compare
    if len(words) != 2:
        fail(2, "compare: takes two folders of results")
    return compare(*(results_folder("compare", word) for word in words))


def run_plot(words):
    from book import plot
    if len(words) > 1:
        fail(2, f"plot: unexpected argument '{words[1]}': takes one folder of results, or none")
    return plot.write(pathlib.Path(words[0])) if words else plot.write(ROOT / "docs/results/h200", ROOT)


def run_translate(words):
    packages.need(("po4a", "python3-polib"))
    return python("polib", "-m", "book.translate", *words)


def run_learn(words):
    import learn
    need_tools(cpu=True)
    return learn.run(words)


def run_new(words):
    import run_user_kernel
    return run_user_kernel.new(words)


def run_book(words):
    import view
    if words:
        fail(2, f"book: unexpected argument '{words[0]}': takes none")
    need_tools(cpu=True)
    packages.need(("python3-myst-parser", "furo"))
    lessons = "".join(file.read_text() for file in ROOT.glob("[0-9][0-9]_*/README.md"))
    targets = [each.target(cpu=True) for each in listed("stage", "step") if view.captions(each.name)
               and (each.kind == "stage" or f"./run view {each.short}" in lessons)]
    build.build(targets)
    built = [BUILD / "bin" / each for each in targets]
    return python("furo, myst_parser", "-m", "book.make_site", BUILD / "book", *built)


def verb_of(module):
    """A function that calls run() of a module."""
    return lambda words: importlib.import_module(module).run(words)


VERBS = {"ablation": verb_of("ablation"), "all": verb_of("all"), "book": run_book, "compare": run_compare,
         "diff": verb_of("diff"), "learn": run_learn, "new": run_new, "plot": run_plot, "test": verb_of("run_tests"),
         "translate": run_translate, "view": verb_of("view.command")}


def main(words):
    """Returns the exit code."""
    # After the program's name it would be the program's option.
    if words[:1] == ["-v"] and words[1:] and words[1].endswith(".cu"):
        process.verbose = True
        words = words[1:]
    verb = words[0] if words else ""
    if verb.endswith(".cu"):
        import run_user_kernel
        build.check_paths()
        return run_user_kernel.run(words)
    if verb == "help" or {"-h", "--help"} & set(words):
        return show_help(words)
    if verb in ("diff", "plot"):
        packages.need(("cmake",))  # CMake lists the programs
    elif verb not in ("compare", "translate"):
        build.check_paths()
        need_tools()
    if verb in VERBS:
        return VERBS[verb](words[1:])
    import stages
    return stages.run(words)


def open_all():
    """Opens standard input and outputs that are closed, before another file takes their numbers."""
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes it at exit
        code = 141 if isinstance(error, BrokenPipeError) else 2
        if code == 2:
            of_build = str(error.filename).startswith(str(BUILD))
            elsewhere = "; BUILD_DIR=FOLDER builds elsewhere" if of_build else ""
            say(f"{error.filename or 'output'}: {error.strerror}{elsewhere}")
    except SystemExit as ended:
        if ended.code > 128 and sys.stderr.isatty():  # Erase ^C, or a program's progress
            sys.stderr.write("\r\033[K")
        raise
    sys.exit(code)
