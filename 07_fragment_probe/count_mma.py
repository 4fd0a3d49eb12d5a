#!/usr/bin/env python3
"""What does one mma_sync become? Compiles small kernels for each architecture and counts instructions in the machine
code.

    python3 07_fragment_probe/count_mma.py [--nvcc NVCC] [--cuobjdump CUOBJDUMP]

Machine code (SASS) is read with cuobjdump, which comes with the CUDA toolkit. Without it the PTX is counted: there a
mma_sync is one wmma.mma everywhere, and what the chip makes of that isn't seen.
Exit codes: 0 counted, 1 nvcc or cuobjdump failed, 2 bad command line, 77 no nvcc.
Articles: the Volta report, its last section (16 HMMA: 4 sets of 4 steps); "Tensorコアを使ってみた" (load_matrix_sync is LDG)
"""
import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURES = ("sm_70", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
KERNELS = """
#include <mma.h>
#include "common/ptx/ptx.cuh"
using namespace nvcuda;
using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using ColumnMajorA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>;

// One mma_sync. Its result is stored, so that the compiler doesn't delete it.
template <class T>
__device__ void multiply(const half* a, const half* b, T* c) {
    A a_fragment;
    B b_fragment;
    wmma::fragment<wmma::accumulator, 16, 16, 16, T> c_fragment;
    wmma::load_matrix_sync(a_fragment, a, 16);
    wmma::load_matrix_sync(b_fragment, b, 16);
    wmma::load_matrix_sync(c_fragment, c, 16, wmma::mem_row_major);
    wmma::mma_sync(c_fragment, a_fragment, b_fragment, c_fragment);
    wmma::store_matrix_sync(c, c_fragment, 16, wmma::mem_row_major);
}
extern "C" __global__ void mma_half(const half* a, const half* b, half* c) { multiply(a, b, c); }
extern "C" __global__ void mma_float(const half* a, const half* b, float* c) { multiply(a, b, c); }

// One mma.m8n8k4, for 4 of the 16 values of k.
template <class Register, int registers>
__device__ void multiply_quad_pairs(const half2* a, Register* c) {
    half2 x[2], y[2];
    Register d[registers];
    for (int i = 0; i < 2; ++i) x[i] = a[threadIdx.x * 4 + i], y[i] = a[threadIdx.x * 4 + 2 + i];
    for (int i = 0; i < registers; ++i) d[i] = c[threadIdx.x * registers + i];
    ptx::mma_m8n8k4(d, x, y);
    for (int i = 0; i < registers; ++i) c[threadIdx.x * registers + i] = d[i];
}
extern "C" __global__ void quad_half(const half2* a, half2* c) { multiply_quad_pairs<half2, 4>(a, c); }
extern "C" __global__ void quad_float(const half2* a, float* c) { multiply_quad_pairs<float, 8>(a, c); }

// One load_matrix_sync of A.
template <class Fragment>
__device__ void load(const half* a, half* x) {
    Fragment f;
    wmma::load_matrix_sync(f, a, 16);
    for (int i = 0; i < f.num_elements; ++i) x[threadIdx.x * f.num_elements + i] = f.x[i];
}
extern __shared__ half shared[];
extern "C" __global__ void load_global(const half* a, half* x) { load<A>(a, x); }
extern "C" __global__ void load_shared(half* x) { load<A>(shared, x); }
extern "C" __global__ void load_column_major(const half* a, half* x) { load<ColumnMajorA>(a, x); }
"""
SASS = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"count_mma.py: {' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout + done.stderr


def count(text, kernel, opcode):
    """{kernel: {opcode: how many}} of a listing, by the patterns of a kernel's first line and of an instruction."""
    counts, name = collections.defaultdict(collections.Counter), ""
    for line in text.split("\n"):
        if m := kernel.search(line):
            name = m[1]
        elif m := opcode.match(line):
            counts[name][m[1]] += 1
    return counts


def listed(counts, *opcodes):
    """'2 HMMA.16816.F32' of those whose name begins so; 'none'. The steps of a set are counted together."""
    found, steps = collections.Counter(), collections.defaultdict(list)
    for name, n in counts.items():
        if name.startswith(opcodes):
            name, _, step = name.partition(".STEP")
            found[name] += n
            steps[name] += [step] if step else []
    each = [f"{n} {name}" + (f" (steps {', '.join(steps[name])})" if steps[name] else "") for name, n in found.items()]
    return " + ".join(each) or "none"


def main():
    parser = argparse.ArgumentParser(
        description="Counts the instructions that one mma_sync, and loading its fragments, become on each "
                    "architecture.",
        epilog="Examples:    python3 07_fragment_probe/count_mma.py\n"
               "             python3 07_fragment_probe/count_mma.py --nvcc /usr/local/cuda/bin/nvcc\n\n"
               "Exit codes:  0 counted, 1 nvcc or cuobjdump failed, 2 bad command line, 77 no nvcc",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc", help="the compiler (default: the nvcc on the PATH)")
    parser.add_argument("--cuobjdump", default="cuobjdump", help="reads machine code; without it the PTX is counted")
    arguments = parser.parse_args()
    if not shutil.which(arguments.nvcc):
        print(f"count_mma.py: no compiler '{arguments.nvcc}': install the CUDA toolkit (package nvidia-cuda-toolkit)",
              file=sys.stderr)
        sys.exit(77)
    version = re.search(r"release ([\d.]+)", run(arguments.nvcc, "--version"))[1]
    builds = set(run(arguments.nvcc, "--list-gpu-code").split())
    sass = shutil.which(arguments.cuobjdump) is not None
    if sass:
        print(f"nvcc {version}, SASS (machine code), read with cuobjdump")
    else:
        print(f"nvcc {version}, PTX: to see what becomes of these needs cuobjdump, not found at "
              f"'{arguments.cuobjdump}'")
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "kernels.cu"), pathlib.Path(folder, "kernels.out")
        source.write_text(KERNELS)
        for arch in ARCHITECTURES:
            if arch not in builds:
                continue
            kind = "-cubin" if sass else "-ptx"
            run(arguments.nvcc, f"-arch={arch}", "-std=c++17", "-I", HERE.parent, kind, "-o", target, source)
            if sass:
                kernels = count(run(arguments.cuobjdump, "-sass", target), re.compile(r"Function : (\w+)"), SASS)
                loads = ("LDG", "LDS", "LD.", "MOVM")  # LDSM is ldmatrix; MOVM transposes an 8x8 in registers
            else:
                kernels = count(target.read_text(), re.compile(r"\.entry (\w+)"),
                                re.compile(r"\s*(wmma\.\w+|mma\.sync)"))
                loads = ("wmma.load",)
            products = ("HMMA", "wmma.mma", "mma.sync")
            for what, kernel, opcodes in (("mma_sync", "mma", products), ("mma.m8n8k4", "quad", (*products, "FFMA"))):
                of_half = listed(kernels[f"{kernel}_half"], *opcodes)
                of_float = listed(kernels[f"{kernel}_float"], *opcodes)
                print(f"{arch:8}{what:20} half: {of_half}; float: {of_float}")
            load = {}
            for kernel in ("global", "shared", "column_major"):
                load[kernel] = listed(kernels[f"load_{kernel}"], *loads)
            print(f"{arch:8}load_matrix_sync, A  global: {load['global']}; shared: {load['shared']}; "
                  f"global, column-major: {load['column_major']}")
    missing = [arch for arch in ARCHITECTURES if arch not in builds]
    if missing:
        print(f"Not built by nvcc {version}: {', '.join(missing)}.")
    if "sm_70" in missing:
        print("sm_70 (Volta): docs/results/machine_code.txt has what nvcc 12.4 makes for it.")


if __name__ == "__main__":
    main()
