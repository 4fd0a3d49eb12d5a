#!/usr/bin/env python3
"""What nvcc's machine code for Volta shows. There is no Volta here, and nvcc 13 no longer builds for one; an nvcc up to
12.9 does. The script compiles small kernels for sm_70, and executes the integer instructions that compute the addresses
of their loads, for all 32 lanes.

    python3 07_fragment_probe/volta_code.py [--nvcc NVCC] [--cuobjdump CUOBJDUMP]

Its output with CUDA 12.4 is docs/results/volta_code.txt.

Exit codes: 0 done, 1 something differs from layouts.inc, or a tool failed, 2 bad command line, 77 no nvcc for sm_70, or
no cuobjdump.

Articles: "Tensorコアを使ってみた", fragments and load_matrix_sync; the Volta report, latencies and tensor cores; "Tensor
Core加速CUDA矩阵计算", 5 Restrictions
"""
import argparse
import collections
import itertools
import operator
import pathlib
import re
import shutil
import sys
import tempfile

from count_mma import HERE, KERNELS, listed, run

sys.path.append(str(HERE.parent / "tools"))
from view import layouts

KINDS = [(use, kind, order) for use, kind in (("matrix_a", "half"), ("matrix_b", "half"), ("accumulator", "half"),
                                              ("accumulator", "float")) for order in ("row", "col")]
PRELUDE = "#include <mma.h>\nusing namespace nvcuda;\n"
LOAD = """
extern "C" __global__ void {use}_{kind}_{order}(const {kind}* M, uint4* out) {{
    wmma::fragment<wmma::{use}, 16, 16, 16, {kind}{layout}> f;
    wmma::load_matrix_sync(f, M, 16{argument});
    constexpr size_t words = sizeof f.x / 16;
    for (int i = 0; i < int(words); ++i) out[threadIdx.x * words + i] = reinterpret_cast<uint4*>(f.x)[i];
}}
"""
# A load of A in a loop, as the article timed it: nothing uses the fragment; it is used after the loop; or the compiler
# must load.
LOOPS = """
using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major>;
template <class T> __device__ void by_hand(A& f, const T* M) {
    const int lane = threadIdx.x;
    for (int i = 0; i < f.num_elements; ++i)
        f.x[i] = __ushort_as_half(M[(lane % 4 + i / 4 * 4) * 16 + lane / 4 % 2 * 8 + lane / 16 * 4 + i % 4]);
}
using Word = unsigned short;
extern "C" __global__ void library_unused(const half* M, int n) {
    A f;
    for (int i = 0; i < n; ++i) wmma::load_matrix_sync(f, M, 16);
}
extern "C" __global__ void hand_unused(const Word* M, int n) {
    A f;
    for (int i = 0; i < n; ++i) by_hand(f, M);
}
extern "C" __global__ void library_last(const half* M, int n, A* out) {
    A f;
    for (int i = 0; i < n; ++i) wmma::load_matrix_sync(f, M, 16);
    out[threadIdx.x] = f;
}
extern "C" __global__ void hand_last(const Word* M, int n, A* out) {
    A f;
    for (int i = 0; i < n; ++i) by_hand(f, M);
    out[threadIdx.x] = f;
}
extern "C" __global__ void hand_volatile(const volatile Word* M, int n) {
    A f;
    for (int i = 0; i < n; ++i) by_hand(f, M);
}
"""
MULTIPLY = """
extern "C" __global__ void product(const int* x, int* y) { *y = x[0] * x[1]; }
extern "C" __global__ void multiply_add(const int* x, int* y) { *y = x[0] * x[1] + x[2]; }
"""
# An inline function that both of two files have, and a fragment that goes through it.
FILES = {name: """
using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
__device__ __noinline__ inline void fill(A* f, const half* M) { wmma::load_matrix_sync(*f, M, 16); }
extern "C" __global__ void %s(const half* M, A* out) { fill(out + threadIdx.x, M); }
""" % name for name in ("foo", "bar")}
LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@\S+)\s+)?([A-Z][\w.]*)\s*([^;]*);")


