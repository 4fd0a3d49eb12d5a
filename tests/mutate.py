"""Plants faults in copies of a chapter, builds the copies and runs them.

A fault is a row of a table: the program that must notice it, the file in the chapter that it goes into, the code that stands there
and what that becomes, and what must then be said. Where the new code holds the word PLANTED, a number that is 1 for this fault and 0
otherwise, all such faults of a program go into one compiled copy, and the environment variable FAULT chooses one. A fault without
that word changes a constant or a declaration, and gets a copy of its own.
"""
import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple, Optional

import pytest

import patches
from support import BUILD, ROOT

PRELUDE = """#include <stdlib.h>
#include <string.h>
__attribute__((const, noinline, unused, no_sanitize("thread"))) static int planted(int number) {
    static const int fault = getenv("FAULT") ? atoi(getenv("FAULT")) : 0;
    return fault == number;
}
"""


class Fault(NamedTuple):
    program: str  # "probe asan -O0": the program; the emulator's build of it, plain, trace or asan; more options to compile it with
    file: str  # below the chapter's folder, or common/NAME
    old: str  # stands there once, unless `span` says where
    new: str
    said: str = ""  # a regular expression that a line of its output matches
    span: Optional[tuple] = None  # where in the file: (begin, end)

    def __str__(self):
        old, new = (" ".join(text.split()) or "nothing" for text in (self.old, self.new))
        return f"{self.program}, {self.file}: {old} -> {new}"


def place(folder, chapter, file):
    return folder / file if file.startswith("common/") else folder / chapter / file


def span_of(fault, text):
    """Where the fault goes in the text of its file."""
    if fault.span:
        return fault.span
    if text.count(fault.old) != 1:
        raise ValueError(f"'{fault.old}' stands {text.count(fault.old)} times in {fault.file}, expected once")
    begin = text.index(fault.old)
    return begin, begin + len(fault.old)


@functools.lru_cache(None)
def scratch():
    """A folder for this process's copies."""
    folder = tempfile.mkdtemp(prefix="mutate-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def tree(chapter, faults=(), patch=None):
    """A new folder with copies of the chapter (its folder's name) and of common/, changed, beside links to all else that a build reads.

    The patch comes first: the faults stand in what it makes.
    """
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))
    for name in (chapter, "common"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("test_*", "__pycache__"))
    for name in ("docs", "emulator", "tools"):
        (folder / name).symlink_to(ROOT / name)
    for path, text in (patches.patched(patch, folder) if patch else {}).items():
        (folder / path).write_text(text)
    for file in {fault.file for fault in faults}:
        path = place(folder, chapter, file)
        text = path.read_text()
        here = sorted((span_of(fault, text), number, fault) for number, fault in enumerate(faults, 1) if fault.file == file)
        for (begin, end), number, fault in reversed(here):
            text = text[:begin] + fault.new.replace("PLANTED", f"planted({number})") + text[end:]
        path.write_text(text)
    return folder


@functools.lru_cache(None)
def how():
    """How CMake builds emulated programs, as emulator/CMakeLists.txt wrote it down. Skips the test if it can't build them."""
    path = BUILD / "emulated.json"
    if not path.exists():
        pytest.skip("not built: Boost.Context is missing (libboost-context-dev)")
    return json.loads(path.read_text())


def build(folder, chapter, program, variant="plain", *options):
    """Builds NAME.cu (a stage's matmul.cu; CHAPTER.NAME is a step) of the changed copy in `folder`; returns the program's path."""
    named = sorted((folder / chapter).rglob(f"{program.removeprefix(chapter + '.')}.cu"))  # in the chapter or in its tests
    source = named[0] if named else folder / chapter / "matmul.cu"
    made = folder / f"{program}_{variant}"
    prelude, generated, object_file = folder / "planted.h", made.with_suffix(".cpp"), made.with_suffix(".o")
    prelude.write_text(PRELUDE)
    with_ = how()
    subprocess.run([sys.executable, "-IS", with_["rewrite"], source, generated], check=True)
    includes = [f"-I{path}" for path in (with_["includes"][0], folder, source.parent, *with_["includes"][1:])]
    flags = [*with_["flags"][variant], *options, "-w", "-include", prelude]
    compiled = subprocess.run([with_["compiler"], *flags, *includes, "-c", generated, "-o", object_file], stderr=subprocess.PIPE, text=True)
    sys.stderr.write(compiled.stderr)
    compiled.check_returncode()
    subprocess.run([with_["compiler"], object_file, "-o", made, *with_["link"][variant]], check=True)
    return made


class Planted:
    """The faults of a chapter, or of what a patch makes of it, in as few compiled copies as possible."""

    def __init__(self, chapter, faults, patch=None):
        self.chapter, self.faults, self.patch = chapter, list(faults), patch

    @functools.cached_property
    def intact(self):
        return tree(self.chapter, (), self.patch)

    @functools.cached_property
    def copies(self):
        """Lists of faults that are planted together."""
        copies = []
        for fault in self.faults:
            for together in copies:
                if self.fits(fault, together):
                    together.append(fault)
                    break
            else:
                copies.append([fault])
        return copies

    def fits(self, fault, together):
        if "PLANTED" not in fault.new or "PLANTED" not in together[0].new or fault.program != together[0].program:
            return False
        text = place(self.intact, self.chapter, fault.file).read_text()
        begin, end = span_of(fault, text)
        beside = [span_of(other, text) for other in together if other.file == fault.file]
        return all(end <= begin2 or end2 <= begin for begin2, end2 in beside)

    @functools.lru_cache(None)
    def built(self, index):
        together = self.copies[index]
        return build(tree(self.chapter, together, self.patch), self.chapter, *together[0].program.split())

    @functools.lru_cache(None)
    def built_intact(self, program):
        return build(self.intact, self.chapter, *program.split())

    def run(self, fault, *words, **options):
        """Runs the program with that fault; `fault` may also be a program's name: then without one."""
        number = 0
        if isinstance(fault, Fault):
            index = next(i for i, together in enumerate(self.copies) if fault in together)
            path, number = self.built(index), self.copies[index].index(fault) + 1
        else:
            shared = [i for i, together in enumerate(self.copies) if together[0].program == fault and "PLANTED" in together[0].new]
            path = self.built(shared[0]) if shared else self.built_intact(fault)
        return subprocess.run([str(word) for word in (path, *words)], capture_output=True, text=True, errors="replace", timeout=300,
                              env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "FAULT": str(number)}, **options)


    def tests(self, *words, faults=()):
        """Two tests for a file: its programs, run with these words, catch each of the faults (all, or these) and pass without."""
        @pytest.mark.parametrize("fault", faults or self.faults, ids=str)
        def test_fault_is_caught(fault):
            caught(self.run(fault, *words), fault)

        @pytest.mark.parametrize("program", dict.fromkeys(fault.program for fault in self.faults))
        def test_without_a_fault_it_passes(program):
            run = self.run(program, *words)
            assert run.returncode == 0 and not run.stderr, run.stderr

        return test_fault_is_caught, test_without_a_fault_it_passes


def caught(run, fault):
    """Demands that the run ended as a failure and said what the fault's row wants; prints the line."""
    lines = [line for line in (run.stdout + run.stderr).splitlines() if re.search(fault.said, line)]
    assert run.returncode not in (0, 2, 77) and lines, f"exit code {run.returncode}, nothing like: {fault.said}\n{run.stderr[-2000:]}"
    print(f"caught: {lines[0].strip()}")
