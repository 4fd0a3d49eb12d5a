// Small kernels with a known right answer, known traffic or a known fault, run on the emulator. Built twice: plain, and traced
// (the suite Trace runs in the traced build only).
#include "emulator_test_device.h"

#include <algorithm>

namespace {

class Threads : public Base {};
class Warps : public Base {};
class Faults : public Base {};
class Limits : public Base {};
class Trace : public Base {};

std::string at(int line) { return "tests/emulator_test_kernels.cu:" + std::to_string(line); }
std::string short_at(int line) { return "emulator_test_kernels.cu:" + std::to_string(line); }

// ---- Threads, blocks, barriers ----------------------------------------------------------------------------------------------

__global__ void write_numbers(int* out) {
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * int(blockDim.x * blockDim.y * blockDim.z) + thread] += 1000 * block + thread;
}

TEST_F(Threads, EachRunsOnceInAnyShapeAndOrder) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        Device<int> out(3 * 2 * 4 * 5 * 7 * 3, 0);
        write_numbers<<<dim3(3, 2, 4), dim3(5, 7, 3)>>>(out.data);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        const auto host = out.host();
        for (size_t i = 0; i < out.n; ++i) ASSERT_EQ(host[i], int(1000 * (i / 105) + i % 105));
        EXPECT_EQ(emulator::counts().blocks, 24u);
        EXPECT_EQ(emulator::counts().threads, 24u * 105);
        EXPECT_EQ(emulator::counts().barriers, 0u);
    }
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
    for (int block : {0, 1})
        for (int interval = 0; interval < 2; ++interval)
            for (int t = 0; t < 50; ++t) forward.push_back(block * 100 + t);
    std::vector<int> reverse(forward.rbegin(), forward.rend());
    EXPECT_EQ(order_of_run(Order::forward), forward);
    EXPECT_EQ(order_of_run(Order::reverse), reverse);

    const auto random = order_of_run(Order::random, 7);
    EXPECT_NE(random, forward);
    EXPECT_NE(random, reverse);
    EXPECT_EQ(random, order_of_run(Order::random, 7));
    EXPECT_NE(random, order_of_run(Order::random, 8));
    for (int interval = 0; interval < 4; ++interval)  // a barrier keeps the intervals apart
        EXPECT_TRUE(
            std::is_permutation(random.begin() + interval * 50, random.begin() + (interval + 1) * 50, &random[interval / 2 * 100]));
    EXPECT_NE(std::vector<int>(&random[0], &random[50]), std::vector<int>(&random[50], &random[100]))
        << "not reshuffled at the barrier";
}

constexpr int kShiftWrites = __LINE__ + 5, kShiftReads = kShiftWrites + 2;
template <bool barrier>
__global__ void shift(int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    if (barrier) __syncthreads();
    out[blockIdx.x * 64 + t] = s[(t + 1) % 64];
}

TEST_F(Threads, BarrierMakesNeighboursVisible) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        Device<int> out(3 * 64);
        shift<true><<<3, 64>>>(out.data);
        for (int i = 0; i < 3 * 64; ++i) ASSERT_EQ(out.host()[i], (i % 64 + 1) % 64);
        EXPECT_EQ(emulator::counts().barriers, 3u);
        EXPECT_EQ(problem(), "");
    }
}

TEST_F(Threads, MissingBarrierGivesAWrongResultInSomeOrder) {
    int wrong = 0;
    for (Order order : kOrders) {
        emulator::set_order(order);
        Device<int> out(64);
        shift<false><<<1, 64>>>(out.data);
        for (int i = 0; i < 64; ++i) wrong += out.host()[i] != (i + 1) % 64;
    }
    EXPECT_GT(wrong, 0);
}

