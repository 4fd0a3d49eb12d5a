"""./run FILE.cu: a stage of one's own is verified, counted and advised, any other program runs on the emulator, and what is wrong
or cannot run is said in a line."""
import os
import re

import pytest

from support import ROOT, call

STAGE = (ROOT / "03_shared_blocking/matmul.cu").read_text()
BARE = STAGE.partition("\ndouble ")[0]  # without formulas and main()
MIN = """#include <cstdio>
__constant__ int factor;
__global__ void k(int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    out[t] = s[63 - t];
}
int main() {
    int *out, host[64];
    cudaMalloc(&out, sizeof host);
    k<<<1, 64>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("first %d\\n", host[0]);
    cudaFree(out);
}
"""


@pytest.fixture
def own(tmp_path):
    """Calls ./run, or another verb, with a file of that text."""
    def run(text, *words, verb="run", name="mine.cu", env={}):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        before = [verb] if verb != "run" else []
        typed = (*words, file) if verb == "diff" else (file, *words)
        return call(ROOT / "run", *before, *typed, cwd=tmp_path, env={**os.environ, "NO_INSTALL": "1", **env})
    return run


def planted(text, old, new):
    assert text.count(old) == 1, f"'{old}' is not there once"
    return text.replace(old, new)


def changed(text, pattern, new):
    """The same by a pattern, which holds whatever the names in 03 are."""
    text, times = re.subn(pattern, new, text, count=1)
    assert times == 1, f"{pattern} is not there"
    return text


def line_of(text, statement):
    return text.partition(statement)[0].count("\n") + 1


def placed(said, text):
    """"mine.cu:<s[t] = t;>" is its line in the text."""
    return re.sub(r":<(.*?)>", lambda of: f":{line_of(text, of[1])}", said)


def short(said):
    """With the file's name alone."""
    return re.sub(r"[^\s:]*/mine\.cu", "mine.cu", said)


# A stage of one's own

@pytest.mark.parametrize("text, stated", ((STAGE, True), (BARE, False)), ids=("with formulas", "without"))
def test_verdict(own, text, stated):
    run = own(text)
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    cells = re.search(r"(?m)^mine +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+)", run.stdout)
    assert cells and float(cells[1]) == 1 and float(cells[5]) == 25.6, run.stdout
    assert ("No formula" in run.stdout) != stated
    assert f"mine.cu:{line_of(text, '= Bs[')}:" in run.stdout and "03_shared_blocking" in run.stdout
    lesson, _, anchor = re.search(r"Read: (\S+)", run.stdout)[1].partition("#")
    assert re.search(rf"(?mi)^#+ {anchor.replace('-', ' ')}$", (ROOT / lesson).read_text())


@pytest.mark.parametrize("text, pattern, new, said", (
    (BARE, r"__syncthreads\(\);", "", "uninitialised shared memory: mine.cu:{read} reads"),
    (BARE, r"(?s)(__syncthreads\(\);.*)__syncthreads\(\);", r"\1", "race in shared memory: mine.cu:{store}"),
    (BARE, r"< M \?", "<= M ?", "out of bounds: mine.cu:{store} reads 4 bytes"),
    (BARE, r"(if \(\w+ < M) && \w+ < N\)", r"\1)", "a write outside C"),
    (BARE, r"(\+= \w+\[(\w+)\] \* \w+)\[\w+\]", r"\1[\2]", "C[0][1] is"),
    (BARE, r"(<<<\w+, \w+)>>>", r"\1 + 1>>>", "__launch_bounds__"),
    (STAGE, r"(double loaded_\w+\(.*\n? *return )", r"\g<1>2 * ", "stated are")),
    ids=("no barrier", "no second barrier", "rows", "columns", "index", "threads", "formula"))
def test_planted(own, text, pattern, new, said):
    text = changed(text, pattern, new)
    lines = {name: text[:re.search(place, text).start()].count("\n") + 1
             for name, place in (("store", r"\bAs\[\w+\] ="), ("read", r"= As\["))}
    run = own(text)
    assert run.returncode in (1, 3) and said.format(**lines) in short(run.stderr), run.stderr
    assert "Nearest" not in run.stdout


