// Small kernels with a known right answer, known traffic or a known fault, run on the emulator. Built twice: plain, and traced
// (the suite Trace runs in the traced build only).
#include "device.h"

#include <cuda_fp16.h>
#include <sys/resource.h>

#include <algorithm>

namespace {

class Threads : public Base {};
class Warps : public Base {};
class Faults : public Base {};
class Limits : public Base {};
class Trace : public Base {};

// ---- Threads, blocks, barriers ----------------------------------------------------------------------------------------------

__global__ void write_numbers(int* out) {
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * int(blockDim.x * blockDim.y * blockDim.z) + thread] += 1000 * block + thread;
}

TEST_F(Threads, EachRunsOnceInAnyShapeAndOrder) {
    in_every_order([] {
        Device<int> out(3 * 2 * 4 * 5 * 7 * 3, 0);
        write_numbers<<<dim3(3, 2, 4), dim3(5, 7, 3)>>>(out.data);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        const auto host = out.host();
        for (size_t i = 0; i < out.n; ++i) ASSERT_EQ(host[i], int(1000 * (i / 105) + i % 105));
        EXPECT_EQ(emulator::counts().blocks, 24u);
        EXPECT_EQ(emulator::counts().threads, 24u * 105);
        EXPECT_EQ(emulator::counts().barriers, 0u);
    });
}

__global__ void log_order(int* log, int* count) {
    log[(*count)++] = blockIdx.x * 100 + threadIdx.x;
    __syncthreads();
    log[(*count)++] = blockIdx.x * 100 + threadIdx.x;
}

std::vector<int> order_of_run(Order order, unsigned seed = 1) {
    emulator::set_order(order, seed);
    Device<int> log(2 * 2 * 50), count(1, 0);
    log_order<<<2, 50>>>(log.data, count.data);
    return log.host();
}

TEST_F(Threads, OrdersAreForwardReverseAndRandom) {
    std::vector<int> forward;
    for (int i = 0; i < 200; ++i) forward.push_back(i / 100 * 100 + i % 50);
    const std::vector<int> reverse(forward.rbegin(), forward.rend());
    EXPECT_EQ(order_of_run(Order::forward), forward);
    EXPECT_EQ(order_of_run(Order::reverse), reverse);

    const auto random = order_of_run(Order::random, 7);
    EXPECT_NE(random, forward);
    EXPECT_NE(random, reverse);
    EXPECT_EQ(random, order_of_run(Order::random, 7));
    EXPECT_NE(random, order_of_run(Order::random, 8));
    for (auto from = random.begin(); from != random.end();
         from += 50)  // a barrier keeps the intervals apart
        EXPECT_TRUE(std::is_permutation(from, from + 50,
                                        random.begin() + (from - random.begin()) / 100 * 100));
    EXPECT_FALSE(std::equal(&random[0], &random[50], &random[50]))
        << "not reshuffled at the barrier";
}

enum class Sync { none, warp, block };
template <Sync sync, class T>
__global__ void shift(T* out, int distance) {
    __shared__ T s[64];
    const int t = threadIdx.x;
    s[t] = t;  // @shift_writes
    if (sync == Sync::warp) __syncwarp();
    if (sync == Sync::block) __syncthreads();
    const int from = (t + distance) % 64;
    out[blockIdx.x * 64 + t] = s[from];  // @shift_reads
}

TEST_F(Threads, BarrierMakesNeighboursVisible) {
    in_every_order([&] {
        shift<Sync::block><<<3, 64>>>(ints.data, 1);
        for (int i = 0; i < 3 * 64; ++i) ASSERT_EQ(ints.host()[i], (i % 64 + 1) % 64);
        EXPECT_EQ(emulator::counts().barriers, 3u);
        expect_problem("");
    });
}

