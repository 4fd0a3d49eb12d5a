// Threads, blocks, launches and barriers, and what ends the program. Built twice: plain, and
// traced.
#include <algorithm>

#include "device.h"

namespace {

class Scheduler : public Base {};

__global__ void write_numbers(int* out) {
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * int(blockDim.x * blockDim.y * blockDim.z) + thread] += 1000 * block + thread;
}

TEST_F(Scheduler, EachThreadRunsOnceInAnyShapeAndOrder) {
    in_every_order([] {
        Device<int> out(3 * 2 * 4 * 5 * 7 * 3, 0);
        write_numbers<<<dim3(3, 2, 4), dim3(5, 7, 3)>>>(out.data);
        const auto host = out.host();
        for (size_t i = 0; i < out.n; ++i) ASSERT_EQ(host[i], int(1000 * (i / 105) + i % 105));
        EXPECT_EQ(emulator::counts().blocks, 24u);
        EXPECT_EQ(emulator::counts().threads, 24u * 105);
        EXPECT_EQ(emulator::counts().barriers, 0u);
        expect_silence();
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

TEST_F(Scheduler, OrdersAreForwardReverseAndRandom) {
    std::vector<int> forward;
    for (int i = 0; i < 200; ++i) forward.push_back(i / 100 * 100 + i % 50);
    EXPECT_EQ(order_of_run(Order::forward), forward);
    EXPECT_EQ(order_of_run(Order::reverse), std::vector<int>(forward.rbegin(), forward.rend()));
    const auto random = order_of_run(Order::random, 7);
    EXPECT_NE(random, forward);
    EXPECT_EQ(random, order_of_run(Order::random, 7));
    EXPECT_NE(random, order_of_run(Order::random, 8));
    for (auto from = random.begin(); from != random.end(); from += 50)  // intervals stay apart
        EXPECT_TRUE(std::is_permutation(from, from + 50,
                                        random.begin() + (from - random.begin()) / 100 * 100));
    EXPECT_FALSE(std::equal(&random[0], &random[50], &random[50])) << "reshuffled at the barrier";
}

template <bool sync>
__global__ void shift(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;  // @write
    if (sync) __syncthreads();
    const int from = (threadIdx.x + 1) % 64;
    out[blockIdx.x * 64 + threadIdx.x] = s[from];  // @read
}

TEST_F(Scheduler, ABarrierMakesNeighboursVisible) {
    int wrong = 0;
    in_every_order([&] {
        shift<true><<<3, 64>>>(ints.data);
        for (int i = 0; i < 3 * 64; ++i) ASSERT_EQ(ints.host()[i], (i % 64 + 1) % 64);
        EXPECT_EQ(emulator::counts().barriers, 3u);
        expect_silence();
        shift<false><<<1, 64>>>(ints.data);
        for (int i = 0; i < 64; ++i) wrong += ints.host()[i] != (i + 1) % 64;
        if (emulator::tracing()) expect_some(race("shared", "@write writes", "@read reads"));
    });
    EXPECT_GT(wrong, 0) << "in some order the result is wrong without it";
}

__constant__ float constants[4] = {1, 2, 3, 4};
__global__ void read_constants(float* out) { out[threadIdx.x] = __ldg(&constants[threadIdx.x]); }
__global__ void many_atomics(int* n, float* sum) {
    atomicAdd(n, 1);
    atomicAdd(sum, 2);
}

TEST_F(Scheduler, ConstantMemoryAndAtomics) {
    const float values[2] = {5, 6};
    EXPECT_EQ(cudaMemcpyToSymbol(constants, values, sizeof values, sizeof values), cudaSuccess);
    Device<float> out(4), sum(1, 0);
    read_constants<<<1, 4>>>(out.data);
    EXPECT_EQ(out.host(), (std::vector<float>{1, 2, 5, 6}));
    EXPECT_EQ(shared_loads(), Traffic{});
    Device<int> n(1, 0);
    many_atomics<<<10, 100>>>(n.data, sum.data);
    EXPECT_EQ(n.host()[0], 1000);
    EXPECT_EQ(sum.host()[0], 2000);
    expect_silence();
}

enum class Mode { kOne, kTwo };
template <int n, Mode mode>
__global__ void __launch_bounds__(n) form(int* out) {
    const auto write = [&]() __attribute__((noinline)) { out[0] = n + int(mode); };
    if (threadIdx.x == 0) write();
}

TEST_F(Scheduler, WhichKernelsWereLaunched) {
    const auto launches = [](const std::string& kernel) {
        std::vector<int> all;
        for (const emulator::Launched& each : emulator::kernels())
            if (each.kernel.find(kernel) == 0) all.push_back(int(each.launches));
        return all;
    };
    const auto launch = [&](int n) {
        const auto kernel = n > 4 ? form<8, Mode::kTwo> : form<4, Mode::kOne>;
        kernel<<<1, n>>>(ints.data);
    };
    launch(4);
    launch(2);
    EXPECT_EQ(launches("form<4, "), std::vector<int>{2});
    EXPECT_EQ(launches("form<8, "), std::vector<int>{0});
    launch(9);  // fails
    expect_failure({"9 threads"});
    EXPECT_EQ(launches("form<8, "), std::vector<int>{0});
    EXPECT_EQ(launches("order_of_run"), std::vector<int>{});
}

// ---- Faults that end a launch -------------------------------------------------------------------

enum Fault { kReturns, kTwoBarriers, kTwoOfALine, kLaunches };
__global__ void diverge(Fault fault) {
    const int t = threadIdx.x;
    if (fault == kLaunches) write_numbers<<<1, 1>>>(nullptr);
    // clang-format off
    if (t < 3) __syncthreads(); else __syncthreads();  // @line
    // clang-format on
    if (fault == kTwoOfALine) return;
    if (t < 7) __syncthreads();  // @first
    else __syncthreads();  // @second
}
__global__ void one_barrier(Fault fault) {
    if (fault == kReturns && threadIdx.x == 2) return;  // @return
    if (fault != kReturns && threadIdx.x == 5) __syncthreads();  // @other
    __syncthreads();  // @barrier
}

TEST_F(Scheduler, BarriersThatNotAllReach) {
    in_every_order([&] {
        one_barrier<<<1, dim3(6, 2)>>>(kTwoBarriers);
        EXPECT_EQ(cudaPeekAtLastError(), cudaErrorLaunchFailure);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        expect_failure(
            {"barrier divergence..10 of the 12..@barrier, threads (0,0) to (4,0) and (0,1) to "
             "(4,1), but threads (5,0) and (5,1) wait at @other"});
        shift<true><<<1, 64>>>(ints.data);  // the emulator works after a failure
        expect_silence();
    });
    diverge<<<1, 32>>>(kTwoOfALine);
    expect_failure(
        {"barrier divergence..3 of the 32..@line, threads 0 to 2, but threads 3 to 31 wait at "
         "@line, another barrier"});
    diverge<<<1, 1>>>(kLaunches);
    expect_failure({"dynamic parallelism"});
    for (int i = 0; i < 25; ++i) one_barrier<<<1, 8 + i>>>(kTwoBarriers);
    ASSERT_EQ(emulator::counts().problems.size(), 21u);
    EXPECT_EQ(emulator::counts().problems[20], "... and 5 more");
    emulator::reset_counts();
    for (int i = 0; i < 3; ++i) one_barrier<<<1, 8>>>(kTwoBarriers);
    expect_failure({"barrier divergence..at @other, and 2 more like it"});
}

// Threads from n up return before the barrier, which does not wait for them.
__global__ void first_of(int n, int others, int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    const auto nothing = [&] {
        if (t == 0) return;
    };
    nothing();
    if (t >= n) return;  // @leaves
    s[t] = t;
    const int there = __syncthreads_count(1);
    out[t] = s[others - 1 - t] + 100 * there;  // @needs
}

TEST_F(Scheduler, ABarrierDoesNotWaitForThreadsThatHaveReturned) {
    in_every_order([&] {
        first_of<<<1, 64>>>(20, 20, ints.data);
        EXPECT_EQ(emulator::counts().barriers, 1u);
        expect_silence();
        for (int t = 0; t < 20; ++t) ASSERT_EQ(ints.host()[t], 19 - t + 100 * 20);
        first_of<<<1, 64>>>(20, 64, ints.data);
        if (emulator::tracing())
            expect_problem(
                {"uninitialised shared memory: @needs reads what no thread of the "
                 "block has written (s[63]..threads 20 to 63 have returned at @leaves",
                 "uninitialised shared memory: @needs reads what no thread of the "
                 "block has written (s[..threads 20 to 63 have returned at @leaves"});
    });
}

template <int threads>
__global__ void __launch_bounds__(threads, 1) bounded(int* out) {  // @bounded
    out[threadIdx.x] = 1;
}

TEST_F(Scheduler, LaunchBounds) {
    bounded<64><<<1, 64>>>(ints.data);
    expect_silence();
    bounded<64><<<1, 65>>>(ints.data);
    expect_failure({"65 threads..__launch_bounds__..64 at @bounded"});
}

__global__ void asserts(int limit) {
    assert(int(threadIdx.x) < limit);  // @assert
    if (threadIdx.x == 0) printf("limit %d\n", limit);  // without <cstdio>, as with nvcc
}

TEST_F(Scheduler, AssertAndPrintf) {
    testing::internal::CaptureStdout();
    asserts<<<1, 8>>>(8);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "limit 8\n");
    expect_silence();
    asserts<<<2, 8>>>(7);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);
    expect_failure({"assert: @assert says..< limit..is false (block 0, thread 7)"},
                   cudaErrorAssert);
}

__global__ void traps(int limit) {
    if (int(threadIdx.x) >= limit) __trap();  // @trap
}

TEST_F(Scheduler, Trap) {
    traps<<<1, 8>>>(8);
    expect_silence();
    traps<<<2, 8>>>(7);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    expect_failure({"__trap(): this thread has called it at @trap (block 0, thread 7)"});
}

// ---- What ends the program ----------------------------------------------------------------------

class Death : public Base {};
void host_asserts(int n) { assert(n > 8); }

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
        while (*flag == 0) {
        }
}

