#!/usr/bin/env python3
"""What does the compiler say to the articles' claims? Compiles small snippets, each for the architecture named, and compares what
nvcc says with what docs/articles.md states. No GPU is needed.

    python3 tools/compile_claims.py [--nvcc NVCC] [CLAIM...]     of these claims only, such as 17 or E5; of all without a number
    python3 tools/compile_claims.py --list                       what there is, and compiles nothing

A line for each snippet: its claims, the architecture, what it is, and what nvcc makes of it: "compiles", with the instructions
looked for in its PTX, or "refused" with the first error.
Exit codes: 0 all as stated, 1 something is otherwise, 2 bad command line, 77 no nvcc.
"""
import argparse
import concurrent.futures
import dataclasses
import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Optional

PRELUDE = """#include <mma.h>
#include <type_traits>
using namespace nvcuda::wmma;
namespace sub = experimental::precision;
template <class T, int M = 16, int N = 16, int K = 16, class Layout = row_major> using A = fragment<matrix_a, M, N, K, T, Layout>;
template <class T, int M = 16, int N = 16, int K = 16, class Layout = col_major> using B = fragment<matrix_b, M, N, K, T, Layout>;
template <class T, int M = 16, int N = 16, int K = 16> using C = fragment<accumulator, M, N, K, T>;

// Is any pointer that is asked for.
struct Pointer {
    void* p;
    template <class T> __device__ operator T*() const { return static_cast<T*>(p); }
};

// D = A * B + C, loaded and stored.
template <class T, class TC, class TD, int M, int N, int K> __device__ void multiply(Pointer p) {
    A<T, M, N, K> a; B<T, M, N, K> b; C<TC, M, N, K> c; C<TD, M, N, K> d;
    load_matrix_sync(a, p, 128), load_matrix_sync(b, p, 128), load_matrix_sync(c, p, 128, mem_row_major);
    if constexpr (std::is_same_v<T, sub::b1>) bmma_sync(d, a, b, c);  // XOR, POPC
    else mma_sync(d, a, b, c);
    store_matrix_sync(p, d, 128, mem_row_major);
}
template <class T, class TC, class TD> __device__ void three_shapes(Pointer p) {
    multiply<T, TC, TD, 16, 16, 16>(p), multiply<T, TC, TD, 32, 8, 16>(p), multiply<T, TC, TD, 8, 32, 16>(p);
}

// Operands, loaded, and sums that begin at 0.
template <class T, class TC> struct ABC {
    A<T> a; B<T> b; C<TC> c;
    __device__ void load(Pointer p) { load_matrix_sync(a, p, 16), load_matrix_sync(b, p, 16), fill_fragment(c, TC(0)); }
    __device__ void store(Pointer p) { store_matrix_sync(p, c, 16, mem_row_major); }
};

// x[] of a fragment holds `elements`, in `stored` places.
template <class F, int elements, int stored = elements> __device__ void has() {
    static_assert(F::num_elements == elements && F::num_storage_elements == stored);
    static_assert(sizeof(F::x) == stored * sizeof(typename F::storage_element_type));
}
"""
# One product in PTX, as an assembler sees it: {0} version, {1} target, {2} what follows wmma.mma.sync, {3} .aligned or nothing.
PTX = """.version {0}
.target {1}
.address_size 64
.visible .entry kernel(.param .u64 p) {{
    .reg .b64 %p;
    .reg .b32 %a<8>, %b<8>;
    .reg .f32 %c<8>;
    ld.param.u64 %p, [p];
    wmma.load.a.sync{3}.row.m16n16k16.f16 {{%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}}, [%p];
    wmma.load.b.sync{3}.col.m16n16k16.f16 {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}}, [%p];
    wmma.load.c.sync{3}.row.m16n16k16.f32 {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}}, [%p];
    wmma.mma.sync{2} {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}}, {{%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}},
        {{%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}}, {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}};
    wmma.store.d.sync{3}.row.m16n16k16.f32 [%p], {{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}};
    ret;
}}
"""
SHAPE = ".row.col.m16n16k16.f32.f32"
SATURATED = "mma_sync(x.c, x.a, x.b, x.c, true); "
IN_PLACE = "ABC<half, float> x; x.load(p); mma_sync(x.c, x.a, x.b, x.c); x.store(p);"
LOADED = "C<half> c; load_matrix_sync(c, s, 16, mem_row_major); store_matrix_sync(p, c, 16, mem_row_major);"


