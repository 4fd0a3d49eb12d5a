"""What a program on the emulator prints when something is wrong: each thing once, and the source lines that it is about."""
import os

import plant
from support import call

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


def run_of(tmp_path, past=0, silent=0, summary=False):
    (tmp_path / "a").mkdir(exist_ok=True)
    (tmp_path / "a/race.cu").write_text(RACE.replace("PAST", str(past)).replace("SILENT", str(silent)))
    program = plant.build(tmp_path, "a", "race", "trace")
    return call(program, env={**os.environ, **({"EMULATOR_SUMMARY": "1"} if summary else {})})


def test_a_race_quotes_its_lines(tmp_path):
    """Below it, each with its number, in 80 columns."""
    lines = run_of(tmp_path, summary=True).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if "race in shared memory" in line)
    quoted = sorted(line.split("|")[1].strip() for line in lines[at + 1:at + 3])
    assert quoted[0].startswith("out[threadIdx.x] = s[63 - threadIdx.x];") and quoted[1] == "s[threadIdx.x] = threadIdx.x;"
    assert quoted[0].endswith("...") and all(line.startswith("    ") and len(line) <= 80 for line in lines[at + 1:at + 3])
    assert [line.split("|")[0].strip() for line in lines[at + 1:at + 3]] in (["5", "6"], ["6", "5"])


def test_is_said_once(tmp_path):
    """What ends a launch: at once where nothing else says it, before the program's own words, or else in the list at the end."""
    said = "out of bounds: a/race.cu:7 writes 4 bytes"
    run = run_of(tmp_path, past=1)
    assert run.stderr.count(said) == 1 and "illegal memory access" in run.stdout
    run = run_of(tmp_path, past=1, silent=1)
    assert run.stderr.count(said) == 1, "the second launch was silenced"
    run = run_of(tmp_path, past=1, summary=True)
    assert run.returncode == 1 and run.stdout.count(said) == 1 and said not in run.stderr
