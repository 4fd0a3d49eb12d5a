"""Builds and runs mutants: copies of a chapter with an injected fault.

A fault is text that is inserted before and after a part of a file. Its word INJECTED stands for a number that is 1 for
this fault and 0 otherwise. Therefore all faults of a program fit in one compiled copy, in which the environment
variable FAULT selects one. A fault that does not compile like that, because it changes a constant, gets its own copy.
"""
import atexit
import functools
import json
import math
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

import pytest

from support import BUILD, ROOT

MOST = 1000  # faults in one copy
PRELUDE = f"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned char reached[{MOST}];
__attribute__((const, noinline, unused, no_sanitize("thread"))) static int injected(int number) {{
    static const int fault = getenv("FAULT") ? atoi(getenv("FAULT")) : 0;
    reached[number] = 1;
    return fault == number;
}}
__attribute__((destructor, no_sanitize("thread"))) static void write_reached() {{
    FILE* file = getenv("REACHED") ? fopen(getenv("REACHED"), "w") : NULL;
    for (int i = 0; file && i < {MOST}; ++i)
        if (reached[i]) fprintf(file, "%d ", i);
    if (file) fclose(file);
}}
"""


class Fault(NamedTuple):
    kind: str
    file: str  # below the repository's root
    begin: int  # the text of the file that it changes
    end: int
    before: str
    after: str
    old: str  # that text on one line
    function: str = ""  # that contains it

    def __str__(self):
        return f"{pathlib.Path(self.file).name}, {self.kind}: {self.old}"


def inserted(text, faults, words):
    """The text of a file with these faults, with the word for each in place of INJECTED. The faults do not overlap
    partially."""
    pieces = []
    for number, (fault, word) in enumerate(zip(faults, words)):
        pieces += [((fault.begin, 1, -fault.end, number), fault.before.replace("INJECTED", word)),
                   ((fault.end, 0, -fault.begin, -number), fault.after.replace("INJECTED", word))]
    parts, at = [], 0
    for (position, *_), piece in sorted(pieces):
        parts += [text[at:position], piece]
        at = position
    return "".join(parts) + text[at:]


def beside_or_within(faults):
    """The faults that do not partially overlap an earlier one."""
    kept = []
    for each in faults:
        if not any(each.file == other.file and (each.begin < other.begin < each.end < other.end or
                                                other.begin < each.begin < other.end < each.end) for other in kept):
            kept.append(each)
    return kept


@functools.lru_cache(None)
def scratch():
    """A folder for this process's copies."""
    folder = tempfile.mkdtemp(prefix="mutants-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def tree(chapter, faults=(), word="1"):
    """A new folder with changed copies of the chapter (its folder's name) and of common/, and links to all other files
    that are read. `word` replaces INJECTED in the faults; a {} in it becomes the fault's number, from 1.
    """
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    for name in (chapter, "common"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("test_*", "__pycache__"))
    for name in ("docs", "emulator", "tools"):
        (folder / name).symlink_to(ROOT / name)
    words = {fault: word.format(number) for number, fault in enumerate(faults, 1)}
    for file in {fault.file for fault in faults}:
        here = [fault for fault in faults if fault.file == file]
        (folder / file).write_text(inserted((folder / file).read_text(), here, [words[fault] for fault in here]))
    return folder


@functools.lru_cache(None)
def how():
    """How CMake builds emulated programs, from the file that emulator/CMakeLists.txt writes. Skips the test if it can't
    build them."""
    path = BUILD / "emulated.json"
    if not path.exists():
        pytest.skip("not built: Boost.Context is missing (libboost-context-dev)")
    return json.loads(path.read_text())


class Refused(Exception):
    """The compiler's message; `lines`: the lines that it names, {(file's name, number)}."""

    def __init__(self, said):
        super().__init__(said)
        self.lines = {(pathlib.Path(file).name, int(line)) for file, line in re.findall(r"(?m)^(\S+?):(\d+):", said)}


def build(folder, chapter, program, variant="plain", *options):
    """Builds NAME.cu (a stage's matmul.cu; CHAPTER.NAME is a step) of the changed copy in `folder`; returns its path.
    """
    # The program is in the chapter or in its tests.
    named = sorted((folder / chapter).rglob(f"{program.removeprefix(chapter + '.')}.cu"))
    source = named[0] if named else folder / chapter / "matmul.cu"
    made = folder / f"{program}_{variant}"
    prelude, generated, object_file = folder / "injected.h", made.with_suffix(".cpp"), made.with_suffix(".o")
    prelude.write_text(PRELUDE)
    with_ = how()
    folders = [with_["includes"][0], folder, source.parent, *with_["includes"][1:]]
    subprocess.run([sys.executable, "-IS", with_["rewrite"], source, generated, *folders], check=True)
    flags = [*with_["flags"][variant], *options, "-w", "-include", prelude]
    words = [with_["compiler"], *flags, *(f"-I{path}" for path in folders), "-c", generated, "-o", object_file]
    compiled = subprocess.run(words, stderr=subprocess.PIPE, text=True)
    if compiled.returncode:
        raise Refused(compiled.stderr)
    subprocess.run([with_["compiler"], object_file, "-o", made, *with_["link"][variant]], check=True)
    return made


# Tests that are linked with a traced program, and their libraries.
LINKED = {"indices": "liblarge_indices.a", "special_values": "libspecial_values.a"}


@functools.lru_cache(None)
def linked(test, traced):
    """Links a test of LINKED with a traced program that build() has made; returns its path."""
    made = traced.with_name(f"{traced.name}_{test}")
    libraries = [BUILD / LINKED[test], *how()["link"]["trace"]]
    subprocess.run([how()["compiler"], traced.with_suffix(".o"), "-o", made, *libraries], check=True)
    return made


def processor_time():
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Mutants:
    """The mutants of a program of a chapter, in as few compiled copies as possible."""

    def __init__(self, chapter, program, faults):
        self.chapter, self.program, self.faults = chapter, program, list(faults)

    @functools.lru_cache(None)
    def together(self, variant):
        """(the program's path, its faults): all faults that compile when FAULT selects one."""
        left = beside_or_within(self.faults)
        assert len(left) < MOST
        while True:
            try:
                folder = tree(self.chapter, left, word="injected({})")
                return build(folder, self.chapter, self.program, variant, "-O1"), left
            except Refused as refused:
                def place(fault):
                    return pathlib.Path(fault.file).name, line_number(fault)

                kept = [fault for fault in left if place(fault) not in refused.lines]
                if len(kept) == len(left):
                    raise
                left = kept

    @functools.lru_cache(None)
    def alone(self, fault, variant):
        return build(tree(self.chapter, [fault]), self.chapter, self.program, variant, "-O1")

    def run(self, fault, variant, *words, reached="", seconds=120):
        """Runs the program with that fault, or with none. A program that does not end has failed. Throws Refused.

        variant: a build, or a test of LINKED. reached: a file for the numbers of the faults whose
        places are executed. seconds: of processor time, after which it does not end. The emulator reports a launch that
        hangs after two.
        """
        compiled = "trace" if variant in LINKED else variant
        path, faults = self.together(compiled)
        number = faults.index(fault) + 1 if fault in faults else 0
        if fault and not number:
            path = self.alone(fault, compiled)
        if variant in LINKED:
            path = linked(variant, path)
        environment = {**os.environ, "FAULT": str(number), "REACHED": str(reached), "EMULATOR_SECONDS": "2"}
        run = subprocess.run([str(word) for word in (path, *words)], capture_output=True, text=True, errors="replace",
                             env=environment,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)))
        if run.returncode == -signal.SIGXCPU:
            run.stderr = "it does not end"
        return run

    @functools.lru_cache(None)
    def clean(self, variant, *words):
        """Runs the program without a fault; returns the run, the faults whose places it executes, and after how many
        seconds one with a fault does not end."""
        together = self.together("trace" if variant in LINKED else variant)[1]
        file = scratch() / "reached"
        file.write_text("")
        before = processor_time()
        run = self.run(None, variant, *words, reached=file)
        seconds = 3 + math.ceil(10 * (processor_time() - before))
        numbers = {int(number) for number in file.read_text().split()}
        shown = {fault for fault in self.faults if fault not in together or together.index(fault) + 1 in numbers}
        return run, shown, seconds


def line_number(fault):
    return (ROOT / fault.file).read_text().count("\n", 0, fault.begin) + 1