@dataclasses.dataclass(eq=False)
class Snippet:
    """Of which claims; for which architecture; what it is; its source. Expected: an error with the text `refused`; or that it
    compiles, and each word of `ptx` stands in its PTX that many times. `twin`: a second source, whose code `differs` or not."""

    claims: str
    arch: str
    what: str
    source: str
    refused: Optional[str] = None
    ptx: dict = dataclasses.field(default_factory=dict)
    twin: Optional[str] = None
    differs: bool = False
    flags: str = ""
    body: str = ""  # a kernel's body; such snippets can be compiled together


def kernel(claims, arch, what, body, **expected):
    """A Snippet of a kernel's body."""
    return Snippet(claims, arch, what, PRELUDE + numbered(0, body), body=body, **expected)


def numbered(n, body):
    return f'#line 1 "snippet{n}"\n__global__ void kernel{n}(Pointer p) {{\n{body}\n}}\n'


incomplete = functools.partial(kernel, refused="incomplete type")
no_overload = functools.partial(kernel, refused="no instance of overloaded function")


def three_shapes(claims, arch, what, types):
    """A Snippet of a product in the three shapes."""
    return kernel(claims, arch, f"{what}: 16x16x16, 32x8x16, 8x32x16", f"three_shapes<{types}>(p);", ptx={"wmma.mma": 3})


def assembly(claims, arch, what, version, target, instruction, aligned=".aligned", **expected):
    """A Snippet of PTX."""
    return Snippet(claims, arch, what, PTX.format(version, target, instruction, aligned), **expected)


