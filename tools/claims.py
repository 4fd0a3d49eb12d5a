#!/usr/bin/env python3
"""The articles' claims that are arithmetic, or that a small experiment on a CPU settles: computes each from the inputs stated.

    python3 tools/claims.py 44          # one claim of docs/articles.md; several numbers, or none for all
    python3 tools/claims.py --list

A claim's inputs are the defaults of its function or lambda: change one and see. Units are the article's; a multiply-add is 2 flop.
Exit codes: 0 computed, 2 bad command line, 77 a program that a claim needs is missing.
"""
import argparse
import array
import collections
import math
import random
import re
import shutil
import statistics
import subprocess
import sys
import textwrap

PEAK, GBS = 64 * 4 * 16 * 2 * 1.05, 392  # slide 38: GFLOPS and GB/s of a Radeon R9 Fury X


class Missing(Exception):
    """A program is missing. The text is the line to print."""


def find(program, package):
    if not shutil.which(program):
        raise Missing(f"no {program}: install the Debian package {package}")


def integers(rows, columns, seed=1):
    values = random.Random(seed)
    return [[values.randint(-9, 9) for _ in range(columns)] for _ in range(rows)]


def product(A, B, n=1):
    """C, and counts of the operations if every work-item computes n x n elements."""
    C, took = [[None] * len(B[0]) for _ in A], collections.Counter()
    for i in range(0, len(A), n):
        for j in range(0, len(B[0]), n):
            ab = [[0] * n for _ in range(n)]
            for k in range(len(B)):
                a, b = [A[i + y][k] for y in range(n)], [B[k][j + x] for x in range(n)]
                took["loads"] += len(a) + len(b)
                for y in range(n):
                    for x in range(n):
                        ab[y][x] += a[y] * b[x]
                        took["multiplications"] += 1
                        took["additions"] += 1
            for y in range(n):
                C[i + y][j:j + n] = ab[y]
                took["stores"] += n
    return C, took


def counted(m, k, columns, n=1):
    """What the product of an m x k and a k x columns matrix takes, by work-items with n x n elements of C each."""
    took = product(integers(m, k), integers(k, columns), n)[1]
    flop, moved = took["multiplications"] + took["additions"], took["loads"] + took["stores"]
    return (f"counted, {m} x {k} times {k} x {columns}, {n} x {n} a work-item: "
            + ", ".join(f"{number} {what}" for what, number in took.items()) + f"; {flop / (4 * moved):.5f} flop per byte")


def commuting(size=2):
    A, B = integers(size, size, 1), integers(size, size, 2)
    AB, BA = product(A, B)[0], product(B, A)[0]
    return f"A = {A}, B = {B}: AB = {AB}, BA = {BA}, {'equal' if AB == BA else 'different'}"


# Of each kind: the significand's bits with the leading one, the exponent's bits.
def formats(kinds=(("float", 24, 8), ("double", 53, 11), ("bf16", 8, 8), ("tf32", 11, 8), ("half", 11, 5)), at=(0.001, 1e-30)):
    lines = [f"{'':8}{'bits':>5}{'digits':>8}{'largest':>12}{'ulp of 1':>11}" + "".join(f"{f'off at {x}':>14}" for x in at)]
    for name, bits, exponent in kinds:
        highest = 2 ** (exponent - 1) - 1

        def off(x):  # relative error of x rounded; below the smallest normal number the steps get no smaller
            step = 2.0 ** (max(math.frexp(x)[1] - 1, 1 - highest) - (bits - 1))
            return abs(round(x / step) * step / x - 1)
        largest, ulp = (2 - 2.0 ** (1 - bits)) * 2.0**highest, 2.0 ** (1 - bits)
        lines.append(f"{name:8}{bits + exponent:5}{bits * math.log10(2):8.1f}{largest:12.2e}{ulp:11.1e}"
                     + "".join(f"{off(x):14.0e}" for x in at))
    return "\n".join(lines)