TEST_F(Trace, MissingBarrierIsARaceInEveryOrder) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        Device<int> out(64);
        shift<false><<<1, 64>>>(out.data);
        bool found = false;
        for (const std::string& p : emulator::counts().problems) {
            found |= starts_with(p, "race in shared memory: " + at(kShiftWrites) + " writes what " + short_at(kShiftReads) +
                                        " reads (block 0, threads ");
            found |= starts_with(p, "race in shared memory: " + at(kShiftReads) + " reads what " + short_at(kShiftWrites) +
                                        " writes (block 0, threads ");
        }
        EXPECT_TRUE(found) << problem();
    }
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
    for (Order order : kOrders) {
        emulator::set_order(order);
        Device<float> in(256, 1.5f), out(1);
        sum_dynamic<<<1, 256, 256 * sizeof(float)>>>(in.data, out.data);
        EXPECT_EQ(out.host()[0], 256 * 1.5f);
        EXPECT_EQ(problem(), "");
    }
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
    EXPECT_EQ(emulator::counts().shared_load_requests, 0u);
    EXPECT_EQ(problem(), "");
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
    EXPECT_EQ(problem(), "");
}

TEST_F(Threads, FreshDeviceMemoryIsNotANumber) {
    Device<float> fresh(10);
    for (float f : fresh.host()) EXPECT_TRUE(f != f);
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
    for (Order order : kOrders) {
        emulator::set_order(order);
        const int n = 96;
        Device<int> device(7 * n);
        shuffles<<<1, n>>>(device.data);
        const auto out = device.host();
        for (int t = 0; t < n; ++t) {
            const int lane = t % 32, first = t - lane;
            EXPECT_EQ(out[0 * n + t], first + 3);
            EXPECT_EQ(out[1 * n + t], lane < 2 ? t : t - 2);
            EXPECT_EQ(out[2 * n + t], lane + 5 > 31 ? t : t + 5);
            EXPECT_EQ(out[3 * n + t], t ^ 1);
            EXPECT_EQ(out[4 * n + t], t / 8 * 8 + 1);
            EXPECT_EQ(out[5 * n + t], t % 8 == 0 ? t : t - 1);
            EXPECT_EQ(out[6 * n + t], t % 8 == 7 ? t : t + 1);
        }
    }
}

__global__ void reduce(const double* in, double* out, int n) {
    const int t = threadIdx.x;
    if (t >= n) return;  // the lanes that are left go on without these
    double sum = in[t];
    for (int delta = 16; delta > 0; delta /= 2) {
        const double other = __shfl_down_sync(0xffffffff, sum, delta);
        if (t % 32 + delta < min(32, n - t / 32 * 32)) sum += other;
    }
    if (t % 32 == 0) out[t / 32] = sum;
}

TEST_F(Warps, PartialWarpsAndLanesThatReturned) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        for (int threads : {70, 96}) {  // 70: the last warp has 6 threads; 96: 26 of its 32 return
            Device<double> in(70, 1.0), out(3);
            reduce<<<1, threads>>>(in.data, out.data, 70);
            EXPECT_EQ(cudaGetLastError(), cudaSuccess);
            EXPECT_EQ(out.host(), (std::vector<double>{32, 32, 6}));
        }
    }
}

constexpr int kWarpWrites = __LINE__ + 5, kWarpReads = kWarpWrites + 3;
template <bool sync>
__global__ void warp_shift(int* out, int distance) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    if (sync) __syncwarp();
    const int from = (t + distance) % 64;
    out[t] = s[from];
}

TEST_F(Warps, SyncwarpMakesTheWarpsWritesVisible) {
    emulator::set_order(Order::reverse);
    Device<int> out(64, -1);
    warp_shift<true><<<1, 32>>>(out.data, 64);
    warp_shift<true><<<1, 32>>>(out.data, 0);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(problem(), "");
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
    for (Order order : kOrders) {
        emulator::set_order(order);
        Device<int> out(64);
        swap_in_warp<<<1, 64>>>(out.data);
        for (int t = 0; t < 64; ++t) EXPECT_EQ(out.host()[t], t ^ 30);
        EXPECT_EQ(problem(), "");
    }
}

