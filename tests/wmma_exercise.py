"""The exercise of 06_wmma: C = alpha * A * B through the fragment's x[]. Applies the solution, exercises/scaling.patch, to a copy
of one_tile.cu, which then must verify all of alpha * A * B; and breaks its loop in turn, which must be found wrong.
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
BROKEN = {
    "no loop": "(void)alpha;",
    "half of x[]": LOOP.replace("num_elements", "num_elements / 2"),
    "the first element left out": LOOP.replace("t = 0", "t = 1"),
    "half of the lanes": "if (threadIdx.x < 16) " + LOOP,
    "alpha squared": LOOP.replace("*= alpha", "*= alpha * alpha"),
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


def run(arguments, text, flags):
    """Exit code, output and errors of the program that `text` makes."""
    with tempfile.TemporaryDirectory() as folder:
        emulated.build(arguments, text, f"{folder}/one_tile", flags)
        done = subprocess.run([f"{folder}/one_tile"], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr.strip()


parser = argparse.ArgumentParser()
emulated.add_arguments(parser)
parser.add_argument("--patch", type=pathlib.Path, required=True)
arguments = parser.parse_args()
solution = patched(arguments.source, arguments.patch)
if solution.count(LOOP) != 1:
    sys.exit(f"'{LOOP}' stands {solution.count(LOOP)} times in the solution, expected once")
failures = 0
for what, flags in (("under AddressSanitizer", arguments.asan), ("traced", arguments.trace)):
    code, printed, said = run(arguments, solution, flags)
    good = code == 0 and printed.count("256 of 256 elements equal") == 2 and "halved" in printed
    print(f"{'ok  ' if good else 'FAIL'} the solution, {what}: exit code {code} {said}\n{printed}")
    failures += not good
for what, loop in BROKEN.items():
    code, printed, said = run(arguments, solution.replace(LOOP, loop), arguments.asan)
    good = code == 1 and "wmma_ker, halved" in said and "expected" in said
    print(f"{'ok  ' if good else 'FAIL'} {what}: exit code {code}, {said}")
    failures += not good
sys.exit(1 if failures else 0)