def overflow(bits=31):
    n = math.isqrt(2**bits)
    return f"int ends at {2**bits - 1}; the last index is {n * n - 1} at N = {n}, {(n + 1) ** 2 - 1} at N = {n + 1}"


def allclose(k=8192, elements=64, rtol=1e-5, atol=1e-8, lanes=16):
    """The kernel adds one by one, a BLAS in several sums; np.allclose(x, y) means |x - y| <= atol + rtol |y| for all."""
    cell, lines = array.array("f", [0]), []

    def to_float(x):
        cell[0] = x
        return cell[0]

    for low in (0, -1):
        values, off, close = random.Random(1), [], 0
        for _ in range(elements):
            a, b = ([to_float(values.uniform(low, 1)) for _ in range(k)] for _ in range(2))
            gpu, sums = 0.0, [0.0] * lanes
            for i in range(k):
                gpu = to_float(gpu + a[i] * b[i])
                sums[i % lanes] = to_float(sums[i % lanes] + a[i] * b[i])
            cpu = 0.0
            for each in sums:
                cpu = to_float(cpu + each)
            off.append((gpu - cpu) / cpu)
            close += abs(gpu - cpu) <= atol + rtol * abs(cpu)
        lines.append(f"inputs in [{low}, 1): {close} of {elements} elements agree; relative difference: at most "
                     f"{max(map(abs, off)):.1e}, {rtol} allowed")
        if low == 0:
            sigma = statistics.pstdev(off)
            farthest = statistics.NormalDist(0, sigma).inv_cdf(1 - 0.5 / k**2)
            lines.append(f"    by their standard deviation, {sigma:.1e}, the farthest of {k**2} is at about {farthest:.1e}")
    return "\n".join(lines)


def attainable(pi=PEAK, beta=GBS, q=1e9, intensities=(0.25, 2, PEAK / GBS, 32)):
    lines = []
    for i in intensities:
        w, seconds = q * i, max(q * i / (pi * 1e9), q / (beta * 1e9))
        lines.append(f"I = {i:5.2f}: {w / 1e9:5.2f} Gflop in {seconds * 1000:.3f} ms, the longer of W / pi and Q / beta: "
                     f"{w / seconds / 1e9:.1f} GFLOPS; min(pi, beta I) = {min(pi, beta * i):.1f}")
    return "\n".join(lines)


def assembled(chips=(("GCN 1", "gfx600"), ("GCN 2", "gfx700"), ("GCN 3, the Fury X", "gfx803")), most=128):
    find("clang-19", "clang-19")
    lines = []
    for name, chip in chips:
        command = f"clang-19 -target amdgcn-amd-amdhsa -mcpu={chip} -x assembler -c - -o /dev/null".split()
        code = "".join(f"s_mov_b32 s{n}, 0\n" for n in range(most))
        said = subprocess.run(command, input=code, capture_output=True, text=True).stderr
        refused = re.findall(r"^<stdin>:(\d+):", said, re.M)
        if said and not refused:
            raise Missing(f"clang-19: {said.splitlines()[0]}")
        lines.append(f"{name}: clang 19 takes {int(refused[0]) - 1 if refused else most} of the registers s0, s1, ...")
    return "\n".join(lines)


def compiled(chip, source, *words):
    """What clang 19 says of OpenCL C for a GCN chip."""
    find("clang-19", "clang-19")
    return subprocess.run(["clang-19", "-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}", "-x", "cl", "-nogpulib", "-O2", "-S",
                           *words, "-", "-o", "/dev/null"], input=source, capture_output=True, text=True)


