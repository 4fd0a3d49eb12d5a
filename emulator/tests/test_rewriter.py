"""rewrite_launches.py: what it rewrites, what it leaves alone, and what it refuses."""
import pathlib
import re
import subprocess
import sys

import pytest

from emulated import EMULATOR, build, call, line_of
import rewrite_launches

REWRITER = EMULATOR / "rewrite_launches.py"
# ~ stands for the beginning of a launch, ^ for that of an array; !s and ?s for the calls that describe s, $s for those
# of the member s.
REWRITTEN = [
    ("k<<<g, b>>>(1, x);", "~k), g, b)(1, x);"),
    ("k<<<g, b, 4 * n, stream>>>();", "~k), g, b, 4 * n, stream)();"),
    ("__global__ void k(const A::B b, int n) {}\nvoid f() { k<<<1, 1>>>({1, n}, {2}); }",
     "__global__ void k(const A::B b, int n) {}\nvoid f() { ~k), 1, 1)(A::B{1, n}, int{2}); }"),
    ("f(); k <<< g, b >>> (x);", "f(); ~k ),  g, b ) (x);"),
    ("matmul<true, 4><<<g, b>>>(x);", "~matmul<true, 4>), g, b)(x);"),
    ("a::b<T<int>>::c<(x >> 2), (a > b), 1 << 3><<<g, b>>>(x);",
     "~a::b<T<int>>::c<(x >> 2), (a > b), 1 << 3>), g, b)(x);"),
    ("return ::k<<<g, b>>>(x);", "return ~::k), g, b)(x);"),
    ("const auto kernel = n > 0 ? k<true> : k<false>;\nkernel<<<g, b>>>(x);",
     "const auto kernel = n > 0 ? k<true> : k<false>;\n~kernel), g, b)(x);"),
    ("k<<<n >> 3, f(a >> 1, {b, c})>>>(x);", "~k), n >> 3, f(a >> 1, {b, c}))(x);"),
    ("k<<<1, size<4>>>>(x);", "~k), 1, size<4>)(x);"),
    ("if (a) k<1><<<g, b>>>(x); else k<2><<<g, b>>>(x);", "if (a) ~k<1>), g, b)(x); else ~k<2>), g, b)(x);"),
    ("a\nk<1,\n  2><<<dim3(1,\n  2), // why <<<\n  b>>>(\n  x);\nb /* >>> */\n",
     "a\n~k<1,\n  2>), dim3(1,\n  2), // why <<<\n  b)(\n  x);\nb /* >>> */\n"),
    ("#define RUN(k, ...) \\\n    k<<<1, 1>>> \\\n    (__VA_ARGS__)\nint x;\n",
     "#define RUN(k, ...) \\\n    ~k), 1, 1) \\\n    (__VA_ARGS__)\nint x;\n"),
    ("#define RUN(n) \\\n  k< \\\n   n> \\\n  <<<1, \\\n  2>>>(x, \\\n   n)\n",
     "#define RUN(n) \\\n  ~k< \\\n   n> \\\n  ), 1, \\\n  2)(x, \\\n   n)\n"),
    ("{ extern __shared__ float s[]; }", "{ float* s = emulator::dynamic_shared<float>();?s }"),
    ("{extern __shared__ __align__(16) unsigned char bytes[ ] ;",
     "{unsigned char* bytes = emulator::dynamic_shared<unsigned char>(16);?bytes"),
    ("{extern __shared__\n  float4 s[];\nx", "{float4* s = emulator::dynamic_shared<float4>();?s\n\nx"),
    ("__shared__ alignas(16) float s[2][k + 4];",
     "alignas(16) ^<float[2][k + 4]> emulator_shared_s; static auto& s = emulator_shared_s.value;!s"),
    ("__shared__ unsigned char\n  a[f<3>(4)], b;\n",
     "^<unsigned char[f<3>(4)]> emulator_shared_a; static auto& a = emulator_shared_a.value;!a "
     "^<unsigned char> emulator_shared_b; static auto& b = emulator_shared_b.value;!b\n\n"),
    ("{ extern __shared__ char s[]; auto a = reinterpret_cast<T(*)[n]>(s);\n"
     "  int* const b = reinterpret_cast<int*>(a + f(2)); }",
     "{ char* s = emulator::dynamic_shared<char>();?s auto a = reinterpret_cast<T(*)[n]>(s);?a\n"
     "  int* const b = reinterpret_cast<int*>(a + f(2));?b }"),
    ("struct S { T a[2], b; }; struct U { int a; }; { extern __shared__ char s[];\n"
     "  S<n>& t = *reinterpret_cast<S<n>*>(s); }",
     "struct S { T a[2], b;  void emulator_members(const char* of, int i) const {$a$b } }; struct U { int a; }; "
     "{ char* s = emulator::dynamic_shared<char>();?s\n  S<n>& t = *reinterpret_cast<S<n>*>(s); "
     "emulator::record_pointer(\"t\", &t); }"),
    ("struct S { alignas(8) x::T<1, 2> a[2]\n [f(3)]; static int b; using C = int; void f() { int d; } "
     "int g(int); float4 e; }; "
     "{ __shared__ S s; }",
     "struct S { alignas(8) x::T<1, 2> a[2]\n [f(3)]; static int b; using C = int; void f() { int d; } "
     "int g(int); float4 e;  "
     "void emulator_members(const char* of, int i) const {$a$e } }; "
     "{ ^<S> emulator_shared_s; static auto& s = emulator_shared_s.value;!s }"),
    ("struct alignas(8) S {\n#ifdef A\n int a;\n#else\n int b;\n#endif\n int c; };",
     "struct alignas(8) S {\n#ifdef A\n int a;\n#else\n int b;\n#endif\n int c;  "
     "void emulator_members(const char* of, int i) const {$c } };"),
    ("struct alignas (8) S { T a[2]; };",
     "struct alignas (8) S { T a[2];  void emulator_members(const char* of, int i) const {$a } };"),
    ("__global__ void __launch_bounds__(f(8), 2)\n  k(int n) { }",
     "__global__ void __launch_bounds__(f(8), 2)\n  k(int n) {EMULATOR_BOUNDS(f(8), 2); }"),
    ("void CLUSTER_DIMS(2) __launch_bounds__(8) k() {}",
     "void CLUSTER_DIMS(2) __launch_bounds__(8) k() {EMULATOR_BOUNDS(8);EMULATOR_CLUSTER(2);}"),
    ("__device__ int a; __device__ float b[f(2)][3] = {}; static __device__ T<int> c[2], *d;",
     "EMULATOR_DEVICE int a; EMULATOR_DEVICE float b[f(2)][3] = {}; static EMULATOR_DEVICE T<int> c[2], *d;"),
    ("__device__ __managed__ int a[2]; __managed__ __device__ int b; __device__ static __managed__ T c;",) * 2,
    (f"__device__ std::tuple<{'int, ' * 40}int> many();",) * 2,  # takes no time that grows with their powers
    ("__global__ void k(int n, T<a, b>* p, float* q); k<<<1, 1>>>(0, 0, {});",
     "__global__ void k(int n, T<a, b>* p, float* q); ~k), 1, 1)(0, nullptr, nullptr);"),
    ("static __global__ void k(); __global__ static void l(); extern \"C\" __global__ void m();",
     " __global__ void k(); __global__  void l();  __global__ void m();"),
    ("extern __shared__ float s[];\n__global__ void k() { }",
     "static emulator::DynamicShared<float> s;\n__global__ void k() { }"),
    ("namespace a { }\n{ extern __shared__ float s[]; }",
     "namespace a { }\n{ float* s = emulator::dynamic_shared<float>();?s }"),
    ("extern __shared__ int a[]; { extern __shared__ float s[]; }",
     "static emulator::DynamicShared<int> a; static const bool emulator_extern_a = "
     'emulator::record_extern("a", __FILE__, __LINE__); { float* s = emulator::dynamic_shared<float>();?s'
     ' emulator::record_extern("s", __FILE__, __LINE__); }'),
    ("{ extern double __shared__ s[]; }", "{ double* s = emulator::dynamic_shared<double>();?s }"),
    ("__device__ __noinline__ int f(); __attribute__((__noinline__)) int g();",
     "__device__ __attribute__((noinline)) int f(); __attribute__((__noinline__)) int g();"),
    ("__constant__ const int a = 1; const __constant__ int b = 2;", " const int a = 1; const  int b = 2;"),
    ("#include <cooperative_groups/reduce.h>\n#include \"device_launch_parameters.h\"",
     "#include <cooperative_groups.h>\n#include \"cuda_runtime.h\""),
    ("k << <g, b >> > (x);\nk<< <g, dim3(a >> 2) >> >(y << 1);",
     "~k ),  g, b )  (x);\n~k),  g, dim3(a >> 2) ) (y << 1);"),
    ("f[i][j]<<<g[i], b>>>(x);", "~f[i][j]), g[i], b)(x);"),
    ("extern __global__ void k(int);", " __global__ void k(int);"),
    ("{ extern __shared__ char* s[]; }", "{ char** s = emulator::dynamic_shared<char*>();?s }"),
    ("{ extern __shared__ half s[][n + 8]; }", "{ half (*s)[n + 8] = emulator::dynamic_shared<half[n + 8]>();?s }"),
    ("struct S { int a; }; { extern __shared__ S s; }",
     "struct S { int a;  void emulator_members(const char* of, int i) const {$a } }; "
     '{ S& s = *emulator::dynamic_shared<S>(); emulator::record_pointer("s", &s); }'),
    ("cudaLaunchKernel((void*)k<1>, g); "
     "cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(k), g); f((void*)k);",
     "cudaLaunchKernel(       k<1>, g); "
     "cudaLaunchCooperativeKernel(                              (k), g); f((void*)k);"),
    ("#include <cuda/barrier>\n#include <cuda/std/limits>\n#include \"helper_timer.h\"",
     "#include <cuda_async.h>\n#include <cuda_std.h>\n#include \"samples/helper_cuda.h\""),
    ("void __cluster_dims__(2) k() { __shared__ int s[4]; } void l() { __shared__ int t; }",
     "void __cluster_dims__(2) k() {EMULATOR_CLUSTER(2); ^<int[4]> emulator_shared_s; "
     "auto& s = emulator::of_rank(emulator_shared_s).value;!s } "
     "void l() { ^<int> emulator_shared_t; static auto& t = emulator_shared_t.value;!t }"),
    ("void __cluster_dims__(2, n) k() {}", "void __cluster_dims__(2, n) k() {EMULATOR_CLUSTER(2, n);}"),
    ("__global__ void k(int n) { if (n) return; auto f = [=](int a) mutable -> void { if (a) { "
     "return; } }; s[t]; { return; } } void f() { return; }",
     "__global__ void k(int n) { if (n) return emulator::note_return(); auto f = [=](int a) mutable -> void { if (a) { "
     "return; } }; s[t]; { return emulator::note_return(); } } void f() { return; }"),
]
# A statement of inline PTX; what follows "emulator::inline_ptx(__FILE__, __LINE__, " in its place.
INLINE_PTX = [
    ('asm("membar.gl;");', '"membar.gl;");'),
    ('__asm__ __volatile__ ("" ::: "memory");', '"" );'),
    ('asm volatile("cp.async.commit_group;\\n" ::);', '"cp.async.commit_group;\\n" );'),
    ('asm volatile("mov.u32 %0, %%smid;" : "=r"(x[f(1, 2)]) :);',
     '"mov.u32 %0, %%smid;" , emulator::out<\'r\'>(x[f(1, 2)]) );'),
    ('asm volatile("ld.u32 %0, [%1];"\n  : "=r"(x)  // :\n  : "l"(a ? b : c::d)\n  : "memory");',
     '"ld.u32 %0, [%1];"\n  , emulator::out<\'r\'>(x)  // :\n  , emulator::in<\'l\'>(a ? b : c::d)\n  );'),
    ('asm("{.reg .pred p;\\n" "mma.sync.a {%0},\\n" "p;\\n DONE:}" :: "r"(x));',
     '"{.reg .pred p;\\n" "mma.sync.a {%0},\\n" "p;\\n DONE:}" , emulator::in<\'r\'>(x));'),
    ('#define WAIT(N) asm volatile("cp.async.wait_group %0;\\n" \\\n    :: "n"(N))\nx',
     '"cp.async.wait_group %0;\\n" \\\n    , emulator::in<\'n\'>(N))\nx'),
    ('#define LOAD(type) asm(FORM #type " %0, [%1];" : "+f"(x), "=d"(y) : "l"(p))',
     'FORM #type " %0, [%1];" , emulator::out<\'f\'>(x), emulator::out<\'d\'>(y) , emulator::in<\'l\'>(p))'),
]
UNCHANGED = [
    "__global__ void __launch_bounds__(8) k(int n);\nvoid f() {}\n",
    "__shared__ struct { int a; } s;\n",
    "{ auto a = reinterpret_cast<float*>(b); f(reinterpret_cast<int*>(a)); }",
    "// k<<<1, 1>>>(x)\n/* k<<<1, 1>>>(x) asm */\n",
    "// goes on \\\n k<<<1, 1>>>(x)\n",
    "const char* s = \"k<<<1, 1>>>(x) \\\" asm <<<\"; char c = '\"'; const char* t = \"<<<\";\n",
    "auto s = R\"x(k<<<1, 1>>>(x) )\" asm <<<)x\"; auto u = u8R\"(<<<)\";\n",
    "int million = 1'000'000; char quote = '\\''; char less = '<';\n",
    "std::cout << a << b; x = y >> 3; std::vector<std::vector<std::vector<int>>> v;\n",
    "__device__ float f(float x) { return x; }\n__device__ __forceinline__ int g();\n",
    "template <int n> __host__ __device__ constexpr int h(int a = 3) { return n; }\n__constant__ float c[4] = {1};\n",
    "// extern __shared__ float s[];",
    "__global__ void k(__grid_constant__ const CUtensorMap map);",
    'asm volatile("cpuid" : "=a"(a) : "a"(0) : "ebx");\n',
    "// #include <cub/x>\n#include <cuda.h>\n#include <cuda_runtime.h>\n#include \"common/stage.h\"\n",
    "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_pipeline.h>\n#include <mma.h>\n",
]
REFUSED = [
    ("\nextern __shared__ float s[4];", 2, "this form of extern __shared__ (write: extern __shared__ float name[];)"),
    ("\nextern __shared__ S s;", 2, "this form of extern __shared__ (write: extern __shared__ float name[];)"),
    ("\n\nasm volatile(\"tcgen05.wait::ld.sync.aligned;\");", 3, "inline PTX tcgen05.wait::ld.sync.aligned"),
    ("asm(\"{\\n.reg .pred p; // bar\\n\"\n \"L: @p wmma.load.a.sync {%0}, [%1], 4;}\" : \"=r\"(a) : \"l\"(b));", 1,
     "inline PTX wmma.load.a.sync"),
    ("#define PTX(...) \\\n  asm(__VA_ARGS__)", 2, "an asm statement that is a macro's arguments as a whole"),
    ("k<<<1, 1>>>(\n{a, 2}, b);", 2, "a launch's argument in braces without a type (write: T{...})"),
    ("template <class S> __global__ void k(S s) {}\nvoid f() { k<S><<<1, 1>>>({1}); }", 2,
     "a launch's argument in braces without a type (write: T{...})"),
    ('asm("mov.u32 %[a], 1;" : [a] "=r"(x));', 1, "an asm statement with names of operands, which nvcc refuses"),
    ("int x;\n#include <cuda/warp>\n", 2, "<cuda/warp>"),
    *[(f"#include <{header}>\n", 1, f"<{header}>") for header in (
        "cufft.h", "cuda/annotated_ptr", "crt/mma.h", "cub/cub.cuh", "cuda_pipeline_primitives.h")],
    ("void f(cudaTextureObject_t t);", 1, "textures and surfaces"),
    ("float x = tex2D<float>(t, 1, 2);", 1, "textures and surfaces"),
    ("cudaLaunchKernelExC(&config, f, p);", 1, "cudaLaunchKernelExC, which lacks the arguments' types: "
     "cudaLaunchKernelEx"),
    ("x = 1;\n<<<1, 1>>>(x);", 2, "no kernel's name before <<<"),
    ("\nk<<<f(M, N)>>>(x);", 2, "a launch without its number of threads: kernel<<<blocks, threads>>>"),
    ("void k(int n) {}\nvoid f() { k<<<1, 1>>>(x); }", 2, "a launch of k, which is not __global__"),
    ("void k(int n) {}\nauto launched = b ? k : l; launched<<<1, 1>>>(x);",
     2, "a launch of k, which is not __global__"),
    ("__global__ void k(int n,\n const CUtensorMap map);",
     2, "a tensor map that is not a const __grid_constant__ CUtensorMap"),
    ("k<<<1, 1;", 1, "a launch's <<< without its >>>"),
    ("k<<<1, 1>>>;", 1, "no arguments after a launch's >>>"),
]


