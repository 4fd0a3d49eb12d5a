#!/usr/bin/env python3
"""The articles' claims that are arithmetic, or that a small experiment on a CPU settles: claims.py [NUMBER...]

The rows of docs/articles say what each claims. The inputs are an article's; those that it lacks are the vendors': lanes and boost
clocks of V100 (PCIe 1.38 GHz, whose 113 TFLOPS the report has, SXM2 1.53), P100, A100 and RTX 5060 Ti, MI250X's units, the
Xeon's two AVX-512 units a core. A multiply-add is 2 flop.

Examples:    python3 tools/claims.py 44     python3 tools/claims.py 84 85 86     python3 tools/claims.py     (all)
Exit codes:  0 computed, 2 no such claim, 77 clang-19 is missing, which some take
"""
import array
import math
import random
import re
import statistics
import subprocess
import sys

PEAK, GBS = 64 * 4 * 16 * 2 * 1.05, 392  # slide 38: GFLOPS and GB/s of a Radeon R9 Fury X


def integers(rows, columns, seed=1):
    values = random.Random(seed)
    return [[values.randint(-9, 9) for _ in range(columns)] for _ in range(rows)]


def product(A, B):
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*B)] for row in A]


def counted(k, n=1, items=1):
    """What work-items take that compute n x n elements each, as sums over k."""
    loads, stores, multiplications = items * 2 * n * k, items * n * n, items * n * n * k
    return (f"{loads} loads, {multiplications} multiplications, {multiplications} additions, {stores} stores; "
            f"{2 * multiplications / (4 * (loads + stores)):.5f} flop per byte")


def commuting():
    A, B = integers(2, 2, 1), integers(2, 2, 2)
    return f"A = {A}, B = {B}: AB and BA are {'equal' if product(A, B) == product(B, A) else 'different'}"


def formats():
    """Of each kind: the significand's bits with the leading one, the exponent's bits."""
    yield f"{'':8}{'bits':>5}{'digits':>8}{'largest':>12}{'ulp of 1':>11}{'off at 0.001':>14}{'off at 1e-30':>14}"
    for name, bits, exponent in (("float", 24, 8), ("double", 53, 11), ("bf16", 8, 8), ("tf32", 11, 8), ("half", 11, 5)):
        highest, off = 2 ** (exponent - 1) - 1, ""
        for x in (0.001, 1e-30):  # relative error of x rounded; below the smallest normal number the steps get no smaller
            step = 2.0 ** (max(math.frexp(x)[1] - 1, 1 - highest) - (bits - 1))
            off += f"{abs(round(x / step) * step / x - 1):14.0e}"
        largest, ulp = (2 - 2.0 ** (1 - bits)) * 2.0**highest, 2.0 ** (1 - bits)
        yield f"{name:8}{bits + exponent:5}{bits * math.log10(2):8.2f}{largest:12.2e}{ulp:11.1e}{off}"


def to_float(x):
    return array.array("f", [x])[0]


def allclose(k=8192, elements=64, lanes=16):
    """The kernel adds one by one, a BLAS in several sums; np.allclose(x, y) means |x - y| <= 1e-8 + 1e-5 |y| for all."""
    for low in (0, -1):
        values, off, close = random.Random(1), [], 0
        for _ in range(elements):
            gpu, sums = 0.0, [0.0] * lanes
            for i in range(k):
                ab = to_float(values.uniform(low, 1)) * to_float(values.uniform(low, 1))
                gpu, sums[i % lanes] = to_float(gpu + ab), to_float(sums[i % lanes] + ab)
            cpu = 0.0
            for each in sums:
                cpu = to_float(cpu + each)
            off.append((gpu - cpu) / cpu)
            close += abs(gpu - cpu) <= 1e-8 + 1e-5 * abs(cpu)
        yield (f"inputs in [{low}, 1): {close} of {elements} elements agree; relative difference: at most {max(map(abs, off)):.1e}, "
               f"deviation {statistics.pstdev(off):.1e}")