def scalar_registers(kb=2, simds=4, chips=(("GCN 2", "gfx700"), ("GCN 3, the Fury X", "gfx803")), waves=8):
    """Derives the size of a SIMD's SGPR file: the most SGPRs a wave may have so that clang still fits that many waves."""
    lines = [f"{simds} x {kb} KB = {simds * kb} KB a compute unit"]
    for name, chip in chips:
        most = 0
        for n in range(16, 104, 16):
            said = compiled(chip, f'kernel void k() {{ __asm volatile("" ::: "s{n - 1}"); }}\n',
                            "-Rpass-analysis=kernel-resource-usage").stderr
            found = re.search(r"Occupancy \[waves/SIMD\]: (\d+)", said)
            if not found:
                raise Missing(f"clang-19 counts no waves: {said[:200]}")
            if int(found[1]) >= waves:
                most = n
        lines.append(f"{name}: clang 19 has {waves} waves a SIMD up to {most} SGPRs each: {waves} x {most} x 4 bytes = "
                     f"{waves * most / 256:.1f} KB a SIMD")
    return "\n".join(lines)


def languages(chip="gfx803"):
    opencl = compiled(chip, "kernel void k(global int* x) { *x = 1; }\n")
    words = {"OpenCL C": opencl.returncode}
    for name, options in (("HIP", ("-x", "hip", f"--offload-arch={chip}", "-nogpulib", "-nogpuinc", "--offload-device-only", "-S")),
                          ("HC C++", ("-hc", "-x", "c++", "-S"))):
        words[name] = subprocess.run(["clang-19", *options, "/dev/null", "-o", "/dev/null"], capture_output=True).returncode
    return f"clang 19 for {chip}: " + ", ".join(f"{name} {'refused' if code else 'compiles'}" for name, code in words.items())


# Tries to assemble one instruction for each kind of GCN unit.
def units(chip="gfx803", kinds=(("vector ALU", "v_add_f32 v0, v1, v2"), ("vector memory", "buffer_load_dword v0, off, s[0:3], 0"),
                                ("scalar ALU", "s_add_u32 s0, s1, s2"), ("scalar memory", "s_load_dword s0, s[2:3], 0x0"),
                                ("branch", "s_branch 0"), ("LDS", "ds_read_b32 v0, v1"), ("export", "exp mrt0 v0, v0, v0, v0"))):
    find("clang-19", "clang-19")
    good = [name for name, line in kinds if not subprocess.run(
        f"clang-19 -target amdgcn-amd-amdhsa -mcpu={chip} -x assembler -c - -o /dev/null".split(), input=line + "\n",
        capture_output=True, text=True).returncode]
    return f"{len(good)} of {len(kinds)} kinds assemble for {chip}: {', '.join(good)}"


def inner(shapes=((2, 3, 3, 2), (2, 3, 2, 3))):
    lines = []
    for rows, columns, b_rows, b_columns in shapes:
        missing = sum(k >= b_rows for k in range(columns)) + sum(k >= columns for k in range(b_rows))
        lines.append(f"{rows}x{columns} times {b_rows}x{b_columns}: " + (
            f"{missing} factors of each element have no partner" if missing else
            f"{rows}x{b_columns}, {len(product(integers(rows, columns), integers(b_rows, b_columns))[0])} rows"))
    return "\n".join(lines)


def flattened(rows=3, width=4):
    matrix = memoryview(bytes(range(rows * width))).cast("B", [rows, width])
    line = matrix.tobytes()
    same = sum(line[row * width + col] == matrix[row, col] for row in range(rows) for col in range(width))
    return f"{rows} x {width}: {same} of {rows * width} elements at row x {width} + col"


def split_k(size=8, parts=4):
    A, B = integers(size, size, 1), integers(size, size, 2)
    whole, step = product(A, B)[0], size // parts
    sums = [[0] * size for _ in A]
    for k in range(0, size, step):
        part = product([row[k:k + step] for row in A], B[k:k + step])[0]
        sums = [[x + y for x, y in zip(*rows)] for rows in zip(sums, part)]
    same = sum(x == y for rows in zip(whole, sums) for x, y in zip(*rows))
    return f"k in {parts} parts, each summed alone, then added: {same} of {size * size} elements equal"


def wrapped(n=46341, bits=32):
    last = n * n - 1
    return f"{overflow()}\nin {bits} bits it becomes {(last + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)}: before the array"