@pytest.mark.parametrize("text, result", [*REWRITTEN, *((text, text) for text in UNCHANGED)])
def test_rewrites(text, result):
    result = result.replace("~", "emulator::Kernel(EMULATOR_KERNEL(").replace("^", "static emulator::Shared")
    for mark, call in ("!", "shared("), ("?", "pointer("), ("$", "member(of, i, "):
        result = re.sub(rf"{re.escape(mark)}(\w+)", rf' emulator::record_{call}"\1", \1);', result)
    assert rewrite_launches.rewrite(text) == result


@pytest.mark.parametrize("text, result", INLINE_PTX)
def test_rewrites_inline_ptx(text, result):
    head = re.search(r"\b(asm|__asm__)\b", text)
    assert (rewrite_launches.rewrite(text)
            == text[:head.start()] + "emulator::inline_ptx(__FILE__, __LINE__, " + result)


@pytest.mark.parametrize("text, line, what", REFUSED)
def test_refuses(text, line, what):
    with pytest.raises(rewrite_launches.Refused) as refused:
        rewrite_launches.rewrite(text)
    assert (text.count("\n", 0, refused.value.position) + 1, refused.value.message) == (line, what)


def test_names_kernels(tmp_path):
    """The last line names the kernels of the source, and those of its headers that are launched."""
    source, target = tmp_path / "a.cu", tmp_path / "a.cpp"
    (tmp_path / "a.h").write_text("__global__ void asked() {}\n"
                                  "template <class T> __global__ void launched(T) {}\n"
                                  "inline void here() { launched<int><<<1, 1>>>(0); }\n"
                                  "__global__ void from_there() {}\n__global__ void with_attributes() {}\n")
    source.write_text('#include "a.h"\ntemplate <int n> __global__ void __launch_bounds__(f(8), 2)\n'
                      "  a(int x) {}  // __global__ void c() {}\n"
                      "__global__ void b();\n__global__ void CLUSTER_DIMS(2) b() {}\n"
                      "void there() { from_there<<<1, 1>>>(); cudaLaunchKernelEx(&config, with_attributes); }\n")
    assert call(sys.executable, REWRITER, source, target).returncode == 0
    names = '"a", "b", "from_there", "launched", "with_attributes", '
    assert target.read_text().endswith(f"= emulator::name_kernels({{{names}}});\n")


