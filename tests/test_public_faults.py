"""The programs in public_faults, each with the fault of a public report: ./run FILE names its lines and its cause, and
finds nothing in the corrected program. The first lines of a program are

    // The symptom, in a sentence of the person who asks.
    // Seen: the group of symptoms, one of faults.GROUPS.
    // Cause: the mistake.
    // Source: the report's address, or "own".
    // Says: words of the message that names the cause (one line for each message).

A kernel that is correct but slow has "// Hint:" instead of "// Says:", and a correct one of which nothing is said has
neither. "// Needs: nvcc" stands where the emulator's message has a figure of nvcc's; without nvcc the program is left
out. Each line that the message names ends in "// <- here". With -DFIXED the file is the corrected program."""
import concurrent.futures
import os
import re

import pytest

import build
from book import faults
from results import InvalidInput
from support import ROOT, call

PROGRAMS = [fault for fault in faults.programs(ROOT) if build.has_nvcc() or not fault.needs_nvcc]


def run_both(fault):
    """The faulty program's run, and then, as both are built in one place, the corrected one's. A small product is
    enough for the latter."""
    small = ["--size", "128"] if "launch_matmul" in fault.path.read_text() else []
    environment = {**os.environ, "NO_INSTALL": "1"}
    return [call(ROOT / "run", fault.path, *words, env=environment) for words in ((), ("-DFIXED", *small))]


@pytest.fixture(scope="module")
def runs(request):
    """{file: the runs of its two programs} of the chosen tests, two at a time."""
    chosen = {item.callspec.params["fault"] for item in request.session.items if hasattr(item, "callspec")}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {fault: pool.submit(run_both, fault) for fault in PROGRAMS if fault in chosen}


def complaints(fault, wrong, right):
    """What these runs of a faulty and a corrected program lack, in words."""
    said = " ".join((wrong.stdout + wrong.stderr).split())  # advice is wrapped
    if bool(wrong.returncode) != bool(fault.says):
        yield f"exit code {wrong.returncode} with the fault"
    if not fault.says and re.search("The emulator found:|Never freed" + "|Notes:" * (not fault.hints), said):
        yield "a correct program has a report"
    yield from (f"not said: {words}" for words in fault.says + fault.hints if words not in said)
    yield from (f"not named: line {line}" for line in fault.marked
                if not re.search(rf"{re.escape(fault.path.name)}:{line}\b", said))
    corrected = " ".join((right.stdout + right.stderr).split())
    if right.returncode:
        yield f"exit code {right.returncode} without the fault"
    if re.search("The emulator found:|Never freed", corrected):
        yield "the corrected program has a report"
    yield from (f"said without the fault: {words}" for words in fault.says + fault.hints if words in corrected)


@pytest.mark.parametrize("fault", PROGRAMS, ids=str)
def test_named(fault, runs):
    wrong, right = runs[fault].result()
    found = list(complaints(fault, wrong, right))
    assert not found, "\n".join([*found, wrong.stdout, wrong.stderr, right.stdout, right.stderr])


@pytest.mark.parametrize("fault", [fault for fault in PROGRAMS if fault.marked][:1], ids=str)
def test_of_this_test(fault, runs):
    """A wrong mark, wrong words, and a fault in the corrected program or none in the faulty one are complained of."""
    wrong, right = runs[fault].result()
    text = fault.path.read_text()
    moved = re.sub(r"(?m)(.*) +// <- here\n(.*)$", r"\1\n\2  // <- here", text)
    renamed = re.sub(r"(?m)^(// (Says|Hint): ).*$", r"\1a divergence of the flux", text)
    for changed in (moved, renamed):
        assert changed != text and list(complaints(faults.Fault(fault.path, changed), wrong, right))
    assert list(complaints(fault, wrong, wrong)) and list(complaints(fault, right, right))


def test_unknown_group():
    fault = PROGRAMS[0]
    changed = re.sub("(?m)^// Seen: .*", "// Seen: divergence_of_the_flux", fault.path.read_text())
    with pytest.raises(InvalidInput, match="divergence_of_the_flux' is none of fails, "):
        faults.Fault(fault.path, changed)
