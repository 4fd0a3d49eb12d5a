"""Mutation testing of every stage: faults are injected one at a time, and the emulator's checks must notice each.

lib/faults.py finds the places. Each mutant must be killed: it must fail at one of the shapes, with tracing (wrong
results, accesses out of bounds, races, uninitialised reads, deadlocks, misuse of an instruction, other traffic than the
chapter's formula states).

A program that has passed is not tried again until it, the harness or the emulator changes: see lib/unchanged.py.
"""
import functools
import json
import math
import pathlib
import re

import pytest

import programs
import unchanged
from faults import covers, equivalent, files_of, in_file, line_text, own_equivalent
from mutate import Mutants
from support import BUILD, ROOT

# Ragged in M, N and K; with rows that start on multiples of 16 bytes in B only, in A only, and in both for floats and
# for halves; several tiles and k-tiles; enough k-tiles to be split among SMs.
SHAPES = ["7x5x3", "3x7x6", "5x16x9", "5x9x16", "5x16x104", "3x5x250", "129x132x20", "130x257x9", "131x264x104"]

SURVIVES = "SURVIVES"
SKIPPED = 77  # the exit code of a run that could not try anything
TEXTS = (".cu", ".cuh", ".h", ".cpp", ".py", ".txt")  # the sources of a program, and the lists of a chapter's tests

# A program on which others depend, because predictions use its results, and its arguments.
OTHERS = {"roofline": ("--verify-only",)}


def work(shape):
    """Roughly how long a shape takes; tiles are computed whole."""
    return math.prod(-(-int(length) // 64) for length in shape.split("x"))


class Subject:
    """A program, its arguments, and its faults: for a product all, for another program those in device code."""

    def __init__(self, program):
        self.program, self.is_product = program, program.kind in programs.PRODUCTS

    def places(self):
        return [fault for file in files_of(self.program) for fault in in_file(file, device_only=not self.is_product)]

    @functools.cached_property
    def faults(self):
        """The last step of a chapter has all of its faults; an earlier step has those in lines that the step before it
        lacks, and those of its headers."""
        entries = equivalent(self.program.chapter)
        above = programs.before(self.program.source) if self.program.kind == "step" else None
        known = above.read_text().splitlines() if above else ()
        return [fault for fault in self.places() if not any(covers(entry, fault) for entry in entries)
                and (line_text(fault) not in known or fault.file != str(self.program.source.relative_to(ROOT)))]

    @functools.cached_property
    def mutants(self):
        return Mutants(self.program.chapter, self.program.target(), self.faults)

    @functools.cached_property
    def configs(self):
        """The names of its configurations, those with the smallest clusters first: 128x64-transposed-4x2."""
        names = json.loads(self.mutants.run(None, "trace", "--describe").stdout)["configs"]
        return sorted(names, key=lambda name: math.prod(map(int, re.findall(r"\d+", name))))

    @functools.cached_property
    def runs(self):
        """[(build, word...)]: of a product its shapes, large indices, special values and each of its configurations."""
        if not self.is_product:  # it is first checked by its results
            return [(build, *OTHERS[self.program.name]) for build in ("plain", "trace")]
        shapes = sorted(SHAPES + [*self.program.shapes], key=work)
        small = ",".join(shape for shape in shapes if work(shape) < 5)
        sizes = [small, *(shape for shape in shapes if work(shape) >= 5)]
        of_sizes = [("--sizes", each) for each in sizes]
        # --sizes: a small shape beside those of the configuration. One with slices takes two k-tiles or more.
        of_configs = [("--config", each, "--all-configs", "--sizes", "1x4x72") for each in self.configs]
        traced = [("trace", *each, "--verify-only") for each in of_sizes + of_configs]
        linked = [("indices", "--both-ends"), ("special_values", "--special-values")]
        return traced[:len(sizes)] + linked + traced[len(sizes):]

    def caught(self, fault):
        """The message of the first run that notices the fault; None if none does. The same run passes without the
        fault."""
        runs = self.runs
        if fault.kind == "type":
            runs = [("trace", "--bf16", *runs[0][1:])]
        if fault.kind == "wide":  # at such a shape a program chooses only one configuration
            indices = [("indices", "--both-ends", "--config", each) for each in self.configs] if self.is_product else []
            runs = [*sorted(runs, key=lambda run: run[0] != "indices"), *indices]
        for run in runs:
            clean, shown, seconds = self.mutants.clean(*run)
            if clean.returncode == SKIPPED:
                continue
            assert not clean.returncode, f"without a fault {' '.join(run)}: {last_line(clean)}"
            if fault not in shown:
                continue
            with_fault = self.mutants.run(fault, *run, seconds=seconds)
            if with_fault.returncode:
                if run in self.runs[1:]:  # the next fault often shows in the same run
                    self.runs.remove(run)
                    self.runs.insert(1, run)
                return last_line(with_fault)
        return None

    def tried(self):
        """Injects each fault. Returns a line for each, with the message that notices it."""
        for fault in self.faults:
            line = f"{fault}    {self.caught(fault) or SURVIVES}"
            print(line, flush=True)
            yield line

    def inputs(self):
        """A hash of everything on which the faults and the messages depend."""
        step = self.program.source
        folders = [ROOT / name for name in (self.program.chapter, "common", "emulator", "tests/lib")]
        while step := programs.before(step):
            folders.append(step.parent)
        files = sorted({file for folder in folders for file in folder.rglob("*") if file.suffix in TEXTS})
        tests = (pathlib.Path(__file__), ROOT / "tests/large_indices.cpp", BUILD / "emulated.json")
        return unchanged.hash_of(*tests, *files)


def last_line(run):
    """The last line of a failed run's output."""
    return (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]


MUTATED = [each for each in programs.listed() if each.kind in programs.PRODUCTS or each.name in OTHERS]


@pytest.mark.parametrize("program", MUTATED, ids=lambda program: program.target())
def test_faults_are_caught(program):
    subject, name = Subject(program), f"{program.target()}.faults"
    inputs = subject.inputs()
    if (said := unchanged.said_when_it_passed(name, inputs)) is not None:
        print("nothing has changed since it passed:", said, sep="\n")
        return
    lines = list(subject.tried())
    assert lines and not [line for line in lines if line.endswith(SURVIVES)]
    unchanged.keep(name, inputs, "\n".join(lines))


LISTS = sorted(ROOT.glob("[0-9][0-9]_*/tests/equivalent.txt"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.parent.parent.name)
def test_equivalent_places_are_there(path):
    chapter = path.parent.parent.name
    faults = [fault for file in (ROOT / chapter).glob("*.cl") for fault in in_file(str(file.relative_to(ROOT)))]
    for program in MUTATED:
        faults += Subject(program).places() if program.chapter == chapter else []
    assert not [entry for entry in own_equivalent(chapter) if not any(covers(entry, fault) for fault in faults)]