SNIPPETS = [
    Snippet("3", "sm_90", "16x16x16 by one warp, all column-major, halves", PRELUDE + """
__global__ void product(const half* a, const half* b, half* c) {
    fragment<matrix_a, 16, 16, 16, half, col_major> left;
    fragment<matrix_b, 16, 16, 16, half, col_major> right;
    fragment<accumulator, 16, 16, 16, half> sum;
    fill_fragment(sum, __float2half(0.0f));
    load_matrix_sync(left, a, 16);
    load_matrix_sync(right, b, 16);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(c, sum, 16, mem_col_major);
}
""", ptx={"wmma.mma": 1}),
    Snippet("4", "sm_90", "constexpr unsigned int warpSize at file scope", PRELUDE + "constexpr unsigned int warpSize = 32;\n",
            refused="declaration is incompatible with"),
    Snippet("4", "sm_90", "constexpr unsigned int warpSize in a function", PRELUDE +
            "__global__ void empty() {}\nvoid launch() { constexpr unsigned int warpSize = 32; empty<<<1, warpSize>>>(); }\n"),
    kernel("5", "sm_90", "fill_fragment(c, __float2half(.0f))",
           "C<half> c; fill_fragment(c, __float2half(.0f)); store_matrix_sync(p, c, 16, mem_col_major);", ptx={"wmma.store": 1}),
    kernel("7 103", "sm_90", "an accumulator's Layout is void, also by default",
           "C<half> c; static_assert(std::is_same_v<decltype(c), fragment<accumulator, 16, 16, 16, half, void>>);"),
    incomplete("7 103", "sm_90", "matrix_a without a Layout", "fragment<matrix_a, 16, 16, 16, half> a;"),
    incomplete("7 103", "sm_90", "accumulator with a Layout", "fragment<accumulator, 16, 16, 16, half, row_major> c;"),
    incomplete("103", "sm_90", "T = char for matrix_a", "A<char> a;"),
    incomplete("103", "sm_90", "T = float for matrix_a", "A<float> a;"),
    three_shapes("8 9 122", "sm_75", "half * half + float", "half, float, float"),
    three_shapes("9 122", "sm_75", "half * half + half", "half, half, half"),
    incomplete("8", "sm_90", "half 16x16x8", "A<half, 16, 16, 8> a;"),
    incomplete("8", "sm_90", "half 16x16x32", "A<half, 16, 16, 32> a;"),
    three_shapes("9 123", "sm_75", "unsigned char * unsigned char + int", "unsigned char, int, int"),
    three_shapes("9 123", "sm_75", "signed char * signed char + int", "signed char, int, int"),
    three_shapes("9 110 124", "sm_80", "bf16 * bf16 + float", "__nv_bfloat16, float, float"),
    kernel("8 9 111 124", "sm_80", "tf32 * tf32 + float: 16x16x8", "multiply<precision::tf32, float, float, 16, 16, 8>(p);",
           ptx={"wmma.mma": 1}),
    kernel("8 9 112 125", "sm_80", "double * double + double: 8x8x4, rounded to nearest even",
           "multiply<double, double, double, 8, 8, 4>(p);", ptx={"wmma.mma": 1, ".f64.rn": 1}),
    kernel("8 9 126", "sm_75", "u4 * u4 + int, s4 * s4 + int: 8x8x32; b1 xor b1 + int: 8x8x128", "multiply<sub::u4, int, int, 8, 8, 32>"
           "(p); multiply<sub::s4, int, int, 8, 8, 32>(p); multiply<sub::b1, int, int, 8, 8, 128>(p);", ptx={"wmma.mma": 3}),
    kernel("11", "sm_75", "x[] of half A, B and accumulator, in all three shapes: 16 16 8 elements a lane",
           "has<A<half>, 16>(); has<B<half>, 16>(); has<C<half>, 8>(); has<C<float>, 8>(); "
           "has<A<half, 32, 8>, 16>(); has<B<half, 32, 8>, 16>(); has<C<half, 32, 8>, 8>(); "
           "has<A<half, 8, 32>, 16>(); has<B<half, 8, 32>, 16>(); has<C<half, 8, 32>, 8>();"),
    kernel("11", "sm_80", "x[] of bf16: 8 8 8 elements a lane; 32x8x16: 16 4 8; 8x32x16: 4 16 8",
           "has<A<__nv_bfloat16>, 8>(); has<B<__nv_bfloat16>, 8>(); has<A<__nv_bfloat16, 32, 8>, 16>(); "
           "has<B<__nv_bfloat16, 32, 8>, 4>(); has<A<__nv_bfloat16, 8, 32>, 4>(); has<B<__nv_bfloat16, 8, 32>, 16>();"),
    kernel("13", "sm_75", "load_matrix_sync(a, p, ldm) of matrix_a, and with a layout of an accumulator",
           "A<half> a; C<float> c; load_matrix_sync(a, p, 16); load_matrix_sync(c, p, 16, mem_row_major);"),
    no_overload("13", "sm_75", "load_matrix_sync of matrix_a with a layout", "A<half> a; load_matrix_sync(a, p, 16, mem_row_major);"),
    no_overload("13", "sm_75", "load_matrix_sync of an accumulator without one", "C<float> c; load_matrix_sync(c, p, 16);"),
    kernel("16", "sm_75", "store_matrix_sync of an accumulator", "C<half> c; fill_fragment(c, __float2half(1)); "
           "store_matrix_sync(p, c, 16, mem_row_major);", ptx={"wmma.store": 1}),
    no_overload("16", "sm_75", "store_matrix_sync of matrix_a", "A<half> a; store_matrix_sync(p, a, 16, mem_row_major);"),
    no_overload("17 108 E5", "sm_75", "mma_sync(c, a, b, c, true), half sums", "ABC<half, half> x; " + SATURATED),
    no_overload("17 108 E5", "sm_90", "mma_sync(c, a, b, c, true), float sums", "ABC<half, float> x; " + SATURATED),
    kernel("17 108 E5 128", "sm_75", "mma_sync(c, a, b, c, true), signed char, int sums",
           "ABC<signed char, int> x; x.load(p); " + SATURATED + "x.store(p);", ptx={".satfinite": 1}),
    *(kernel("20", "sm_75", shared, f"{shared}; {LOADED}", ptx={f".shared .align {bytes} ": 1})
      for shared, bytes in (("__shared__ half s[256]", 2), ("__shared__ __align__(32) half s[256]", 32))),
    assembly("28", "sm_90", "wmma.mma.sync without .aligned, PTX 6.2 for sm_70, the article's", "6.2", "sm_70", SHAPE, aligned=""),
    assembly("28", "sm_90", "wmma.mma.sync without .aligned, PTX 6.3", "6.3", "sm_75", SHAPE, refused=".aligned modifier required"),
    assembly("28", "sm_90", "wmma.mma.sync.aligned, PTX 8.0", "8.0", "sm_90", ".aligned" + SHAPE),
    *(assembly("17 28 108 E5", "sm_75", f"wmma.mma.sync.aligned with .satfinite on floats, PTX {version}", version, "sm_75",
               f".aligned{SHAPE}.satfinite", refused=refused)
      for version, refused in (("6.4", None), ("6.5", "not supported starting from PTX ISA version 6.5"))),
    *(Snippet("E5", arch, "machine code of PTX 6.4 wmma.mma on floats, with .satfinite and without",
              PTX.format("6.4", "sm_75", f".aligned{SHAPE}.satfinite", ".aligned"), differs=differs,
              twin=PTX.format("6.4", "sm_75", f".aligned{SHAPE}", ".aligned"))
      for arch, differs in (("sm_75", True), ("sm_80", False), ("sm_90", False))),
    kernel("29 33 E9", "sm_90", "two loads and a fill, a product, a store", IN_PLACE,
           ptx={"wmma.load": 2, "wmma.mma": 1, "wmma.store": 1}),
    kernel("37", "sm_75", "the PTX of three shapes", "three_shapes<half, float, float>(p);", ptx={
        f"wmma.mma.sync.aligned.row.col.{shape}.f32.f32": 1 for shape in ("m16n16k16", "m8n32k16", "m32n8k16")}),
    assembly("100", "sm_75", "wmma, PTX 6.2 for sm_60", "6.2", "sm_60", SHAPE, aligned="",
             refused="requires .target sm_70 or higher"),
    assembly("100", "sm_75", "wmma, PTX 6.2 for sm_70", "6.2", "sm_70", SHAPE, aligned=""),
    kernel("101", "sm_80", "experimental::precision::u4, s4, b1", "sizeof(experimental::precision::u4*), "
           "sizeof(experimental::precision::s4*), sizeof(experimental::precision::b1*);"),
    kernel("101", "sm_80", "precision::u4", "sizeof(precision::u4*);", refused='has no member "u4"'),
    kernel("107", "sm_75", "mma_sync(c, a, b, c), C = A * B + C in place", IN_PLACE, ptx={"wmma.mma": 1}),
    no_overload("107", "sm_75", "mma_sync, A 16x16x16, B 32x8x16", "A<half> a; B<half, 32, 8> b; C<float> c; mma_sync(c, a, b, c);"),
    no_overload("110", "sm_80", "bf16 with half sums", "A<__nv_bfloat16> a; B<__nv_bfloat16> b; C<half> c; mma_sync(c, a, b, c);"),
    incomplete("110", "sm_75", "bf16", "A<__nv_bfloat16> a;"),
    kernel("111", "sm_80", "__float_to_tf32 of x[], which is of floats", "A<precision::tf32, 16, 16, 8> a; "
           "static_assert(std::is_same_v<decltype(a)::storage_element_type, float>); load_matrix_sync(a, p, 8); "
           "float* out = p; for (int i = 0; i < a.num_elements; ++i) out[i] = __float_to_tf32(a.x[i]);",
           ptx={"cvt.rna.tf32.f32": 4}),
    incomplete("111", "sm_80", "tf32 16x16x16", "A<precision::tf32> a;"),
    incomplete("111", "sm_80", "tf32 with half sums", "C<half, 16, 16, 8> c;"),
    kernel("111", "sm_75", "tf32", "sizeof(precision::tf32*);", refused="must be a class or namespace name"),
    incomplete("112", "sm_75", "double", "A<double, 8, 8, 4> a;"),
    kernel("113", "sm_75", "x[] of u4, s4: 8 elements in 1 word; of b1: 32 in 1; unsigned, int, unsigned",
           "has<A<sub::u4, 8, 8, 32>, 8, 1>(); has<A<sub::s4, 8, 8, 32>, 8, 1>(); has<A<sub::b1, 8, 8, 128>, 32, 1>(); "
           + "".join(f"static_assert(std::is_same_v<A<sub::{type}>::storage_element_type, {stored}>); " for type, stored in
                     (("u4, 8, 8, 32", "unsigned"), ("s4, 8, 8, 32", "int"), ("b1, 8, 8, 128", "unsigned")))),
    kernel("114", "sm_75", "sub-byte types, A row_major, B col_major", "A<sub::u4, 8, 8, 32> a; B<sub::u4, 8, 8, 32> b; "
           "A<sub::b1, 8, 8, 128> c; B<sub::b1, 8, 8, 128> d;"),
    incomplete("114", "sm_75", "sub-byte A col_major", "A<sub::s4, 8, 8, 32, col_major> a;"),
    incomplete("114", "sm_75", "sub-byte B row_major", "B<sub::b1, 8, 8, 128, row_major> b;"),
    kernel("116", "sm_75", "bmmaBitOpXOR is 1, bmmaAccumulateOpPOPC is 1",
           "static_assert(experimental::bmmaBitOpXOR == 1 && experimental::bmmaAccumulateOpPOPC == 1);"),
    kernel("116", "sm_80", "bmmaBitOpAND is 2", "static_assert(experimental::bmmaBitOpAND == 2);"),
    kernel("116", "sm_75", "bmmaBitOpAND", "sizeof(experimental::bmmaBitOpAND);", refused='has no member "bmmaBitOpAND"'),
    Snippet("118 121 E12", "compute_70", "nvcc -dc -arch=compute_70 -code=sm_70, the article's", PRELUDE,
            flags="-dc -arch=compute_70 -code=sm_70", refused="Value 'sm_70' is not defined"),
    Snippet("118 121 E12", "compute_70", "nvcc -ptx -arch=compute_70", PRELUDE, flags="-ptx -arch=compute_70",
            refused="Unsupported gpu architecture 'compute_70'"),
    Snippet("118 E12", "compute_75", "nvcc -dc -arch=compute_75 -code=sm_75, the article's", PRELUDE,
            flags="-dc -arch=compute_75 -code=sm_75"),
    assembly("121", "sm_75", "PTX written for sm_70", "6.2", "sm_70", SHAPE, aligned=""),
    three_shapes("129", "sm_75", "half C, float D", "half, half, float"),
    three_shapes("129", "sm_75", "float C, half D", "half, float, half"),
]
CLAIMS = sorted({claim for snippet in SNIPPETS for claim in snippet.claims.split()},
                key=lambda claim: (claim[0] == "E", int(claim.strip("E"))))


