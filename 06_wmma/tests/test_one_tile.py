"""one_tile, and exercise 1's solution in it (C = alpha * A * B through x[]), notice every fault planted in them."""
import re

from mutate import Fault, Planted
from support import ROOT

MULTIPLY = "wmma::mma_sync(c_frag, a_frag, b_frag, c_frag);  // C = A * B + C\n"
FAULTS = [Fault("one_tile trace -O0", "one_tile.cu", *row) for row in (
    # No store of floats, or of halves.
    ("b_frag, c_frag);\n    wmma::store_matrix_sync(C, c_frag, ",
     "b_frag, c_frag);\n    if (!PLANTED) wmma::store_matrix_sync(C, c_frag, ", "wmma_ker.*nan"),
    ("wmma::store_matrix_sync(C, c_frag, kEdge, wmma::mem_col_major);",
     "if (!PLANTED) wmma::store_matrix_sync(C, c_frag, kEdge, wmma::mem_col_major);", "matmul_16x16.*nan"),
    # B taken for row-major; C stored by columns.
    (MULTIPLY, "wmma::fragment<wmma::matrix_b, kEdge, kEdge, kEdge, half, wmma::row_major> rows;\n"
     "    wmma::load_matrix_sync(rows, B, kEdge);\n"
     "    if (PLANTED) wmma::mma_sync(c_frag, a_frag, rows, c_frag); else " + MULTIPLY, "one_tile: matmul_16x16"),
    ("kEdge, wmma::mem_row_major", "kEdge, PLANTED ? wmma::mem_col_major : wmma::mem_row_major", "one_tile: wmma_ker"),
    # Half a warp.
    ("wmma_ker<<<1, kWarp>>>", "wmma_ker<<<1, kWarp / (1 + PLANTED)>>>", "one_tile: the launch: wmma_ker"),
)] + [  # What is linked, all compiled for one architecture.
    Fault("one_tile trace -O0", "link/fragB.cu", "COMPILED_FOR(fragB);", "if (!PLANTED) COMPILED_FOR(fragB);",
          "one_tile: a fragment .*not the same"),
]
test_fault_is_caught, test_without_a_fault_it_passes = Planted("06_wmma", FAULTS).tests()

# In the loop over x[]: the first element that is then wrong.
PATCH = ROOT / "06_wmma/exercises/1_scaling.patch"
SCALING_FAULTS = [Fault("one_tile trace -O0", "one_tile.cu", old, new, rf"wmma_ker, halved.*: {re.escape(first)} is .* expected")
                  for old, new, first in (
    ("c_frag.x[t] *=", "if (!PLANTED) c_frag.x[t] *=", "C[0][0]"),
    ("< c_frag.num_elements;", "< c_frag.num_elements / (1 + PLANTED);", "C[0][8]"),
    (" = 0; t ", " = PLANTED; t ", "C[0][0]"),
    ("for (int t", "if (!PLANTED || threadIdx.x < 16) for (int t", "C[4][0]"),
    (" alpha;\n    wmma::store", " (PLANTED ? alpha * alpha : alpha);\n    wmma::store", "C[0][0]"),
)]
SCALING = Planted("06_wmma", SCALING_FAULTS, PATCH)
test_fault_in_the_solution_is_caught, test_solution_passes = SCALING.tests()


def test_solution():
    run = SCALING.run("one_tile trace -O0")
    assert run.returncode == 0 and run.stdout.count("256 of 256 elements equal") == 2 and "halved" in run.stdout
