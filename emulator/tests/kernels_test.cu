// Small kernels with a known right answer, and faults that every build notices. Built twice: plain, and traced.
#include "device.h"

#include <algorithm>

namespace {

class Threads : public Base {};
class Warps : public Base {};
class Faults : public Base {};
class Limits : public Base {};
class Shuffles : public Base {};
class Death : public Base {};

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

TEST_F(Warps, SyncwarpDoesNotOrderTwoWarps) {
    if (!emulator::tracing()) GTEST_SKIP() << "takes tracing";
    shift<Sync::warp><<<1, 64>>>(ints.data, 33);
    EXPECT_TRUE(reported("race in shared memory: @shift_writes writes what ~shift_reads reads"))
        << problem();
    emulator::reset_counts();
    shift<Sync::none><<<1, 32>>>(ints.data, 64);  // its own element: no neighbour's
    expect_problem("");
}

TEST_F(Warps, TwoHalvesOfAWordDoNotRace) {
    if (!emulator::tracing()) GTEST_SKIP() << "takes tracing";
    shift<Sync::block><<<1, 64>>>(Device<short>(64).data, 33);
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

__global__ void from_outside() {
    if (threadIdx.x < 16) __shfl_sync(0xffff, 1, 20);  // @from_outside
}
__global__ void from_returned() {
    if (threadIdx.x >= 16) return;
    __shfl_xor_sync(0xffffffff, 1, 16);  // @from_returned
}
__global__ void from_missing() {
    __shfl_down_sync(0xffffffff, 1, 4);  // @from_missing
}
__global__ void odd_width() {
    __shfl_sync(0xffffffff, 1, 0, 12);  // @odd_width
}
__global__ void unequal_masks() {
    __syncwarp(threadIdx.x < 16 ? 0xffffffff : 0x7fffffff << 1);  // @unequal_masks
}
__global__ void in_branch() {
    int x = threadIdx.x;
    if (x < 16) x += __shfl_down_sync(0xffffffff, x, 8);  // @in_branch
    __syncwarp();  // @after_branch
}
__global__ void two_branches() {
    if (threadIdx.x < 16) __shfl_sync(0xffffffff, 1, 1);  // @one_branch
    else __shfl_sync(0xffffffff, 1, 2);  // @other_branch
}
__global__ void barriers_of_a_line() {
    // clang-format off
    if (threadIdx.x < 7) __syncthreads(); else __syncthreads();  // @barriers_of_a_line
    // clang-format on
}

TEST_F(Shuffles, AndBarriersNeedTheirPartners) {
    const struct {
        void (*kernel)();
        int threads;
        const char* said;
    } faults[] = {
        {from_outside, 32,
         "__shfl_sync reads lane 20, which is not in the mask, at @from_outside (block 0, "
         "thread 0)"},
        {from_returned, 32,
         "__shfl_xor_sync reads lane 16, which has returned, at @from_returned (block 0, thread 0)"},
        {from_missing, 30,
         "__shfl_down_sync reads lane 30, which does not exist, at @from_missing (block 0, "
         "thread 26)"},
        {odd_width, 32,
         "__shfl_sync of width 12, not a power of two up to 32 at @odd_width (block 0, thread 0)"},
        {unequal_masks, 32,
         "warp divergence: thread 1 calls __syncwarp at @unequal_masks with mask 0xffffffff, but "
         "thread 16 calls __syncwarp at @unequal_masks with mask 0xfffffffe (block 0)"},
        {in_branch, 32,
         "warp divergence: thread 0 calls __shfl_down_sync at @in_branch with mask 0xffffffff, but "
         "thread 16 calls __syncwarp at @after_branch with mask 0xffffffff (block 0)"},
        {two_branches, 32,
         "warp divergence: thread 0 calls __shfl_sync at @one_branch with mask 0xffffffff, but "
         "thread 16 calls __shfl_sync at @other_branch with mask 0xffffffff (block 0)"},
        {barriers_of_a_line, 32,
         "barrier divergence: 7 of the 32 threads of block 0 wait at @barriers_of_a_line, thread 0 "
         "among them, but thread 7 waits at another barrier of that line"},
    };
    for (const auto& fault : faults) {
        const auto kernel = fault.kernel;
        kernel<<<1, fault.threads>>>();
        expect_failure(fault.said);
    }
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

template <int threads>
__global__ void __launch_bounds__(threads, 1) bounded(int* out) {  // @bounded
    out[threadIdx.x] = 1;
}
__global__ void big_static(float* out, int i) {
    __shared__ float s[48 * 256 + 1];
    s[i] = 1;
    __syncthreads();  // or the compiler would not read what it has just written
    out[0] = s[i];
}
template <bool wide>
__global__ void dynamic(char* out) {
    extern __shared__ char s[];
    s[0] = wide;
    out[0] = s[0];
}
__global__ void dynamic_and_static(char* out) {
    __shared__ char fixed[1000];
    fixed[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = fixed[threadIdx.x];
}

TEST_F(Limits, LaunchBounds) {
    bounded<64><<<1, 64>>>(ints.data);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    bounded<64><<<1, 65>>>(ints.data);
    expect_failure(
        "a block of 65 threads, but __launch_bounds__ says 64 at @bounded (block 0, thread 0)");
}

TEST_F(Limits, StaticSharedMemory) {
    const int line = __LINE__ + 1;
    big_static<<<1, 1>>>(floats.data, 3);
    expect_error(
        cudaErrorInvalidValue,
        "the launch at tests/kernels_test.cu:" + std::to_string(line) +
            " is of a kernel with 49156 bytes of static shared memory; nvcc takes at most 49152");
}

TEST_F(Limits, DynamicSharedMemoryIsAllowedToOneKernel) {
    Device<char> out(1000);
    const auto kMax = cudaFuncAttributeMaxDynamicSharedMemorySize;
    EXPECT_EQ(cudaFuncSetAttribute(dynamic<true>, kMax, 60000), cudaSuccess);
    const auto right = dynamic<true>, wrong = dynamic<false>;
    right<<<1, 1, 60000>>>(out.data);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    expect_problem("");
    const int line = __LINE__ + 1;
    wrong<<<1, 1, 60000>>>(out.data);
    expect_error(
        cudaErrorInvalidValue,
        "the launch at tests/kernels_test.cu:" + std::to_string(line) +
            " asks for 60000 bytes of dynamic shared memory; this kernel may have 49152, more "
            "after cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)");
    dynamic_and_static<<<1, 1, 48152>>>(out.data);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    dynamic_and_static<<<1, 1, 48153>>>(out.data);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFuncSetAttribute(dynamic_and_static, kMax, 227 * 1024 - 1000), cudaSuccess);
    EXPECT_EQ(cudaFuncSetAttribute(dynamic_and_static, kMax, 227 * 1024), cudaErrorInvalidValue);
    cudaDeviceReset();
}

TEST_F(Limits, AGridHasABlock) {
    const int line = __LINE__ + 1;
    nothing<<<0, 32>>>();
    expect_error(
        cudaErrorInvalidConfiguration,
        "the launch at tests/kernels_test.cu:" + std::to_string(line) +
            " asks for 0 x 1 x 1 blocks; a grid has 1 x 1 x 1 up to 2147483647 x 65535 x 65535");
}

// ---- Alignment --------------------------------------------------------------------------------------

template <class Vector>
__global__ void copy_vector(const float* in, float* out) {
    const auto from = reinterpret_cast<const Vector*>(in);
    *reinterpret_cast<Vector*>(out) = *from;  // @copy_vector
}

TEST_F(Faults, VectorsAreAligned) {  // trace_test.cu has the traced build's
    if (emulator::tracing()) GTEST_SKIP() << "takes a build without tracing";
    const auto misaligned = [](const std::string& bytes, const std::string& past) {
        expect_error(cudaErrorMisalignedAddress,
                     "misaligned: @copy_vector accesses " + bytes +
                         " bytes, at an address that is " + past +
                         " past a multiple of them (block 0, thread 0)");
    };
    float* const x = floats.data;
    copy_vector<float2><<<1, 1>>>(x + 2, x);
    copy_vector<float4><<<1, 1>>>(x + 4, x);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    expect_problem("");
    copy_vector<float2><<<1, 1>>>(x + 1, x);
    misaligned("8", "4");
    copy_vector<float2><<<1, 1>>>(x, x + 3);
    misaligned("8", "4");
    copy_vector<float4><<<1, 1>>>(x + 2, x);
    misaligned("16", "8");
}

// ---- What ends the program --------------------------------------------------------------------------

__global__ void far_away() {
    if (threadIdx.x == 3) *reinterpret_cast<volatile int*>(size_t(1) << 40) = 1;
}
__global__ void big_frame(int* out, int n) {
    volatile int large[200 * 256];
    for (int i = 0; i < n; ++i) large[i * 16] = i;
    out[threadIdx.x] = large[0];
}
__global__ void endless(volatile int* flag) {
    if (threadIdx.x == 1)
        while (*flag == 0) {  // @endless
        }
}
TEST_F(Death, CrashesSayWhere) {
    if (!emulator::tracing()) {  // a traced one is stopped before it happens
        EXPECT_EXIT(
            (far_away<<<1, 4>>>()), testing::ExitedWithCode(3),
            "emulator: crash: thread 3 of block 0 of far_away.* accesses 0x10000000000: outside");
    }
    EXPECT_EXIT((big_frame<<<2, 4>>>(ints.data, 3200)), testing::ExitedWithCode(3),
                "emulator: crash: thread 0 of block 0 of big_frame.* its stack of 128 KiB is full");
}

TEST_F(Death, EndlessLoopsSayWhere) {
    setenv("EMULATOR_SECONDS", "0.4", 1);
    const std::string place =
        emulator::tracing() ? "endless, .*" + located("~endless", __FILE__) : "endless";
    const auto hang = [&] {
        emulator::set_order(Order::forward);
        Device<int> flag(1, 0);
        endless<<<1, 4>>>(flag.data);
    };
    EXPECT_EXIT(hang(), testing::ExitedWithCode(3),
                "emulator: hang: thread 1 of block 0 of " + place +
                    ".* has run for 0.4 seconds without coming to a barrier or its end");
    unsetenv("EMULATOR_SECONDS");
}

}  // namespace