def test_multiples(own):
    text = "// multiples of 128x128x8\n" + changed(BARE, r"= .* < M \? (.*) : 0\.0f;", r"= \1;")
    assert own(text).returncode == 0
    assert own(text, "-m", "256", "-k", "16").returncode == 0
    assert own(planted(text, "// multiples", "// ")).returncode == 3, "past the end of A"


def test_verbs(own, tmp_path):
    run = own(BARE, verb="test")
    assert run.returncode == 0 and run.stdout.count("Passed") == 4 == run.stdout.count("\n"), run.stdout
    run = own(changed(BARE, r"__syncthreads\(\);", ""), verb="test")
    assert run.returncode == 1 and "Failed" in run.stdout and "Passed" not in run.stdout
    run = own(BARE, "--html", tmp_path / "page.html", verb="view")
    assert run.returncode == 0 and re.search(r"\bAs\[\w+\] =", BARE)[0] in (tmp_path / "page.html").read_text()
    factors = re.search(r"\+= (\S+) \* (\S+);", STAGE)
    swapped = f"+= {factors[2]} * {factors[1]};"
    run = own(planted(STAGE, factors[0], swapped), "03", verb="diff")
    assert run.returncode == 0 and re.search(rf"(?m)^\+.*{re.escape(swapped)}", run.stdout) and ": 2 lines" in run.stdout


def steps():
    """The lesson's files, each with its screen. A step between two files adds the lines that it names."""
    page = (ROOT / "docs/own_kernel.md").read_text()
    parts = [(part.split("\n", 1)[0], re.findall(r"(?s)```cpp\n(.*?)```", part),
              "\n".join(re.findall(r"(?m)^    (mine .*|  (?:out of|uninit|race).*|Nearest.*|Read.*)$", part)))
             for part in page.partition("## What is left")[0].split("\n## ")[1:]]
    first, _, third, _, fifth = (code[0] if code else "" for _, code, _ in parts)
    files = (first, first.replace("    float sum", "    if (row >= M || col >= N) return;\n    float sum"), third,
             re.sub(r"(?m)^(        for .*)$", r"        __syncthreads();\n\1\n        __syncthreads();", third), fifth)
    return [pytest.param(text, screen, id=title) for text, (title, _, screen) in zip(files, parts)]


@pytest.mark.parametrize("text, screen", steps())
def test_lesson(own, text, screen):
    run = own(text)
    said = short(run.stdout + run.stderr)
    assert screen and not [line for line in screen.splitlines() if line.strip() not in said], said


# Any program

def test_any(own):
    run = own(MIN, "-std=c++11", "-O3", "-lineinfo")
    assert (run.returncode, run.stderr) == (0, "") and run.stdout.startswith("first 63\n")
    assert re.search(r"(?m)^k +1 +1 +64 ", run.stdout) and "nothing wrong" in run.stdout and "Never freed" not in run.stdout


@pytest.mark.parametrize("old, new, said", (
    ("__syncthreads();", "", "race in shared memory: mine.cu:<s[t] = t;>"),
    ("s[63 - t]", "s[64 - t]", "out of bounds: mine.cu:<s[64 - t]>"),
    ("__syncthreads();", "if (t < 32) __syncthreads();", "barrier divergence"),
    ("s[t] = t;", "if (t) s[t] = t;", "uninitialised shared memory: mine.cu:<s[63 - t]>"),
    ("cudaFree(out);", "", "Never freed: 256 bytes"),
    ("out[t] =", "out[0] =", "race in global memory: mine.cu:<out[0] =>"),
    ("s[t] = t;", "s[t] = __shfl_sync(3, t, 0);", "lacks the lane"),
    ("k<<<1, 64>>>", "k<<<1, 2048>>>", "mine.cu:<k<<<> asks for blocks of 2048"),
    ("s[64]", "s[64], big[120][120]; big[0][0]", "57856 bytes of static shared memory (big 57600"),
    ("k<<<1, 64>>>", "k<<<1, 64, 49000>>>", "beside its arrays (s 256)"),
    ("cudaMalloc(&out, sizeof host);", "cudaMalloc(&out, sizeof host), cudaMemcpyToSymbol(&factor, host, 4);", "not its address"),
    ("cudaMalloc(&out, sizeof host);", "cudaMalloc(&out, sizeof host), cudaMemcpyToSymbol(factor, host, 8);", "has 4 bytes, not 8"),
    ("s[t] = t;", "assert(t != 3); s[t] = t;", "assert(t != 3)"),
    ("out[t] =", "out[3] = 0; atomicAdd(out + 3, 1);\n    //", "mine.cu:<atomicAdd> adds to")))