TEST_F(Threads, MissingBarrierGivesAWrongResultInSomeOrderAndARaceInEveryOne) {
    int wrong = 0;
    in_every_order([&] {
        shift<Sync::none><<<1, 64>>>(ints.data, 1);
        for (int i = 0; i < 64; ++i) wrong += ints.host()[i] != (i + 1) % 64;
        EXPECT_TRUE(
            !emulator::tracing() ||
            reported(
                "race in shared memory: @shift_writes writes what ~shift_reads reads (block 0, threads ") ||
            reported(
                "race in shared memory: @shift_reads reads what ~shift_writes writes (block 0, threads "))
            << problem();
    });
    EXPECT_GT(wrong, 0);
}

__global__ void sum_dynamic(const float* in, float* out) {
    extern __shared__ float s[];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = s[0];
}

TEST_F(Threads, DynamicSharedMemory) {
    in_every_order([] {
        Device<float> in(256, 1.5f), out(1);
        sum_dynamic<<<1, 256, 256 * sizeof(float)>>>(in.data, out.data);
        EXPECT_EQ(out.host()[0], 256 * 1.5f);
        expect_problem("");
    });
}

template <int kFirst, bool kSecond>
__global__ void two_values(int a, int b, int* out) {
    *out = a * 100 + b * 10 + kFirst + kSecond;
}

TEST_F(Threads, LaunchEvaluatesItsArgumentsOnceAndTakesAnyForm) {
    Device<int> out(1);
    int calls = 0;
    // clang-format off
    two_values<(7 > 3) ? 4 : 5, true><<<dim3(1, 1), dim3(32),
                                        0, nullptr>>>(++calls, 2,  // a comment with <<< in it
                                                      out.data);
    // clang-format on
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(out.host()[0], 125);
#define LAUNCH(kernel, ...) kernel<<<1, 1>>>(__VA_ARGS__)
    LAUNCH((two_values<1, false>), 3, 4, out.data);
    EXPECT_EQ(out.host()[0], 341);
    const auto pointer = two_values<(16 >> 1), false>;
    pointer<<<1, 1>>>(5, 6, out.data);
    EXPECT_EQ(out.host()[0], 568);
}

__constant__ float constants[4] = {1, 2, 3, 4};
__global__ void read_constants(float* out) { out[threadIdx.x] = __ldg(&constants[threadIdx.x]); }

TEST_F(Threads, ConstantMemory) {
    const float values[2] = {5, 6};
    EXPECT_EQ(cudaMemcpyToSymbol(constants, values, sizeof values, sizeof values), cudaSuccess);
    Device<float> out(4);
    read_constants<<<1, 4>>>(out.data);
    EXPECT_EQ(out.host(), (std::vector<float>{1, 2, 5, 6}));
    EXPECT_EQ(shared_loads(), Traffic{});
    expect_problem("");
}

__global__ void many_atomics(int* n, float* sum) {
    atomicAdd(n, 1);
    atomicAdd(sum, 2);
}

TEST_F(Threads, AtomicsAddUpAndAreNoRaces) {
    Device<int> n(1, 0);
    Device<float> sum(1, 0);
    many_atomics<<<10, 100>>>(n.data, sum.data);
    EXPECT_EQ(n.host()[0], 1000);
    EXPECT_EQ(sum.host()[0], 2000);
    expect_problem("");
}

TEST_F(Threads, FreshDeviceMemoryIsNotANumber) {
    for (float f : Device<float>(10).host()) EXPECT_TRUE(f != f);
}

// ---- Warps ------------------------------------------------------------------------------------------------------------------

__global__ void shuffles(int* out) {
    const int t = threadIdx.x, n = blockDim.x;
    out[0 * n + t] = __shfl_sync(0xffffffff, t, 3);
    out[1 * n + t] = __shfl_up_sync(0xffffffff, t, 2);
    out[2 * n + t] = __shfl_down_sync(0xffffffff, t, 5);
    out[3 * n + t] = __shfl_xor_sync(0xffffffff, t, 1);
    out[4 * n + t] = __shfl_sync(0xffffffff, t, 9, 8);
    out[5 * n + t] = __shfl_up_sync(0xffffffff, t, 1, 8);
    out[6 * n + t] = __shfl_down_sync(0xffffffff, t, 1, 8);
}