def covered(items=16 * 16, tile=128, owned=(4, 8)):
    return "\n".join(f"{items} work-items x {n} x {n} = {items * n * n} of {tile * tile} elements, {items * n * n / tile**2:.0%}"
                     for n in owned)


def prefetch(tile=128, step=8, k=64):
    loaded = [0] + [at + step for at in range(0, k, step)]  # before the loop, and in each turn the next
    return (f"2 x ({tile} x {step} + {step} x {tile}) floats = {2 * (tile * step + step * tile) * 4} bytes of LDS\n"
            f"K = {k}: {len(loaded)} tiles loaded, {sum(at >= k for at in loaded)} of them past K, at k = {loaded[-1]}")


def loads_in(times=(91e-6, 77670e-6), loads=2**30, size=512, ghz=1.455, multiprocessors=80, l1_bytes=128):
    l1 = multiprocessors * l1_bytes * ghz / 1000
    return "\n".join([f"all L1 of a Titan V: {multiprocessors} x {l1_bytes} bytes x {ghz} GHz = {l1:.1f} TB/s",
                      *(f"{loads} loads of {size} bytes in {s:g} s: {size * loads / s / 1e12:.2f} TB/s, "
                        f"{size * loads / s / 1e12 / l1:.3g} times all L1; by one warp {loads / s / ghz / 1e9:.1f} loads a clock"
                        for s in times),
                      f"{times[1] / times[0]:.1f} times"])


