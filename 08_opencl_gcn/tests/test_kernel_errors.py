"""What 08_opencl_gcn says of a kernel that does not compile or is wrong, and which stage --stage runs."""
import re

import pytest

from mutate import Fault, tree
from support import call, program

LATER, LATER_SAID = ("j < kThreadN; j += 4) {", "j < 4; j += 4) {"), "C[0][32] was not written, expected "
# A size; what stands in 03_lds_blocking.cl, what it becomes; the exit code, and what is said.
ROWS = (
    (8, "barrier(CLK_LOCAL_MEM_FENCE);  // the tiles are complete", "barier(CLK_LOCAL_MEM_FENCE);", 3, "barier",
     "03_lds_blocking.cl' does not compile on this device: its compiler's log is above"),
    (8, "void matmul(", "void product(", 3, "clCreateKernel failed: CL_INVALID_KERNEL_NAME"),
    (8, "acc[i][j] += a[i]", "acc[i][j] += 2 * a[i]", 1, "03_lds_blocking 8 x 8 x 8: C[0][0] is ", ", expected "),
    (8, "C[(size_t)c_row * N + c_col] =", "C[(size_t)c_row * N + c_col] = NAN *", 1, "C[0][0] is "),
    (48, *LATER, 1, LATER_SAID),
    (128, *LATER, 1, LATER_SAID),
)


@pytest.mark.parametrize("size, old, new, code, said", [(*row[:4], row[4:]) for row in ROWS])
def test_changed_kernel(size, old, new, code, said):
    folder = tree("08_opencl_gcn", [Fault("08_opencl_gcn", "03_lds_blocking.cl", old, new)]) / "08_opencl_gcn"
    run = call(program("08_opencl_gcn"), "--kernels", folder, "--stage", 3, "--size", size, "--verify-only")
    assert run.returncode == code and all(words in run.stderr for words in said), run.stderr


@pytest.mark.parametrize("stage", ("03", "3", "03_lds_blocking"))
def test_stage_by_any_of_its_names(stage):
    run = call(program("08_opencl_gcn"), "--stage", stage, "--size", 8, "--verify-only")
    assert run.returncode == 0 and re.findall(r"(?m)^0\d_\w+", run.stdout) == ["03_lds_blocking"]