def compiled(nvcc, snippet, source, folder):
    """(nvcc's output, the PTX, the machine code). The last two are None if nvcc refuses the source."""
    kind = "ptx" if source.startswith(".version") else "cu"
    folder.mkdir(parents=True)
    (folder / f"snippet.{kind}").write_text(source)
    flags = (snippet.flags or f"-cubin -arch={snippet.arch}").split()
    run = subprocess.run([nvcc, "-std=c++17", *flags, "-o", "out", "--keep", f"snippet.{kind}"], cwd=folder,
                         capture_output=True, text=True)
    said = run.stdout + run.stderr
    if run.returncode:
        return said, None, None
    ptx = folder / "snippet.ptx"
    return said, ptx.read_text() if ptx.exists() else "", (folder / "out").read_bytes()


def compiled_together(nvcc, kernels, folder):
    """{snippet: compiled(snippet)} of kernels for one architecture, from a single call of nvcc. If one is refused, the others are
    left out, because nvcc does not say whether they would compile."""
    said, ptx, code = compiled(nvcc, kernels[0], PRELUDE + "".join(numbered(n, each.body) for n, each in enumerate(kernels)), folder)
    if code is not None:
        found = {int(n): ("", entry, code) for n, entry in re.findall(r"(?s)\.entry \w*kernel(\d+)7Pointer(.*?)(?=\.entry|$)", ptx)}
    else:
        errors = reversed(re.findall(r"^snippet(\d+)(\(\d+\): error.*)", said, re.M))  # reversed: the first one is kept
        found = {int(n): (error, None, None) for n, error in errors}
    return {kernels[n]: result for n, result in found.items()}


