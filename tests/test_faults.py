"""Plants faults in every stage, and demands that the emulator's checks notice each.

lib/faults.py finds the places. A fault must show on one of the shapes: with tracing (wrong results, accesses out of bounds, races,
uninitialised reads, deadlocks, misuse of an instruction, other traffic than the chapter's formula says), else under AddressSanitizer.
"""
import functools
import math
import re

import pytest

import programs
from faults import covers, equivalent, files_of, in_file, line_of, own_equivalent
from mutate import Planted
from support import ROOT

# Ragged in M, N and K; with rows that start on 16 bytes of B alone, of A alone, of both for floats and for halves; several tiles and
# steps; steps enough to be shared out among multiprocessors.
SHAPES = ["7x5x3", "3x7x6", "5x16x9", "5x9x16", "5x16x104", "3x5x250", "129x132x20", "130x257x9", "131x264x104"]

# Programs that others rest on, and their words: what predictions are made of, and the check of the emulator's instructions.
OTHERS = {"roofline": ("--verify-only",), "ptx_check": ()}


def work(shape):
    """How long a shape takes, about: tiles are computed whole."""
    return math.prod(-(-int(length) // 64) for length in shape.split("x"))


class Subject:
    """A program, the words that it is run with, and its faults: all of a product, those in device code of another program."""

    def __init__(self, program):
        self.program, self.is_product = program, program.kind in programs.PRODUCTS
        shapes = sorted(SHAPES + [*program.shapes], key=work)
        small = ",".join(shape for shape in shapes if work(shape) < 5)
        sizes = [("--sizes", each, "--verify-only") for each in (small, *(shape for shape in shapes if work(shape) >= 5))]
        # Another program is checked by its results first of all.
        words = sizes if self.is_product else [OTHERS[program.name]]
        builds = ("trace", "asan") if self.is_product else ("plain", "trace")
        self.runs, self.noticed = [(build, each) for build in builds for each in words], set()
        if self.is_product:
            self.runs.insert(len(sizes), ("indices", ()))

    def places(self):
        return [fault for file in files_of(self.program) for fault in in_file(file, device_only=not self.is_product)]

    @functools.cached_property
    def faults(self):
        """A chapter's last step has all of them, one before it those of the lines that the step above lacks, and of its headers."""
        entries = equivalent(self.program.chapter)
        above = programs.before(self.program.source) if self.program.kind == "step" else None
        known = above.read_text().splitlines() if above else ()
        return [fault for fault in self.places() if not any(covers(entry, fault) for entry in entries)
                and (line_of(fault) not in known or fault.file != str(self.program.source.relative_to(ROOT)))]

    @functools.cached_property
    def planted(self):
        return Planted(self.program.chapter, self.program.target(), self.faults)

    def said(self, fault, variant, words):
        """The last line of what a run says that fails; None of one that passes."""
        run = self.planted.run(fault, variant, *words)
        if not run.returncode:
            return None
        asan = re.search(r"ERROR: (AddressSanitizer: \S+)", run.stderr)
        return asan[1] if asan else (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]

    def caught(self, fault):
        """What the first run says that notices the fault; None where none does."""
        runs = self.runs
        if fault.kind == "type":
            runs = [("trace", ("--bf16", *runs[0][1]))]
        if fault.kind == "wide":
            runs = sorted(runs, key=lambda run: run[0] != "indices")
        for run in runs:
            if said := self.said(fault, *run):
                self.noticed.add(run)
                if run in self.runs[1:]:  # the next fault often shows there, too
                    self.runs.remove(run)
                    self.runs.insert(1, run)
                return said
        return None

    def survivors(self):
        """Plants each fault, prints what is said, and returns those that nothing notices."""
        found = []
        for fault in self.faults:
            said = self.caught(fault)
            print(f"{fault}    {said or 'SURVIVES'}", flush=True)
            found += [] if said else [str(fault)]
        return found


PLANTED = [each for each in programs.listed() if each.kind in programs.PRODUCTS or each.name in OTHERS]


@pytest.mark.parametrize("program", PLANTED, ids=lambda program: program.target())
def test_faults_are_caught(program):
    """And the same runs pass without one."""
    subject = Subject(program)
    assert subject.faults and not subject.survivors()
    assert not [said for run in subject.noticed if (said := subject.said(None, *run))]


@pytest.mark.parametrize("path", sorted(ROOT.glob("[0-9][0-9]_*/tests/equivalent.txt")), ids=lambda path: path.parent.parent.name)
def test_equivalent_places_are_there(path):
    chapter = path.parent.parent.name
    faults = [fault for file in (ROOT / chapter).glob("*.cl") for fault in in_file(str(file.relative_to(ROOT)))]
    for program in PLANTED:
        faults += Subject(program).places() if program.chapter == chapter else []
    assert not [entry for entry in own_equivalent(chapter) if not any(covers(entry, fault) for fault in faults)]
