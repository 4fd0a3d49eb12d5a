"""--slides: the slides' own listings, what each gives, and that a fault in one is seen."""
import pathlib
import shutil

import pytest

import faults
import plant
from support import call, program, tool

TABLE = """\
39   39_vector_sum       1008      0       changes C
42   42_naive            1235      0       changes C
44   44_naive            1235      0       changes C
48   48_as_printed       4940   4933 changes nothing
48   48_corrected        4940      0       changes C
"""
FAULTS = [fault for listing in ("39_vector_sum", "42_naive")  # of 48, its own listing as printed is the fault
          for fault in faults.in_file(f"08_opencl_gcn/slides/{listing}.cl") if fault.kind != "zero"]


def slides(*words, under=()):
    return call(*under, program("08_opencl_gcn"), "--slides", "--verify-only", *words)


def test_table():
    """On a device, and in Oclgrind, which has nothing to say."""
    run = slides()
    assert run.returncode == 0 and run.stdout.endswith(TABLE), run.stdout + run.stderr
    run = call(tool("oclgrind"), "--data-races", "--uninitialized", program("08_opencl_gcn"), "--slides", "--verify-only")
    assert run.returncode == 0 and run.stdout.endswith(TABLE) and not run.stderr, run.stdout + run.stderr


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_is_caught(fault):
    """On the CPU: on a GPU an access outside may hit nothing that is looked at."""
    run = slides("--platform", "Portable Computing Language", "--kernels", plant.tree("08_opencl_gcn", [fault]) / "08_opencl_gcn",
                 under=("timeout", 20))
    if run.returncode == 2:
        pytest.skip("PoCL is missing (pocl-opencl-icd)")
    wrong = run.returncode == 1 and f"08_opencl_gcn: {pathlib.Path(fault.file).stem}: " in run.stderr
    assert wrong or run.returncode < 0 or run.returncode == 124, run.stdout + run.stderr  # a write outside may end it, or hang PoCL
    print("caught:", run.stderr)


def test_as_printed_it_must_ignore_B():
    """The corrected listing in the place of the printed one, which gives the same for another B."""
    folder = plant.tree("08_opencl_gcn") / "08_opencl_gcn"
    shutil.copy(folder / "slides/48_corrected.cl", folder / "slides/48_as_printed.cl")
    run = slides("--kernels", folder)
    assert run.returncode == 1 and run.stderr.startswith("08_opencl_gcn: 48_as_printed: "), run.stdout + run.stderr