def attainable():
    for i in (0.25, 2, PEAK / GBS, 32):
        seconds = max(i / PEAK, 1 / GBS)  # of i Gflop and a GB: the longer of W / pi and Q / beta
        yield f"{i:5.2f} flop per byte: {i / seconds:.1f} GFLOPS; min(pi, beta I) = {min(PEAK, GBS * i):.1f}"


def clang(chip, source, *words):
    """(does clang 19 take the source for a GCN chip?, what it says)"""
    target = () if "hip" in words else ("-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}")
    run = subprocess.run(["clang-19", *target, *words, "-", "-o", "/dev/null"], input=source, capture_output=True, text=True)
    return not run.returncode, run.stderr


def occupancy(chip, register):
    """The waves a SIMD that clang has for a kernel that uses this register; None where the chip has no such register."""
    said = clang(chip, f'kernel void k() {{ __asm volatile("" ::: "{register}"); }}\n', *"-x cl -nogpulib -O2 -S".split(),
                 "-Rpass-analysis=kernel-resource-usage")[1]
    found = re.search(r"Occupancy \[waves/SIMD\]: (\d+)", said)
    return found and int(found[1])


def languages(chip="gfx803"):
    options = {"OpenCL C": "-x cl -nogpulib -S", "HIP": f"-x hip --offload-arch={chip} -nogpulib -nogpuinc --offload-device-only -S",
               "HC C++": "-hc -x c++ -S"}
    return f"clang 19 for {chip}: " + ", ".join(
        f"{name} {'compiles' if clang(chip, '', *words.split())[0] else 'refused'}" for name, words in options.items())


def scalar_registers():
    """The size of a SIMD's file of SGPRs: the most that clang has waves for."""
    yield "4 x 2 KB = 8 KB a compute unit"
    for name, chip in (("GCN 2", "gfx700"), ("GCN 3, the Fury X", "gfx803")):
        waves, most = max(((occupancy(chip, f"s{n - 1}"), n) for n in range(16, 104, 8)), key=math.prod)
        yield (f"{name}: clang 19 has {waves} waves a SIMD up to {most} SGPRs each: {waves} x {most} x 4 bytes = "
               f"{waves * most / 256:g} KB a SIMD")


def vector_registers(chip="gfx803"):
    yield f"64 KB / 64 lanes / 4 bytes = {64 * 1024 // 64 // 4} VGPRs"
    yield "clang 19 for gfx803, waves a SIMD: " + ", ".join(
        f"{n} VGPRs {occupancy(chip, f'v{n - 1}') or 'refused'}" for n in (24, 64, 84, 128, 256, 257))


def address_spaces(chip="gfx803"):
    """The machine code of a load from LDS and of one from device memory."""
    run = subprocess.run(["clang-19", "-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}", *"-x cl -nogpulib -O2 -S - -o -".split()],
                         input="kernel void k(volatile global float* a, volatile local float* b) { a[1] = a[0] + b[0]; }",
                         capture_output=True, text=True)
    loads = re.findall(r"(?m)^\s+((?:ds_read|flat_load|global_load|buffer_load)\w*)", run.stdout)
    return f"clang 19 for {chip}: a load of local memory and one of global memory are {' and '.join(sorted(loads))}"


def assembled():
    for name, chip in (("GCN 1", "gfx600"), ("GCN 2", "gfx700"), ("GCN 3, the Fury X", "gfx803")):
        said = clang(chip, "".join(f"s_mov_b32 s{n}, 0\n" for n in range(96, 110)), "-x", "assembler", "-c")[1]
        takes = 110 - said.count("error: ")
        yield f"{name}: clang 19 takes {takes} of the registers s0, s1, ..."


def units():
    """Assembles an instruction for each kind of GCN unit."""
    kinds = {"vector ALU": "v_add_f32 v0, v1, v2", "vector memory": "buffer_load_dword v0, off, s[0:3], 0",
             "scalar ALU": "s_add_u32 s0, s1, s2", "scalar memory": "s_load_dword s0, s[2:3], 0x0", "branch": "s_branch 0",
             "LDS": "ds_read_b32 v0, v1", "export": "exp mrt0 v0, v0, v0, v0"}
    good = [name for name, line in kinds.items() if clang("gfx803", f"{line}\n", "-x", "assembler", "-c")[0]]
    return f"{len(good)} of {len(kinds)} kinds assemble for gfx803: {', '.join(good)}"