class Warp:
    """32 lanes that execute machine code. Each of the kernel's parameters points to a matrix whose element n is the
    number n. `bytes`: of an element of each matrix."""

    SPACE = 1 << 20  # parameter n points to n + 1 times as much

    def __init__(self, *bytes):
        self.bytes, self.stored = bytes, {}
        self.registers, self.carry = [collections.defaultdict(int) for _ in range(32)], [{} for _ in range(32)]
        self.constants = {0x160 + 8 * n: (n + 1) * self.SPACE for n in range(3)}

    def run(self, code):
        for _, predicate, name, operands in code:
            if name == "EXIT":
                return self
            if predicate != "@!PT":
                self.step(name, operands)
        return self

    def value(self, lane, text, wide=False):
        text = text.strip().split(".")[0]
        if text[0] in "-~":
            value = self.value(lane, text[1:])
            return (-value if text[0] == "-" else ~value) & 0xFFFFFFFF
        if text.startswith("c["):
            at = int(text[:-1].rpartition("[")[2], 16)
            return self.constants.get(at, 0) | (self.constants.get(at + 4, 0) << 32 if wide else 0)
        if text in ("RZ", "PT", "!PT"):
            return 0
        if text[0] == "R":
            n = int(text[1:])
            return self.registers[lane][n] | (self.registers[lane][n + 1] << 32 if wide else 0)
        return int(text, 16) & 0xFFFFFFFF

    def word(self, address):
        parameter, at = divmod(address - self.SPACE, self.SPACE)
        n = at // self.bytes[parameter]
        return n if self.bytes[parameter] == 4 else n | (n + 1) << 16

    def step(self, name, operands):
        """Executes one instruction in all lanes."""
        kind = name.split(".")[0]
        words = [word.strip() for word in operands.split(",")]
        if kind == "MOVM":  # an 8x8 of halves is transposed: lane l has row l / 4, columns l % 4 * 2 and the next
            rows = [[self.value(row * 4 + col // 2, words[1]) >> 16 * (col % 2) & 0xFFFF for col in range(8)]
                    for row in range(8)]
            for lane in range(32):
                a, b = (rows[lane % 4 * 2 + i][lane // 4] for i in (0, 1))
                self.registers[lane][int(words[0][1:])] = a | b << 16
            return
        for lane in range(32):
            self.execute(lane, kind, name, words)

    def execute(self, lane, kind, name, words):
        get = lambda at, wide=False: self.value(lane, words[at], wide)
        to = int(re.match(r"R(\d+)", words[0])[1]) if re.match(r"R\d", words[0]) else None
        wide = False
        if kind == "S2R":
            value = lane  # SR_LANEID or SR_TID.X: there is one warp
        elif kind == "MOV":
            value = get(1)
        elif kind == "SHF":
            value = get(1) << get(2) if ".L" in name else (get(1) if ".HI" not in name else get(3)) >> get(2)
        elif kind == "LOP3":
            a, b, c, table = get(1), get(2), get(3), get(4)
            value = sum(((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1))) & 1) << i for i in range(32))
        elif kind == "IMAD":
            wide = ".WIDE" in name
            value = get(1) * get(2) + get(3, wide)
        elif kind == "PRMT":
            both = get(1) | get(3) << 32
            value = sum((both >> 8 * (get(2) >> 4 * i & 7) & 0xFF) << 8 * i for i in range(4))
        elif kind == "IADD3" and len(words) == 4:
            value = get(1) + get(2) + get(3)
        elif kind == "LEA" and ".HI" in name:  # to, low, b, high, shift[, carry]
            carry = self.carry[lane][words[5]] if len(words) > 5 else 0
            value = ((get(3) << 32 | get(1)) << get(4) >> 32) + get(2) + carry
        elif kind == "LEA":  # to, [carry,] a, b, shift
            value = (get(-3) << get(-1) & 0xFFFFFFFF) + get(-2)
            self.carry[lane][words[1]] = value >> 32
        elif kind in ("LDG", "STG"):
            count = int((re.search(r"\.(64|128)", name) or [0, "32"])[1]) // 32
            where = words[kind == "LDG"]
            base, _, offset = re.search(r"\[([^]]*)\]", where)[1].partition("+")
            address = self.value(lane, base, True) + int(offset or "0", 16)
            first = int(re.match(r"R(\d+)", words[kind == "STG"])[1])
            for i in range(count):
                if kind == "LDG":
                    self.registers[lane][first + i] = self.word(address + 4 * i)
                else:
                    self.stored[address % self.SPACE + 4 * i] = self.registers[lane][first + i]
            return
        else:
            sys.exit(f"volta_code.py: can't execute {name} {', '.join(words)}")
        self.registers[lane][to] = value & 0xFFFFFFFF
        if wide:
            self.registers[lane][to + 1] = value >> 32 & 0xFFFFFFFF


def functions(listing):
    """{function: [(address, predicate, opcode, operands)]} of what cuobjdump -sass prints."""
    found, name = {}, ""
    for line in listing.splitlines():
        if match := re.search(r"Function : (\w+)", line):
            name = match[1]
        elif match := LINE.match(line):
            found.setdefault(name, []).append((int(match[1], 16), *match.groups()[1:]))
    return found


def numbers(word, bytes):
    """The elements that a register of them holds."""
    return [word] if bytes == 4 else [word & 0xFFFF, word >> 16]


def layout(code, kind, order):
    """What a kernel that loads a fragment and stores it has in x[], lane by lane, as layouts.maps() has it."""
    bytes = 4 if kind == "float" else 2
    x = [n for _, word in sorted(Warp(bytes, bytes).run(code).stored.items()) for n in numbers(word, bytes)]
    return x if order == "row" else [n % 16 * 16 + n // 16 for n in x]


def alike(ours, theirs):
    return f"{sum(map(operator.eq, ours, theirs))} of {len(theirs)} places"


def span(numbers):
    first, last = min(numbers), max(numbers)
    return f"{first} to {last}" if numbers == set(range(first, last + 1)) else str(sorted(numbers))


def sets(code):
    """Lines about the HMMA of one mma_sync with float accumulators: the elements of A, B and C in the registers of
    each."""
    products = [each for each in code if each[2].startswith("HMMA")]
    warp = Warp(2, 2, 4).run(code[:code.index(products[0])])
    held = {}

    def elements(register, bytes, count, lanes=range(32)):
        first = int(re.match(r" *R(\d+)", register)[1])
        words = [warp.registers[lane][first + i] for lane in lanes for i in range(count)]
        return [divmod(n, 16) for word in words for n in numbers(word, bytes)]

    for set_, group in enumerate(itertools.zip_longest(*[iter(products)] * 4), 1):
        for _, _, name, operands in group:
            to, a, b, _ = operands.split(",")
            columns, rows = (span({k for _, k in elements(operand, 2, 2)}) for operand in (a, b))
            held.setdefault(set_, []).append((name.partition(".STEP")[2], to.strip(), columns, rows))
    for set_, steps in held.items():
        columns, rows = (" and ".join({each[i] for each in steps}) for i in (2, 3))
        yield (f"set {set_}: columns {columns} of A, rows {rows} of B; "
               + ", ".join(f"step {step} adds to {to}" for step, to, *_ in steps))
    for step, to, *_ in held[1]:
        where = elements(to, 4, 2, range(4))
        rows, columns = (span(set(each)) for each in zip(*where))
        yield f"step {step}, lanes 0 to 3: {len(set(where))} elements of C, rows {rows}, columns {columns}"


def in_loops(code):
    """The LDG inside loops, between a backward jump and its target."""
    jumps = [(int(operands.split()[-1].strip("`()"), 16), at) for at, _, name, operands in code if name == "BRA"]
    loops = [(to, at) for to, at in jumps if to < at]
    names = [name for at, _, name, _ in code if any(to <= at <= end for to, end in loops)]
    return listed(collections.Counter(names), "LDG")


def main():
    parser = argparse.ArgumentParser(
        description="What the machine code that nvcc makes for a Volta says, executed for 32 lanes.",
        epilog="Example: volta_code.py --nvcc /usr/local/cuda-12.4/bin/nvcc. Exit codes: 0 done, 1 something differs, "
               "2 bad command line, 77 no nvcc for sm_70")
    parser.add_argument("--nvcc", default="nvcc", help="the compiler (default: the nvcc on the PATH)")
    parser.add_argument("--cuobjdump", default="cuobjdump", help="reads machine code")
    arguments = parser.parse_args()
    for tool in (arguments.nvcc, arguments.cuobjdump):
        if not shutil.which(tool):
            parser.exit(77, f"volta_code.py: no '{tool}': it comes with the CUDA toolkit\n")
    version = re.search(r"release ([\d.]+)", run(arguments.nvcc, "--version"))[1]
    if "sm_70" not in run(arguments.nvcc, "--list-gpu-code").split():
        parser.exit(77, f"volta_code.py: nvcc {version} builds nothing for sm_70; that of CUDA 12.9 and before does\n")
    print(f"nvcc {version}")
    with tempfile.TemporaryDirectory() as folder:
        made, bad = pathlib.Path(folder, "made"), False

        def code(source, arch, *words):
            path = pathlib.Path(folder, "source.cu")
            path.write_text(source)
            run(arguments.nvcc, "-std=c++17", f"-arch={arch}", "-I", HERE.parent, *words, "-cubin", "-o", made, path)
            return functions(run(arguments.cuobjdump, "-sass", made))

        print("\nx[] of each lane, by the addresses that the loads compute, against 07_fragment_probe/layouts.inc:")
        source, places = PRELUDE, {}
        for use, kind, order in KINDS:
            sums = use == "accumulator"
            source += LOAD.format(use=use, kind=kind, order=order, layout="" if sums else f", wmma::{order}_major",
                                  argument=f", wmma::mem_{order}_major" if sums else "")
        for chips, arch in (("sm_70 (Volta)", "sm_70"), ("sm_75 and later", "sm_75")):
            listing = code(source, arch)
            for use, kind, order in KINDS:
                places[arch, use, kind, order] = found = layout(listing[f"{use}_{kind}_{order}"], kind, order)
                expected = layouts.maps()[chips][f"{use} {kind} {order}"]
                bad |= found != expected
                print(f"{arch}  {use} {kind} {order}-major: {alike(found, expected)}")
        for arch, use, kind in sorted({each[:3] for each in places}):
            print(f"{arch}  {use} {kind}, row-major and column-major: "
                  + alike(places[arch, use, kind, "row"], places[arch, use, kind, "col"]) + " alike")
        for use, kind, order in KINDS:
            print(f"sm_70 and sm_75, {use} {kind} {order}-major: "
                  + alike(places["sm_70", use, kind, order], places["sm_75", use, kind, order]) + " alike")

        print("\nThe HMMA of one mma_sync, sums in floats, for sm_70:")
        print(*sets(code(KERNELS, "sm_70")["mma_float"]), sep="\n")

        print("\nLoads of A in a loop, for sm_70:")
        for name, listing in code(PRELUDE + LOOPS, "sm_70").items():
            print(f"{name}: in the loop {in_loops(listing)}")

        print("\nA 32-bit product and multiply-add, of variables:")
        for arch in ("sm_60", "sm_61", "sm_70"):
            if arch in run(arguments.nvcc, "--list-gpu-code").split():
                for name, listing in sorted(code(MULTIPLY, arch).items()):
                    names = collections.Counter(each[2] for each in listing)
                    print(f"{arch}  {name}: {listed(names, 'XMAD', 'IMAD', 'IMUL')}")

        print("\nfoo for sm_70 and bar for sm_75, which both have the inline function fill, linked for sm_75:")
        objects = [pathlib.Path(folder, f"{name}.o") for name in FILES]
        for path, source, arch in zip(objects, FILES.values(), ("70", "75")):
            path.with_suffix(".cu").write_text(PRELUDE + source)
            run(arguments.nvcc, "-std=c++17", "-dc", f"-arch=compute_{arch}", f"-code=sm_{arch}", "-o", path,
                path.with_suffix(".cu"))
        for order in (objects, objects[::-1]):
            said = run(arguments.nvcc, "-dlink", "-arch=sm_75", "-o", made, *order).strip() or "nothing"
            linked = functions(run(arguments.cuobjdump, "-sass", made))
            fills = [listed(collections.Counter(each[2] for each in listing), "LD.", "LDG")
                     for name, listing in linked.items() if "fill" in name]
            calls = [name for name, listing in linked.items() if any(each[2].startswith("CALL") for each in listing)]
            print(f"{order[0].stem} first: nvcc says {said}; {len(fills)} fill, with {', '.join(fills)}, called by "
                  f"{' and '.join(sorted(calls))}")
        fills = [listed(collections.Counter(each[2] for each in listing), "LD.", "LDG") for path in objects
                 for name, listing in functions(run(arguments.cuobjdump, "-sass", path)).items() if "fill" in name]
        print(f"alone: foo's fill has {fills[0]}, bar's {fills[1]}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
