#!/usr/bin/env python3
"""sass.py: is the machine code of all stages that of another tree? Compiles them in both and compares their kernels' instructions.

    python3 tools/sass.py OTHER_TREE [STEP...]

A STEP is a file's path below the tree, by default all that are a stage. Exit codes: 0 equal, 1 different, 77 no nvcc or cuobjdump.
The toolkit has both; PyPI has nvidia-cuda-cuobjdump, and nvidia-cuda-nvdisasm, which that calls.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from machine import NVCC, ROOT
from programs import architecture


def kernels(source, tree):
    """A stage's kernels, by whatever names: their architectures and instructions."""
    targets = ["90a"] if architecture(source.read_text()) == "sm_90a" else ["80", "90"]
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "made.fatbin")
        subprocess.run([NVCC, "-std=c++17", "-w", "-fatbin", *(f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in targets),
                        f"-I{tree}", "-o", made, source], check=True)
        listing = subprocess.run(["cuobjdump", "-sass", made], check=True, stdout=subprocess.PIPE, text=True).stdout
    return sorted((sm, [" ".join(line.split()) for line in body.replace(name, "KERNEL").splitlines() if "/*" in line])
                  for sm, code in re.findall(r"(?s)\tcode for (sm_\w+)\n(.*?)(?=\n\tcode for|\Z)", listing)
                  for name, body in re.findall(r"(?s)Function : (\S+)\n(.*?)(?=\n\t\tFunction : |\Z)", code))


def compare(step, other):
    """A line about a stage, and whether its kernels are equal."""
    missing = [tree for tree in (ROOT, other) if not (tree / step).exists()]
    if missing:
        return f"{step}: not in {missing[0]}", False
    ours, theirs = (kernels(tree / step, tree) for tree in (ROOT, other))
    return f"{step}: {len(ours)} kernels {'equal' if ours == theirs else 'DIFFERENT'}", bool(ours) and ours == theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="sass.py",
                                     epilog="Example: python3 tools/sass.py ../before 03_shared_blocking/matmul.cu")
    parser.add_argument("other", type=pathlib.Path)
    parser.add_argument("steps", nargs="*")
    given = parser.parse_args()
    if missing := [tool for tool in (NVCC, "cuobjdump") if not shutil.which(tool)]:
        parser.exit(77, f"sass.py: no '{missing[0]}'\n")
    other = given.other.resolve()
    steps = given.steps or sorted({str(path.relative_to(tree)) for tree in (ROOT, other)
                                   for path in tree.glob("[0-9][0-9]_*/*.cu") if "return run_stage" in path.read_text()})
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = []
        for line, same in pool.map(lambda step: compare(step, other), steps):
            print(line, flush=True)
            results.append(same)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
