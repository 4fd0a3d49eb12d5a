"""The text of ./run help."""
import shutil
import textwrap

import programs

WHAT = "./run builds and runs the programs, ./test verifies them. NN is a chapter, such as 03, or a step, such as 04/1."
MORE = """\
Examples: ./run; ./run 03 --size 4096; ./run diff 03 04; ./test 03

./run help VERB says more, ./run 03 --help shows a program's options. Missing packages are installed with apt if that is
allowed, but not with NO_INSTALL=1. BUILD_DIR=FOLDER builds elsewhere than in build/.

Exit codes: that of the first stage that failed, or ctest's; 1 if the build failed; 2 if something needed is missing or
a file can't be written; 130 for Ctrl-C."""
# {usage of a verb: what it does in a line, and what `./run help VERB` adds}
HELP = {
    "run": ("./run [NN] [OPTION...]", "run a stage, all of them, or your mine.cu", """\
NN is 03, 03_shared_blocking or another program. 04 runs all programs of that chapter, 04/1 its first step, 04/matmul
the one that it ends with. Several may be named: 01 02. --steps runs all steps of all chapters.

NAMES

A file of your own, ./run mine.cu, takes the same options if it has launch_matmul(): see docs/own_kernel.md. Any other
CUDA program, ./run any.cu [MORE.cu...] [-I FOLDER] [-D NAME] [--fast] [--lines-csv FILE] [ARGUMENTS...], runs on the
emulator, which says what it counted and found. --fast only runs it, --lines-csv FILE writes what each line moves.

--cpu verifies and counts on the CPU emulator, the default without a GPU or nvcc; in 08 it takes a CPU's OpenCL. --csv
FILE gathers the rows of all stages, --wide shows all columns, -v the output of the build tools (in front of any.cu:
what follows that name is the program's). `./run 03 --help` shows the options of a program.

Examples: ./run 03 --size 4096; ./run --sizes 1024:8192:1024 --csv ladder.csv; ./run 08 --stage 05; ./run 05 --gpu
fury-x"""),
    "learn": ("./run learn [NN/K]", "take the next exercise, or that one", """\
Copies a small program with a hole or a mistake to learn/, and checks it whenever you save it, until its goals are met:
a correct product, fewer wavefronts, a count that you predicted. --hint says more each time, --solution shows all,
--list lists the exercises, --reset begins anew, --once checks once. Needs no GPU."""),
    "new": ("./run new mine.cu --from NN", "begin a stage of your own with a copy of one", "It overwrites no file."),
    "diff": ("./run diff [NN [NN]]", "show what a step changes; all steps in a list", """\
diff 04 shows each step of that stage, with notes above its hunks that say what they do and why; diff 03 04 compares two
directly, diff alone lists how many lines every step changes. --side shows both files whole, in two columns, on a
terminal of at least 160."""),
    "view": ("./run view NN [NN]", "make a page to step through a kernel", """\
It shows what each warp reads and writes, in order. Two steps stand side by side. -m M -n N -k K choose the shape,
--html FILE the place. --caption 4 opens the page at its fourth explanation. NN may be a file of your own. view 07
shows which lane holds which element of a fragment."""),
    "ablation": ("./run ablation [NN...]", "time a stage without each optimization (GPU)", """\
Builds variants of the stage, each without one of its optimizations, verifies them and times them alternately (at 8192,
or --size N). Also takes --repeat N, --device N and --csv FILE."""),
    "all": ("./run all [FOLDER]", "run every chapter, write CSVs to FOLDER", """\
Writes its CSVs, a description of the machine and a log to FOLDER (a new one, results-DATE-TIME, if none is named).
--against FOLDER2 then compares them with those. --cpu: see run."""),
    "compare": ("./run compare FOLDER FOLDER", "compare the CSVs of two such folders", "Runs nothing."),
    "plot": ("./run plot [FOLDER]", "draw the CSVs in FOLDER", """\
Without FOLDER it draws those in docs/results/h200 and the pictures of the chapters that show figures, docs/pictures,
and writes the tables of the READMEs and the lines of code that they quote."""),
    "translate": ("./run translate", "make the pages in Japanese and Chinese", """\
Makes each translated page of the English page and of its catalogue in docs/po/, and lists what waits for a
translator."""),
    "book": ("./run book", "make a site of the pages, build/book", """\
In English, Japanese and Chinese, with search, the sources and the views of `./run view`. It works from the disk and
on a server."""),
    "test": ("./test [NN...]", "run the tests, of these chapters or all", """\
./test mine.cu puts a stage of your own through what each stage has to pass, ./test 04/1 does so with one program.

Verifies every stage in every build; with --all it runs every test, with chapters (03 04) all of theirs. Only what the
chosen tests need is built and installed. The other options are ctest's: -R REGEX only the tests whose names match, -E
REGEX all but those, -N list them, -V show their output.

Examples: ./test 03; ./test -V -R faults; ./test --all -N""")}


def names():
    """The names that ./run takes."""
    if not shutil.which("cmake"):
        return "CMake, which lists the programs, is not installed yet; ./run 01 does that."
    stages = " ".join(each.name for each in programs.listed("stage"))
    others = " ".join(each.name for each in programs.listed() if each.kind not in programs.LADDER)
    return f"Stages: {stages}\n\nPrograms: {others}"


def shown_help(verb=""):
    """The text for one verb, or the list of all."""
    columns = min(shutil.get_terminal_size().columns, 100)

    def wrapped(text, first="", others=""):
        return textwrap.fill(" ".join(text.split()), columns, break_on_hyphens=False,
                             initial_indent=first, subsequent_indent=others)

    if verb:
        how, what, more = HELP[verb]
        if "NAMES" in more:
            more = more.replace("NAMES", names())
        return "\n\n".join([wrapped(f"{how}: {what}."), *map(wrapped, more.split("\n\n"))])
    width = max(len(how) for how, *_ in HELP.values()) + 6
    verbs = [wrapped(what, f"  {how}".ljust(width), " " * width) for how, what, _ in HELP.values()]
    return "\n\n".join([wrapped(WHAT), "\n".join(verbs), *map(wrapped, MORE.split("\n\n"))])