def test_any_planted(own, old, new, said):
    text = planted(MIN, old, new)
    run = own(text)
    assert placed(said, text) in short(run.stdout + run.stderr)
    assert run.returncode == (0 if "freed" in said else 1)


@pytest.mark.parametrize("kernel", ("cooperative_groups::this_grid().sync();", "while (*(volatile int*)&flag == 0) {}"),
                         ids=("grid", "flag"))
def test_blocks_that_wait(own, kernel):
    """For others, which the emulator runs later."""
    text = (f"#include <cooperative_groups.h>\n__device__ int flag;\n__global__ void k() {{\n    {kernel}\n"
            "    flag = 1;\n}\nint main() { k<<<2, 1>>>(); return cudaDeviceSynchronize(); }\n")
    run = own(text, env={"EMULATOR_SECONDS": "1"})
    assert run.returncode and f"mine.cu:{line_of(text, kernel)}" in run.stderr and run.stderr.count("\n") == 1, run.stderr


@pytest.mark.parametrize("text, said", (
    (MIN.replace("s[t] = t;", 'asm("cp.async.ca.shared.global [%0], [%1], 4;");'), ("mine.cu:<asm(>", "cp.async.ca", "ptx::cp_async()")),
    (MIN.replace("s[t] = t;", "s[t] = __vadd4(t, t);"), ("mine.cu:<__vadd4>", "no __vadd4")),
    ("#include <cublas_v2.h>\n" + MIN.replace("cudaFree(out);", "cublasSgemm(out);"), ("mine.cu:<cublasSgemm>", "no cublasSgemm")),
    ("#include <curand_kernel.h>\n" + MIN, ("mine.cu:<curand>", "curand")),
    ("int f();\n", ("mine.cu", "launch_matmul()", "main()")),
    (BARE.replace("float* B, float* C) {\n    const int blocks", "float* B, float* C, int) {\n    const int blocks"),
     ("mine.cu", "launch_matmul takes"))), ids=("asm", "unknown", "cuBLAS", "curand", "neither", "signature"))
def test_refused(own, text, said):
    run = own(text)
    lines = [line for line in run.stderr.splitlines() if "build failed" not in line]
    assert run.returncode in (1, 2) and len(lines) == 1 and all(placed(word, text) in lines[0] for word in said), run.stderr


def test_no_such_file(tmp_path):
    run = call(ROOT / "run", "nowhere.cu", cwd=tmp_path)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1) and "nowhere.cu" in run.stderr


def test_includes(own, tmp_path):
    """What is included from beside the file is rewritten, too, and named in what is found."""
    head, tail = MIN.partition("int main")[::2]
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/k.cuh").write_text("#pragma once\n#include \"../size.h\"\n" + head.replace("64]", "SIZE]"))
    (tmp_path / "size.h").write_text("#define SIZE 64\n")
    text = '#include "kernels/k.cuh"\n#include "kernels/k.cuh"\nint main' + tail
    assert own(text).returncode == 0
    included = "#pragma once\n" + head.replace("64]", "32]")
    (tmp_path / "kernels/k.cuh").write_text(included)
    run = own(text)
    assert run.returncode == 1 and f"kernels/k.cuh:{line_of(included, 's[t] = t;')}" in run.stderr
    (tmp_path / "kernels/k.cuh").write_text('#pragma once\nvoid f() { asm(""); }\n')
    run = own(text)
    assert run.returncode == 1 and run.stderr.count("\n") == 1 and "kernels/k.cuh:2" in run.stderr