TEST_F(Warps, Shuffles) {
    in_every_order([] {
        const int n = 96;
        Device<int> device(7 * n);
        shuffles<<<1, n>>>(device.data);
        const auto out = device.host();
        for (int t = 0; t < n; ++t) {
            const int lane = t % 32;
            const int expected[] = {
                t - lane + 3,  lane < 2 ? t : t - 2,   lane + 5 > 31 ? t : t + 5, t ^ 1,
                t / 8 * 8 + 1, t % 8 == 0 ? t : t - 1, t % 8 == 7 ? t : t + 1};
            for (int kind = 0; kind < 7; ++kind)
                EXPECT_EQ(out[kind * n + t], expected[kind]) << kind << ", thread " << t;
        }
    });
}

__global__ void reduce(const double* in, double* out, int n) {
    const int t = threadIdx.x;
    if (t >= n) return;  // the lanes that are left go on without these
    double sum = in[t];
    for (int delta = 16; delta > 0; delta /= 2) {
        const int from = t % 32 + delta, lanes = min(32, n - t / 32 * 32);
        const double other = __shfl_sync(0xffffffff, sum, from < lanes ? from : t % 32);
        if (from < lanes) sum += other;
    }
    if (t % 32 == 0) out[t / 32] = sum;
}

TEST_F(Warps, PartialWarpsAndLanesThatReturned) {
    in_every_order([] {
        for (int threads : {70, 96}) {  // 70: the last warp has 6 threads; 96: 26 of its 32 return
            Device<double> in(70, 1.0), out(3);
            reduce<<<1, threads>>>(in.data, out.data, 70);
            EXPECT_EQ(cudaGetLastError(), cudaSuccess);
            EXPECT_EQ(out.host(), (std::vector<double>{32, 32, 6}));
        }
    });
}

TEST_F(Warps, SyncwarpMakesTheWarpsWritesVisible) {
    emulator::set_order(Order::reverse);
    Device<int> out(64, -1);
    shift<Sync::warp><<<1, 32>>>(out.data, 64);
    shift<Sync::warp><<<1, 32>>>(out.data, 0);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    expect_problem("");
}

__global__ void swap_in_warp(int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    __syncwarp();
    const int other = s[t ^ 1];
    __syncwarp();
    s[t] = other;
    __syncwarp();
    out[t] = s[t ^ 31];
}

TEST_F(Warps, SyncwarpOrdersTheLanesOfOneWarp) {
    in_every_order([&] {
        swap_in_warp<<<1, 64>>>(ints.data);
        for (int t = 0; t < 64; ++t) EXPECT_EQ(ints.host()[t], t ^ 30);
        expect_problem("");
    });
}

TEST_F(Trace, SyncwarpDoesNotOrderTwoWarps) {
    shift<Sync::warp><<<1, 64>>>(ints.data, 33);
    EXPECT_TRUE(reported("race in shared memory: @shift_writes writes what ~shift_reads reads"))
        << problem();
    emulator::reset_counts();
    shift<Sync::none><<<1, 32>>>(ints.data, 64);  // its own element: no neighbour's
    expect_problem("");
}

__global__ void shuffle_in_half_of_a_warp(int* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffff, int(threadIdx.x), 15);
    else out[threadIdx.x] = __shfl_sync(0xffff0000, int(threadIdx.x), 16);
}

TEST_F(Warps, MasksNameTheLanesThatMeet) {
    shuffle_in_half_of_a_warp<<<1, 32>>>(ints.data);
    for (int t = 0; t < 32; ++t) EXPECT_EQ(ints.host()[t], t < 16 ? 15 : 16);
}

// ---- Faults that end a launch -----------------------------------------------------------------------------------------------

__global__ void one_thread_returns() {
    if (threadIdx.x == 2 && threadIdx.y == 1) return;
    __syncthreads();  // @lonely_barrier
}
__global__ void two_barriers() {
    if (threadIdx.x < 32) __syncthreads();  // @first_barrier
    else __syncthreads();  // @second_barrier
}
__global__ void warp_and_block() {
    if (threadIdx.x == 5) __syncthreads();
    __syncwarp();  // @lonely_syncwarp
    if (threadIdx.x != 5) __syncthreads();
}
__global__ void mask_without_self() {
    __syncwarp(threadIdx.x == 0 ? 0xfffffffe : 0xffffffff);  // @mask
}
__global__ void launches() { write_numbers<<<1, 1>>>(nullptr); }

