"""All programs of the chapters, which CMake lists (tools/programs.cmake), and the sources of the ladder's steps."""
import difflib
import functools
import itertools
import json
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

import process

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("[0-9][0-9]_*", "common", "docs", "emulator", "tests", "tools")  # all others hold what was built or measured
LADDER = ("stage", "step")
PRODUCTS = (*LADDER, "product")  # kinds with the command line of a stage
TRACED = {**dict.fromkeys(PRODUCTS, "_cpu_trace"), "other": "_cpu"}  # the builds that ./run runs without a GPU


class Program(NamedTuple):
    name: str  # 03_shared_blocking, its step 04_unroll/1_unroll, or half2
    row: str  # its name in a table: 03_shared_blocking, 04/1_unroll
    short: str  # its name as typed: 03 for a chapter's only step, 04/1, 04/matmul
    source: pathlib.Path
    kind: str  # stage, step, product, other, gpu (times a GPU's library), host (times the CPU), opencl
    test: str  # the beginning of its tests' names: 03_shared_blocking, 06_half2
    shapes: tuple  # the shapes MxNxK at which it is tested beside those of every stage

    @property
    def chapter(self):
        return self.source.relative_to(ROOT).parts[0]

    def target(self, cpu=False):
        """The name of its CMake target; with `cpu` of the one for the CPU, if there is one."""
        return self.name.replace("/", ".") + (TRACED.get(self.kind, "") if cpu else "")


def files(pattern, root=ROOT):
    """All files of the repository with such names, sorted. Build folders are not entered, because a program that runs
    at the same time may delete what was just listed there."""
    return sorted([*root.glob(pattern), *(file for folder in FOLDERS for file in root.glob(f"{folder}/**/{pattern}"))])


@functools.lru_cache(None)
def listed(*kinds):
    """All programs, or those of these kinds. Exits if CMake can't list them."""
    if kinds:
        return [each for each in listed() if each.kind in kinds]
    run = subprocess.run(["cmake", "-P", ROOT / "tools/programs.cmake"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode:
        sys.stderr.write(run.stdout)
        sys.exit(2)
    found = json.loads(run.stdout)
    for each in found:
        each.update(source=ROOT / each["source"], shapes=tuple(each["shapes"].split()))
    return [Program(**each) for each in found]


def described(program):
    """The description that a built program prints of itself, as a dictionary. Exits if there is none, as with a main()
    that does not pass its arguments on."""
    try:
        return json.loads(process.output(program, "--describe"))
    except ValueError:
        process.fail(1, f"{program}: does not answer to --describe, as programs with a stage's command line do")


def text_of(source):
    """The text of a source, whose comments may not be UTF-8."""
    return source.read_text(errors="replace")


@functools.lru_cache(None)
def by_source():
    return {each.source: each for each in listed()}


def name(file):
    """The name of a source: that of its program, 04_unroll.cl in OpenCL, and the file's own name for a file from
    elsewhere."""
    program = by_source().get(file.resolve())
    return program.name if program else file.name if file.suffix == ".cl" else file.stem


def short(file):
    """The name of a program's source as a person types it, or of a step in OpenCL, 08/04_unroll."""
    program = by_source().get(file)
    return program.short if program else f"{file.parent.name[:2]}/{file.stem}"


@functools.lru_cache(None)
def steps():
    """The files of CUDA's ladder in reading order, then those of the OpenCL ladder, NN_name.cl."""
    return [each.source for each in listed(*LADDER)] + sorted(ROOT.glob("[0-9][0-9]_*/[0-9][0-9]_*.cl"))


def changed(step):
    """The chapter NN that a step continues from, or "", and what it changes, from its comment "// Changed: (from NN)
    WHAT", whose further lines are indented. "(after NN)", or "(after NN/1)" for a step: the file takes what that one
    has taught from headers, or differs from it in most lines, so that it is not compared with another file, and the
    chapter is None."""
    found = re.search(r"(?m)^// Changed: *(?:\((from|after) (\d\d)[\w/]*\) *)?(.*(?:\n//   .*)*)", text_of(step))
    if not found:
        return "", ""
    return None if found[1] == "after" else found[2] or "", re.sub(r"\s*\n// *", " ", found[3])


def changes(step):
    return changed(step)[1]


def meant(word, chapter, file=""):
    """Whether a word names that file of that chapter. 04, 4 and 04_unroll name all of its files, 04/1 those that begin
    with 1."""
    its_chapter, _, its_file = word.partition("/")
    return its_chapter in (chapter, chapter[:2], chapter[:2].removeprefix("0")) and file.startswith(its_file)


def nearest(word, names):
    """The name that was probably meant, or "". A number is not taken for a misspelling of another one."""
    return "".join([] if word.isdigit() else difflib.get_close_matches(word.lower(), names, n=1))


def unknown(word, files, names=()):
    """The message for a word that names none of these: what its chapter has, or else the nearest name."""
    its_chapter, slash, _ = word.partition("/")
    inside = [short(file) for file in files if slash and meant(its_chapter, file.parent.name)]
    if inside:
        return f"unknown step '{word}': takes {', '.join(inside)}"
    chapters = list(dict.fromkeys(sorted(file.parent.name for file in files)))
    known = {name: name for name in (*map(short, files), *names, *chapters)} | {name[3:]: name for name in chapters}
    if near := nearest(word, known):
        return f"unknown name '{word}'; did you mean {known[near]}?"
    others = ", or another program: see ./run help run" if names else ""
    return f"unknown name '{word}': takes {' '.join(name[:2] for name in chapters)}{others}"


def before(step):
    """The step that a step continues from: the last one of the chapter that it names, or the one above it; None for the
    first, and for one that begins anew."""
    chapter = changed(step)[0]
    above = [other for other in steps() if other.suffix == step.suffix and other < step
             and chapter is not None and other.parent.name.startswith(chapter)]
    return above[-1] if above else None


@functools.lru_cache(None)
def compared():
    """{step: the one before it} of the steps that have one, in reading order."""
    return {step: other for step in steps() if (other := before(step))}


def counterpart(step):
    """The name of the step of CUDA's ladder that a stage of the OpenCL chapter mirrors, by its own account."""
    return name(ROOT / re.search(r"(?m)^// See also: (\S+\.cu)", text_of(step))[1])


def below_header(lines):
    return list(itertools.dropwhile(lambda line: line.startswith("//"), lines))


def changed_lines(old, new):
    """The number of lines that differ between two files: (in all, below the header comments)."""
    def count(*texts):
        return sum(line[0] in "+-" for line in list(difflib.unified_diff(*texts, n=0))[2:])

    texts = [text_of(file).splitlines() for file in (old, new)]
    return count(*texts), count(*map(below_header, texts))
