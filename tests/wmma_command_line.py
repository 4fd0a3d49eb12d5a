"""What one_tile and types of 06_wmma say to bad input: one line that names what was wrong and what is accepted; the exit code."""
import tempfile

from bad_input import emulated, expect, finish, name, no_gpu

for value in ("-1", "abc", "", "1x", "4294967296"):
    expect(2, f"--seed '{value}': takes a whole number from 0 to 4294967295", "--seed", value)
expect(2, "--device '-1': takes a whole number from 0", "--device", "-1")
expect(2, "--seed: needs a value", "--seed")
expect(2, "unknown option '--size'", "--size", "16")
expect(2, "unknown option '-x'", "-x")
expect(2, "unexpected argument '16'", "16")
with tempfile.TemporaryDirectory() as folder:
    if name == "types":
        expect(2, "--csv '': takes the name of a file", "--csv", "")
        path = f"{folder}/missing/types.csv"
        expect(2, f"--csv '{path}': can't be written: No such file or directory", "--csv", path)
        expect(2, f"--csv '{folder}': can't be written: Is a directory", "--csv", folder)
        if emulated:
            expect(2, "--csv '/dev/full': can't be written: No space left on device", "--csv", "/dev/full")
            expect(2, "--device '1': takes a number from 0 to 0", "--device", "1")
            for value in ("sm_60", "80", "sm_90", ""):
                expect(2, f"--arch '{value}': takes one of sm_70, sm_75, sm_80", "--arch", value)
        else:
            expect(2, "--arch: only the CPU builds", "--arch", "sm_80")
    else:
        expect(2, "unknown option '--csv'", "--csv", f"{folder}/one_tile.csv")
    if not emulated:
        expect(77, "no usable GPU", env=no_gpu)
    finish(folder, "--seed")
