"""What a stage's program says to bad input: one line that names what was wrong and what is accepted, and the exit code."""
import subprocess
import tempfile

from bad_input import emulated, expect, finish, no_gpu, program

for option in ("--size", "-m", "-n", "-k", "--repeat"):
    for value in ("0", "-5", "abc", "1000000000000", "4x", "", "99999999999999999999"):
        expect(2, f"{option} '{value}': takes a whole number from 1 to", option, value)
expect(2, "--seed '-1': takes", "--seed", "-1")
expect(2, "unknown option '--fast'", "--fast")
expect(2, "unknown option '-x'", "-x")
expect(2, "unexpected argument '4096'", "4096")
expect(2, "--size: needs a value", "--size")
expect(2, "--sizes '64': takes FIRST:LAST:STEP", "--sizes", "64")
expect(2, "--sizes '0': takes", "--sizes", "64:128:0")
expect(2, "--sizes '32': takes a whole number from 64", "--sizes", "64:32:8")
expect(2, "--gpu 'gtx': takes one of h200, fury-x", "--gpu", "gtx")
expect(2, "--device '-1': takes", "--device", "-1")
expect(2, "--limits '/': can't be read: Is a directory", "--limits", "/")
expect(2, "--limits '': can't be read: No such file or directory", "--limits", "")
expect(2, f"--limits '{__file__}': has no column 'what'", "--limits", __file__)
expect(2, "--csv '': takes", "--csv", "")
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/missing/out.csv"
    expect(2, f"--csv '{path}': can't be written: No such file or directory", "--size", "8", "--csv", path)
    expect(2, f"--csv '{folder}': can't be written: Is a directory", "--size", "8", "--csv", folder)
    if emulated:
        expect(2, "--csv '/dev/full': can't be written: No space left on device", "--size", "8", "--csv", "/dev/full")
        expect(2, "--order 'sideways': takes one of forward, reverse, random, all", "--order", "sideways")
        expect(3, "cudaMalloc", "-m", "1", "-n", "1000000000", "-k", "8388608")
    else:
        expect(2, "--order: only the CPU builds", "--order", "forward")
        expect(77, "no usable GPU", "--size", "8", env=no_gpu)
        if subprocess.run([program, "--size", "8", "--verify-only"], capture_output=True).returncode == 0:
            expect(2, "--device '99': takes a number from 0 to", "--device", "99")
            expect(3, "cudaMalloc", "-m", "1", "-n", "1000000000", "-k", "8388608")
    finish(folder, "--sizes")
