"""What 08_opencl_gcn says to bad input, bad kernels and missing devices: clear words and the exit code."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from bad_input import expect, finish, program
from checks import check

kernels = pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory() as nothing:
    environment = {**os.environ, "OCL_ICD_VENDORS": nothing}
    if subprocess.run([program, "--list"], capture_output=True, env=environment).returncode == 0:
        print("left out: no device; the loader here looks elsewhere, too")
    else:
        expect(77, "no OpenCL device; the package pocl-opencl-icd", "--list", env=environment)
if subprocess.run([program, "--list"], capture_output=True).returncode == 77:
    sys.exit(77)

for value in ("0", "-5", "abc", "4x", "", "99999999999999999999"):
    expect(2, f"--size '{value}': takes a whole number from 1 to", "--size", value)
expect(2, "--stage '6': takes one of 01_naive, 02_register_blocking", "--stage", "6")
expect(2, "--stage '': takes one of", "--stage", "")
expect(2, "--platform 'nobody': takes a part of one of these names: ", "--platform", "nobody", "--list")
expect(2, "--device '99': takes a number from 0 to", "--device", "99")
expect(2, "--device '-1': takes", "--device", "-1")
expect(2, "unknown option '--order'", "--order", "forward")
expect(2, "unexpected argument '04'", "04")
expect(2, "'/nowhere/resize.cl': can't be read; --kernels takes the folder", "--kernels", "/nowhere")
expect(3, "; try a smaller size", "-m", "1", "-n", "1000000000", "-k", "8388608")
expect(3, "; try a smaller size", "--size", "200000")

for stage in ("04", "4", "04_unroll"):
    run = subprocess.run([program, "--stage", stage, "--size", "8", "--verify-only"], capture_output=True, text=True)
    names = [line.split()[0] for line in run.stdout.splitlines()[3:]]
    check(run.returncode == 0 and names == ["04_unroll"], f"--stage {stage} runs {names}")


def expect_changed(code, old, new, *said, size="8"):
    """Runs a copy of 04_unroll.cl with `old` replaced by `new`; wants exit code `code` and all of `said` on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        for file in kernels.glob("*.cl"):
            shutil.copy(file, folder)
        changed = pathlib.Path(folder, "04_unroll.cl")
        source = changed.read_text()
        assert old in source, old
        changed.write_text(source.replace(old, new))
        run = subprocess.run([program, "--kernels", folder, "--stage", "4", "--size", size, "--verify-only"],
                             capture_output=True, text=True)
        check(run.returncode == code and all(word in run.stderr for word in said),
              f"{new}: {run.returncode}, {run.stderr.strip()[-200:]}")


expect_changed(3, "barrier(", "barier(", "barier", "04_unroll.cl' does not compile on this device: its compiler's log is above")
expect_changed(3, "void matmul(", "void product(", "clCreateKernel failed: CL_INVALID_KERNEL_NAME")
expect_changed(1, "acc[i][j] += a[i]", "acc[i][j] += 2 * a[i]", "04_unroll 8 x 8 x 8: C[0][0] is ", ", expected ")
expect_changed(1, "C[(size_t)c_row * N + c_col] =", "C[(size_t)c_row * N + c_col] = NAN *", "C[0][0] is ")
expect_changed(1, "j < kThreadN; j += 4) {", "j < 4; j += 4) {", "C[0][32] was not written, expected ", size="48")
expect_changed(1, "j < kThreadN; j += 4) {", "j < 4; j += 4) {", "C[0][32] was not written, expected ", size="128")

with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/missing/out.csv"
    expect(2, f"--csv '{path}': can't be written: No such file or directory", "--size", "8", "--csv", path)
    expect(2, "--csv '/dev/full': can't be written: No space left on device", "--stage", "1", "--size", "8", "--csv", "/dev/full")
    finish(folder, "--platform")
