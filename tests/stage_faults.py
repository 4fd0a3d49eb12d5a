"""Plants faults in every stage, and demands that the emulator's checks catch each: stage_faults.py -k NAME_OF_A_STAGE

Removed in turn: every barrier, every wait for copies, every bounds guard, every toggle of a buffer, every zeroing; every
index is cut to 32 bits; and every formula of what is loaded is halved. A fault must show on one of the shapes: with tracing
(wrong results, accesses out of bounds, races, uninitialised reads, traffic that differs from the chapter's formula), else under
AddressSanitizer.
"""
import re

import pytest

import mutate
from mutate import Fault, Planted
from support import ROOT

# Ragged in M, N and K; with rows that start on 16 bytes (the first for floats, the last for halves) and rows that don't.
SHAPES = "7x5x3,3x7x6,129x132x20,130x257x9,131x264x104"
RUNS = [(build, words) for build in ("trace", "asan") for words in (("--sizes", SHAPES, "--verify-only"), ("--large-indices",))]
BARRIER = r"__sync(?:threads|warp)\(\);"

# What it looks like, what it becomes; \g<0>: the code as it was.
PATTERNS = (
    (BARRIER, r"if (!PLANTED) \g<0>"),
    (r"__pipeline_wait_prior\([^;]*;", r"if (!PLANTED) \g<0>"),
    (r"\w+(?: \+ \w+)* < (?:M|N|K|valid)\b", r"(PLANTED || \g<0>)"),
    (r"\bvalid > \d", r"(PLANTED || \g<0>)"),
    (r"\w+ >= [MN]\b", r"(!PLANTED && \g<0>)"),
    (r"size_t\((?!i\) \* K)((?:[^()]|\([^()]*\))*)\) \* (\w+)", r"(PLANTED ? size_t(int(unsigned(\1) * unsigned(\2))) : \g<0>)"),
    (r"\bmin\((\w+ \+ \w+), [MN] - 1\)", r"(PLANTED ? \1 : \g<0>)"),
    (r"\bN - tile_col - b_col\b|\bN - c_col\b", r"(PLANTED ? 4 : \g<0>)"),
    (r"\bK - a_k\b", r"(PLANTED ? 1 << 30 : \g<0>)"),
    (r"\bbuffer \^= 1", r"buffer ^= !PLANTED"),
    (r"\bbuffer \^ 1\b", r"(buffer ^ !PLANTED)"),
    (r"\b(\w+) = (next|\(next \+ 1\) % kBuffers)(?=[,)])", r"\1 = (PLANTED ? \1 : \2)"),
    (r"((?:float|half2) (acc)(?:\[[\w/ ]+\])*) = (?:\{\}|0\.0f);", r"\1; if (!PLANTED) memset((void*)&\2, 0, sizeof \2);"),
    (r"wmma::fill_fragment\([^;]*;", r"if (!PLANTED) \g<0>"),
)


def faults_of(path):
    """The faults of a stage, without the program that is to notice them."""
    source = path.read_text()
    launcher = source.index("void launch_matmul")
    # Comments are left alone, and a loop's own bound is no guard.
    code = re.sub(r"//.*|for \(int [ke] = 0[^;]*; [^;]*;", lambda match: " " * len(match[0]), source[:launcher])
    places = [(match, replacement) for pattern, replacement in PATTERNS for match in re.finditer(pattern, code)]
    formulas = re.compile(r"\breturn (?!run_stage)")
    places += [(match, "return (PLANTED ? 0.5 : 1.0) * ") for match in formulas.finditer(source, launcher)]
    return [Fault("", path.name, match[0], match.expand(replacement), span=match.span()) for match, replacement in places]


def stages():
    """The programs that are a matrix product with a stage's command line: (name, source)."""
    for path in sorted(ROOT.glob("[0-9][0-9]_*/*.cu")):
        if "return run_stage(" in path.read_text():
            step = f"{path.parent.name}.{path.stem}".removesuffix(".matmul")
            yield (path.stem if path.stem[0].isalpha() and path.stem != "matmul" else step), path


STAGES = dict(stages())
FAULTS = {name: faults_of(path) for name, path in STAGES.items()}
PLANTED = {(name, build): Planted(path.parent.name, [fault._replace(program=f"{name} {build}") for fault in FAULTS[name]])
           for name, path in STAGES.items() for build in ("asan", "trace")}


def caught(name, fault):
    """The last line of what the first run says that notices the fault; None where none does."""
    runs = RUNS if fault else [run for run in RUNS if run[0] == "trace"]  # without a fault, NAME.asan runs the other
    wide = fault and "size_t(int(" in fault.new  # these show there alone
    for build, words in sorted(runs, key=lambda run: bool(wide) and "--large-indices" not in run[1]):
        program = f"{name} {build}"
        run = PLANTED[name, build].run(fault._replace(program=program) if fault else program, *words)
        if run.returncode:
            asan = re.search(r"ERROR: (AddressSanitizer: \S+)", run.stderr)
            return asan[1] if asan else run.stderr.strip().splitlines()[-1]
    return None


@pytest.mark.parametrize("name", STAGES)
def test_without_a_fault_it_passes(name):
    assert caught(name, None) is None


@pytest.mark.parametrize("name, fault", [(name, fault) for name in STAGES for fault in FAULTS[name]], ids=str)
def test_fault_is_caught(name, fault):
    assert (said := caught(name, fault))
    print("caught:", said)


# Stage: a guard, and what its stage says without it when it is started as ./run starts it, without a shape.
SAID = {
    "03_shared_blocking": (
        "tile_row + a_row < M", r"7 x 5 x 3: threads in forward order: .*\(out of bounds: 03_shared_blocking/matmul.cu:\d+ reads "
        r"4 bytes, just past the end of 84 bytes of device memory \(block 0, thread 7\)\)"),
    "05_double_buffer": (
        "k + b_k < K", r"out of bounds: 05_double_buffer/matmul.cu:\d+ reads (4|16) bytes, (just|\d+ bytes) past the end of \d+ "
        "bytes of device memory")}


@pytest.mark.parametrize("name", SAID)
def test_missing_guard_is_reported_where_it_was(name):
    code, said = SAID[name]
    [fault] = [fault._replace(program=f"{name} trace") for fault in FAULTS[name] if fault.old == code]
    mutate.caught(PLANTED[name, "trace"].run(fault), fault._replace(said=said))


@pytest.mark.parametrize("name", STAGES)
def test_no_barrier_is_left_out(name):
    barriers = re.findall(BARRIER, STAGES[name].read_text())
    assert len(barriers) == sum(fault.old in barriers for fault in FAULTS[name])
    assert FAULTS[name]
