#!/usr/bin/env python3
"""Is the machine code of all stages that of another tree? Compiles them in both and compares each kernel's instructions.

    python3 tools/sass.py OTHER_TREE [STEP...] [NVCC_OPTION...]

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

from programs import architecture
from machine import ROOT

TOOLS = [os.environ.get("NVCC") or "nvcc", "cuobjdump"]


def kernels(source, tree, options):
    """{(architecture, kernel): its instructions} of a stage."""
    targets = ["90a"] if architecture(source.read_text()) == "sm_90a" else ["80", "90"]
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "made.fatbin")
        subprocess.run([TOOLS[0], "-std=c++17", "-w", "-fatbin", *(f"-gencode=arch=compute_{sm},code=sm_{sm}" for sm in targets),
                        f"-I{tree}", *options, "-o", made, source], check=True)
        listing = subprocess.run([TOOLS[1], "-sass", made], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for sm, code in re.findall(r"(?s)\tcode for (sm_\w+)\n(.*?)(?=\n\tcode for|\Z)", listing):
        for name, body in re.findall(r"(?s)Function : (\S+)\n(.*?)(?=\n\t\tFunction : |\Z)", code):
            found[sm, name] = [" ".join(line.split()) for line in body.replace(name, "KERNEL").splitlines() if "/*" in line]
    return found


def compare(step, other, options):
    """A line about a stage, and whether its kernels are equal."""
    missing = [tree for tree in (ROOT, other) if not (tree / step).exists()]
    if missing:
        return f"{step}: not in {missing[0]}", False
    ours, theirs = (kernels(tree / step, tree, options) for tree in (ROOT, other))
    for key in [key for key in theirs if key not in ours]:  # a kernel by another name
        same = [mine for mine in ours if mine not in theirs and mine[0] == key[0] and ours[mine] == theirs[key]]
        if same:
            theirs[same[0]] = theirs.pop(key)
    differ = [f"{name} ({sm}: {len(theirs.get((sm, name), []))} lines, now {len(ours.get((sm, name), []))})"
              for sm, name in sorted({*ours, *theirs}) if ours.get((sm, name)) != theirs.get((sm, name))]
    return f"{step}: " + ("DIFFERENT: " + ", ".join(differ) if differ else f"{len(ours)} kernels equal"), not differ and bool(ours)


def main():
    parser = argparse.ArgumentParser(description="Compares the machine code of all stages with that of another tree.",
                                     epilog="Example: python3 tools/sass.py ../before 03_shared_blocking/matmul.cu")
    parser.add_argument("other", type=pathlib.Path, help="the other tree")
    parser.add_argument("steps", nargs="*", help="files of stages, below the tree (default: all)")
    arguments, options = parser.parse_known_args()
    for tool in TOOLS:
        if not shutil.which(tool):
            parser.exit(77, f"sass.py: no '{tool}'\n")
    other = arguments.other.resolve()
    steps = arguments.steps or sorted({str(path.relative_to(tree)) for tree in (ROOT, other)
                                       for path in tree.glob("[0-9][0-9]_*/*.cu") if "return run_stage" in path.read_text()})
    equal = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line, same in pool.map(lambda step: compare(step, other, options), steps):
            print(line, flush=True)
            equal &= same
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
