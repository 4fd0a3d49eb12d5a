// The parts of CUDA that other people's programs use. Most kernels write 64 ints in reverse.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <helper_cuda.h>
#include <helper_math.h>
#include <nvtx3/nvToolsExt.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/cmath>
#include <cuda/pipeline>
#include <cuda/std/limits>

#include <cassert>
#include <cstring>
#include <functional>
#include <numeric>

#include "device.h"

// A program may define these, although CUDA has its own.
template <class A, class B>
__device__ A min(A a, B b) {
    return b < a ? b : a;
}
template <class T>
__device__ T max(T a, T b) {
    return a < b ? b : a;
}

namespace {

namespace cg = cooperative_groups;
using BlockBarrier = cuda::barrier<cuda::thread_scope_block>;

class Programs : public Base {
protected:
    std::vector<int> counting = std::vector<int>(64);
    Device<int> in{64}, out{64};
    Programs() {
        std::iota(counting.begin(), counting.end(), 0);
        cudaMemcpy(in.data, counting.data(), 256, cudaMemcpyHostToDevice);
    }
    void expect_reversed() {
        EXPECT_EQ(out.host(), std::vector<int>(counting.rbegin(), counting.rend()));
        expect_silence();
    }
};

// ---- Kernels with a version that gets the decisive synchronisation wrong ------------------------

__global__ void barrier(int* out, const int* in, bool wrong) {
    __shared__ int s[64];
    __shared__ BlockBarrier bar;
    const int t = threadIdx.x;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    cuda::memcpy_async(&s[t], &in[t], sizeof(int), bar);
    auto token = bar.arrive();
    if (!wrong) bar.wait(std::move(token));
    out[t] = s[63 - t];
}
__global__ void dropping(int* out, const int* in, bool wrong) {
    __shared__ int s[64];
    __shared__ BlockBarrier bar;
    const int t = threadIdx.x;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    if (t >= 32) {
        s[t] = in[t];
        if (wrong) bar.arrive();
        else bar.arrive_and_drop();
    } else {
        bar.arrive_and_wait();
        s[t] = s[t + 32];
        bar.arrive_and_wait();
        out[t] = s[31 - t];
        out[t + 32] = 31 - t;
    }
}
__global__ void pipeline(int* out, const int* in, bool wrong) {
    __shared__ int s[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    const int t = threadIdx.x;
    for (int i = 0; i < 4; ++i) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, s[i % 2], in, cuda::aligned_size_t<4>(256), pipe);
        pipe.producer_commit();
        if (!wrong) pipe.consumer_wait();
        out[t] = s[i % 2][63 - t];
        pipe.consumer_release();
    }
}
__global__ void thread_scope_pipeline(int* out, const int* in, bool wrong) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    auto pipe = cuda::make_pipeline();
    cuda::memcpy_async(&s[t], &in[t], sizeof(int), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    if (!wrong) __syncthreads();
    out[t] = s[63 - t];
}
__global__ void copy_of_a_group(int* out, const int* in, bool wrong) {
    __shared__ int s[64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, sizeof(int) * 64);
    if (!wrong) cg::wait(block);
    out[threadIdx.x] = s[63 - threadIdx.x];
}

// Tiles of several warps: each thread belongs to a tile of 64 threads and to the tile of its warp.
__global__ void tiles_of_warps(int* out, const int* in, bool wrong) {
    __shared__ cg::block_tile_memory<64> memory;
    __shared__ int s[64];
    const auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
    const auto warp = cg::tiled_partition<32>(tile);
    const unsigned t = threadIdx.x;
    assert(tile.meta_group_rank() == 0 && tile.meta_group_size() == 1 && tile.thread_rank() == t);
    assert(warp.meta_group_rank() == t / 32 && warp.meta_group_size() == 2);
    assert(cg::reduce(tile, int(t), cg::plus<int>()) == 2016 && tile.shfl(t, 40) == 40);
    assert(tile.any(t == 63) && !tile.any(t > 63) && tile.all(t < 64) && !tile.all(t < 63));
    s[t] = in[t];
    if (!wrong) tile.sync();
    out[t] = s[63 - t];
}