FEATURES = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cassert>
namespace cg = cooperative_groups;
__constant__ int factor;
__device__ unsigned total, buckets[4];
extern __shared__ int dynamic[];  // of the whole file
template <class T> static __global__ void all(T* out, const T* in) {
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto tile = cg::tiled_partition<8>(warp);
    const unsigned t = block.thread_rank(), lane = t % 32;
    dynamic[t] = in[t] * factor;
    block.sync();
    assert(__ballot_sync(~0u, lane < 4) == 15 && __any_sync(~0u, lane == 9) && !__all_sync(~0u, lane == 9));
    assert(__match_any_sync(~0u, lane / 16) == (lane < 16 ? 0xffffu : 0xffff0000u));
    assert(__reduce_add_sync(~0u, 1u) == 32 && __syncthreads_count(t < 5) == 5);
    assert(__syncthreads_or(t == 9) && !__syncthreads_and(t == 9));
    assert(cg::reduce(tile, int(lane), cg::plus<int>()) == int(lane / 8 * 64 + 28));
    assert(tile.shfl_xor(lane, 1) == (lane ^ 1) && tile.size() == 8 && tile.meta_group_rank() == t / 8);
    if (lane % 2) {
        const cg::coalesced_group odd = cg::coalesced_threads();
        assert(odd.size() == 16 && odd.thread_rank() == lane / 2 && odd.shfl(lane, 3) == 7);
        assert(__activemask() == 0xaaaaaaaau);
    }
    atomicAdd(&total, 1u), atomicInc(&buckets[t % 4], 7u), atomicMax(out + 64, T(t)), atomicCAS(out + 65, T(0), T(t + 1));
    out[t] = dynamic[63 - t] + __popc(t) - __popc(t) + __float2int_rn(__fdividef(0.0f, 2.0f)) + __clz(1) - 31;
}
int main() {
    constexpr int n = 64;
    int *in, *out, *pinned, three = 3;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cudaDeviceProp properties;
    assert(!cudaGetDeviceProperties(&properties, 0) && properties.warpSize == 32);
    cudaStreamCreate(&stream), cudaEventCreate(&begin), cudaEventCreate(&end);
    cudaMalloc(&in, n * sizeof(int)), cudaMallocManaged(&out, 66 * sizeof(int)), cudaMallocHost(&pinned, n * sizeof(int));
    for (int i = 0; i < n; ++i) pinned[i] = i;
    cudaMemcpyToSymbol(factor, &three, sizeof three);
    cudaMemcpyAsync(in, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream);
    cudaMemsetAsync(out, 0, 66 * sizeof(int), stream);
    cudaEventRecord(begin, stream);
    all<<<dim3(1), dim3(32, 2), n * sizeof(int), stream>>>(out, in);
    cudaEventRecord(end, stream);
    float ms = -1;
    assert(!cudaEventSynchronize(end) && !cudaEventElapsedTime(&ms, begin, end) && ms >= 0 && !cudaStreamSynchronize(stream));
    for (int i = 0; i < n; ++i) assert(out[i] == 3 * (63 - i));
    unsigned counted, four[4];
    cudaMemcpyFromSymbol(&counted, total, sizeof counted), cudaMemcpyFromSymbol(four, buckets, sizeof four);
    assert(counted == 64 && four[0] == 0 && four[3] == 0 && out[64] == 63 && out[65] != 0);
    int blocks, threads = INT_MAX;
    assert(!cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, all<int>) && threads == 1024);
    cudaFree(in), cudaFree(out), cudaFreeHost(pinned), cudaStreamDestroy(stream), cudaEventDestroy(begin), cudaEventDestroy(end);
    printf("all as CUDA has it\\n");
}
"""


def test_features(own):
    """What other people's programs use of CUDA."""
    run = own(FEATURES)
    assert run.returncode == 0 and run.stdout.startswith("all as CUDA has it\n") and "nothing wrong" in run.stdout, run.stderr
    for old, new in (("== 15 &&", "== 14 &&"), ("(lane ^ 1) &&", "lane &&"), ("odd.size() == 16", "odd.size() == 32"),
                     ("== 5);", "== 6);")):
        run = own(planted(FEATURES, old, new))
        assert run.returncode and f"mine.cu:{line_of(FEATURES, old)} says assert" in run.stderr