def shown(said):
    """The first error, without the places and names that are the same everywhere."""
    error = re.search(r"(?:error|fatal) *: *(.*)", said)
    return re.sub(r" \((?:declared at|aka) [^)]*\)|nvcuda::wmma::", "", error[1] if error else said.strip())


def judge(nvcc, snippet, folder, known):
    """(whether the snippet behaves as stated, what nvcc did). `known`: results of compiled() that are available already."""
    dropped = snippet.arch == "compute_70"
    if (snippet.arch in ask(nvcc, "--list-gpu-code") + ask(nvcc, "--list-gpu-arch")) == dropped:
        return True, f"left out: this nvcc builds {'still' if dropped else 'nothing'} for {snippet.arch}"
    said, ptx, code = known.get(snippet) or compiled(nvcc, snippet, snippet.source, folder / "snippet")
    if code is None:
        return snippet.refused is not None and snippet.refused in said, f"refused: {shown(said)}"
    counts = {word: ptx.count(word) for word in snippet.ptx}
    good = snippet.refused is None and counts == snippet.ptx
    if snippet.twin:
        said, _, other = compiled(nvcc, snippet, snippet.twin, folder / "twin")
        if other is None:
            return False, f"without it refused: {shown(said)}"
        return good and (code != other) == snippet.differs, "differs" if code != other else "the same, byte for byte"
    has = ", ".join(f"{n} {word.strip()}" for word, n in counts.items())
    return good, f"compiles; PTX has {has}" if has else "compiles"


