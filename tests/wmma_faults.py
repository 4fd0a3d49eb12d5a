"""Plants faults in 06_wmma's types.cu and demands that exactly the rows that they concern are found wrong, and in one_tile.cu,
where every one must be found. The faults of types.cu concern different rows and go into one copy: compiling it takes a while.
"""
import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

import emulated
from checks import check, end

# What stands there, what it becomes; which rows of the table are then wrong: element type and operation.
IN_TYPES = (
    ("to_tf32(a.x[i])", "a.x[i]", ("tf32", "mul")),
    ("P::kOperation == kSatf);", "false);", ("s8", "mul satf")),
    ("bmmaBitOp(P::kOperation)", "bmmaBitOpXOR", ("b1", "and popc")),
    # An operand not loaded; one taken for another layout.
    ("wmma::load_matrix_sync(b,", "if (sizeof(Stored) == 8) wmma::fill_fragment(b, 1); else wmma::load_matrix_sync(b,",
     ("double", "mul")),
    ("wmma::load_matrix_sync(c, static_cast<const typename P::C*>(to.C), to.ldc, to.c_layout);",
     "wmma::load_matrix_sync(c, static_cast<const typename P::C*>(to.C), to.ldc, "
     "std::is_same_v<typename P::In, __nv_bfloat16> ? wmma::mem_row_major : to.c_layout);", ("bf16", "mul")),
    # An element that is not written.
    ("        wmma::store_matrix_sync(static_cast<typename P::D*>(to.D), d, to.ldd, to.d_layout);",
     "        typename P::D last = static_cast<typename P::D*>(to.D)[0];\n"
     "        wmma::store_matrix_sync(static_cast<typename P::D*>(to.D), d, to.ldd, to.d_layout);\n"
     "        __syncwarp();\n"
     "        if (std::is_same_v<typename P::In, u4>) static_cast<typename P::D*>(to.D)[0] = last;", ("u4", "mul")),
    # A write outside D, into the space between its lines.
    ("    multiply_add<P>(d, a, b, c);\n", "    multiply_add<P>(d, a, b, c);\n"
     "        if (std::is_same_v<typename P::In, s4>) static_cast<typename P::D*>(to.D)[8] = 1;\n",
     ("s4", "mul")),
)
OLD_PTX = ("kCompiledFor = 1000", "kCompiledFor = 75")  # as PTX for compute_75 on a later GPU
OLD_PTX_LACKS = {("bf16", "mul"), ("tf32", "mul"), ("double", "mul"), ("b1", "and popc")}
IN_ONE_TILE = (
    ("no store of floats", "    wmma::store_matrix_sync(C, c_frag, kEdge, wmma::mem_row_major);\n", "", "nan"),
    ("no store of halves", "    wmma::store_matrix_sync(C, c_frag, kEdge, wmma::mem_col_major);\n", "", "nan"),
    ("B taken for row-major", "half, wmma::col_major> b_frag", "half, wmma::row_major> b_frag", "matmul_16x16"),
    ("C stored by columns", "C, c_frag, kEdge, wmma::mem_row_major", "C, c_frag, kEdge, wmma::mem_col_major", "wmma_ker"),
    ("half a warp", "wmma_ker<<<1, kWarp>>>", "wmma_ker<<<1, kWarp / 2>>>", "wmma_ker"),
)


def planted(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"'{old}' stands {text.count(old)} times in the source, expected once")
    return text.replace(old, new)


def run(arguments, text, *words):
    """Exit code, errors, and the rows where there is a --csv, of the program that `text` makes."""
    with tempfile.TemporaryDirectory() as folder:
        emulated.build(arguments, text, f"{folder}/program", "-O0 -std=c++17")
        words = [word.replace("FOLDER", folder) for word in words]
        done = subprocess.run([f"{folder}/program", *words], capture_output=True, text=True)
        rows = pathlib.Path(f"{folder}/rows.csv")
        return done.returncode, done.stderr.strip(), list(csv.DictReader(rows.read_text().splitlines())) if rows.exists() else []


parser = argparse.ArgumentParser()
emulated.add_arguments(parser)  # the source is types.cu
arguments = parser.parse_args()


def check_rows(code, rows, special, begins, want_code, what):
    """The rows in `special`, and they alone, have a result that begins with `begins`; the others are exact."""
    check(code == want_code and len(rows) == 29, f"types, {what}: exit code {code}, {len(rows)} rows")
    for row in rows:
        begin = begins if (row["a_b"], row["operation"]) in special else "exact"
        check(row["result"].startswith(begin), f"types, {what}: {row['a_b']} {row['operation']} {row['m_n_k']}: {row['result']}")


types = arguments.source.read_text()
faulty = types
for old, new, _ in IN_TYPES:
    faulty = planted(faulty, old, new)
code, _, rows = run(arguments, faulty, "--csv", "FOLDER/rows.csv")
check_rows(code, rows, {row for _, _, row in IN_TYPES}, "WRONG: ", 1, "faults planted")
code, _, rows = run(arguments, planted(types, *OLD_PTX), "--csv", "FOLDER/rows.csv")
check_rows(code, rows, OLD_PTX_LACKS, "not run: this build's PTX (compute_75) lacks it", 0, "compiled for compute_75")

one_tile = arguments.source.with_name("one_tile.cu").read_text()
for what, old, new, said in IN_ONE_TILE:
    code, error, _ = run(arguments, planted(one_tile, old, new))
    check(code in (1, 3) and said in error, f"one_tile, {what}: exit code {code}, {error}")
end()