TEST_F(Faults, ThreadReturnsWhileOthersWait) {
    in_every_order([] {
        one_thread_returns<<<1, dim3(4, 2)>>>();
        EXPECT_EQ(cudaPeekAtLastError(), cudaErrorLaunchFailure);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        expect_failure(
            "barrier divergence: 7 of the 8 threads of block 0 wait at @lonely_barrier, thread (0,0) among them, but "
            "thread (2,1) has returned");
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    });
    shift<Sync::block><<<1, 64>>>(Device<int>(64).data, 1);  // the emulator is none the worse
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Faults, LongListsOfProblemsEndInANumber) {
    for (int i = 0; i < 25; ++i) one_thread_returns<<<1, dim3(4, 2)>>>();
    const auto& problems = emulator::counts().problems;
    ASSERT_EQ(problems.size(), 21u);
    EXPECT_EQ(problems[19], problems[0]);
    EXPECT_EQ(problems[20], "... and 5 more");
}

TEST_F(Faults, ThreadsThatWaitForEver) {
    two_barriers<<<1, 64>>>();
    expect_failure(
        "barrier divergence: 32 of the 64 threads of block 0 wait at @first_barrier, thread 0 among them, but thread 32 "
        "waits at @second_barrier");
    warp_and_block<<<1, 32>>>();
    expect_lonely("@lonely_syncwarp");
    mask_without_self<<<1, 32>>>();
    expect_failure("the mask at @mask lacks the lane that calls it, thread 0");
    launches<<<1, 1>>>();
    expect_failure("a kernel launches a kernel: the emulator cannot run dynamic parallelism");
}

// ---- Limits -----------------------------------------------------------------------------------------------------------------

__global__ void nothing() {}

TEST_F(Limits, OfALaunch) {
    const struct {
        dim3 grid, block;
        size_t shared;
        cudaError_t error;
    } launches[] = {
        // clang-format off
        {1, 1024, 0, cudaSuccess}, {1, 1025, 0, cudaErrorInvalidConfiguration}, {1, dim3(32, 33), 0, cudaErrorInvalidConfiguration},
        {1, dim3(1, 1, 64), 0, cudaSuccess}, {1, dim3(1, 1, 65), 0, cudaErrorInvalidConfiguration},
        {dim3(1, 65535), 1, 0, cudaSuccess}, {dim3(1, 65536), 1, 0, cudaErrorInvalidConfiguration},
        {dim3(1, 1, 65536), 1, 0, cudaErrorInvalidConfiguration}, {2147483648u, 1, 0, cudaErrorInvalidConfiguration},
        {0, 1, 0, cudaErrorInvalidConfiguration}, {1, dim3(1, 0), 0, cudaErrorInvalidConfiguration},
        {1, 1, 48 * 1024, cudaSuccess}, {1, 1, 48 * 1024 + 1, cudaErrorInvalidValue},
        // clang-format on
    };
    for (const auto& [grid, block, shared, error] : launches) {
        nothing<<<grid, block, shared>>>();
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess)
            << "a launch that never started does not fail later";
        EXPECT_EQ(cudaGetLastError(), error) << "launch " << &grid - &launches[0].grid;
    }
}