REVERSES = """HEADERS
__global__ void k(int* out, const int* in) {
    __shared__ int s[2][64];
    const int t = threadIdx.x;
    BODY
}
int main() {
    int host[64], *in, *out;
    for (int i = 0; i < 64; ++i) host[i] = i;
    cudaMalloc(&in, sizeof host), cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    LAUNCH;
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; ++i) assert(host[i] == 63 - i);
    cudaFree(in), cudaFree(out);
}
"""
RACE = "race in shared memory"
ROWS = (  # of other people's programs: headers, the kernel, its launch; then what is planted, and what that gives
    ("barrier", "#include <cuda/barrier>", """__shared__ cuda::barrier<cuda::thread_scope_block> bar;
     if (t == 0) init(&bar, 64);
     __syncthreads();
     cuda::memcpy_async(&s[0][t], &in[t], sizeof(int), bar);
     auto token = bar.arrive();
     bar.wait(std::move(token));
     out[t] = s[0][63 - t];""", "", "bar.wait(std::move(token));", "", RACE),
    ("pipeline", "#include <cooperative_groups.h>\n#include <cuda/pipeline>", """
     __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
     auto block = cooperative_groups::this_thread_block();
     auto pipe = cuda::make_pipeline(block, &state);
     for (int i = 0; i < 4; ++i) {
         pipe.producer_acquire();
         cuda::memcpy_async(block, s[i % 2], in, cuda::aligned_size_t<4>(256), pipe);
         pipe.producer_commit();
         pipe.consumer_wait();
         out[t] = s[i % 2][63 - t];
         pipe.consumer_release();
     }""", "", "pipe.consumer_wait();", "", RACE),
    ("pipeline of a thread", "#include <cuda/pipeline>", """auto pipe = cuda::make_pipeline();
     cuda::memcpy_async(&s[0][t], &in[t], sizeof(int), pipe);
     pipe.producer_commit();
     cuda::pipeline_consumer_wait_prior<0>(pipe);
     __syncthreads();
     out[t] = s[0][63 - t];""", "", "__syncthreads();", "", RACE),
    ("copies of a group", "#include <cooperative_groups.h>\n#include <cooperative_groups/memcpy_async.h>", """
     auto block = cooperative_groups::this_thread_block();
     cooperative_groups::memcpy_async(block, s[1], in, sizeof(int) * 64);
     cooperative_groups::wait(block);
     out[t] = s[1][63 - t];""", "", "cooperative_groups::wait(block);", "", RACE),
    ("atomic",
     "#include <cuda/atomic>\n#include <cuda/cmath>\n#include <cuda/std/limits>\n"
     "__device__ cuda::atomic<int, cuda::thread_scope_device> done;",
     """if (t < 32) s[0][t] = in[t], done.fetch_add(1);
     else s[0][t] = in[t];
     __syncthreads();
     assert(done.load() == 32 && cuda::std::numeric_limits<int>::max() > 0 && cuda::ceil_div(63, 32) == 2);
     out[t] = s[0][63 - t];""", "", "== 32", "== 64", "assert(done.load() == 64"),
    ("bf16", "#include <cuda_bf16.h>", """const __nv_bfloat162 b = __float2bfloat162_rn(2.0f);
     const __nv_bfloat162 c = __hfma2(b, b, b) + __hmax2(b, -b);
     out[t] = 63 - t + int(float(c.x)) - 8;""", "", "+ __hmax2", "- __hmax2", "assert(host[i] == 63 - i)"),
    ("samples", "#include <helper_cuda.h>\n#include <helper_math.h>\n#include <nvtx3/nvToolsExt.h>\n#include <cuComplex.h>",
     """const float3 v = make_float3(1, 2, 3) * 2.0f - 1.0f;
     out[t] = int(v.z) + 58 - t + int(cuCrealf(cuCmulf(make_cuFloatComplex(0, 1), make_cuFloatComplex(0, 1)))) + 1;""",
     "nvtxRangePushA(\"all\"); k<<<1, 64>>>(out, in); nvtxRangePop(); checkCudaErrors(cudaDeviceSynchronize())",
     "cudaDeviceSynchronize()", "cudaSetDevice(7)", "cudaSetDevice(7): error 101"),
    ("a thread leaves a barrier", "#include <cuda/barrier>", """__shared__ cuda::barrier<cuda::thread_scope_block> bar;
     if (t == 0) init(&bar, 64);
     __syncthreads();
     if (t >= 32) s[0][t] = in[t], bar.arrive_and_drop();
     else {
         bar.arrive_and_wait();
         s[0][t] = s[0][t + 32];
         bar.arrive_and_wait();
         out[t] = s[0][31 - t] - 1 + 1, out[t + 32] = 31 - t;
     }""", "", "bar.arrive_and_drop();", "bar.arrive();", "deadlock"),
    ("clocks", "", """int wait = t == 0 ? 50000000 : 0, lane;
     const long long begin = clock64();
     const clock_t other = clock();
     long long now;
     do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
     while (now - begin < wait);
     asm("mov.u32 %0, %%laneid;" : "=r"(lane));
     assert(clock() - other >= wait && clock64() >= now && lane == t % 32);
     out[t] = 63 - in[t];""", "", "now - begin < wait", "now - begin < wait / 2", "assert(clock"),
    ("its own min and max", """template <class A, class B> __device__ A min(A a, B b) { return b < a ? b : a; }
     template <class T> __device__ T max(T a, T b) { return a < b ? b : a; }""",
     "out[t] = max(min(63 - t, 63.5), min(0u, 1)) + max(0, -1);", "", "63.5", "61.5", "assert(host[i] == 63 - i)"),
    ("symbols", "__device__ int taken[64]; __constant__ int* from;\n__device__ int* to;",
     "out[t] = from[63 - t] + taken[t], to[t] = out[t];", """int* at;
     cudaMemset(out, 0, sizeof host);
     assert(!cudaMemcpyToSymbol(taken, out, sizeof host, 0, cudaMemcpyDeviceToDevice) && !cudaMemcpyToSymbol(from, &in, sizeof in));
     assert(!cudaGetSymbolAddress((void**)&at, taken) && !cudaMemcpyToSymbol((const void*)&to, &at, sizeof at));
     k<<<1, 64>>>(out, in);
     size_t bytes;
     assert(!cudaGetSymbolSize(&bytes, taken) && bytes == sizeof host);
     assert(!cudaMemcpyFromSymbol(host, (const void*)taken, sizeof host) && host[1] == 62)""",
     "(from, &in", "(&from, &in", "not its address"),
    ("graph", "#include <cstring>", "out[t] = in[63 - t] + out[t];", """cudaStream_t stream, second;
     cudaEvent_t forked;
     cudaGraph_t graph;
     cudaGraphExec_t ready;
     cudaStreamCreate(&stream), cudaStreamCreate(&second), cudaEventCreate(&forked);
     cudaMemset(out, 1, sizeof host);
     cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
     cudaMemsetAsync(out, 0, sizeof host, stream);
     cudaEventRecord(forked, stream), cudaStreamWaitEvent(second, forked, 0);
     auto kernel = k;
     for (int i = 0; i < 1; ++i) kernel<<<1, 64, 0, second>>>(out, in);
     assert(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported && cudaStreamEndCapture(stream, &graph) == cudaSuccess);
     cudaMemcpy(host, out, 4, cudaMemcpyDeviceToHost), assert(host[0] == 0x01010101);  // nothing has run
     size_t nodes;
     assert(!cudaGraphGetNodes(graph, nullptr, &nodes) && nodes == 2 && !cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
     for (int i = 0; i < 3; ++i) cudaGraphLaunch(ready, stream);
     cudaStreamSynchronize(stream), cudaGraphExecDestroy(ready), cudaGraphDestroy(graph)""", "i < 3;", "i < 0;",
     "assert(host[i] == 63 - i)"),
    ("errors", "#include <cstring>", "out[t] = 63 - in[t];", """k<<<1, 64>>>(out, in);
     for (int i = 0; i < 1000; ++i) {
         const char *name = cudaGetErrorName(cudaError_t(i)), *text = cudaGetErrorString(cudaError_t(i));
         const bool known = strcmp(name, "unrecognized error code");
         assert(known == !strncmp(name, "cuda", 4) && known == bool(strcmp(text, "unrecognized error code")));
     }
     assert(!strcmp(cudaGetErrorName(cudaErrorInvalidSymbol), "cudaErrorInvalidSymbol"));
     assert(!strcmp(cudaGetErrorString(cudaErrorNotReady), "device not ready"))""", "device not ready", "not ready", "not ready"),
    ("launched by its address", "", "out[t] = 63 - in[t];",
     "void* with[] = {&out, &in}; cudaLaunchCooperativeKernel((void*)k, dim3(1), dim3(64), with, 0, 0)",
     "dim3(64)", "dim3(2000)", "asks for blocks of 2000"),
    ("launched from an array", "", "out[t] = 63 - in[t];", "void (*all[1])(int*, const int*) = {k}; all[0] << <1, 64 >> >(out, in)",
     "<1, 64 >", "<1, 65 >", "out of bounds"),
)


