"""What 08_opencl_gcn says of a kernel that does not compile or is wrong, and which stage --stage runs."""
import re

import pytest

import mutate
from support import call, program

KERNEL = """kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(int M, int N, int K, global const float* A, global const float* B, global float* C) {{ {} }}
"""
# A kernel, the exit code, and words of what is said.
ROWS = (
    ("odd text", 3, "03_lds_blocking.cl' does not compile"),
    (KERNEL.format("").replace("matmul", "product"), 3, "CL_INVALID_KERNEL_NAME"),
    (KERNEL.format(""), 1, "C[0][0] was not written"),
    (KERNEL.format("C[0] = 1e6f;"), 1, "03_lds_blocking 8 x 8 x 8: C[0][0] is "),
    (KERNEL.format("C[0] = NAN;"), 1, "C[0][0] is "),
)


@pytest.mark.parametrize("kernel, code, said", ROWS)
def test_wrong_kernel(kernel, code, said):
    folder = mutate.tree("08_opencl_gcn") / "08_opencl_gcn"
    (folder / "03_lds_blocking.cl").write_text(kernel)
    run = call(program("08_opencl_gcn"), "--kernels", folder, "--stage", 3, "--size", 8, "--verify-only")
    assert run.returncode == code and said in run.stderr, run.stderr


@pytest.mark.parametrize("stage, name", (("3", "03_lds_blocking"), ("04_unroll", "04_unroll"), ("04_1", "04_1_unroll")))
def test_stage_by_any_of_its_names(stage, name):
    run = call(program("08_opencl_gcn"), "--stage", stage, "--size", 8, "--verify-only")
    assert run.returncode == 0 and re.findall(r"(?m)^0\d_\w+", run.stdout) == [name]
