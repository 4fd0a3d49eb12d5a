"""What 08_opencl_gcn says of a kernel that does not compile or is wrong, and which stage --stage runs."""
import re

import pytest

from mutate import Fault, tree
from support import ROOT, call, program

LATER, LATER_SAID = ("j < kThreadN; ++j)\n            C[", "j < 4; ++j)\n            C["), "C[0][4] was not written, expected "
# A size; what stands in 03_lds_blocking.cl, what it becomes; the exit code, and what is said.
ROWS = (
    (8, "barrier(CLK_LOCAL_MEM_FENCE);  // the tiles are complete", "barier(CLK_LOCAL_MEM_FENCE);", 3, "barier",
     "03_lds_blocking.cl' does not compile on this device: its compiler's log is above"),
    (8, "void matmul(", "void product(", 3, "clCreateKernel failed: CL_INVALID_KERNEL_NAME"),
    (8, "acc[i][j] += a[i]", "acc[i][j] += 2 * a[i]", 1, "03_lds_blocking 8 x 8 x 8: C[0][0] is ", ", expected "),
    (8, "tile_col + col + j] =", "tile_col + col + j] = NAN *", 1, "C[0][0] is "),
    (48, *LATER, 1, LATER_SAID),
    (128, *LATER, 1, LATER_SAID),
)


@pytest.mark.parametrize("size, old, new, code, said", [(*row[:4], row[4:]) for row in ROWS])
def test_changed_kernel(size, old, new, code, said):
    folder = tree("08_opencl_gcn", [Fault("08_opencl_gcn", "03_lds_blocking.cl", old, new)]) / "08_opencl_gcn"
    run = call(program("08_opencl_gcn"), "--kernels", folder, "--stage", 3, "--size", size, "--verify-only")
    assert run.returncode == code and all(words in run.stderr for words in said), run.stderr


@pytest.mark.parametrize("stage, name", (("03", "03_lds_blocking"), ("3", "03_lds_blocking"), ("04_unroll", "04_unroll"),
                                         ("4", "04_unroll"), ("04_1", "04_1_unroll")))
def test_stage_by_any_of_its_names(stage, name):
    run = call(program("08_opencl_gcn"), "--stage", stage, "--size", 8, "--verify-only")
    assert run.returncode == 0 and re.findall(r"(?m)^0\d_\w+", run.stdout) == [name]


def test_kernel_is_declared_the_same_everywhere():
    kernel = ("kernel __attribute__((reqd_work_group_size(16, 16, 1)))\n"
              "void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {\n")
    assert not [path.name for path in (ROOT / "08_opencl_gcn").glob("0*.cl") if kernel not in path.read_text()]
