"""Exercise 1 of 06_wmma: C = alpha * A * B through the fragment's x[]. Applies the solution, exercises/1_scaling.patch, to a copy
of one_tile.cu, which then must verify all of alpha * A * B; and breaks its loop in turn, which must be found wrong where it is.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import emulated

LOOP = "for (int t = 0; t < c_frag.num_elements; ++t) c_frag.x[t] *= alpha;"
BROKEN = {  # what the loop becomes, and the first element that is then wrong
    "no loop": ("(void)alpha;", "C[0][0]"),
    "half of x[]": (LOOP.replace("num_elements", "num_elements / 2"), "C[0][8]"),
    "the first element left out": (LOOP.replace("t = 0", "t = 1"), "C[0][0]"),
    "half of the lanes": ("if (threadIdx.x < 16) " + LOOP, "C[4][0]"),
    "alpha squared": (LOOP.replace("*= alpha", "*= alpha * alpha"), "C[0][0]"),
}


def patched(source, patch):
    """The text of `source` with the patch applied."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / source.parent.name / source.name
        copy.parent.mkdir()
        shutil.copy(source, copy)
        command = ["patch", "-p1", "--fuzz=0", "-i"] if shutil.which("patch") else ["git", "apply"]
        subprocess.run(command + [str(patch.resolve())], cwd=folder, check=True,
                       env={**os.environ, "GIT_CEILING_DIRECTORIES": folder})
        return copy.read_text()


def build(arguments, text, flags, folder):
    """The program that `text` makes."""
    emulated.build(arguments, text, f"{folder}/one_tile", flags)
    return f"{folder}/one_tile"


def run(program, fault=0):
    """Exit code, output and errors of the program with that fault, 0 for none."""
    done = subprocess.run([program], capture_output=True, text=True, env={**os.environ, "FAULT": str(fault)})
    return done.returncode, done.stdout, done.stderr.strip()


parser = argparse.ArgumentParser()
emulated.add_arguments(parser)
parser.add_argument("--patch", type=pathlib.Path, required=True)
arguments = parser.parse_args()
solution = patched(arguments.source, arguments.patch)
if solution.count(LOOP) != 1:
    sys.exit(f"'{LOOP}' stands {solution.count(LOOP)} times in the solution, expected once")
# All faults in one copy, each behind the number that the environment gives.
cases = "".join(f"case {number}: {loop} break; " for number, loop in enumerate([LOOP, *(loop for loop, _ in BROKEN.values())]))
broken = "#include <cstdlib>\n" + solution.replace(LOOP, f'switch (std::atoi(std::getenv("FAULT"))) {{ {cases}}}')
failures = 0
with tempfile.TemporaryDirectory() as folder:
    for what, text, flags in (("traced", solution, arguments.trace), ("under AddressSanitizer", broken, arguments.asan)):
        program = build(arguments, text, flags, folder)
        code, printed, said = run(program)
        good = code == 0 and printed.count("256 of 256 elements equal") == 2 and "halved" in printed
        print(f"{'ok  ' if good else 'FAIL'} the solution, {what}: exit code {code} {said}\n{printed}")
        failures += not good
    for number, (what, (_, first)) in enumerate(BROKEN.items(), 1):
        code, printed, said = run(program, number)
        good = code == 1 and "wmma_ker, halved" in said and f"{first} is" in said and "expected" in said
        print(f"{'ok  ' if good else 'FAIL'} {what}: exit code {code}, {said}")
        failures += not good
sys.exit(1 if failures else 0)