TEST_F(Trace, SyncwarpDoesNotOrderTwoWarps) {
    Device<int> out(64);
    warp_shift<true><<<1, 64>>>(out.data, 33);
    EXPECT_NE(problem().find("race in shared memory: " + at(kWarpWrites) + " writes what " + short_at(kWarpReads) + " reads"),
              std::string::npos)
        << problem();
    emulator::reset_counts();
    warp_shift<false><<<1, 32>>>(out.data, 33 - 32 + 63);  // t + 64 is t: no neighbour
    EXPECT_EQ(problem(), "");
}

__global__ void shuffle_in_half_of_a_warp(int* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffff, int(threadIdx.x), 15);
    else out[threadIdx.x] = __shfl_sync(0xffff0000, int(threadIdx.x), 16);
}

TEST_F(Warps, MasksNameTheLanesThatMeet) {
    Device<int> out(32);
    shuffle_in_half_of_a_warp<<<1, 32>>>(out.data);
    for (int t = 0; t < 32; ++t) EXPECT_EQ(out.host()[t], t < 16 ? 15 : 16);
}

// ---- Faults that end a launch -----------------------------------------------------------------------------------------------

constexpr int kLonelyBarrier = __LINE__ + 3;
__global__ void one_thread_returns() {
    if (threadIdx.x == 2 && threadIdx.y == 1) return;
    __syncthreads();
}

TEST_F(Faults, ThreadReturnsWhileOthersWait) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        one_thread_returns<<<1, dim3(4, 2)>>>();
        EXPECT_EQ(cudaPeekAtLastError(), cudaErrorLaunchFailure);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        EXPECT_EQ(problem(), "barrier divergence: 7 of the 8 threads of block 0 wait at " + at(kLonelyBarrier) +
                                 ", thread (0,0) among them, but thread (2,1) has returned");
    }
    shift<true><<<1, 64>>>(Device<int>(64).data);  // the emulator is none the worse
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Faults, LongListsOfProblemsEndInANumber) {
    for (int i = 0; i < 25; ++i) one_thread_returns<<<1, dim3(4, 2)>>>();
    const auto& problems = emulator::counts().problems;
    ASSERT_EQ(problems.size(), 21u);
    EXPECT_EQ(problems[19], problems[0]);
    EXPECT_EQ(problems[20], "... and 5 more");
}

constexpr int kFirstBarrier = __LINE__ + 2, kSecondBarrier = kFirstBarrier + 1;
__global__ void two_barriers() {
    if (threadIdx.x < 32) __syncthreads();
    else __syncthreads();
}

TEST_F(Faults, ThreadsWaitAtTwoBarriers) {
    two_barriers<<<1, 64>>>();
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_EQ(problem(), "barrier divergence: 32 of the 64 threads of block 0 wait at " + at(kFirstBarrier) +
                             ", thread 0 among them, but thread 32 waits at " + at(kSecondBarrier));
}

constexpr int kLonelySyncwarp = __LINE__ + 3;
__global__ void warp_and_block() {
    if (threadIdx.x == 5) __syncthreads();
    __syncwarp();
    if (threadIdx.x != 5) __syncthreads();
}

TEST_F(Faults, LaneWaitsForALaneThatIsElsewhere) {
    warp_and_block<<<1, 32>>>();
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_EQ(problem(), "warp divergence: thread 0 of block 0 waits at " + at(kLonelySyncwarp) +
                             " for lanes of its warp that never come there");
}

__global__ void mask_without_self() { __syncwarp(threadIdx.x == 0 ? 0xfffffffe : 0xffffffff); }

TEST_F(Faults, MaskLacksTheCallingLane) {
    mask_without_self<<<1, 32>>>();
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_NE(problem().find("lacks the lane that calls it, thread 0"), std::string::npos) << problem();
}

__global__ void launches() { write_numbers<<<1, 1>>>(nullptr); }

TEST_F(Faults, KernelLaunchesAKernel) {
    launches<<<1, 1>>>();
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_EQ(problem(), "a kernel launches a kernel: the emulator cannot run dynamic parallelism");
}

