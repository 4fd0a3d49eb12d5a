#!/usr/bin/env python3
"""compile_claims.py: what nvcc says to the articles' claims: compiles small snippets, and prints a line for each. No GPU is needed.

    python3 tools/compile_claims.py [CLAIM...]      prints those of these claims of docs/articles, such as 17, or all

A line has the claims, the architecture, what the snippet is, and what nvcc makes of it: "compiles", with the instructions looked
for in its PTX, or "refused" with the first error. The rows of docs/articles have what it should be.
Example: python3 tools/compile_claims.py 17. Exit codes: 0 done, 2 no such claim, 77 no nvcc.
"""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

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
    mma_sync(d, a, b, c);
    store_matrix_sync(p, d, 128, mem_row_major);
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

// x[] has an element in each place, as it is.
template <class F> __device__ void plain() {
    static_assert(std::is_same_v<decltype(F::x), typename F::element_type[F::num_elements]>);
    static_assert(std::is_same_v<typename F::element_type, typename F::storage_element_type>);
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
# A load of single bits: {0} target.
BITS = """.version 6.3
.target {0}
.address_size 64
.visible .entry kernel(.param .u64 p) {{
    .reg .b64 %p;
    .reg .b32 %a;
    ld.param.u64 %p, [p];
    wmma.load.a.sync.aligned.row.m8n8k128.b1 {{%a}}, [%p];
    wmma.store.d.sync.aligned.row.m8n8k128.s32 [%p], {{%a, %a}};
    ret;
}}
"""
SHAPE = ".row.col.m16n16k16.f32.f32"
SATURATED = "mma_sync(x.c, x.a, x.b, x.c, true); "
IN_PLACE = "ABC<half, float> x; x.load(p); mma_sync(x.c, x.a, x.b, x.c); x.store(p);"
LOADED = "C<half> c; load_matrix_sync(c, s, 16, mem_row_major); store_matrix_sync(p, c, 16, mem_row_major);"
OLD = "-dc -arch=compute_70 -code=sm_70"

# Of which claims, the architecture, what it is, the body of a kernel, and words to be counted in its PTX.
KERNELS = [
    ("101c", "sm_80", "load_matrix_sync, store_matrix_sync, fill_fragment and mma_sync of the declared types",
     "A<half> a; B<half> b; C<half> c; C<int> sums; A<signed char> s; B<signed char> t; const half* from = p; half* to = p; "
     "unsigned ldm = 16; layout_t layout = mem_row_major; const half v = 0; load_matrix_sync(a, from, ldm); "
     "load_matrix_sync(b, from, ldm); load_matrix_sync(c, from, ldm, layout); fill_fragment(c, v); mma_sync(c, a, b, c); "
     "fill_fragment(s, 1); fill_fragment(t, 1); fill_fragment(sums, 1); mma_sync(sums, s, t, sums, true); "
     "store_matrix_sync(to, c, ldm, layout); store_matrix_sync(p, sums, ldm, layout);"),
    ("5", "sm_90", "fill_fragment(c, __float2half(.0f))",
     "C<half> c; fill_fragment(c, __float2half(.0f)); store_matrix_sync(p, c, 16, mem_col_major);"),
    ("7 103", "sm_90", "an accumulator's Layout is void, also by default",
     "C<half> c; static_assert(std::is_same_v<decltype(c), fragment<accumulator, 16, 16, 16, half, void>>);"),
    ("7 103", "sm_90", "matrix_a without a Layout", "fragment<matrix_a, 16, 16, 16, half> a;"),
    ("7 103", "sm_90", "accumulator with a Layout", "fragment<accumulator, 16, 16, 16, half, row_major> c;"),
    ("103", "sm_90", "T = char for matrix_a", "A<char> a;"),
    ("103", "sm_90", "T = float for matrix_a", "A<float> a;"),
    ("103", "sm_90", "T = float for matrix_a, 16x16x8", "A<float, 16, 16, 8> a;"),
    ("103", "sm_90", "T = precision::tf32 and signed char for matrix_a", "A<precision::tf32, 16, 16, 8> a; A<signed char> b;"),
    ("8", "sm_90", "half 16x16x8", "A<half, 16, 16, 8> a;"),
    ("11", "sm_75", "x[] of half A, B and accumulator, in all three shapes: 16 16 8 elements a lane",
     "has<A<half>, 16>(); has<B<half>, 16>(); has<C<half>, 8>(); has<C<float>, 8>(); "
     "has<A<half, 32, 8>, 16>(); has<B<half, 32, 8>, 16>(); has<C<half, 32, 8>, 8>(); "
     "has<A<half, 8, 32>, 16>(); has<B<half, 8, 32>, 16>(); has<C<half, 8, 32>, 8>();"),
    ("13 104c", "sm_75", "load_matrix_sync(a, p, ldm) of matrix_a, and with either layout of an accumulator",
     "A<half> a; C<float> c; load_matrix_sync(a, p, 16); load_matrix_sync(c, p, 16, mem_row_major); "
     "load_matrix_sync(c, p, 16, mem_col_major);"),
    ("13 104c", "sm_75", "load_matrix_sync of matrix_a with a layout", "A<half> a; load_matrix_sync(a, p, 16, mem_row_major);"),
    ("13 104c", "sm_75", "load_matrix_sync of an accumulator without one", "C<float> c; load_matrix_sync(c, p, 16);"),
    ("16 104b", "sm_75", "store_matrix_sync of an accumulator", "C<half> c; store_matrix_sync(p, c, 16, mem_row_major);"),
    ("104b", "sm_75", "store_matrix_sync without a layout", "C<half> c; store_matrix_sync(p, c, 16);"),
    ("16", "sm_75", "store_matrix_sync of matrix_a", "A<half> a; store_matrix_sync(p, a, 16, mem_row_major);"),
    ("17 108", "sm_75", "mma_sync(c, a, b, c, true), half sums", "ABC<half, half> x; " + SATURATED),
    ("17 108", "sm_90", "mma_sync(c, a, b, c, true), float sums", "ABC<half, float> x; " + SATURATED),
    ("17 108", "sm_75", "mma_sync(c, a, b, c, true), signed char, int sums",
     "ABC<signed char, int> x; x.load(p); " + SATURATED + "x.store(p);"),
    *(("20", "sm_75", shared, f"{shared}; {LOADED}", f".shared .align {bytes} ")
      for shared, bytes in (("__shared__ half s[256]", 2), ("__shared__ __align__(32) half s[256]", 32))),
    ("29 33", "sm_90", "two loads and a fill, a product, a store", IN_PLACE, "wmma.load", "wmma.mma", "wmma.store"),
    ("37", "sm_75", "the PTX of three shapes",
     "".join(f"multiply<half, float, float, {shape}>(p); " for shape in ("16, 16, 16", "32, 8, 16", "8, 32, 16")),
     *(f"wmma.mma.sync.aligned.row.col.{shape}.f32.f32" for shape in ("m16n16k16", "m8n32k16", "m32n8k16"))),
    ("37", "sm_75", "the PTX of A col_major, B row_major, sums of halves and floats",
     "A<half, 16, 16, 16, col_major> a; B<half, 16, 16, 16, row_major> b; C<half> h; C<float> f; load_matrix_sync(a, p, 16), "
     "load_matrix_sync(b, p, 16), fill_fragment(h, half(0)); mma_sync(h, a, b, h); mma_sync(f, a, b, h); mma_sync(h, a, b, f); "
     "store_matrix_sync(p, h, 16, mem_row_major);",
     *(f"wmma.mma.sync.aligned.col.row.m16n16k16.{types}" for types in ("f16.f16", "f16.f32", "f32.f16"))),
    ("101", "sm_80", "fragment and five functions, named with nvcuda::wmma", "using nvcuda::wmma::fragment, "
     + ", ".join(f"nvcuda::wmma::{name}" for name in ("load_matrix_sync", "store_matrix_sync", "fill_fragment", "mma_sync",
                                                      "bmma_sync")) + ";"),
    ("101 126b", "sm_80", "experimental::precision::u4, s4, b1", "sizeof(sub::u4*), sizeof(sub::s4*), sizeof(sub::b1*);"),
    ("101 126b", "sm_80", "precision::u4", "sizeof(precision::u4*);"),
    *(("107", "sm_75", f"mma_sync, 16x16x16, but {name} 32x8x16", f"A<half> a; B<half> b; C<float> c, d; {kind}, 32, 8> other; "
       f"mma_sync({', '.join('other' if name == each else each.lower() for each in 'DABC')});")
      for name, kind in (("A", "A<half"), ("B", "B<half"), ("C", "C<float"), ("D", "C<float"))),
    ("109b 113", "sm_80", "x[] is T[num_elements], and T is stored as T: half, bf16, double, chars, int, float",
     "plain<A<half>>(); plain<B<half>>(); plain<C<half>>(); plain<A<__nv_bfloat16>>(); plain<A<double, 8, 8, 4>>(); "
     "plain<A<signed char>>(); plain<A<unsigned char>>(); plain<C<int>>(); plain<C<float>>(); plain<C<double, 8, 8, 4>>();"),
    ("109b", "sm_80", "num_elements is of an enum", "static_assert(std::is_enum_v<decltype(C<float>::num_elements)>);"),
    ("110", "sm_80", "bf16 with half sums", "A<__nv_bfloat16> a; B<__nv_bfloat16> b; C<half> c; mma_sync(c, a, b, c);"),
    ("110", "sm_75", "bf16", "A<__nv_bfloat16> a;"),
    ("111", "sm_80", "__float_to_tf32 of x[], which is of floats", "A<precision::tf32, 16, 16, 8> a; "
     "static_assert(std::is_same_v<decltype(a)::storage_element_type, float>); load_matrix_sync(a, p, 8); "
     "float* out = p; for (int i = 0; i < a.num_elements; ++i) out[i] = __float_to_tf32(a.x[i]);", "cvt.rna.tf32.f32"),
    ("133c", "sm_80", "a product of floats as tf32, without __float_to_tf32",
     "multiply<precision::tf32, float, float, 16, 16, 8>(p);", "wmma.mma", "cvt.rna.tf32.f32"),
    ("111", "sm_80", "tf32 16x16x16", "A<precision::tf32> a;"),
    ("111", "sm_80", "tf32 32x8x8", "A<precision::tf32, 32, 8, 8> a;"),
    ("111", "sm_75", "tf32", "A<precision::tf32, 16, 16, 8> a;"),
    ("111 133b", "sm_80", "tf32 with half sums", "C<half, 16, 16, 8> c;"),
    ("112", "sm_80", "double * double + double: 8x8x4, rounded to nearest even", "multiply<double, double, double, 8, 8, 4>(p);",
     "wmma.mma", ".f64.rn"),
    ("112", "sm_75", "double", "A<double, 8, 8, 4> a;"),
    ("113", "sm_75", "x[] of u4, s4: 8 elements in 1 word; of b1: 32 in 1; unsigned, int, unsigned",
     "has<A<sub::u4, 8, 8, 32>, 8, 1>(); has<A<sub::s4, 8, 8, 32>, 8, 1>(); has<A<sub::b1, 8, 8, 128>, 32, 1>(); "
     + "".join(f"static_assert(std::is_same_v<A<sub::{type}>::storage_element_type, {stored}>); " for type, stored in
               (("u4, 8, 8, 32", "unsigned"), ("s4, 8, 8, 32", "int"), ("b1, 8, 8, 128", "unsigned")))),
    ("114", "sm_75", "sub-byte types, A row_major, B col_major",
     "A<sub::u4, 8, 8, 32> a; B<sub::u4, 8, 8, 32> b; A<sub::b1, 8, 8, 128> c; B<sub::b1, 8, 8, 128> d;"),
    ("114", "sm_75", "sub-byte A col_major", "A<sub::s4, 8, 8, 32, col_major> a;"),
    ("114", "sm_75", "sub-byte B row_major", "B<sub::b1, 8, 8, 128, row_major> b;"),
    ("116", "sm_75", "bmmaBitOpXOR is 1, bmmaAccumulateOpPOPC is 1",
     "static_assert(experimental::bmmaBitOpXOR == 1 && experimental::bmmaAccumulateOpPOPC == 1);"),
    ("116", "sm_80", "bmmaBitOpAND is 2", "static_assert(experimental::bmmaBitOpAND == 2);"),
    ("116", "sm_75", "bmmaBitOpAND", "sizeof(experimental::bmmaBitOpAND);"),
]
# Of which claims, what it is, the fields of PTX.
ASSEMBLY = [
    ("28", "wmma.mma.sync without .aligned, PTX 6.2 for sm_70, the article's", "6.2", "sm_70", SHAPE, ""),
    ("28", "wmma.mma.sync without .aligned, PTX 6.3", "6.3", "sm_75", SHAPE, ".aligned"),
    *(("17 28 108", f"wmma.mma.sync.aligned with .satfinite on floats, PTX {version}", version, "sm_75",
       f".aligned{SHAPE}.satfinite", ".aligned") for version in ("6.4", "6.5")),
    ("1b 100", "wmma, PTX 6.2 for sm_60", "6.2", "sm_60", SHAPE, ""),
    *(("2c", f"wmma, PTX {version} for sm_70", version, "sm_70", SHAPE, "") for version in ("5.0", "6.0")),
    ("108", "PTX 6.5 for sm_80, which bf16 and tf32 take", "6.5", "sm_80", f".aligned{SHAPE}", ".aligned"),
    ("121", "PTX written for sm_70", "6.2", "sm_70", SHAPE, ""),
]
# Of which claims, what it is, a whole file, nvcc's options.
FILES = [
    *((claims, what, PTX.format(*fields), "-cubin -arch=sm_75") for claims, what, *fields in ASSEMBLY),
    *(("116", f"wmma of b1, PTX 6.3 for {target}", BITS.format(target), "-cubin -arch=sm_75") for target in ("sm_70", "sm_75")),
    ("4", "constexpr unsigned int warpSize at file scope", PRELUDE + "constexpr unsigned int warpSize = 32;\n",
     "-cubin -arch=sm_90"),
    ("4", "constexpr unsigned int warpSize in a function", PRELUDE + "__global__ void empty() {}\n"
     "void launch() { constexpr unsigned int warpSize = 32; empty<<<1, warpSize>>>(); }\n", "-cubin -arch=sm_90"),
    ("118 121", f"nvcc {OLD}, the article's", PRELUDE, OLD),
    ("118", f"nvcc {OLD.replace('70', '75')}, the article's", PRELUDE, OLD.replace("70", "75")),
]
SATFINITE = ("17 28 108", "machine code of PTX 6.4 wmma.mma on floats, with .satfinite and without")


def compiled(source, flags):
    """(the PTX, the machine code), or what nvcc says against it."""
    with tempfile.TemporaryDirectory() as name:
        folder, kind = pathlib.Path(name), "ptx" if source.startswith(".version") else "cu"
        (folder / f"snippet.{kind}").write_text(source)
        run = subprocess.run(["nvcc", "-std=c++17", *flags.split(), "-o", "out", "--keep", f"snippet.{kind}"], cwd=folder,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ptx = folder / "snippet.ptx"
        return run.stdout if run.returncode else (ptx.read_text() if ptx.exists() else "", (folder / "out").read_bytes())


def seen(result, *words):
    if isinstance(result, str):
        error = re.search(r"(?:error|fatal) *: *(.*)", result)
        return "refused: " + re.sub(r" \((?:declared at|aka) [^)]*\)|nvcuda::wmma::", "", error[1] if error else result.strip())
    return "compiles" + "; PTX has " * bool(words) + ", ".join(f"{result[0].count(word)} {word.strip()}" for word in words)


def kernels(arch):
    """Lines of an architecture's kernels, which are compiled together, again and again without those that are refused."""
    left, lines = {f"kernel{n}": kernel for n, kernel in enumerate(KERNELS) if kernel[1] == arch}, []
    while left:
        result = compiled(PRELUDE + "".join(f'#line 1 "{name}"\n__global__ void {name}(Pointer p) {{\n{body}\n}}\n'
                                            for name, (_, _, _, body, *_) in left.items()), f"-cubin -arch={arch}")
        if isinstance(result, str):  # the first error of each
            found = dict(reversed(re.findall(r"(?m)^(kernel\d+)(\(\d+\): error.*)", result)))
        else:
            found = {name: (re.search(rf"(?s)\.entry \w*{name}7.*?(?=\.entry|$)", result[0])[0], b"") for name in left}
        for name in found:
            claims, _, what, _, *words = left.pop(name)
            lines.append((claims, arch, what, seen(found[name], *words)))
        if not found:
            sys.exit(f"compile_claims.py: nvcc says {result}")
    return lines


def satfinite(arch):
    with_it, without = (compiled(PTX.format("6.4", "sm_75", f".aligned{SHAPE}{more}", ".aligned"), f"-cubin -arch={arch}")[1]
                        for more in (".satfinite", ""))
    return [(SATFINITE[0], arch, SATFINITE[1], "the same, byte for byte" if with_it == without else "differs")]


def whole(claims, what, source, flags):
    if flags == OLD and "compute_70" in subprocess.run(["nvcc", "--list-gpu-arch"], capture_output=True, text=True).stdout:
        return [(claims, "compute_70", what, "left out: this nvcc builds still for compute_70")]
    return [(claims, re.search(r"-arch=(\w+)", flags)[1], what, seen(compiled(source, flags)))]


def main(words):
    """Returns the exit code."""
    if words in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if not shutil.which("nvcc"):
        print("compile_claims.py: no nvcc: it comes with the CUDA toolkit", file=sys.stderr)
        return 77
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(kernels, arch) for arch in dict.fromkeys(kernel[1] for kernel in KERNELS)]
        jobs += [pool.submit(whole, *file) for file in FILES]
        jobs += [pool.submit(satfinite, arch) for arch in ("sm_75", "sm_80", "sm_90")]
        rows = [row for job in jobs for row in job.result() if not words or set(words) & set(row[0].split())]
    for claims, arch, what, said in rows:
        print(f"{claims:14} {arch:11} {what}: {said}")
    if not rows:
        print(f"compile_claims.py: '{' '.join(words)}': no claim that it compiles anything for", file=sys.stderr)
    return 0 if rows else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