TEST_F(Limits, OfDynamicSharedMemory) {
    const auto launch = [](size_t shared) {
        return nothing<<<1, 1, shared>>>(), cudaGetLastError();
    };
    EXPECT_EQ(
        cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1),
        cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(
        cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024),
        cudaSuccess);
    EXPECT_EQ(launch(227 * 1024), cudaSuccess);
    EXPECT_EQ(launch(227 * 1024 + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_EQ(launch(48 * 1024 + 1), cudaErrorInvalidValue);
}

TEST_F(Limits, OfMemory) {
    void* p = &p;
    EXPECT_EQ(cudaMalloc(&p, size_t(1) << 60), cudaErrorMemoryAllocation);
    EXPECT_EQ(p, nullptr);
    EXPECT_STREQ(cudaGetErrorString(cudaGetLastError()), "out of memory");
    EXPECT_EQ(cudaMalloc(&p, 0), cudaSuccess);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
    EXPECT_EQ(cudaFree(&p), cudaErrorInvalidValue);

    Device<char> d(100);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(d.data) % 256, 0u);
    char host[101] = {};
    EXPECT_EQ(cudaMemcpy(d.data, host, 100, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(d.data, host, 101, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(host, d.data + 1, 100, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(host, host + 50, 10, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemset(d.data, 0, 101), cudaErrorInvalidValue);
    EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
}

// ---- Counts -----------------------------------------------------------------------------------------------------------------

TEST_F(Trace, IsOnInThisBuild) { EXPECT_TRUE(emulator::tracing()); }

template <bool swapped>
__global__ void naive(int n, const float* A, const float* B, float* C) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int row = swapped ? x : y, col = swapped ? y : x;
    float acc = 0;
    for (int k = 0; k < n; ++k) acc += A[row * n + k] * B[k * n + col];
    C[row * n + col] = acc;
}

constexpr int kTile = 16;
__global__ void tiled(int n, const float* A, const float* B, float* C) {
    __shared__ float As[kTile][kTile], Bs[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
    float acc = 0;
    for (int k = 0; k < n; k += kTile) {
        As[ty][tx] = A[row * n + k + tx];
        Bs[ty][tx] = B[(k + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kTile; ++i) acc += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    C[row * n + col] = acc;
}

class Product : public Trace {
protected:
    const uint64_t n = 64, n3 = n * n * n, blocks = (n / kTile) * (n / kTile);
    Device<float> A{n * n, 1}, B{n * n, 2}, C{n * n};
};
using TraceProduct = Product;

TEST_F(TraceProduct, NaiveMakesTwoLoadsForEachProduct) {
    naive<false><<<dim3(n / 32, n / 8), dim3(32, 8)>>>(n, A.data, B.data, C.data);
    EXPECT_EQ(C.host(), std::vector<float>(n * n, 2 * n));
    EXPECT_EQ(global_loads(), (Traffic{2 * n3 / 32, n3 / 32 * (1 + 4), 0,
                                       2 * n3 * 4}));  // A: one for all lanes; B: 32 neighbours
    EXPECT_EQ(global_stores(), (Traffic{n * n / 32, n * n / 32 * 4, 0, n * n * 4}));
    EXPECT_EQ(shared_loads(), Traffic{});
    EXPECT_EQ(shared_stores(), Traffic{});
    expect_problem("");
}

TEST_F(TraceProduct, SwappedIndicesTake32SectorsARequest) {
    naive<true><<<dim3(n / 32, n / 8), dim3(32, 8)>>>(n, A.data, B.data, C.data);
    EXPECT_EQ(global_loads(), (Traffic{2 * n3 / 32, n3 / 32 * (32 + 1), 0, 2 * n3 * 4}));
    EXPECT_EQ(global_stores()[1], n * n / 32 * 32);
}

TEST_F(TraceProduct, TileOfTSavesAFactorOfT) {
    in_every_order([&] {
        tiled<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(n, A.data, B.data, C.data);
        EXPECT_EQ(C.host(), std::vector<float>(n * n, 2 * n));
        EXPECT_EQ(global_loads()[3], 2 * n3 / kTile * 4);
        EXPECT_EQ(shared_stores()[3], 2 * n3 / kTile * 4);
        EXPECT_EQ(shared_loads()[3], 2 * n3 * 4);
        EXPECT_EQ(shared_loads()[1], shared_loads()[0]);
        EXPECT_EQ(emulator::counts().barriers, 2 * n / kTile * blocks);
        EXPECT_EQ(emulator::counts().blocks, blocks);
        expect_problem("");
    });
}

template <class T>
__global__ void copy(const T* from, T* to, int stride) {
    to[threadIdx.x * stride] = from[threadIdx.x * stride];
}

// The requests and sectors of the loads.
template <class T>
std::array<uint64_t, 2> copied(int stride, int threads = 32, int shift = 0) {
    Device<T> from(threads * stride + shift), to(threads * stride + shift);
    cudaMemset(from.data, 0, from.n * sizeof(T));
    emulator::reset_counts();
    copy<<<1, threads>>>(from.data + shift, to.data + shift, stride);
    return {global_loads()[0], global_loads()[1]};
}

TEST_F(Trace, SectorsFollowTheStrideAndTheAlignment) {
    using Loads = std::array<uint64_t, 2>;
    EXPECT_EQ(copied<float>(1), (Loads{1, 4}));
    EXPECT_EQ(emulator::counts().lines[0].width, 4);
    EXPECT_EQ(copied<float>(1, 32, 1), (Loads{1, 5}));  // not aligned
    EXPECT_EQ(copied<float>(2), (Loads{1, 8}));
    EXPECT_EQ(copied<float>(8), (Loads{1, 32}));
    EXPECT_EQ(copied<float>(100), (Loads{1, 32}));
    EXPECT_EQ(global_stores()[1], 32u);
    EXPECT_EQ(copied<float>(1, 40), (Loads{2, 5}));  // the second warp has 8 lanes
    EXPECT_EQ(copied<double>(1), (Loads{1, 8}));
    EXPECT_EQ(copied<char>(1), (Loads{1, 1}));
    EXPECT_EQ(copied<int2>(1)[0], 1u);
    EXPECT_EQ(copied<float4>(1), (Loads{1, 16}));
    EXPECT_EQ(global_loads()[3], 512u);
    EXPECT_EQ(global_stores()[0], 1u);
    const auto& lines = emulator::counts().lines;
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].width, 16);
    EXPECT_EQ(lines[0].where, lines[1].where);
}

// The forms in which kernels move four floats at once: from const float*, through a variable, and put together.
__global__ void vectors(const float* from, float* to, float* spread) {
    __shared__ __align__(16) float s[128];
    const int t = threadIdx.x;
    *reinterpret_cast<float4*>(&s[t * 4]) = reinterpret_cast<const float4*>(from)[t];
    __syncwarp();  // or the compiler would not read back what it has just written
    const float4 v = *reinterpret_cast<const float4*>(&s[t * 4]);
    reinterpret_cast<float4*>(to)[t] = make_float4(v.w, v.z, v.y, v.x);
    spread[t] = v.x;
    spread[t + 32] = v.y;
}

TEST_F(Trace, VectorIsOneAccessInEveryForm) {
    Device<float> from(128, 1), to(128), spread(64);
    vectors<<<1, 32>>>(from.data, to.data, spread.data);
    EXPECT_EQ(global_loads()[0], 1u);
    EXPECT_EQ(shared_stores()[0], 1u);
    EXPECT_EQ(shared_loads(), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(global_stores()[0], 1u + 2u);
    EXPECT_EQ(global_stores()[3], 512u + 2 * 128u);
    for (const auto& line : emulator::counts().lines)
        EXPECT_EQ(line.where.find("tests/kernels_test.cu:"), 0u) << line.where;
    expect_problem("");
}

__global__ void move_pairs(const half* in, half* out) {
    __shared__ __align__(16) half s[64];
    const int t = threadIdx.x;
    reinterpret_cast<half2*>(s)[t] = reinterpret_cast<const half2*>(in)[t];
    __syncwarp();
    reinterpret_cast<half2*>(out)[31 - t] = reinterpret_cast<half2*>(s)[t];
}

TEST_F(Trace, PairIsOneAccess) {
    Device<half> in(64, half(3)), out(64);
    move_pairs<<<1, 32>>>(in.data, out.data);
    for (half h : out.host()) ASSERT_EQ(float(h), 3);
    EXPECT_EQ(global_loads(), (Traffic{1, 4, 0, 128}));
    EXPECT_EQ(global_stores(), (Traffic{1, 4, 0, 128}));
    EXPECT_EQ(shared_loads(), (Traffic{1, 1, 1, 128}));
    EXPECT_EQ(shared_stores(), (Traffic{1, 1, 1, 128}));
    for (const auto& line : emulator::counts().lines)
        EXPECT_EQ(line.where.find("tests/kernels_test.cu:"), 0u) << line.where;
    expect_problem("");
}

__global__ void strided(float* out, int stride) {
    __shared__ float s[32 * 33];
    const int i = threadIdx.x * stride;
    s[i] = i;  // @strided_store
    __syncwarp();
    out[threadIdx.x] = s[i];  // @strided_load
}

TEST_F(Trace, BankConflictsFollowTheStride) {
    for (const auto& [stride, wavefronts] :
         {std::pair(1, 1u), {2, 2u}, {4, 4u}, {33, 1u}, {32, 32u}}) {  // 33: padded
        emulator::reset_counts();
        strided<<<1, 32>>>(floats.data, stride);
        EXPECT_EQ(shared_loads(), (Traffic{1, wavefronts, 1, 128}));
        EXPECT_EQ(shared_stores(), (Traffic{1, wavefronts, 1, 128}));
    }
    const auto& lines = emulator::counts().lines;
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0].where, located("@strided_store", __FILE__));
    EXPECT_TRUE(lines[0].store);
    EXPECT_FALSE(lines[0].global);
    EXPECT_EQ(lines[1].where, located("@strided_load", __FILE__));
    EXPECT_EQ(lines[1].sectors_or_wavefronts, 32u);
    EXPECT_EQ(lines[1].ideal, 1u);
}

// Each lane adds up `turns` of 32 numbers, odd ones that many less. A thread of a trace gives way to others from time to time.
__global__ void long_loop(const int* in, int* out, int turns, int less) {
    int sum = 0;
    for (int i = 0; i < turns - int(threadIdx.x % 2) * less; ++i) sum += in[(i + threadIdx.x) % 32];
    out[threadIdx.x] = sum;
}

TEST_F(Trace, LongLoopsAreCountedInFull) {
    Device<int> in(32, 1), out(96);
    in_every_order([&] {
        long_loop<<<1, 96>>>(in.data, out.data, 3000, 1100);
        EXPECT_EQ(global_loads(),
                  (Traffic{3u * 3000, 3u * (1900 * 4 + 1100 * 4), 0, 3u * 16 * (3000 + 1900) * 4}));
        for (int t = 0; t < 96; ++t) ASSERT_EQ(out.host()[t], t % 2 ? 1900 : 3000);
        expect_problem("");
    });
}

TEST_F(Trace, LongLoopsTakeLittleMemory) {
    const auto peak_kib = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    Device<int> in(32, 1), out(32);
    const long before = peak_kib();
    long_loop<<<1, 32>>>(in.data, out.data, 200000, 0);
    EXPECT_EQ(global_loads()[0], 200000u);
    EXPECT_LT(peak_kib() - before, 20000);
}

// ---- Races and uninitialised reads ------------------------------------------------------------------------------------------

__global__ void half_written(float* out) {
    __shared__ float s[64];
    if (threadIdx.x < 32 && blockIdx.x == 0) s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];  // @uninitialised
}
__global__ void dynamic_unwritten(float* out) {
    extern __shared__ float s[];
    out[threadIdx.x] = s[threadIdx.x];
}

TEST_F(Trace, UninitialisedSharedMemory) {
    const std::string read =
        "uninitialised shared memory: @uninitialised reads what no thread of the block has written (block ";
    half_written<<<1, 32>>>(floats.data);
    expect_problem("");
    half_written<<<1, 64>>>(floats.data);
    expect_problem(read + "0, thread 32)");
    half_written<<<2, 32>>>(floats.data);  // what block 0 wrote is nothing to block 1
    EXPECT_TRUE(reported(read + "1, thread 0)")) << problem();
    emulator::reset_counts();
    dynamic_unwritten<<<1, 32, 128>>>(floats.data);
    expect_problem("uninitialised shared memory: ...");
    EXPECT_TRUE(floats.host()[0] != floats.host()[0]) << "and it is NaN";
}

__global__ void all_write(int* out) {
    __shared__ int s;
    s = threadIdx.x;  // @all_write
    __syncthreads();
    out[threadIdx.x] = s;
}
__global__ void three_on_a_line(volatile int* x) {
    // clang-format off
    x[0] = threadIdx.x; x[1] = threadIdx.x; x[2] = threadIdx.x;
    // clang-format on
}

TEST_F(Trace, RacesAreReportedOnceForEachPairOfLines) {
    all_write<<<1, 32>>>(ints.data);
    all_write<<<1, 32>>>(ints.data);
    EXPECT_EQ(emulator::counts().problems.size(), 1u);
    expect_problem(
        "race in shared memory: @all_write writes what ~all_write writes (block 0, threads 0 and 1)");
    expect_problem("");
    EXPECT_EQ(emulator::counts().blocks, 0u);
    EXPECT_EQ(emulator::counts().lines.size(), 0u);
    three_on_a_line<<<1, 32>>>(ints.data);
    EXPECT_EQ(emulator::counts().problems.size(), 1u) << problem();
}

template <bool second_barrier>
__global__ void reuse(int* out) {
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[threadIdx.x] = threadIdx.x;  // @reuse_writes
        __syncthreads();
        // Read by another warp's thread, and written again by its own in the next turn:
        sum += s[63 - threadIdx.x];  // @reuse_reads
        if (second_barrier) __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

TEST_F(Trace, WriteAfterReadRaces) {
    in_every_order([&] {
        reuse<true><<<2, 64>>>(ints.data);
        expect_problem("");
        reuse<false><<<2, 64>>>(ints.data);
        EXPECT_TRUE(reported("~reuse_reads") && reported("~reuse_writes")) << problem();
        expect_problem("race in shared memory: ...");
    });
}

__global__ void read_then_write(int* out, bool sync) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 1;
    __syncthreads();
    out[threadIdx.x] = s;  // @read_first
    if (sync) __syncwarp();
    if (threadIdx.x == 5) s = 2;  // @written_later
}

TEST_F(Trace, ReadersOfEveryWarpAreRemembered) {
    const std::string race =
        "race in shared memory: @read_first reads what ~written_later writes (block 0, threads ";
    read_then_write<<<1, 32>>>(ints.data, true);  // ordered within the only warp
    expect_problem("");
    read_then_write<<<1, 96>>>(
        ints.data, true);  // not for the other warps, though their reads come after 32 others
    expect_problem(race + "32 and 5)");
    read_then_write<<<1, 5>>>(ints.data, false);  // thread 5 is missing
    expect_problem("");
    read_then_write<<<1, 6>>>(ints.data, false);
    expect_problem(race + "0 and 5)");
}

TEST_F(Trace, TwoHalvesOfAWordDoNotRace) {
    shift<Sync::block><<<1, 64>>>(Device<short>(64).data, 33);
    expect_problem("");
}

__global__ void write_same(int* out, int blocks_apart) {
    out[threadIdx.x + blockIdx.x * blocks_apart] = 1;  // @global_race
}
__global__ void shift_global(int* data, bool barrier) {
    data[threadIdx.x] = threadIdx.x;
    if (barrier) __syncthreads();
    data[64 + threadIdx.x] = data[63 - threadIdx.x];
}

TEST_F(Trace, GlobalMemoryIsOrderedByBarriersWithinABlockAlone) {
    write_same<<<2, 32>>>(ints.data, 32);
    expect_problem("");
    write_same<<<2, 32>>>(ints.data, 31);
    expect_problem(
        "race in global memory: @global_race writes what ~global_race writes (block 0 thread 31, block 1 thread 0)");
    shift_global<<<1, 64>>>(ints.data, true);
    shift_global<<<1, 64>>>(ints.data, true);  // nor do two launches race
    expect_problem("");
    shift_global<<<1, 64>>>(ints.data, false);
    expect_problem("race in global memory: ...");
}

}  // namespace