def split_k(size=8, parts=4):
    A, B, step = integers(size, size, 1), integers(size, size, 2), size // parts
    sums = [product([row[k:k + step] for row in A], B[k:k + step]) for k in range(0, size, step)]
    same = sum(x == sum(part[i][j] for part in sums) for i, row in enumerate(product(A, B)) for j, x in enumerate(row))
    return f"k in {parts} parts, each summed alone, then added: {same} of {size * size} elements equal"


def loads_in():
    l1 = 80 * 128 * 1.455 / 1000
    yield f"all L1 of a Titan V: 80 x 128 bytes x 1.455 GHz = {l1:.1f} TB/s; the times' ratio is {77670 / 91:.1f} times"
    for s in (91e-6, 77670e-6):
        tbs = 512 * 2**30 / s / 1e12
        yield (f"2^30 loads of 512 bytes in {s:g} s: {tbs:.2f} TB/s, {tbs / l1:.3g} times all L1; "
               f"by one warp {2**30 / s / 1.455e9:.1f} loads a clock")


def places():
    """Where wmma_extension's row-major accumulator of halves on sm_70 has its elements: as it is, and put right."""
    for row in (8, 64):
        met = {lane % 4 * 16 + lane // 4 % 2 * 128 + lane // 8 % 2 * 8 + lane // 16 * row + x for lane in range(32) for x in range(8)}
        yield f"lanes 16 to 31 {row} elements on: {len(met)} of 256 places"


def lanes(n, ghz):
    return f"{n} lanes x 2 flop x {ghz} GHz = {n * 2 * ghz / 1000:.2f} TFLOPS"


CLAIMS = {
    1: f"125 TFLOPS of a V100 / 640 tensor cores / 1.53 GHz = {125000 / 640 / 1.53:.1f} flop a clock; 4 x 4 x 4 multiply-adds "
       f"are {4 * 4 * 4 * 2}",
    30: loads_in,
    40: lanes(2560, 1.38),
    41: lanes(5120, 1.38),
    43: lanes(640 * 4 * 4 * 4, 1.38),
    44: f"70 / 113 = {70 / 113:.1%}; 70% are {0.7 * 113:.1f} TFLOPS",
    "51b": f"4 / 6 = {4 / 6:.2f}, 6 / 4 = {6 / 4:.1f}",
    60: f"boost, SXM2: 1.53 / 1.48 GHz = {1.53 / 1.48:.2f}",
    70: counted(100),
    71: commuting,
    74: f"{counted(12, items=12 * 12)}; 2 x 12^3 = {2 * 12**3}",
    75: lanes(108 * 64, 1.41),
    76: f"2 x 2150^3 = {2 * 2150**3:.2e} flop, at 19.5 TFLOPS {2 * 2150**3 / 19.5e9:.2f} ms; "
        f"a second is N = {(19.5e12 / 2) ** (1 / 3):.0f}",
    77: f"2 x 8192^3 = 2^{math.log2(2 * 8192**3):g} = {2 * 8192**3:.4e}",
    78: formats,
    81: f"int ends at {2**31 - 1}; the last index is {46340**2 - 1} at N = 46340, and {46341**2 - 1} at N = 46341: in 32 bits it "
        f"becomes {46341**2 - 1 - 2**32}: before the array",
    84: f"1.705 / 0.857 = {1.705 / 0.857:.2f}; the CPU does {2 * 8192**3 / 1.705e9:.0f} GFLOPS",
    85: f"{2 * 8192**3 / 0.787e12:.3f} TFLOPS; the other {0.857 - 0.787:.3f} s move {12 * 8192**2 / 1e6:.0f} MB: "
        f"{12 * 8192**2 / (0.857 - 0.787) / 1e9:.1f} GB/s",
    86: f"{lanes(4608, 2.572)}; 1.397 are {1.397 / (4608 * 2 * 2.572 / 1000):.1%}",
    87: allclose,
    89: f"2 x 8192^3 / (3 x 8192^2 x 4 bytes) = {2 * 8192 / 12:.0f}",
    97: f"1.23 x 10^2 = {math.ldexp(math.frexp(123)[0], 1)} x 2^{math.frexp(123)[1] - 1}",
    141: f"3.6 GHz x 4 x 2 x 8 x 2 = {3.6 * 4 * 2 * 8 * 2:.1f} GFLOPS",
    142: f"1.6 GT/s x 8 bytes x 2 = {1.6 * 8 * 2:.1f} GB/s; ridge: {460.8 / (2 * 12.8):.1f} flop per byte",
    143: attainable,
    144: f"i7-4790, by slides 20 and 21, at 8 flop per byte: min(460.8, 8 x 25.6) = {min(460.8, 8 * 25.6):.1f} GFLOPS",
    145: f"{lanes(220 * 64, 1.7)}; with FP32 in pairs {lanes(2 * 220 * 64, 1.7)}",
    146: f"{lanes(448, 2.5)}; 2.06 take {2060 / 448 / 2:.2f} GHz; two AVX-512 units a core: {lanes(2 * 448, 2.5)}",
    147: lanes(80 * 64, 1.53),
    148: f"{15.7 / 2.06:.2f} and {900 / 127.8:.2f}; with both AVX-512 units {15.7 / (2 * 448 * 2 * 2.5 / 1000):.2f}",
    149: languages,
    151: scalar_registers,
    152: f"32 KB / 4 compute units = {32 / 4:g} KB each",
    "150b": address_spaces,
    153: f"64 / 16 = {64 / 16:g} cycles",
    155: vector_registers,
    156: assembled,
    158: f"4096 bits x 1 Gbit/s / 8 = {4096 / 8:.0f} GB/s; {GBS} are {GBS / 512:.1%}",
    164: counted(8192),
    166: f"{GBS * 0.25:.0f} GFLOPS, {GBS * 0.25 / PEAK:.2%}",
    169: counted(8192, n=2),
    171: f"{128 * 128}; a work-item has 256: n x n + 2n fit up to n = {max(n for n in range(128) if n * n + 2 * n <= 256)}",
    "174b": f"4 stacks of HBM x 1 GB = 4 GB; three matrices of 8192 x 8192 floats take {3 * 8192**2 * 4 / 1e9:.2f} GB",
    180: f"256 work-items x 4 x 4 = {256 * 4 * 4} of {128 * 128} elements; 8 x 8 are {256 * 8 * 8}",
    181: f"{5141 / PEAK:.1%}",
    182: f"2 x (128 x 8 + 8 x 128) floats = {2 * 2 * 128 * 8 * 4} bytes of LDS; K = 64 in steps of 8: {1 + 64 // 8} tiles loaded, "
         f"{sum(k >= 64 for k in (0, *range(8, 64 + 8, 8)))} of them past K",
    183: f"{6351 / PEAK:.1%}, {6351 / 567:.1f} x, {6351 / 5141 - 1:+.1%} over slide 56",
    184: ", ".join(f"{speed}: {speed / GBS:.3g}" for speed in (567, 2018, 5141, 6351)),
    192: units,
    194: split_k,
    39: places,
}


def main(words):
    """Returns the exit code."""
    claims = {str(number): claim for number, claim in CLAIMS.items()}
    if words in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if unknown := [word for word in words if word not in claims]:
        print(f"claims.py: '{unknown[0]}': takes {', '.join(claims)}", file=sys.stderr)
        return 2
    code = 0
    for number in words or claims:
        try:
            found = claims[number]() if callable(claims[number]) else claims[number]
            print(f"{number:>3}  " + (found if isinstance(found, str) else "\n     ".join(found)))
        except FileNotFoundError:
            print(f"claims.py: {number}: no clang-19: install the Debian package clang-19", file=sys.stderr)
            code = 77
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
