"""Builds a stage with the nvcc line of its header, for sm_75, sm_80 and sm_90, and reads ptxas's report.

No warning, no spill, no stack frame, and the shared memory that the chapter's README states.
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ARCHITECTURES = (75, 80, 90)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chapter", type=pathlib.Path)
    parser.add_argument("--nvcc", required=True)
    arguments = parser.parse_args()
    source = (arguments.chapter / "matmul.cu").read_text()
    readme = (arguments.chapter / "README.md").read_text()

    line = re.search(r"^// Alone: +(nvcc .*)$", source, re.M)
    stated = re.search(r"^Shared memory per block: (\d+) bytes", readme, re.M)
    if not line or not stated:
        sys.exit("matmul.cu needs a line '// Alone: nvcc ...', README.md a line 'Shared memory per block: ... bytes'")
    command = shlex.split(line[1])
    with tempfile.TemporaryDirectory() as folder:
        command[0] = arguments.nvcc
        command[command.index("-o") + 1] = f"{folder}/matmul"
        native = command.index("-arch=native")
        command[native:native + 1] = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES]
        command += ["-Xptxas=-v", "-Werror=all-warnings", "--threads=2"]
        run = subprocess.run(command, cwd=arguments.chapter.parent, capture_output=True, text=True)
        report = run.stdout + run.stderr
        if run.returncode != 0 or not pathlib.Path(folder, "matmul").exists():
            sys.exit(report)

    faults = []
    kernels = re.findall(r"Compiling entry function '(\w+)' for '(sm_\d+)'\n.*\n\s*(\d+) bytes stack frame, (\d+) bytes "
                         r"spill stores, (\d+) bytes spill loads\n.*Used (\d+) registers(.*)", report)
    for name, architecture, stack, stores, loads, registers, rest in kernels:
        shared = re.search(r"(\d+) bytes smem", rest)
        shared = int(shared[1]) if shared else 0
        print(f"{architecture} {name}: {registers} registers, {shared} bytes shared, {stores} + {loads} bytes spilled")
        if (stack, stores, loads) != ("0", "0", "0"):
            faults.append(f"{architecture} {name} spills: {stack} stack, {stores} stores, {loads} loads")
        if shared != int(stated[1]):
            faults.append(f"{architecture} {name} uses {shared} bytes of shared memory, README.md states {stated[1]}")
    if {architecture for _, architecture, *_ in kernels} != {f"sm_{a}" for a in ARCHITECTURES}:
        faults.append("ptxas reported no kernel for some architecture:\n" + report)
    if "warning" in report:
        faults.append(report)
    sys.exit("\n".join(faults) if faults else 0)


main()
