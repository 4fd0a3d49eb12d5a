"""Whether a GPU has enough registers for the launches of a program on the emulator. Only nvcc knows how many registers
a kernel takes: where there is none, nothing is said. A program with a main() of its own asks for it before its verdict:
python3 registers.py FOLDER prints a line for each kernel."""
import fcntl
import os
import pathlib
import re
import shlex
import subprocess
import sys

import build
import process
from programs import ROOT

KERNEL = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'\n(?:.*\n)*?.*?Used (\d+) registers")
OF_BLOCK = 65536  # of an SM, too, a quarter of them in each of its four sub-partitions


def same_name(mangled):
    """The name without the mark of a function that only its file knows, as kernels are for the emulator."""
    return re.sub(r"L(?=\d)", "", mangled)


def instances_of(name, kernels):
    """The names of a template's instances, by the template's own name as the launch has it."""
    name = name.rpartition("::")[2]
    return [kernel for kernel in kernels if re.search(rf"(?<!\d){len(name)}{name}I", kernel)]


def most_threads(registers):
    """The threads that a block may have, each with so many registers. A warp gets them in units of 256, and the launch
    is refused if a sub-partition has too few for its quarter of the warps. Source: cudaOccMaxBlocksPerSMRegsLimit() in
    the toolkit's cuda_occupancy.h."""
    of_warp = -(-registers * 32 // 256) * 256
    return min(1024, OF_BLOCK // 4 // of_warp * 4 * 32)


class Registers:
    """While this is entered, nvcc compiles the kernels, and the emulator's program notes its launches and gets the
    command that finds those for which the registers do not suffice."""

    def __init__(self, kernel):
        self.folder = kernel.folder / "nvcc"
        self.folder.mkdir(parents=True, exist_ok=True)
        launches = self.folder / "launches.csv"
        launches.unlink(missing_ok=True)
        self.nvcc = None
        if not build.has_nvcc():
            return
        os.environ["EMULATOR_LAUNCHES"] = str(launches)
        os.environ["EMULATOR_MORE_PROBLEMS"] = shlex.join([sys.executable, __file__, str(self.folder)])
        sources = [path for path in (kernel.path, *kernel.others) if path.suffix == ".cu"]
        has_target = any(re.match("--?(arch|gpu-arch|gencode|generate-code)", flag) for flag in kernel.flags)
        target = [] if has_target else ["-arch=sm_90a"]
        with (self.folder / "said").open("w") as said:
            fcntl.flock(said, fcntl.LOCK_EX)  # nvcc and its children hold it until they end
            self.nvcc = subprocess.Popen(
                [build.NVCC, "-O3", "-std=c++17", *target, *kernel.flags, "-w", "-Xptxas", "-v", f"-I{ROOT}",
                 f"-I{kernel.path.parent}", "-cubin", "-odir", self.folder, *sources],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.nvcc and self.nvcc.poll() is None:
            process.end(self.nvcc)

    def problems(self):
        return problems(self.folder) if self.nvcc else ()


def problems(folder):
    """A sentence for each kernel that was launched with more threads than its registers allow. Waits for nvcc."""
    noted = folder / "launches.csv"
    if not noted.exists():
        return
    with (folder / "said").open(errors="replace") as said:
        fcntl.flock(said, fcntl.LOCK_SH)
        found = KERNEL.findall(said.read())
    of_kernel = {same_name(name): (int(registers), target) for name, target, registers in found}
    launches = [line.split(",", 3) for line in noted.read_text(errors="replace").splitlines()]
    for mangled, threads, place, name in sorted(launches, key=lambda launch: -int(launch[1])):
        instances = [same_name(mangled)] if mangled else instances_of(name, of_kernel)
        # Of an instance's launches the largest, and of the instances that a launch may mean the smallest.
        registers, target = min((of_kernel.pop(each, (0, "")) for each in instances), default=(0, ""))
        if registers and int(threads) > (most := most_threads(registers)):
            yield (f"too many resources requested for launch: {place} launches blocks of {threads} threads, but "
                   f"nvcc gives each thread of {name}() {registers} registers (-Xptxas -v, {target}), with which "
                   f"a block has room for {most}: a block gets at most {OF_BLOCK}. __launch_bounds__({threads}) "
                   f"makes nvcc use no more than {OF_BLOCK // int(threads) // 8 * 8}")


if __name__ == "__main__":
    print(*problems(pathlib.Path(sys.argv[1])), sep="\n")