struct Variants {
    const char* name;
    void (*kernel)(int* out, const int* in, bool wrong);
    const char* expected_report;  // of the wrong one
};
const Variants kVariants[] = {
    {"Barrier", barrier, "race in shared memory"},
    {"BarrierWithArriveAndDrop", dropping, "deadlock"},
    {"Pipeline", pipeline, "asynchronous copy"},
    {"ThreadScopePipeline", thread_scope_pipeline, "race in shared memory"},
    {"CopyOfAGroup", copy_of_a_group, "asynchronous copy"},
    {"TilesOfWarps", tiles_of_warps, "shared memory"}};

class ProgramVariants : public Programs, public testing::WithParamInterface<Variants> {};

TEST_P(ProgramVariants, DifferInWhatIsReported) {
    const auto kernel = GetParam().kernel;
    kernel<<<1, 64>>>(out.data, in.data, false);
    expect_reversed();
    kernel<<<1, 64>>>(out.data, in.data, true);
    expect_some({GetParam().expected_report});
}
INSTANTIATE_TEST_SUITE_P(, ProgramVariants, testing::ValuesIn(kVariants),
                         [](const auto& versions) { return versions.param.name; });

// ---- Other programs -----------------------------------------------------------------------------

__constant__ int factor;
__device__ unsigned total, buckets[4];
__device__ cuda::atomic<int, cuda::thread_scope_device> done;
extern __shared__ int dynamic[];  // at file scope

template <class T>
__global__ void groups_and_votes(T* out, const T* in) {
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto tile = cg::tiled_partition<8>(warp);
    const unsigned t = block.thread_rank(), lane = t % 32;
    dynamic[t] = in[t] * factor;
    if (t < 32) done.fetch_add(1);
    block.sync();
    assert(done.load() == 32 && cuda::std::numeric_limits<int>::max() > 0);
    assert(cuda::ceil_div(63, 32) == 2);
    assert(__ballot_sync(~0u, lane < 4) == 15 && __any_sync(~0u, lane == 9));
    assert(!__all_sync(~0u, lane == 9));
    assert(__match_any_sync(~0u, lane / 16) == (lane < 16 ? 0xffffu : 0xffff0000u));
    assert(__reduce_add_sync(~0u, 1u) == 32 && __syncthreads_count(t < 5) == 5);
    assert(__syncthreads_or(t == 9) && !__syncthreads_and(t == 9));
    assert(cg::reduce(tile, int(lane), cg::plus<int>()) == int(lane / 8 * 64 + 28));
    assert(tile.shfl_xor(lane, 1) == (lane ^ 1) && tile.size() == 8);
    assert(tile.meta_group_rank() == lane / 8 && warp.meta_group_rank() == t / 32);
    if (lane % 2) {
        const cg::coalesced_group odd = cg::coalesced_threads();
        assert(odd.size() == 16 && odd.thread_rank() == lane / 2 && odd.shfl(lane, 3) == 7);
        assert(__activemask() == 0xaaaaaaaau);
    }
    atomicAdd(&total, 1u);
    atomicInc(&buckets[t % 4], 7u);
    atomicMax(out + 64, T(t));
    atomicCAS(out + 65, T(0), T(t + 1));
    out[t] = dynamic[63 - t] + __popc(t) - __popc(t) + __float2int_rn(__fdividef(0.0f, 2.0f)) +
             __clz(1) - 31;
}

