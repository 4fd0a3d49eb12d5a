"""Plants faults in every stage, and demands that the emulator's checks catch each: stage_faults.py -k NAME_OF_A_STAGE

Removed in turn: every barrier, every wait for copies, every bounds guard, every toggle of a buffer, every zeroing; every
index is cut to 32 bits; and every formula of what is loaded is halved. A fault must show on one of the shapes: with tracing
(wrong results, accesses out of bounds, races, uninitialised reads, deadlocks, other traffic than the chapter's formula says), else
under AddressSanitizer.
"""
import re

import pytest

import ladder
import mutate
from mutate import Fault, Planted
from support import ROOT

# Ragged in M, N and K; with rows that start on 16 bytes (the third for floats, the fifth for halves) and rows that don't; the
# last with steps enough to be shared out among multiprocessors.
SHAPES = "7x5x3,3x7x6,129x132x20,130x257x9,131x264x104,3x5x250"
# Beyond these: steps for which every buffer is filled twice; a second group of rows of tiles.
# 11: of eight arrivals seven suffice, as a product is complete for a whole warpgroup, until those left over make up a phase.
MORE = {"10_async_mma": ",5x9x570,2060x260x3", "11_wgmma": ",5x9x1800,2060x260x3"}
# Of a chapter's steps these have every fault, to save time: the last with copies by threads, and the last. The others have those of
# the lines that the step before lacks.
WHOLE = ("3_swizzle", "matmul")
BARRIER = r"__sync(?:threads|warp)\(\);"

BLOCKS = r"\bwaves < kManyWaves\b", r"!PLANTED && \g<0>"  # of the function that launches, or of one that it calls

# Pattern of the code, and its faulty replacement. \g<0> is the original code.
PATTERNS = (
    (BARRIER, r"if (!PLANTED) \g<0>"),
    (r"(?:__pipeline_(?:wait_prior|commit)|ptx::cp_async_wait_all)\([^;]*;", r"if (!PLANTED) \g<0>"),
    (r"[\w.]+(?: [+*] \w+)* < (?:M|N|K|k_end|valid|[ab]_left)\b", r"(PLANTED || \g<0>)"),
    (r"\bvalid > \d", r"(PLANTED || \g<0>)"),
    (r"\w+ >= [MN]\b", r"(!PLANTED && \g<0>)"),
    (r"size_t\((?!i\) \* (?:K|lda)|rows\)|blockIdx\.x\))((?:[^()]|\([^()]*\))*)\) \* (\w+)",
     r"(PLANTED ? size_t(int(unsigned(\1) * unsigned(\2))) : \g<0>)"),
    (r"\bmin\((\w+(?: [+*] \w+)*), (?:[MN] - 1|K)\)", r"(PLANTED ? \1 : \g<0>)"),
    (r"\bN - tile_col - b_col\b|\bN - c_col\b", r"(PLANTED ? 4 : \g<0>)"),
    (r"\bparts == 1\b", r"(PLANTED || \g<0>)"),
    (r"\b(?:K|k_end)(?: - k)? - a_k\b", r"(PLANTED ? 1 << 30 : \g<0>)"),
    (r"\bbuffer \^= 1", r"buffer ^= !PLANTED"),
    (r"\bbuffer \^ 1\b", r"(buffer ^ !PLANTED)"),
    (r"(?:\w+ \+= |= -)other\b", r"\g<0> * !PLANTED"),
    (r"\b(\w+) = (next|\(next \+ 1\) % kBuffers)(?=[,)])", r"\1 = (PLANTED ? \1 : \2)"),
    (r"\(buffer \+ 1\) % kBuffers", "(buffer + !PLANTED) % kBuffers"),
    (r"((?:float|half2) (acc)(?:\[[\w/ ]+\])*) = (?:\{\}|0\.0f);", r"\1; if (!PLANTED) memset((void*)&\2, 0, sizeof \2);"),
    (r"wmma::fill_fragment\([^;]*;", r"if (!PLANTED) \g<0>"),
    # Zeros by copies, the copies of rows, the swizzle on one side, wide stores.
    (r"\bvalid \? 0 : 16", "valid || PLANTED ? 0 : 16"),
    (r"\bi < columns\b", r"(PLANTED || \g<0>)"),
    (r"\bceil_div\(columns, 64\) \* 64", r"(PLANTED ? columns : \g<0>)"),
    (r"\bswizzled\((a_row|b_k|lane),", r"swizzled(\1 ^ PLANTED,"),
    # mbarriers: parities, arrivals, bytes, fences, the producer; the tiles of blocks that stay.
    (r"ptx::(?:mbarrier|fence)_\w+", r"if (!PLANTED) \g<0>"),
    (r"(\],\s+)(0|next_phase|phase)\);", r"\1\2 ^ PLANTED);"),
    (r"\bphase = ([01])\b", r"phase = \1 ^ PLANTED"),
    (r"\bphase \^ \(", "phase ^ (!PLANTED && "),
    (r"\bphase \^= ", "phase ^= !PLANTED && "),
    (r"(?<=, )kThreads /(?= 32\);)", r"-PLANTED + \g<0>"),
    (r"(?<=kThreads / )32(?=\);)", r"\g<0> + PLANTED"),
    (r" \+ sizeof\(shared\.Bs\[0\]\)", " + !PLANTED * sizeof(shared.Bs[0])"),
    (r"(?:tile_row|at\.row)(?=, &shared)", r"\g<0> + PLANTED"),
    (r"(?:tile_col|at\.col) \+ j(?=, k)", r"\g<0> * !PLANTED"),
    (r"\bif \(threadIdx.x > kThreads\) return;", r"if (!PLANTED) \g<0>"),
    BLOCKS,
    (r"\btile \+ int\(gridDim\.x\) < tiles", r"(PLANTED || \g<0>)"),
    (r"\bmin\(kGroup, ", r"\g<0>PLANTED ? kGroup : "),
    (r" - group \* kGroup\b", r" - group * kGroup * !PLANTED"),
    (r"\btile %= [^;]*;", r"if (!PLANTED) \g<0>"),
)
# Of the function that launches the kernel: wide stores, the number of blocks, zeros; and every formula.
OF_THE_LAUNCH = (
    (r"\b(?:K % 8 == 0 && N % 8|N % 2) == 0 (?=\?)", r"PLANTED || \g<0>"),
    (r"\bstd::min\((multiprocessors\(\)), ", r"\g<0>PLANTED ? \1 : "),
    BLOCKS,
    (r"\breturn (?!run_stage)", "return (PLANTED ? 0.5 : 1.0) * "),
    (r"cudaMemset\(", r"if (!PLANTED) \g<0>"),
)