def test_other_files(tmp_path):
    """A header that -I finds may have a name like CUDA's, and one of its kernels that of a function of the source."""
    folder, source, target = tmp_path / "include", tmp_path / "a.cu", tmp_path / "a.cpp"
    folder.mkdir()
    (folder / "cuda_gemm.hpp").write_text("template <int n> __global__ void multiply() {}\n")
    source.write_text('#include "cuda_gemm.hpp"\nvoid multiply() { multiply<2><<<1, 1>>>(); }\n')
    assert "cannot run <cuda_gemm.hpp>" in call(sys.executable, REWRITER, source, target).stderr
    run = call(sys.executable, REWRITER, source, target, folder)
    assert run.returncode == 0 and '#include "cuda_gemm.hpp"' in target.read_text(), run.stderr


def test_command(tmp_path):
    source, target = tmp_path / 'a "b" \\c;.cu', tmp_path / "out.cpp"
    source.write_text("k<<<1, 1>>>();\n")
    assert call(sys.executable, REWRITER, source, target).returncode == 0
    quoted = str(source).replace("\\", "\\\\").replace('"', '\\"')
    assert target.read_text() == (f'#include <cuda_runtime.h>\n#line 1 "{quoted}"\n'
                                  "emulator::Kernel(EMULATOR_KERNEL(k), 1, 1)();\n")
    comment = "// ソース 行列\n".encode("shift-jis")
    source.write_bytes(b"\xef\xbb\xbf" + comment + b"k<<<1, 1>>>();\r\n")
    assert call(sys.executable, "-IS", REWRITER, source, target, env={"LC_ALL": "C"}).returncode == 0
    assert target.read_bytes().split(b"\n", 2)[2] == comment + b"emulator::Kernel(EMULATOR_KERNEL(k), 1, 1)();\n"
    source.write_text("\nasm();\n")
    run = call(sys.executable, REWRITER, source, target)
    assert (run.returncode, run.stderr) == (1, f"{source}:2: error: the CUDA emulator cannot run inline PTX\n")
    run = call(sys.executable, REWRITER, "/nowhere/matmul.cu", target)
    assert run.returncode == 1
    assert run.stderr == ("rewrite_launches.py: /nowhere/matmul.cu: [Errno 2] No such file or directory: "
                          "'/nowhere/matmul.cu'\n")