TEST_F(Programs, GroupsVotesAtomicsAndStreams) {
    int *from, *to, *pinned, three = 3;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cudaDeviceProp properties;
    EXPECT_TRUE(!cudaGetDeviceProperties(&properties, 0) && properties.warpSize == 32);
    cudaStreamCreate(&stream);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaMalloc(&from, 256);
    cudaMallocManaged(&to, 66 * sizeof(int));
    cudaMallocHost(&pinned, 256);
    for (int i = 0; i < 64; ++i) pinned[i] = i;
    cudaMemcpyToSymbol(factor, &three, sizeof three);
    cudaMemcpyAsync(from, pinned, 256, cudaMemcpyHostToDevice, stream);
    cudaMemsetAsync(to, 0, 66 * sizeof(int), stream);
    cudaEventRecord(begin, stream);
    groups_and_votes<<<dim3(1), dim3(32, 2), 256, stream>>>(to, from);
    cudaEventRecord(end, stream);
    float ms = -1;
    EXPECT_TRUE(!cudaEventSynchronize(end) && !cudaEventElapsedTime(&ms, begin, end) && ms >= 0);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(to[i], 3 * (63 - i));
    EXPECT_TRUE(to[64] == 63 && to[65] != 0);
    unsigned counted, four[4];
    cudaMemcpyFromSymbol(&counted, total, sizeof counted);
    cudaMemcpyFromSymbol(four, buckets, sizeof four);
    EXPECT_TRUE(counted == 64 && four[0] == 0 && four[3] == 0);
    int blocks, threads = INT_MAX;
    EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, groups_and_votes<int>),
              cudaSuccess);
    EXPECT_TRUE(threads == 1024 && blocks == 2 * properties.multiProcessorCount);
    cudaFree(from);
    cudaFree(to);
    cudaFreeHost(pinned);
    cudaStreamDestroy(stream);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    expect_silence();
}

__global__ void arithmetic(int* out, const int* in) {
    const __nv_bfloat162 b = __float2bfloat162_rn(2.0f);
    const __nv_bfloat162 c = __hfma2(b, b, b) + __hmax2(b, -b);
    const float3 v = make_float3(1, 2, 3) * 2.0f - 1.0f;
    const cuFloatComplex i = make_cuFloatComplex(0, 1);
    const int zero = int(float(c.x)) - 8 + int(v.z) - 5 + int(cuCrealf(cuCmulf(i, i))) + 1;
    out[threadIdx.x] = max(min(63 - in[threadIdx.x], 63.5), int(min(0u, 1u))) + max(zero, -1);
}
// Compares cycles with nanoseconds, which are the same number on the emulator alone.
__global__ void clocks(int* out, const int* in) {
    const int t = threadIdx.x;
    int wait = t == 0 ? 50000000 : 0, lane;
    const long long begin = clock64();
    const clock_t other = clock();
    long long now;
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < wait);
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    assert(clock() - other >= wait && clock64() >= now && lane == t % 32);
    out[t] = 63 - in[t];
}

TEST_F(Programs, ArithmeticAndClocks) {
    nvtxRangePushA("all");
    arithmetic<<<1, 64>>>(out.data, in.data);
    nvtxRangePop();
    checkCudaErrors(cudaDeviceSynchronize());
    expect_reversed();
    EXPECT_EXIT(checkCudaErrors(cudaSetDevice(7)), testing::ExitedWithCode(EXIT_FAILURE),
                "error 101");
    cudaGetLastError();
    clocks<<<1, 64>>>(out.data, in.data);
    expect_reversed();
}

__device__ int by_name[4], by_address[4];
__device__ int* address;
__managed__ int of_both[4];
__global__ void pass_on() { address = by_address; }
__global__ void one(int* to) { *to = 1; }

