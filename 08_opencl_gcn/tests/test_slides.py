"""--slides: the slides' own listings, what each gives, and that a fault in one is seen."""
import pytest

from mutate import Fault, tree
from support import call, program, tool

TABLE = """\
39   39_vector_sum       1008      0       changes C
42   42_naive            1235      0       changes C
44   44_naive            1235      0       changes C
48   48_as_printed       4940   4933 changes nothing
48   48_corrected        4940      0       changes C
"""
# A listing, what stands in it, what it becomes, and what is said.
FAULTS = (
    ("39_vector_sum", "if (i < N) ", "", "elements differ"),
    ("42_naive", " || j >= N", "", "elements differ"),
    ("48_corrected", "a0 * b0", "a0 * a0", "elements differ"),
    ("48_as_printed", "a0 * a0", "a0 * b0", "another B changes them"),
)


def slides(*words):
    return call(program("08_opencl_gcn"), "--slides", "--verify-only", *words)


def test_table():
    run = slides()
    assert run.returncode == 0 and run.stdout.endswith(TABLE), run.stdout + run.stderr


def test_oclgrind_has_nothing_to_say():
    run = call(tool("oclgrind"), "--data-races", "--uninitialized", program("08_opencl_gcn"), "--slides", "--verify-only")
    assert run.returncode == 0 and run.stdout.endswith(TABLE) and not run.stderr, run.stdout + run.stderr


@pytest.mark.parametrize("file, old, new, said", FAULTS)
def test_fault_is_caught(file, old, new, said):
    folder = tree("08_opencl_gcn", [Fault("08_opencl_gcn", f"slides/{file}.cl", old, new)]) / "08_opencl_gcn"
    run = slides("--kernels", folder)
    assert run.returncode == 1 and run.stderr.startswith(f"08_opencl_gcn: {file}: ") and said in run.stderr, run.stdout + run.stderr
    print("caught:", run.stderr)


def test_slide_48_has_no_guard():
    run = call(program("08_opencl_gcn"), "--slides", "--size", 3)
    assert run.returncode == 2 and "M and N must be even" in run.stderr