__global__ void endless_barriers(const int* in, volatile int* out) {
    while (in[0] != 8) {
        out[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
    }
}
__global__ void sum_of(const int* in, int n, int* out) {
    for (int i = 0; i < n; ++i) *out += in[i];
}

TEST_F(Death, CrashesAndEndlessLoopsSayWhere) {
    const auto three = testing::ExitedWithCode(3);
    if (!emulator::tracing()) {  // a traced launch ends before the access
        EXPECT_EXIT((far_away<<<1, 4>>>()), three,
                    "crash: thread 3 of block 0 of far_away.*10000000000");
    }
    EXPECT_EXIT((big_frame<<<2, 4>>>(ints.data, 3200)), three,
                "crash: thread 0 of block 0 of big_frame.*stack .* has overflowed");
    EXPECT_EXIT(host_asserts(8), testing::KilledBySignal(SIGABRT), "assert.n > 8..*host_asserts");
    setenv("EMULATOR_SECONDS", "0.1", 1);
    const std::string place = emulator::tracing() ? ".*scheduler_test.cu:" : ",* has run";
    cudaMemset(ints.data, 0, 4);
    EXPECT_EXIT((endless<<<1, 4>>>(ints.data)), three,
                "hang: thread 1 of block 0 of endless" + place);
    EXPECT_EXIT((endless_barriers<<<1, 4>>>(ints.data, ints.data + 8)), three,
                "hang: thread . of block 0 of endless_barriers" + place);
    const Device<int> many(1 << 21, 1);  // a block that makes progress may run longer
    sum_of<<<1, 1>>>(many.data, 1 << 21, ints.data);
    EXPECT_EQ(ints.host()[0], 1 << 21);
    unsetenv("EMULATOR_SECONDS");
}

}  // namespace