// The host shadow variable of a device variable (its symbol) has no address on the device, but a
// kernel may have passed the variable's address to the host, and a managed variable has only one.
TEST_F(Programs, NamesOfVariables) {
    int host = 0, *passed;
    one<<<1, 1>>>(by_name);  // @argument
    expect_some({"the launch at @argument passes..__device__ variable by_name"});
    EXPECT_EQ(cudaMemcpy(&host, &by_name[1], 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    expect_some({"the source is the host's name..by_name..cudaMemcpyFromSymbol()"});
    EXPECT_EQ(cudaMemcpy(by_name, &host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    expect_some({"the destination is the host's name..by_name..cudaMemcpyToSymbol()"});
    EXPECT_EQ(cudaMemset(by_name, 0, 4), cudaErrorInvalidValue);
    expect_some({"the host's name..by_name..cudaGetSymbolAddress()"});
    cudaGetLastError();
    pass_on<<<1, 1>>>();
    cudaMemcpyFromSymbol(&passed, address, sizeof passed);
    one<<<1, 1>>>(passed);
    one<<<1, 1>>>(of_both);
    cudaDeviceSynchronize();
    EXPECT_EQ(of_both[0], 1);
    EXPECT_EQ(cudaMemcpy(&host, passed, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(host, 1);
    expect_silence();
}

__device__ int taken[64];
__constant__ int* from_there;
__device__ int* to_there;
__global__ void by_symbols(int* out) {
    const int t = threadIdx.x;
    out[t] = from_there[63 - t] + taken[t];
    to_there[t] = out[t];
}

TEST_F(Programs, Symbols) {
    int *at, host[64];
    size_t bytes;
    cudaMemset(out.data, 0, sizeof host);
    EXPECT_FALSE(cudaMemcpyToSymbol(taken, out.data, sizeof host, 0, cudaMemcpyDeviceToDevice));
    EXPECT_FALSE(cudaMemcpyToSymbol(from_there, &in.data, sizeof in.data));
    EXPECT_FALSE(cudaGetSymbolAddress((void**)&at, taken));
    EXPECT_FALSE(cudaMemcpyToSymbol((const void*)&to_there, &at, sizeof at));
    by_symbols<<<1, 64>>>(out.data);
    expect_reversed();
    EXPECT_TRUE(!cudaGetSymbolSize(&bytes, taken) && bytes == sizeof host);
    EXPECT_TRUE(!cudaMemcpyFromSymbol(host, (const void*)taken, sizeof host) && host[1] == 62);
    expect_silence();
    EXPECT_EQ(cudaMemcpyToSymbol(taken, host, 8, sizeof host - 8), cudaSuccess);
    for (const size_t offset : {sizeof host - 7, size_t(-4)}) {
        cudaMemcpyToSymbol(taken, host, 8, offset);  // @past_the_variable
        expect_failure({"cudaMemcpyToSymbol at @past_the_variable: 8 bytes at offset " +
                        std::to_string(offset) + " exceed the variable's 256"},
                       cudaErrorInvalidValue);
    }
}

__global__ void reverse(int* out, const int* in) { out[threadIdx.x] = 63 - in[threadIdx.x]; }
__global__ void add_reversed(int* out, const int* in) { out[threadIdx.x] += in[63 - threadIdx.x]; }

class Graphs : public Programs {
protected:
    cudaStream_t stream, second, other;
    cudaEvent_t event, joined;
    cudaGraph_t graph;
    void SetUp() override {
        Programs::SetUp();
        for (cudaStream_t* each : {&stream, &second, &other}) cudaStreamCreate(each);
        for (cudaEvent_t* each : {&event, &joined}) cudaEventCreate(each);
        cudaMemset(out.data, 1, 256);
        cudaDeviceSynchronize();
    }
    // Makes what follows in stream `after` wait for what was enqueued in `before`.
    void order(cudaStream_t before, cudaStream_t after, cudaEvent_t by) {
        EXPECT_EQ(cudaEventRecord(by, before), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(after, by, 0), cudaSuccess);
    }
    cudaStreamCaptureStatus status(cudaStream_t of) {
        cudaStreamCaptureStatus status;
        EXPECT_EQ(cudaStreamIsCapturing(of, &status), cudaSuccess);
        return status;
    }
    size_t nodes() {
        size_t count = 0;
        EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
        return count;
    }
    // The executable graph of `graph`, which itself is destroyed.
    cudaGraphExec_t instantiated() {
        cudaGraphExec_t exec = nullptr;
        EXPECT_EQ(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaSuccess);
        EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
        return exec;
    }
};

void count_call(cudaStream_t, cudaError_t error, void* count) {
    if (!error) ++*static_cast<int*>(count);
}

TEST_F(Graphs, OfTwoStreams) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(out.data, 0, 256, stream);
    EXPECT_EQ(status(second), cudaStreamCaptureStatusNone);
    order(stream, second, event);
    EXPECT_EQ(status(second), cudaStreamCaptureStatusActive);
    auto kernel = add_reversed;
    for (int i = 0; i < 1; ++i) kernel<<<1, 64, 0, second>>>(out.data, in.data);
    order(second, stream, joined);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    for (cudaStream_t each : {stream, second}) EXPECT_EQ(status(each), cudaStreamCaptureStatusNone);
    EXPECT_EQ(out.host()[0], 0x01010101) << "nothing has run";

    EXPECT_EQ(nodes(), 2u);
    cudaGraphNode_t both[3] = {};
    size_t count = 3;
    EXPECT_EQ(cudaGraphGetNodes(graph, both, &count), cudaSuccess);
    EXPECT_TRUE(count == 2 && both[0] && both[1] && both[0] != both[1] && !both[2]);
    count = 1;
    EXPECT_TRUE(!cudaGraphGetNodes(graph, both, &count) && count == 1 && both[0]);
    cudaGraphGetNodes(nullptr, nullptr, &count);
    expect_failure({"cudaGraphGetNodes..there is no graph"}, cudaErrorInvalidValue);

    const cudaGraphExec_t exec = instantiated();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
    expect_reversed();
}

// Each launch of the graph uses the memory, which lasts as long as the graph.
TEST_F(Graphs, MemoryThatTheStreamAllocatesAndFrees) {
    size_t before, during, after, total;
    cudaMemGetInfo(&before, &total);
    int* scratch;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    EXPECT_EQ(cudaMallocAsync(&scratch, 256, stream), cudaSuccess);
    cudaMemcpyAsync(scratch, in.data, 256, cudaMemcpyDeviceToDevice, stream);
    reverse<<<1, 64, 0, stream>>>(out.data, scratch);
    EXPECT_EQ(cudaFreeAsync(scratch, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    const cudaGraphExec_t exec = instantiated();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    cudaStreamSynchronize(stream);
    cudaMemGetInfo(&during, &total);
    cudaGraphExecDestroy(exec);
    cudaMemGetInfo(&after, &total);
    EXPECT_EQ(during, before - 256);
    EXPECT_EQ(after, before);
    expect_reversed();
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    EXPECT_EQ(cudaFreeAsync(scratch, stream), cudaErrorInvalidValue);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphDestroy(graph);
    expect_failure({"cudaFreeAsync..memory that was freed"}, cudaErrorInvalidValue);
}

TEST_F(Graphs, LaunchedInACapture) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    reverse<<<1, 64, 0, stream>>>(out.data, in.data);
    cudaStreamEndCapture(stream, &graph);
    const cudaGraphExec_t inner = instantiated();
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    EXPECT_EQ(cudaGraphLaunch(inner, stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyPeerAsync(in.data, 0, out.data, 0, 0, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(out.host()[0], 0x01010101) << "nothing has run";
    EXPECT_EQ(nodes(), 2u);
    const cudaGraphExec_t outer = instantiated();
    cudaGraphExecDestroy(inner);
    EXPECT_EQ(cudaGraphLaunch(outer, stream), cudaSuccess);
    cudaGraphExecDestroy(outer);
    cudaStreamSynchronize(stream);
    expect_reversed();
}

// A stream that has not joined the capture runs as usual, and may be captured into another graph.
TEST_F(Graphs, StreamsBesideACapture) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(out.data, 0, 256, stream);
    reverse<<<1, 64, 0, second>>>(out.data, in.data);
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    int calls = 0;
    EXPECT_EQ(cudaStreamAddCallback(second, count_call, &calls, 0), cudaSuccess);
    EXPECT_EQ(calls, 1);
    order(second, other, joined);
    EXPECT_EQ(cudaEventSynchronize(joined), cudaSuccess);
    EXPECT_EQ(status(second), cudaStreamCaptureStatusNone);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    expect_failure({"cudaStreamBeginCapture..the stream is captured"}, cudaErrorIllegalState);
    cudaGraph_t of_other;
    EXPECT_EQ(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), cudaSuccess);
    cudaMemsetAsync(out.data, 0, 256, other);
    EXPECT_EQ(cudaStreamEndCapture(other, &of_other), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(nodes(), 1u);
    for (cudaGraph_t each : {graph, of_other}) cudaGraphDestroy(each);
    expect_reversed();
}

// The default stream waits for no stream that is created as non-blocking.
TEST_F(Graphs, DefaultStreamBesideANonBlockingCapture) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(out.data, 0, 256, stream);
    reverse<<<1, 64>>>(out.data, in.data);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(out.host()[0], 63);
    EXPECT_EQ(status(nullptr), cudaStreamCaptureStatusNone);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(nodes(), 1u);
    cudaGraphDestroy(graph);
    expect_reversed();
}

// What the CUDA runtime refuses during a capture fails here, too, and so does the capture.
TEST_F(Graphs, CapturesThatAreInvalidated) {
    const auto launch = [this](cudaStream_t in_stream) {
        reverse<<<1, 64, 0, in_stream>>>(out.data, in.data);
        return cudaPeekAtLastError();
    };
    int host[64] = {}, *allocated;
    const std::pair<cudaError_t, std::function<cudaError_t()>> mistakes[] = {
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaDeviceSynchronize(); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamSynchronize(stream); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamQuery(second); }},
        {cudaErrorStreamCaptureUnsupported,
         [&] { return cudaStreamAddCallback(stream, count_call, &host[0], 0); }},
        {cudaErrorCapturedEvent, [&] { return cudaEventSynchronize(event); }},
        {cudaErrorStreamCaptureImplicit, [&] { return cudaStreamSynchronize(nullptr); }},
        {cudaErrorStreamCaptureImplicit, [&] { return launch(nullptr); }},
        {cudaErrorStreamCaptureImplicit, [&] { return cudaMemset(out.data, 0, 256); }},
        {cudaErrorStreamCaptureImplicit,
         [&] { return cudaMemcpy(host, out.data, 256, cudaMemcpyDeviceToHost); }},
        {cudaErrorStreamCaptureImplicit, [&] { return cudaEventRecord(joined); }},
        {cudaErrorStreamCaptureImplicit, [&] { return cudaStreamWaitEvent(nullptr, event); }},
        {cudaErrorStreamCaptureIsolation, [&] { return cudaStreamWaitEvent(stream, joined); }},
        {cudaErrorStreamCaptureMerge,
         [&] {
             cudaGraph_t of_other;
             cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal);
             const cudaError_t error = cudaStreamWaitEvent(other, event);
             EXPECT_EQ(cudaStreamEndCapture(other, &of_other), cudaErrorStreamCaptureInvalidated);
             return error;
         }},
        {cudaErrorStreamCaptureUnmatched, [&] { return cudaStreamEndCapture(second, &graph); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaMalloc(&allocated, 256); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaFree(nullptr); }},
    };
    for (const auto& [error, mistake] : mistakes) {
        SCOPED_TRACE(cudaGetErrorName(error));
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        order(stream, second, event);
        EXPECT_EQ(mistake(), error);
        EXPECT_EQ(status(stream), cudaStreamCaptureStatusInvalidated);
        cudaGetLastError();
        EXPECT_EQ(launch(stream), cudaErrorStreamCaptureInvalidated);
        EXPECT_EQ(cudaEventRecord(event, second), cudaErrorStreamCaptureInvalidated);
        graph = cudaGraph_t(this);
        EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
        EXPECT_EQ(graph, nullptr);
        EXPECT_EQ(status(second), cudaStreamCaptureStatusNone);
        EXPECT_EQ(out.host()[0], 0x01010101) << "nothing has run";
        expect_failure({std::string("fails, ") + cudaGetErrorString(error)},
                       cudaErrorStreamCaptureInvalidated);
    }
    EXPECT_EQ(host[0], 0) << "a callback that is refused is not called";
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    order(stream, second, event);
    launch(second);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(cudaGraphInstantiate(nullptr, graph), cudaErrorInvalidValue);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
    EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
              cudaErrorStreamCaptureUnsupported);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(cudaMalloc(&allocated, 256), cudaSuccess);
    EXPECT_EQ(cudaFree(allocated), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
    expect_some({"cudaStreamEndCapture..fails"});
    // Querying the default stream returns an error but does not invalidate the capture.
    cudaStreamCaptureStatus ignored;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    EXPECT_EQ(cudaStreamIsCapturing(nullptr, &ignored), cudaErrorStreamCaptureImplicit);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
    cudaGetLastError();
    launch(stream);
    cudaDeviceSynchronize();
    expect_reversed();
}

__global__ void with_arrays(int* out) {
    __shared__ int array[1024 * 3];
    array[threadIdx.x] = 1;
    out[threadIdx.x] = array[threadIdx.x];
}
TEST_F(Programs, Occupancy) {
    const auto blocks = [](int threads, size_t dynamic_bytes) {
        int found = -1;
        EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, with_arrays, threads,
                                                                dynamic_bytes),
                  cudaSuccess);
        return found;
    };
    EXPECT_EQ(blocks(1024, 0), 2);
    EXPECT_EQ(blocks(32, 0), 228 / (12 + 1));
    EXPECT_EQ(blocks(32, 100 * 1024), 2);
    EXPECT_EQ(blocks(32, 216 * 1024), 0);
    EXPECT_EQ(blocks(1025, 0), 0);
    cudaFuncAttributes attributes;
    EXPECT_EQ(cudaFuncGetAttributes(&attributes, with_arrays), cudaSuccess);
    EXPECT_EQ(attributes.sharedSizeBytes, 12 * 1024u);
    EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 36 * 1024);
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    int grid, threads;
    EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &threads, with_arrays, 0, 100),
              cudaSuccess);
    EXPECT_TRUE(threads == 96 && grid == 17 * device.multiProcessorCount);
    const auto bytes = [](int threads) { return size_t(threads) * 400; };  // 1024 do not fit
    EXPECT_EQ(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &threads, with_arrays, bytes),
              cudaSuccess);
    EXPECT_TRUE(threads == 544 && grid == device.multiProcessorCount) << threads << " " << grid;
}

