"""types: a fault makes the rows wrong that it concerns, and no others; and how many rows an architecture has."""
import csv

import pytest

from mutate import Fault, Planted
from support import call, program

# What stands there, what it becomes; which rows are then wrong: element type and operation.
FAULTS = {Fault("types plain -O0", "tests/types.cuh", old, new): row for old, new, row in (
    ("to_tf32(a.x[i])", "PLANTED ? a.x[i] : to_tf32(a.x[i])", ("tf32", "mul")),
    ("P::kOperation == kSatf);", "!PLANTED && P::kOperation == kSatf);", ("s8", "mul satf")),
    ("bmmaBitOp(P::kOperation)", "bmmaBitOp(PLANTED ? kXor : P::kOperation)", ("b1", "and popc")),
    # An operand not loaded; one taken for another layout.
    ("wmma::load_matrix_sync(b,", "if (PLANTED && sizeof(Stored) == 8) wmma::fill_fragment(b, 1); else wmma::load_matrix_sync(b,",
     ("double", "mul")),
    ("to.ldc, to.c_layout);",
     "to.ldc, PLANTED && std::is_same_v<typename P::In, tf32> ? wmma::mem_row_major : to.c_layout);", ("tf32", "mul")),
    # An element that is not written.
    ("        wmma::store_matrix_sync(static_cast<typename P::D*>(to.D), d, to.ldd, to.d_layout);",
     "        typename P::D last = static_cast<typename P::D*>(to.D)[0];\n"
     "        wmma::store_matrix_sync(static_cast<typename P::D*>(to.D), d, to.ldd, to.d_layout);\n"
     "        __syncwarp();\n"
     "        if (PLANTED && std::is_same_v<typename P::In, u4>) static_cast<typename P::D*>(to.D)[0] = last;", ("u4", "mul")),
    # A write outside D, into the space between its lines.
    ("    multiply_add<P>(d, a, b, c);\n", "    multiply_add<P>(d, a, b, c);\n"
     "        if (PLANTED && std::is_same_v<typename P::In, s4>) static_cast<typename P::D*>(to.D)[8] = 1;\n", ("s4", "mul")),
)}
# As PTX for compute_75 on a later GPU: what that lacks is not run, and is not wrong.
CHECK = "    if (threadIdx.x == 0) to.found->compiled_for = kCompiledFor;\n    if constexpr (kCompiledFor >= P::kSince) {"
OLD_PTX = Fault("types plain -O0", "tests/types.cuh", CHECK, "const int compiled_for = PLANTED ? 75 : kCompiledFor;\n" +
                CHECK.replace("kCompiledFor", "compiled_for").replace("if constexpr", "if"))
LACKING = {("bf16", "mul"), ("tf32", "mul"), ("double", "mul"), ("b1", "and popc")}
PLANTED = Planted("06_wmma", (*FAULTS, OLD_PTX))


@pytest.fixture
def check_rows(tmp_path):
    def check(fault, special, begins, exit_code):
        """The rows in `special`, and they alone, have a result that begins with `begins`; the others are exact."""
        run = PLANTED.run(fault, "--csv", tmp_path / "rows.csv")
        rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
        assert run.returncode == exit_code and len(rows) == 29
        for row in rows:
            begin = begins if (row["a_b"], row["operation"]) in special else "exact"
            assert row["result"].startswith(begin), row
        assert special <= {(row["a_b"], row["operation"]) for row in rows}
    return check


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_is_caught_in_its_rows(check_rows, fault):
    check_rows(fault, {FAULTS[fault]}, "WRONG: ", 1)


def test_older_ptx_is_not_run(check_rows):
    check_rows(OLD_PTX, LACKING, "not run: this build's PTX (compute_75) lacks it", 0)


def test_without_a_fault_it_passes(check_rows):
    check_rows("types plain -O0", set(), "", 0)


@pytest.mark.parametrize("arch, rows", (("sm_70", "4 exact, 0 wrong, 25 not run"), ("sm_75", "23 exact, 0 wrong, 6 not run"),
                                        ("sm_80", "29 exact, 0 wrong, 0 not run")))
def test_rows_of_an_architecture(arch, rows):
    run = call(program("types_cpu"), "--arch", arch)
    assert run.returncode == 0 and rows in run.stdout