@pytest.mark.parametrize("headers, body, launch, old, new, said", (row[1:] for row in ROWS), ids=(row[0] for row in ROWS))
def test_rows(own, headers, body, launch, old, new, said):
    text = REVERSES.replace("HEADERS", headers).replace("BODY", body).replace("LAUNCH", launch or "k<<<1, 64>>>(out, in)")
    run = own(text)
    assert run.returncode == 0 and "nothing wrong" in run.stdout, run.stdout + run.stderr
    run = own(planted(text, old, new))
    assert run.returncode and said in run.stdout + run.stderr, run.stdout + run.stderr


def test_places(own, tmp_path):
    """Named as the file is on the command line."""
    text = planted(MIN, "__syncthreads();", "")
    reads = f"mine.cu:{line_of(text, 's[63 - t]')} reads"
    assert f" {tmp_path}/{reads}" in own(text).stdout
    for typed in ("mine.cu", f"../{tmp_path.name}/mine.cu"):
        run = call(ROOT / "run", typed, cwd=tmp_path, env={**os.environ, "NO_INSTALL": "1"})
        assert f" {typed.removesuffix('mine.cu')}{reads}" in run.stdout


def test_fast(own):
    """Untraced; and the word is the program's own behind its first argument."""
    text = planted(planted(MIN, "__syncthreads();", ""), "int main() {",
                   "int main(int count, char**) {\n    printf(\"%d\\n\", count);")
    run = own(text, "--fast", "1")
    assert run.returncode == 0 and run.stdout.startswith("2\n") and "race in" not in run.stdout and "untraced" in run.stdout
    run = own(text, "1", "--fast")
    assert run.returncode == 1 and run.stdout.startswith("3\n") and "race" in run.stdout


LONG = """__global__ void k(int* out) {
    __shared__ volatile int s[32];
    for (int i = 0; i < 20000; ++i) s[threadIdx.x] = i;
    out[blockIdx.x] = s[threadIdx.x];
}
int main() {
    int* out;
    cudaMalloc(&out, 3000 * sizeof(int));
    k<<<1000, 32>>>(out);
    cudaFree(out);
}
"""


def test_long(own):
    """Of a long launch only a part is looked at, and stands for all of it."""
    run = own(LONG)
    assert "race in global memory" in run.stdout and "only a part of them was looked at" in run.stdout
    assert re.search(r"(?m)^k +1 +1000 +32 +0\.000 .* 0\.12\d ", run.stdout), run.stdout


def test_new(tmp_path):
    def new(*words):
        return call(ROOT / "run", "new", *words, cwd=tmp_path)
    assert new("mine.cu", "--from", "03").returncode == 0 and (tmp_path / "mine.cu").read_text() == STAGE
    (tmp_path / "mine.cu").write_text("mine")
    for words in (("mine.cu", "--from", "04"), ("other.cu",), ("other.cu", "--from", "99"), ("other", "--from", "03")):
        run = new(*words)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1), words
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("mine.cu", "mine")]