// ---- Limits -----------------------------------------------------------------------------------------------------------------

__global__ void nothing() {}

cudaError_t launch_nothing(dim3 grid, dim3 block, size_t shared = 0) {
    nothing<<<grid, block, shared>>>();
    return cudaGetLastError();
}

TEST_F(Limits, OfALaunch) {
    EXPECT_EQ(launch_nothing(1, 1024), cudaSuccess);
    EXPECT_EQ(launch_nothing(1, 1025), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch_nothing(1, dim3(32, 33)), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch_nothing(1, dim3(1, 1, 64)), cudaSuccess);
    EXPECT_EQ(launch_nothing(1, dim3(1, 1, 65)), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch_nothing(dim3(1, 65535), 1), cudaSuccess);
    EXPECT_EQ(launch_nothing(dim3(1, 65536), 1), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch_nothing(dim3(1, 1, 65536), 1), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch_nothing(2147483648u, 1), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch_nothing(0, 1), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch_nothing(1, dim3(1, 0)), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "a launch that never started does not fail later";
}

TEST_F(Limits, OfDynamicSharedMemory) {
    EXPECT_EQ(launch_nothing(1, 1, 48 * 1024), cudaSuccess);
    EXPECT_EQ(launch_nothing(1, 1, 48 * 1024 + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024), cudaSuccess);
    EXPECT_EQ(launch_nothing(1, 1, 227 * 1024), cudaSuccess);
    EXPECT_EQ(launch_nothing(1, 1, 227 * 1024 + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_EQ(launch_nothing(1, 1, 48 * 1024 + 1), cudaErrorInvalidValue);
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

TEST_F(Trace, NaiveProductMakesTwoLoadsForEachProduct) {
    const uint64_t n = 64;
    Device<float> A(n * n, 1), B(n * n, 2), C(n * n);
    naive<false><<<dim3(n / 32, n / 8), dim3(32, 8)>>>(n, A.data, B.data, C.data);
    EXPECT_EQ(C.host(), std::vector<float>(n * n, 2 * n));
    const auto& c = emulator::counts();
    EXPECT_EQ(c.global_load_bytes, 2 * n * n * n * 4);
    EXPECT_EQ(c.global_load_requests, 2 * n * n * n / 32);
    EXPECT_EQ(c.global_load_sectors, n * n * n / 32 * (1 + 4));  // A: one element for all lanes; B: 32 neighbours
    EXPECT_EQ(c.global_store_bytes, n * n * 4);
    EXPECT_EQ(c.global_store_requests, n * n / 32);
    EXPECT_EQ(c.global_store_sectors, n * n / 32 * 4);
    EXPECT_EQ(c.shared_load_bytes + c.shared_store_bytes, 0u);
    EXPECT_EQ(problem(), "");
}

TEST_F(Trace, SwappedIndicesTake32SectorsARequest) {
    const uint64_t n = 64;
    Device<float> A(n * n, 1), B(n * n, 2), C(n * n);
    naive<true><<<dim3(n / 32, n / 8), dim3(32, 8)>>>(n, A.data, B.data, C.data);
    const auto& c = emulator::counts();
    EXPECT_EQ(c.global_load_bytes, 2 * n * n * n * 4);
    EXPECT_EQ(c.global_load_sectors, n * n * n / 32 * (32 + 1));
    EXPECT_EQ(c.global_store_sectors, n * n / 32 * 32);
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

TEST_F(Trace, TileOfTSavesAFactorOfT) {
    const uint64_t n = 64, blocks = (n / kTile) * (n / kTile);
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        Device<float> A(n * n, 1), B(n * n, 2), C(n * n);
        tiled<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(n, A.data, B.data, C.data);
        EXPECT_EQ(C.host(), std::vector<float>(n * n, 2 * n));
        const auto& c = emulator::counts();
        EXPECT_EQ(c.global_load_bytes, 2 * n * n * n / kTile * 4);
        EXPECT_EQ(c.shared_store_bytes, 2 * n * n * n / kTile * 4);
        EXPECT_EQ(c.shared_load_bytes, 2 * n * n * n * 4);
        EXPECT_EQ(c.shared_load_wavefronts, c.shared_load_requests);
        EXPECT_EQ(c.barriers, 2 * n / kTile * blocks);
        EXPECT_EQ(c.blocks, blocks);
        EXPECT_EQ(problem(), "");
    }
}

template <class T>
__global__ void copy(const T* from, T* to, int stride) {
    to[threadIdx.x * stride] = from[threadIdx.x * stride];
}

template <class T>
emulator::Counts count_copy(int stride, int threads = 32, int shift = 0) {
    Device<T> from(threads * stride + shift), to(threads * stride + shift);
    cudaMemset(from.data, 0, from.n * sizeof(T));
    emulator::reset_counts();
    copy<<<1, threads>>>(from.data + shift, to.data + shift, stride);
    return emulator::counts();
}

TEST_F(Trace, SectorsFollowTheStrideAndTheAlignment) {
    EXPECT_EQ(count_copy<float>(1).global_load_sectors, 4u);
    EXPECT_EQ(count_copy<float>(1, 32, 1).global_load_sectors, 5u);  // not aligned
    EXPECT_EQ(count_copy<float>(2).global_load_sectors, 8u);
    EXPECT_EQ(count_copy<float>(8).global_load_sectors, 32u);
    EXPECT_EQ(count_copy<float>(100).global_store_sectors, 32u);
    EXPECT_EQ(count_copy<float>(1, 40).global_load_requests, 2u);  // the second warp has 8 lanes
    EXPECT_EQ(count_copy<float>(1, 40).global_load_sectors, 5u);
    EXPECT_EQ(count_copy<double>(1).global_load_sectors, 8u);
    EXPECT_EQ(count_copy<char>(1).global_load_sectors, 1u);
}

TEST_F(Trace, VectorIsOneAccess) {
    const auto c4 = count_copy<float4>(1);
    EXPECT_EQ(c4.global_load_requests, 1u);
    EXPECT_EQ(c4.global_load_bytes, 512u);
    EXPECT_EQ(c4.global_load_sectors, 16u);
    EXPECT_EQ(c4.global_store_requests, 1u);
    ASSERT_EQ(c4.lines.size(), 2u);
    EXPECT_EQ(c4.lines[0].width, 16);
    EXPECT_EQ(c4.lines[0].where, c4.lines[1].where);
    EXPECT_EQ(count_copy<int2>(1).global_load_requests, 1u);
    EXPECT_EQ(count_copy<float>(1).lines[0].width, 4);
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
    const auto& c = emulator::counts();
    EXPECT_EQ(c.global_load_requests, 1u);
    EXPECT_EQ(c.shared_store_requests, 1u);
    EXPECT_EQ(c.shared_load_requests, 1u);
    EXPECT_EQ(c.shared_load_wavefronts, 4u);
    EXPECT_EQ(c.global_store_requests, 1u + 2u);
    EXPECT_EQ(c.global_store_bytes, 512u + 2 * 128u);
    for (const auto& line : c.lines) EXPECT_TRUE(starts_with(line.where, "tests/emulator_test_kernels.cu:")) << line.where;
    EXPECT_EQ(problem(), "");
}

constexpr int kStridedStore = __LINE__ + 5, kStridedLoad = kStridedStore + 2;
template <int kStride>
__global__ void strided(float* out) {
    __shared__ float s[32 * kStride];
    const int i = threadIdx.x * kStride;
    s[i] = i;
    __syncwarp();
    out[threadIdx.x] = s[i];
}

template <int kStride>
emulator::Counts count_strided() {
    emulator::reset_counts();
    Device<float> out(32);
    strided<kStride><<<1, 32>>>(out.data);
    return emulator::counts();
}

TEST_F(Trace, BankConflictsFollowTheStride) {
    EXPECT_EQ(count_strided<1>().shared_load_wavefronts, 1u);
    EXPECT_EQ(count_strided<2>().shared_load_wavefronts, 2u);
    EXPECT_EQ(count_strided<4>().shared_load_wavefronts, 4u);
    EXPECT_EQ(count_strided<32>().shared_load_wavefronts, 32u);
    EXPECT_EQ(count_strided<33>().shared_load_wavefronts, 1u);  // padded
    const auto c = count_strided<32>();
    EXPECT_EQ(c.shared_load_ideal, 1u);
    EXPECT_EQ(c.shared_store_wavefronts, 32u);
    ASSERT_EQ(c.lines.size(), 3u);
    EXPECT_EQ(c.lines[0].where, at(kStridedStore));
    EXPECT_TRUE(c.lines[0].store);
    EXPECT_FALSE(c.lines[0].global);
    EXPECT_EQ(c.lines[1].where, at(kStridedLoad));
    EXPECT_EQ(c.lines[1].sectors_or_wavefronts, 32u);
    EXPECT_EQ(c.lines[1].ideal, 1u);
}

// ---- Races and uninitialised reads ------------------------------------------------------------------------------------------

constexpr int kUninitialised = __LINE__ + 4;
__global__ void half_written(float* out) {
    __shared__ float s[64];
    if (threadIdx.x < 32 && blockIdx.x == 0) s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x];
}

TEST_F(Trace, UninitialisedSharedMemory) {
    Device<float> out(64);
    half_written<<<1, 32>>>(out.data);
    EXPECT_EQ(problem(), "");
    half_written<<<1, 64>>>(out.data);
    EXPECT_EQ(problem(), "uninitialised shared memory: " + at(kUninitialised) +
                             " reads what no thread of the block has written (block 0, thread 32)");
    emulator::reset_counts();
    half_written<<<2, 32>>>(out.data);  // what block 0 wrote is nothing to block 1
    EXPECT_NE(problem().find("uninitialised shared memory: " + at(kUninitialised) +
                             " reads what no thread of the block has written (block 1, thread 0)"),
              std::string::npos)
        << problem();
}

__global__ void dynamic_unwritten(float* out) {
    extern __shared__ float s[];
    out[threadIdx.x] = s[threadIdx.x];
}

TEST_F(Trace, UninitialisedDynamicSharedMemory) {
    Device<float> out(32);
    dynamic_unwritten<<<1, 32, 128>>>(out.data);
    EXPECT_TRUE(starts_with(problem(), "uninitialised shared memory: ")) << problem();
    EXPECT_TRUE(out.host()[0] != out.host()[0]) << "and it is NaN";
}

constexpr int kAllWrite = __LINE__ + 3;
__global__ void all_write(int* out) {
    __shared__ int s;
    s = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s;
}

TEST_F(Trace, TwoWritesRace) {
    Device<int> out(32);
    all_write<<<1, 32>>>(out.data);
    EXPECT_EQ(problem(), "race in shared memory: " + at(kAllWrite) + " writes what " + short_at(kAllWrite) +
                             " writes (block 0, threads 0 and 1)");
}

constexpr int kReuseWrites = __LINE__ + 6, kReuseReads = kReuseWrites + 3;
template <bool second_barrier>
__global__ void reuse(int* out) {
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        // Read by another warp's thread, and written again by its own in the next turn:
        sum += s[63 - threadIdx.x];
        if (second_barrier) __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

TEST_F(Trace, WriteAfterReadRaces) {
    for (Order order : kOrders) {
        emulator::set_order(order);
        emulator::reset_counts();
        Device<int> out(128);
        reuse<true><<<2, 64>>>(out.data);
        EXPECT_EQ(problem(), "");
        reuse<false><<<2, 64>>>(out.data);
        EXPECT_NE(problem().find(short_at(kReuseReads)), std::string::npos) << problem();
        EXPECT_NE(problem().find(short_at(kReuseWrites)), std::string::npos) << problem();
        EXPECT_TRUE(starts_with(problem(), "race in shared memory: ")) << problem();
    }
}

constexpr int kReadFirst = __LINE__ + 5, kWrittenLater = kReadFirst + 2;
__global__ void read_then_write(int* out, bool sync) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 1;
    __syncthreads();
    out[threadIdx.x] = s;
    if (sync) __syncwarp();
    if (threadIdx.x == 5) s = 2;
}

TEST_F(Trace, ReadersOfEveryWarpAreRemembered) {
    const std::string race =
        "race in shared memory: " + at(kReadFirst) + " reads what " + short_at(kWrittenLater) + " writes (block 0, threads ";
    Device<int> out(96);
    read_then_write<<<1, 32>>>(out.data, true);  // ordered within the only warp
    EXPECT_EQ(problem(), "");
    read_then_write<<<1, 96>>>(out.data, true);  // not for the other warps, though their reads come after 32 others
    EXPECT_EQ(problem(), race + "32 and 5)");
    emulator::reset_counts();
    read_then_write<<<1, 5>>>(out.data, false);  // thread 5 is missing
    EXPECT_EQ(problem(), "");
    read_then_write<<<1, 6>>>(out.data, false);
    EXPECT_EQ(problem(), race + "0 and 5)");
}

__global__ void two_on_a_line(volatile int* x) {
    // clang-format off
    x[0] = threadIdx.x; x[1] = threadIdx.x; x[2] = threadIdx.x;
    // clang-format on
}

TEST_F(Trace, InstructionsOfOneLineAreOneProblem) {
    Device<int> x(3);
    two_on_a_line<<<1, 32>>>(x.data);
    EXPECT_EQ(emulator::counts().problems.size(), 1u) << problem();
}

__global__ void neighbouring_halves(short* out) {
    __shared__ short s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

TEST_F(Trace, TwoHalvesOfAWordDoNotRace) {
    Device<short> out(64);
    neighbouring_halves<<<1, 64>>>(out.data);
    EXPECT_EQ(problem(), "");
}

constexpr int kGlobalRace = __LINE__ + 1;
__global__ void write_same(int* out, int blocks_apart) { out[threadIdx.x + blockIdx.x * blocks_apart] = 1; }

TEST_F(Trace, TwoBlocksRaceInGlobalMemory) {
    Device<int> out(64);
    write_same<<<2, 32>>>(out.data, 32);
    EXPECT_EQ(problem(), "");
    write_same<<<2, 32>>>(out.data, 31);
    EXPECT_EQ(problem(), "race in global memory: " + at(kGlobalRace) + " writes what " + short_at(kGlobalRace) +
                             " writes (block 0 thread 31, block 1 thread 0)");
}

__global__ void shift_global(int* data, bool barrier) {
    data[threadIdx.x] = threadIdx.x;
    if (barrier) __syncthreads();
    data[64 + threadIdx.x] = data[63 - threadIdx.x];
}

TEST_F(Trace, GlobalMemoryWithinABlockIsOrderedByBarriers) {
    Device<int> data(128);
    shift_global<<<1, 64>>>(data.data, true);
    shift_global<<<1, 64>>>(data.data, true);  // nor do two launches race
    EXPECT_EQ(problem(), "");
    shift_global<<<1, 64>>>(data.data, false);
    EXPECT_TRUE(starts_with(problem(), "race in global memory: ")) << problem();
}

TEST_F(Trace, ProblemsAreReportedOncePerPairOfLines) {
    Device<int> out(32);
    all_write<<<1, 32>>>(out.data);
    all_write<<<1, 32>>>(out.data);
    EXPECT_EQ(emulator::counts().problems.size(), 1u);
    EXPECT_EQ(emulator::counts().problems.size(), 1u) << "asking twice changes nothing";
    emulator::reset_counts();
    EXPECT_EQ(problem(), "");
    EXPECT_EQ(emulator::counts().blocks, 0u);
    EXPECT_EQ(emulator::counts().lines.size(), 0u);
}

}  // namespace
