"""What a program on the emulator prints when something is wrong: each problem once, with its source lines."""
import os
import re

from emulated import build, call, line_of

RACE = """#include <cstdio>
#include "emulator/emulator.h"
__global__ void k(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];  // and some words to make this line longer than a terminal of 80 columns is
    if (PAST) out[threadIdx.x + 1] = 0;
}
int main() {
    int* out;
    cudaMalloc(&out, 256);
    k<<<1, 64>>>(out);
    if (SILENT) {
        const emulator::Silence silence;
        k<<<1, 64>>>(out);
    }
    std::printf("%s\\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}
"""


TWO_BARRIERS = """#include "emulator/emulator.h"
__global__ void k() {
    if (threadIdx.x) __syncthreads();
    else __syncthreads();
}
int main() {
    k<<<1, 64>>>();
    cudaDeviceSynchronize();
}
"""


NO_LAUNCH = """#include <cuda_runtime.h>
int main() {
    float host[50] = {}, *device;
    cudaMalloc(&device, 100);
    cudaMemcpy(device, host, 200, cudaMemcpyHostToDevice);
}
"""

GLOBALS = """#include <cuda_runtime.h>
struct Buffer {
    float* data = nullptr;
    ~Buffer() { cudaFree(data); }
} freed_here, freed_twice;
int main() {
    cudaMalloc(&freed_here.data, 100);
    cudaMalloc(&freed_twice.data, 100);
    cudaFree(freed_twice.data);
}
"""

SMALL = """#include <cuda_runtime.h>
__global__ void store(int* out) { out[blockIdx.x * 256 + threadIdx.x] = 1; }
int main() {
    int* out;
    cudaMalloc(&out, 512 * 256 * sizeof(int));
    store<<<512, 256>>>(out);
    cudaFree(out);
}
"""


def run_of(tmp_path, past=0, silent=0, summary=False):
    (tmp_path / "a").mkdir(exist_ok=True)
    (tmp_path / "a/race.cu").write_text(RACE.replace("PAST", str(past)).replace("SILENT", str(silent)))
    program = build(tmp_path / "a/race.cu")
    return call(program, env={**os.environ, **({"EMULATOR_SUMMARY": "1"} if summary else {})})


def test_a_race_quotes_its_lines(tmp_path):
    """The lines stand below it, each with its number, in 80 columns."""
    lines = run_of(tmp_path, summary=True).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if "race in shared memory" in line)
    quoted = {}  # {number: the line, joined where it was broken}
    for margin, _, text in (line.partition(" | ") for line in lines[at + 1:at + 4]):
        number = margin.strip() or number
        quoted[number] = " ".join((quoted.get(number, ""), text.strip())).strip()
    source = (tmp_path / "a/race.cu").read_text().splitlines()
    assert quoted == {str(number): source[number - 1].strip() for number in (5, 6)}
    assert all(line.startswith("    ") and len(line) <= 80 for line in lines[at + 1:at + 4])


def test_names_the_folder_once(tmp_path):
    """If both places are in one file, whatever the message. Here a thread does not reach the barrier of the others."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/two.cu").write_text(TWO_BARRIERS)
    run = call(build(tmp_path / "a/two.cu"))
    said = next(line for line in run.stderr.splitlines() if "barrier divergence" in line)
    first, second = re.findall(r"[\w/]*two\.cu:\d+", said)
    assert first.startswith("a/") and second.startswith("two.cu") and {first[-1], second[-1]} == {"3", "4"}
    assert all(f"{number} | " in run.stderr for number in (3, 4)), "each of the lines is quoted"


def test_is_said_once(tmp_path):
    """A problem that ends a launch is printed at once, before the program's own output, unless the program prints it
    itself or it stands in the list at the end."""
    said = f"out of bounds: a/race.cu:{line_of(RACE, 'if (PAST)')} writes 4 bytes"
    run = run_of(tmp_path, past=1)
    assert run.stderr.count(said) == 1 and "illegal memory access" in run.stdout
    run = run_of(tmp_path, past=1, silent=1)
    assert run.stderr.count(said) == 1, "the second launch was silenced"
    run = run_of(tmp_path, past=1, summary=True)
    assert run.returncode == 1 and run.stdout.count(said) == 1 and said not in run.stderr


def test_of_a_program_without_a_launch(tmp_path):
    (tmp_path / "copy.cu").write_text(NO_LAUNCH)
    run = call(build(tmp_path / "copy.cu", "-D__CUDACC__"), env={**os.environ, "EMULATOR_SUMMARY": "1"})
    said = rf"The emulator found:\n  cudaMemcpy at .*copy\.cu:{line_of(NO_LAUNCH, 'cudaMemcpy(')} "
    assert run.returncode == 1 and re.search(said, run.stdout)
    assert "Never freed: 100 bytes" in run.stdout and "counted" not in run.stdout


def test_of_global_objects(tmp_path):
    """Their destructors run when the program ends: what they free is not left, and their mistakes are reported."""
    (tmp_path / "globals.cu").write_text(GLOBALS)
    run = call(build(tmp_path / "globals.cu", "-D__CUDACC__"), env={**os.environ, "EMULATOR_SUMMARY": "1"})
    assert run.returncode == 1, run.stderr
    said = rf"The emulator found:\n  cudaFree at .*globals\.cu:{line_of(GLOBALS, 'cudaFree(data)')} .*freed"
    assert re.search(said, run.stdout) and "Never freed" not in run.stdout, run.stdout


def test_a_small_launch_is_traced_as_a_whole(tmp_path):
    (tmp_path / "small.cu").write_text(SMALL)
    run = call(build(tmp_path / "small.cu"), env={**os.environ, "EMULATOR_SUMMARY": "1"})
    stored = next(line for line in run.stdout.splitlines() if line.startswith("store ")).split()[6]
    assert stored == "0.500" and "only a part" not in run.stdout