TEST_F(Programs, NoPeers) {
    int can = -1;
    EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
    EXPECT_EQ(can, 0);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
}

TEST_F(Programs, LaunchesOfAllKinds) {
    void* with[] = {&out.data, &in.data};
    cudaLaunchCooperativeKernel((void*)reverse, dim3(1), dim3(64), with, 0, 0);
    expect_reversed();
    cudaLaunchCooperativeKernel((void*)reverse, dim3(1), dim3(2000), with, 0, 0);
    expect_failure({"asks for blocks of 2000"}, cudaErrorInvalidConfiguration);
    void (*all[1])(int*, const int*) = {reverse};
    // clang-format off
    all[0] << <1, 64 >> >(out.data, in.data);
    expect_reversed();
    all[0] << <1, 65 >> >(out.data, in.data);
    // clang-format on
    expect_some({"out of bounds"});
}

TEST_F(Programs, NamesOfErrors) {
    for (int i = 0; i < 1000; ++i) {
        const std::string name = cudaGetErrorName(cudaError_t(i)),
                          text = cudaGetErrorString(cudaError_t(i));
        const bool known = name != "unrecognized error code";
        EXPECT_EQ(known, name.rfind("cuda", 0) == 0) << name;
        EXPECT_EQ(known, text != "unrecognized error code") << name;
    }
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidSymbol), "cudaErrorInvalidSymbol");
    EXPECT_STREQ(cudaGetErrorString(cudaErrorNotReady), "device not ready");
}

}  // namespace