# Its files. -I leads to lib/. Both folders have a fragments.h, as the emulator does, and nvcc's ptx.cuh is there.
PROGRAM = {
    "a/main.cu": """#include <cstdio>
#include "emulator/emulator.h"
#include "lib/sums.cuh"
#include "lib/fragments.h"
#include "beside.h"
#include "fragments.h"
int main() {
    int* out;
    cudaMalloc(&out, kThreads * sizeof(int));
    launch(out);
    std::printf("%d %s\\n", lines_of_beside(), __FILE__);
    for (const std::string& problem : emulator::counts().problems) std::puts(problem.c_str());
}
""",
    "a/beside.h": """#pragma once
#include "common/ptx/ptx.cuh"
inline int lines_of_beside() { return ptx::kCompiledFor ? __LINE__ : 0; }
""",
    "a/common/ptx/ptx.cuh": """#error "nvcc's"
""",
    "a/fragments.h": """#pragma once
constexpr int kBeside = 1;
""",
    "lib/sums.cuh": """#pragma once
#include "fragments.h"
#include "launch.h"
__global__ void reversed(int* out) {
    __shared__ int s[kThreads];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[kThreads - 1 - threadIdx.x];
}
""",
    "lib/launch.h": """#pragma once
#include "sums.cuh"
__global__ void reversed(int* out);
#ifdef OF_A_GPU
#include <cub/cub.cuh>
inline void f() { tex2D<float>(0, 1, 2); }
#endif
inline void launch(int* out) {
    reversed<<<1, kThreads>>>(out);
}
""",
    "lib/fragments.h": """#pragma once
constexpr int kThreads = 64;
""",
}


