"""What 00_machine_limits/latency says to bad input: limits_latency_command_line.py PROGRAM"""
import subprocess
import tempfile

from bad_input import check, emulated, expect, finish, no_gpu, program

expect(2, "unknown option '--fast'", "--fast")
expect(2, "unexpected argument 'all'", "all")
expect(2, "--device: needs a value", "--device")
for value in ("-1", "1024", "first", ""):
    expect(2, f"--device '{value}': takes a whole number from 0 to 1023", "--device", value)

with tempfile.TemporaryDirectory() as folder:
    if emulated:
        expect(2, "--device '7': takes a number from 0 to 0", "--device", "7")
        for option, value in (("--repeat", "3"), ("--csv", f"{folder}/a.csv")):
            expect(2, f"{option}: only the GPU build takes it; the CPU build times nothing", option, value)
        run = subprocess.run([program], capture_output=True, text=True)
        check(run.returncode == 0 and "Nothing was timed: the GPU build times." in run.stdout and "cycles" not in run.stdout,
              "verifies, and prints no time", run.stdout + run.stderr)
    else:
        for value in ("0", "-1", "1001", "many", ""):
            expect(2, f"--repeat '{value}': takes a whole number from 1 to 1000", "--repeat", value)
        missing = f"{folder}/missing/out"
        expect(2, f"--csv '{missing}': can't be written: No such file or directory", "--csv", missing)
        expect(2, "--csv '': takes the name of a file", "--csv", "")
        expect(2, "--csv: there are no times with --verify-only", "--verify-only", "--csv", f"{folder}/a.csv")
        expect(77, "no usable GPU", "--csv", f"{folder}/a.csv", env=no_gpu)
    finish(folder, "--verify-only")
