"""What a program of the fragment chapter says to bad input: fragment_command_line.py PROGRAM"""
import tempfile

from bad_input import emulated, expect, finish, name, no_gpu

expect(2, "unknown option '--fast'", "--fast")
expect(2, "unknown option '-x'", "-x")
expect(2, "unexpected argument 'all'", "all")
expect(2, "--device: needs a value", "--device")
expect(2, "--device '-1': takes a whole number from 0 to", "--device", "-1")
if emulated:
    for value in ("sm_60", "sm_90", "80", ""):
        expect(2, f"--arch '{value}': takes one of sm_70, sm_75, sm_80", "--arch", value)
    expect(2, "--device '7': takes a number from 0 to 0", "--device", "7")
else:
    expect(2, "--arch: only the CPU builds (their names end in _cpu) take it", "--arch", "sm_80")
    expect(77, "no usable GPU", env=no_gpu)

with tempfile.TemporaryDirectory() as folder:
    missing = f"{folder}/missing/out"
    if name == "probe":
        for option in ("--csv", "--svg"):
            expect(2, f"{option} '{missing}': can't be written: No such file or directory", option, missing)
            expect(2, f"{option} '{folder}': can't be written: Is a directory", option, folder)
            expect(2, f"{option} '': takes the name of a file", option, "")
            if emulated:
                expect(2, f"{option} '/dev/full': can't be written: No space left on device", option, "/dev/full")
        for value in ("1x2x3", "16", "16x16x8", ""):
            expect(2, f"--shape '{value}': takes one of 16x16x16, 32x8x16, 8x32x16", "--shape", value)
        expect(2, "--use 'a': takes one of matrix_a, matrix_b, accumulator", "--use", "a")
        expect(2, "--type 'double': takes one of half, float", "--type", "double")
        expect(2, "--layout 'row_major': takes one of row, col", "--layout", "row_major")
        expect(2, "--type 'float': only --use accumulator takes it; matrix_a takes half", "--type", "float")
        expect(2, "--svg: draws one fragment, not --all of them", "--all", "--svg", f"{folder}/a.svg")
        if emulated:
            expect(2, "--shape '32x8x16': of sm_70 the CPU build knows 16x16x16 alone", "--arch", "sm_70", "--shape", "32x8x16",
                   "--csv", f"{folder}/a.csv")
        else:
            expect(77, "no usable GPU", "--csv", f"{folder}/a.csv", "--svg", f"{folder}/a.svg", env=no_gpu)
    if name == "custom_load":
        if emulated:
            for option, value in (("--repeat", "3"), ("--csv", f"{folder}/a.csv")):
                expect(2, f"{option}: only the GPU build takes it; the CPU build times nothing", option, value)
            expect(3, "sm_70 lays fragments out in another way: these loads are for sm_75 and later", "--arch", "sm_70")
        else:
            for value in ("0", "-1", "many", ""):
                expect(2, f"--repeat '{value}': takes a whole number from 1 to 1000", "--repeat", value)
            expect(2, f"--csv '{missing}': can't be written: No such file or directory", "--csv", missing)
            expect(2, "--csv '': takes the name of a file", "--csv", "")
            expect(2, "--csv: there are no times with --check-only", "--check-only", "--csv", f"{folder}/a.csv")
    finish(folder, "--arch")