@pytest.fixture
def of_headers(tmp_path):
    """The folder of a program whose kernel and launch are in headers."""
    for name, text in PROGRAM.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_headers_are_rewritten(of_headers):
    """The header with the kernel and the one that launches it include each other. Each is rewritten once, and keeps its
    lines."""
    lines = call(build(of_headers / "a/main.cu", f"-I{of_headers}")).stdout.splitlines()
    assert lines[0] == f"3 {of_headers}/a/main.cu"
    race = re.compile(r"race in shared memory: lib/sums\.cuh:6 writes what \S*sums\.cuh:7 reads")
    assert any(map(race.match, lines)), lines


def test_depends_on_its_headers(of_headers):
    """CMake must rewrite a program again when any of its headers has changed."""
    target = of_headers / "main.cpp"
    assert call(sys.executable, REWRITER, of_headers / "a/main.cu", target, of_headers).returncode == 0
    listed = pathlib.Path(f"{target}.d").read_text().split()[1:]
    assert sorted(listed) == sorted(str(of_headers / name) for name in PROGRAM if "ptx" not in name)


def test_a_header_is_refused_where_it_is_compiled(of_headers):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        build(of_headers / "a/main.cu", f"-I{of_headers}", "-DOF_A_GPU")
    for line, what in (5, "<cub/cub.cuh>"), (6, "textures and surfaces"):
        said = rf'lib/launch\.h:{line}:\d+: error: (#error ")?the CUDA emulator cannot run {what}'
        assert re.search(said, refused.value.stderr)


def test_an_operand_has_the_size_of_its_constraint(tmp_path):
    """As nvcc does, the compiler refuses another one."""
    source = tmp_path / "narrow.cu"
    text = ('__global__ void k(short x) {\n    int y;\n    asm("mov.u32 %0, %1;" : "=r"(y) : "r"(x));\n}\n'
            "int main() { k<<<1, 1>>>(1); }\n")
    source.write_text(text)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        build(source)
    said = rf"narrow\.cu:{line_of(text, 'asm(')}:.*an operand's size must be that of its constraint"
    assert re.search(said, refused.value.stderr, re.DOTALL)