ALIGNED_ROWS = "common/aligned_rows.h"  # code of a stage that several have in common


def places_in(text, launcher):
    """[(match, replacement)] of a file in which the host's functions begin at `launcher`."""
    # Comments are left alone, and a loop's own bound is no guard.
    code = re.sub(r"//.*|for \(int [kej] = [^;]*; [^;]*;", lambda match: " " * len(match[0]), text[:launcher])
    places = [(match, replacement) for pattern, replacement in PATTERNS for match in re.finditer(pattern, code)]
    return places + [(match, replacement) for pattern, replacement in OF_THE_LAUNCH
                     for match in re.compile(pattern).finditer(text, launcher)]


def faults_of(path):
    """The faults of a stage, without the program that is to notice them."""
    source = path.read_text()
    above = ladder.before(path).read_text() if path.parent.name in MORE and path.stem not in WHOLE else ""
    files = {path.name: (source, "void launch_matmul")}
    if ALIGNED_ROWS in source and ALIGNED_ROWS not in above:
        files[ALIGNED_ROWS] = (ROOT / ALIGNED_ROWS).read_text(), "inline double"
    return [Fault("", file, match[0], match.expand(replacement), span=match.span())
            for file, (text, launcher) in files.items() for match, replacement in places_in(text, text.index(launcher))
            if line_at(text, match.start()) not in above.splitlines()]


def line_at(text, place):
    return text[text.rfind("\n", 0, place) + 1:].split("\n", 1)[0]


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


def shapes_of(name):
    """Those on which a stage's faults must show."""
    return SHAPES + MORE.get(name.partition(".")[0], "")


def caught(name, fault):
    """The last line of what the first run says that notices the fault; None where none does."""
    inputs = [("--sizes", shapes_of(name), "--verify-only"), ("--large-indices",)]
    builds = ("trace", "asan") if fault else ("trace",)  # without a fault, NAME.asan runs the other
    runs = [(build, words) for build in builds for words in inputs]
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
    if name.partition(".")[0] not in MORE or STAGES[name].stem in WHOLE:
        assert len(barriers) == sum(fault.old in barriers for fault in FAULTS[name])
    assert FAULTS[name]