@functools.lru_cache(None)
def ask(nvcc, option):
    return subprocess.run([nvcc, option], capture_output=True, text=True, check=True).stdout.split()


judged = {}  # what judge() says of each snippet, once for all calls of main()


def judge_all(nvcc, snippets):
    groups = {}
    for snippet in snippets:
        if snippet.body:
            groups.setdefault((snippet.arch, snippet.refused is None), []).append(snippet)
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder, known = pathlib.Path(name), {}
        together = [group for group in groups.values() if len(group) > 1]
        for some in pool.map(lambda n: compiled_together(nvcc, together[n], folder / f"together{n}"), range(len(together))):
            known.update(some)
        judged.update(zip(snippets, pool.map(lambda n: judge(nvcc, snippets[n], folder / str(n), known), range(len(snippets)))))


def main(words=None):
    parser = argparse.ArgumentParser(
        description="What nvcc says to what the articles claim; a line for each snippet.",
        epilog="Examples: compile_claims.py 17; compile_claims.py 28 E5. Exit codes: 0 all as stated, 1 something is otherwise, 2 bad "
               "command line, 77 no nvcc")
    parser.error = lambda message: parser.exit(2, f"compile_claims.py: {message}; --help tells more\n")
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="numbers in docs/articles.md; all without one")
    parser.add_argument("--nvcc", default="nvcc", help="the compiler (default: the nvcc on the PATH)")
    parser.add_argument("--list", action="store_true", help="what there is; compile nothing")
    arguments = parser.parse_args(words)
    if unknown := [claim for claim in arguments.claims if claim not in CLAIMS]:
        parser.error(f"claim '{unknown[0]}': takes one of {' '.join(CLAIMS)}")
    chosen = [snippet for snippet in SNIPPETS if not arguments.claims or set(arguments.claims) & set(snippet.claims.split())]
    if arguments.list:
        for snippet in chosen:
            print(f"{snippet.claims:14} {snippet.arch:11} {snippet.what}")
        return
    if not shutil.which(arguments.nvcc):
        parser.exit(77, f"compile_claims.py: no nvcc at '{arguments.nvcc}'; it comes with the CUDA toolkit\n")
    print("nvcc " + re.search(r"release ([\d.]+)", " ".join(ask(arguments.nvcc, "--version")))[1])
    judge_all(arguments.nvcc, [snippet for snippet in chosen if snippet not in judged])
    for snippet in chosen:
        good, seen = judged[snippet]
        print(f"{snippet.claims:14} {snippet.arch:11} {snippet.what}: {seen}")
        if not good:
            print(f"{'':14} NOT as stated: {stated(snippet)} was expected")
    sys.exit(0 if all(judged[snippet][0] for snippet in chosen) else 1)


def stated(snippet):
    if snippet.refused is not None:
        return f"an error with '{snippet.refused}'"
    if snippet.twin:
        return "a difference" if snippet.differs else "no difference"
    return " and ".join(["that it compiles", *(f"{n} {word.strip()} in its PTX" for word, n in snippet.ptx.items())])


if __name__ == "__main__":
    main()
