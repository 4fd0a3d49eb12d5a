"""For the tests of command lines: runs the program that the first argument names, and counts what it should not say."""
import os
import pathlib
import subprocess
import sys

from checks import check, end

program = sys.argv[1]
name = pathlib.Path(program).name.removesuffix("_cpu")
emulated = program.endswith("_cpu")
no_gpu = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}


def expect(code, said, *words, **options):
    """Runs the program with `words`; wants exit code `code` and `said` in the one line on stderr."""
    run = subprocess.run([program, *words], capture_output=True, text=True, **options)
    good = run.returncode == code and said in run.stderr and len(run.stderr.strip().split("\n")) == 1
    check(good, f"{' '.join(words) or '(nothing)'}: {run.returncode}, {run.stderr.strip()}")


def finish(folder, help_word):
    """Nothing may be left in `folder`, and --help must show `help_word`. Ends the test."""
    check(not os.listdir(folder), f"nothing left behind: {os.listdir(folder)}")
    run = subprocess.run([program, "--help"], capture_output=True, text=True)
    check(run.returncode == 0 and help_word in run.stdout and "Exit codes" in run.stdout, "--help")
    end()