def places(rows=(8, 64)):
    """Where a row-major accumulator of halves on sm_70 has its elements, if lanes 16 to 31 begin so many elements on."""
    return "\n".join(f"lanes 16 to 31 {row} elements on: " + str(len(
        {lane % 4 * 16 + lane // 4 % 2 * 128 + lane // 8 % 2 * 8 + lane // 16 * row + x for lane in range(32) for x in range(8)}))
        + " of 256 places" for row in rows)


def lanes(n, ghz):
    return f"{n} lanes x 2 flop x {ghz} GHz = {n * 2 * ghz / 1000:.2f} TFLOPS"


# number: what it says, how it is computed. Inputs that an article lacks are the vendors': lanes and boost clocks of V100 (PCIe 1.38
# GHz, which its 113 TFLOPS imply, SXM2 1.53), P100, A100 and RTX 5060 Ti, MI250X's units, the Xeon's two AVX-512 units a core.
CLAIMS = {
    1: ("a tensor core multiplies 4x4 by 4x4 a clock", lambda tflops=125, cores=640, ghz=1.53:
        f"NVIDIA's {tflops} TFLOPS of a V100 / {cores} tensor cores / {ghz} GHz = {tflops * 1000 / cores / ghz:.1f} flop a clock; "
        f"4 x 4 x 4 multiply-adds are {4 * 4 * 4 * 2}"),
    30: ("2^30 loads by one warp, by load_matrix_sync and by hand", loads_in),
    40: ("cuBLAS, FP64, V100: about 7 TFLOPS, nearly the peak", lambda n=2560, ghz=1.38: lanes(n, ghz)),
    41: ("FP32: about 14 TFLOPS, nearly the peak", lambda n=5120, ghz=1.38: lanes(n, ghz)),
    43: ("tensor cores: the peak is 113 TFLOPS", lambda cores=640, each=4 * 4 * 4, ghz=1.38: lanes(cores * each, ghz)),
    44: ("70 TFLOPS are about 70% of it", lambda got=70, peak=113, says=0.7:
         f"{got} / {peak} = {got / peak:.1%}; {says:.0%} are {says * peak:.1f} TFLOPS"),
    60: ("clocks of P100 and V100: about the same", lambda p=1.48, v=1.53: f"boost, SXM2: {v} / {p} GHz = {v / p:.2f}"),
    70: ("an element: K multiplications, K additions", lambda k=100: counted(1, k, 1)),
    71: ("AB and BA need not be equal", commuting),
    74: ("N x N: 2 N^3 FLOPs", lambda n=12: f"{counted(n, n, n)}; 2 x {n}^3 = {2 * n**3}"),
    75: ("A100: 19.5 TFLOPS", lambda n=108 * 64, ghz=1.41: lanes(n, ghz)),
    76: ("2150 x 2150 takes about a second at 19.5 TFLOPS", lambda n=2150, rate=19.5e12:
         f"2 x {n}^3 = {2 * n**3:.4g} FLOPs: {2 * n**3 / rate * 1000:.2f} ms; a second is N = {(rate / 2) ** (1 / 3):.0f}"),
    77: ("8192: about 1 TFLOP", lambda n=8192: f"2 x {n}^3 = 2^{math.log2(2 * n**3):g} = {2 * n**3:.4e}"),
    78: ("float, double, bf16: digits, range; bf16 keeps the precision of small values", formats),
    81: ("the kernel's int row * K + k", wrapped),
    84: ("CPU 1.705 s, GPU 0.857 s: 2.0 times", lambda cpu=1.705, gpu=0.857, n=8192:
         f"{cpu} / {gpu} = {cpu / gpu:.2f}; the CPU does {2 * n**3 / cpu / 1e9:.0f} GFLOPS"),
    85: ("the kernel alone 0.787 s: 1.4 TFLOPS", lambda total=0.857, kernel=0.787, n=8192:
         f"{2 * n**3 / kernel / 1e12:.3f} TFLOPS; the other {total - kernel:.3f} s move {12 * n * n / 1e6:.0f} MB: "
         f"{12 * n * n / (total - kernel) / 1e9:.1f} GB/s"),
    86: ("about 5% of an RTX 5060 Ti's 23.7 TFLOPS", lambda n=4608, ghz=2.572, kernel=0.787, size=8192:
         f"{lanes(n, ghz)}; {2 * size**3 / kernel / 1e12:.3f} are {size**3 / kernel / (n * ghz * 1e9):.1%}"),
    87: ("np.allclose finds GPU and CPU in agreement at K = 8192", allclose),
    89: ("flop per byte if each matrix moves once", lambda n=8192:
         f"2 x {n}^3 / (3 x {n}^2 x 4 bytes) = {2 * n**3 / (12 * n * n):.0f}"),
    90: ("A's columns are as many as B's rows", inner),
    94: ("row-major: row, then row", flattened),
    141: ("slide 20: i7-4790, 460.8 GFLOPS", lambda ghz=3.6, cores=4, units=2, width=8:
          f"{ghz} GHz x {cores} x {units} x {width} x 2 = {ghz * cores * units * width * 2:.1f} GFLOPS"),
    142: ("slide 21: its memory, 25.6 GB/s", lambda gbs=12.8, channels=2, peak=460.8:
          f"{channels} x {gbs} = {gbs * channels:.1f} GB/s; ridge: {peak / (gbs * channels):.1f} flop per byte"),
    143: ("slide 23: W flop on Q bytes run at min(pi, beta I)", attainable),
    145: ("slide 27: MI250X, 28,160 FP32 units", lambda units=220, width=64, ghz=1.7:
          f"{lanes(units * width, ghz)}; with FP32 in pairs {lanes(2 * units * width, ghz)}"),
    146: ("slide 28: Xeon 8180, 448 units, 2.50 GHz, 2.06 TFLOPS", lambda n=448, ghz=2.5, says=2.06, units=2:
          f"{lanes(n, ghz)}; {says} take {says * 1000 / n / 2:.2f} GHz; {units} AVX-512 units a core: {lanes(n * units, ghz)}"),
    147: ("slide 28: V100, 80 cores, 5,120 units, 1.53 GHz, 15.7 TFLOPS", lambda cores=80, each=64, ghz=1.53:
          lanes(cores * each, ghz)),
    148: ("slide 28: 7.6 times the arithmetic, 7.0 times the memory", lambda gpu=15.7, cpu=2.06, beta=900, cpu_beta=127.8, n=896:
          f"{gpu / cpu:.2f} and {beta / cpu_beta:.2f}; with both AVX-512 units, {lanes(n, 2.5)}, {gpu / (n * 2 * 2.5 / 1000):.2f}"),
    149: ("slide 29: GCN is programmed in OpenCL, HIP and HC C++", languages),
    151: ("slide 32: 4 KB of SGPRs; slide 37: 2 KB a SIMD", scalar_registers),
    152: ("slide 32: 16 KB of instructions a compute unit", lambda kb=32, units=4:
          f"{kb} KB / {units} compute units = {kb / units:g} KB each"),
    153: ("slide 35: 64 work-items on 16 lanes take 4 cycles", lambda n=64, width=16: f"{n} / {width} = {n / width:g} cycles"),
    156: ("slide 37: 104 SGPRs can be used", assembled),
    158: ("slide 38: 512 GB/s in theory, 392 measured", lambda bits=4096, gbit=1, got=GBS:
          f"{bits} bits x {gbit} Gbit/s / 8 = {bits * gbit / 8:.0f} GB/s; {got} are {got / (bits * gbit / 8):.1%}"),
    164: ("slide 44: 2K loads, 2K flop, 1 store: about 0.25 flop per byte", lambda k=8192: counted(1, k, 1)),
    166: ("slide 45: 98 GFLOPS, 1.1% of the peak", lambda i=0.25:
          f"{min(PEAK, GBS * i):.0f} GFLOPS, {min(PEAK, GBS * i) / PEAK:.2%}"),
    169: ("slide 48: 4K loads, 8K flop, 4 stores: 0.5 flop per byte", lambda k=8192: counted(2, k, 2, 2)),
    171: ("slide 49: 128 x 128 take 16384 registers", lambda n=128, there=256:
          f"{n * n}; a work-item has {there}: n x n + 2n fit up to n = {max(m for m in range(n) if m * m + 2 * m <= there)}"),
    180: ("slide 55: float ab[4][4]", covered),
    181: ("slide 56: 5141 GFLOPS, 59.8%", lambda got=5141: f"{got / PEAK:.1%}"),
    182: ("slide 57: two buffers, the next tile loaded in each turn", prefetch),
    183: ("slide 58: 6351 GFLOPS, 73.8%, 11 times naive", lambda last=6351, before=5141, naive=567:
          f"{last / PEAK:.1%}, {last / naive:.1f} x, {last / before - 1:+.1%} over slide 56"),
    184: ("the slides' speeds in flop per byte at 392 GB/s", lambda speeds=(567, 2018, 5141, 6351):
          ", ".join(f"{x}: {x / GBS:.3g}" for x in speeds)),
    192: ("slide 31: seven kinds of unit", units),
    194: ("slide 41: the sum over k can be done in parts", split_k),
    "E13": ("wmma_extension's accumulator of halves, row-major, sm_70", places),
}


def main(words=None):
    parser = argparse.ArgumentParser(description="computes what the articles claim from the inputs that they state",
                                     epilog="examples: claims.py 44; claims.py 84 85 86; claims.py --list")
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="of a claim in docs/articles.md (default: all of --list)")
    parser.add_argument("--list", action="store_true", help="list the claims that are computed here")
    arguments = parser.parse_args(words)
    if unknown := [number for number in arguments.numbers if number not in map(str, CLAIMS)]:
        parser.error(f"'{unknown[0]}': takes {', '.join(map(str, CLAIMS))}")
    missing = False
    for number in arguments.numbers or map(str, CLAIMS):
        text, compute = CLAIMS[int(number) if number.isdigit() else number]
        print(f"{number:>3}  {text}")
        try:
            print(textwrap.indent("" if arguments.list else f"{compute()}\n", "     "), end="")
        except Missing as what:
            print(f"claims.py: {number}: {what}", file=sys.stderr)
            missing = True
    sys.exit(77 if missing else 0)


if __name__ == "__main__":
    main()
