// Faults such as learners write, each of which must be reported with thread, line and reason. Built
// twice: plain, and traced (the suite Trace runs in the traced build only).
#include "device.h"
#include "emulator/internal.h"

#include <random>

namespace {

class Bounds : public Base {};
class Shuffles : public Base {};
class Limits : public Base {};
class Death : public Base {};
class Trace : public Base {};

// Demands that the launch failed with this error and this line.
void expect_error(cudaError_t error, const std::string& text, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    EXPECT_EQ(cudaGetLastError(), error) << line;
    expect_problem(text, file, line);
}

void expect_out_of_bounds(const std::string& text, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
    expect_error(cudaErrorIllegalAddress, "out of bounds: " + text, file, line);
}

// ---- Memory -----------------------------------------------------------------------------------------

__global__ void read_at(const float* in, float* out, long i) {
    out[threadIdx.x] = in[i + threadIdx.x];  // @read_at
}
__global__ void write_at(float* out, long i) {
    out[i + threadIdx.x] = 1;  // @write_at
}

TEST_F(Trace, DeviceMemoryHasBounds) {
    Device<float> a(100, 1), b(100, 2);
    read_at<<<1, 4>>>(a.data, floats.data, 96);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    expect_problem("");
    for (const auto& [i, where] : {std::pair<long, const char*>{97, "just past the end"},
                                   {5000, "19600 bytes past the end"},
                                   {-1, "4 bytes before the start"}}) {
        const std::string what = std::string(" 4 bytes, ") + where +
                                 " of 400 bytes of device memory (block 0, thread " +
                                 (i == 97 ? "3)" : "0)");
        read_at<<<1, 4>>>(a.data, floats.data, i);
        expect_out_of_bounds("@read_at reads" + what);
        write_at<<<1, 4>>>(b.data, i);
        expect_out_of_bounds("@write_at writes" + what);
    }
    for (int i = 0; i < 97; ++i) EXPECT_EQ(b.host()[i], 2);
}

__global__ void by_value(float4 v, float* out) { out[threadIdx.x] = v.x + v.w; }

TEST_F(Trace, ArgumentsAreCopiedFromTheHost) {
    const float4 v(1, 2, 3, 4);
    by_value<<<1, 4>>>(v, floats.data);
    expect_problem("");
    EXPECT_EQ(floats.host()[3], 5);
}

TEST_F(Trace, HostPointersAreNoDeviceMemory) {
    std::vector<float> heap(8);
    float stack[8] = {};
    for (const float* host : {&heap[0], &stack[0]}) {
        read_at<<<1, 4>>>(host, floats.data, 0);
        expect_out_of_bounds(
            "@read_at reads 4 bytes, no memory of the device, but the host's or freed (block 0, "
            "thread 0)");
    }
    read_at<<<1, 4>>>(nullptr, floats.data, 0);
    expect_out_of_bounds("@read_at reads 4 bytes, a null pointer (block 0, thread 0)");
}

__global__ void neighbours(float* out, int i) {
    __shared__ float first[32], second[32];
    __shared__ alignas(16) float third[2][32];
    const int t = threadIdx.x;
    first[t] = second[t] = third[0][t] = third[1][t] = 1;
    __syncwarp();
    out[t] = first[t + i] + second[t + i] +  // @neighbours
             third[1][t];
}
__global__ void dynamic_bounds(float* out, int i) {
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[threadIdx.x + i];  // @dynamic_bounds
}

TEST_F(Trace, SharedArraysHaveBounds) {
    neighbours<<<1, 32>>>(floats.data, 0);
    dynamic_bounds<<<1, 32, 128>>>(floats.data, 0);
    expect_problem("");
    neighbours<<<1, 32>>>(floats.data, 1);
    EXPECT_TRUE(reported("out of bounds: @neighbours reads 4 bytes, just past the end of "))
        << problem();
    expect_out_of_bounds("...");
    dynamic_bounds<<<1, 32, 128>>>(floats.data, 32);
    expect_out_of_bounds(
        "@dynamic_bounds reads 4 bytes, just past the end of the 128 bytes of dynamic shared "
        "memory (block 0, thread 0)");
}

__global__ void others_variable(int* out) {
    __shared__ int* of_first;
    volatile int mine = threadIdx.x;
    if (threadIdx.x == 0) of_first = const_cast<int*>(&mine);
    __syncthreads();
    out[threadIdx.x] = mine + *of_first;  // @others_variable
}

TEST_F(Trace, LocalVariablesAreAThreadsOwn) {
    others_variable<<<1, 2>>>(ints.data);
    expect_out_of_bounds(
        "@others_variable reads 4 bytes, a local variable of thread 0 (block 0, thread 1)");
}

template <class Vector>
__global__ void copy_vector(const float* in, float* out, int i) {
    *reinterpret_cast<Vector*>(&out[0]) = *reinterpret_cast<const Vector*>(&in[i]);  // @copy_vector
}

TEST_F(Trace, VectorsAreAligned) {
    copy_vector<float2><<<1, 1>>>(floats.data, floats.data, 2);
    copy_vector<float4><<<1, 1>>>(floats.data, floats.data, 4);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    expect_problem("");
    const auto misaligned = [](const std::string& bytes, const std::string& past) {
        expect_error(cudaErrorMisalignedAddress,
                     "misaligned: @copy_vector reads " + bytes + " bytes, at an address that is " +
                         past + " past a multiple of them (block 0, thread 0)");
    };
    copy_vector<float2><<<1, 1>>>(floats.data, floats.data, 1);
    misaligned("8", "4");
    copy_vector<float4><<<1, 1>>>(floats.data, floats.data, 2);
    misaligned("16", "8");
}

// ---- Order ------------------------------------------------------------------------------------------

__global__ void store_beside_atomics(int* n, int* out, bool store, bool read) {
    if (store && threadIdx.x == 9) *n = 5;  // @store_beside
    atomicAdd(n, 1);  // @atomic
    if (read && threadIdx.x == 9) out[0] = *n;  // @read_beside
    __syncthreads();
    out[threadIdx.x] = *n;
}

TEST_F(Trace, AtomicsRaceWithOrdinaryAccesses) {
    Device<int> n(1, 0);
    store_beside_atomics<<<1, 32>>>(n.data, ints.data, false, false);
    expect_problem("");
    in_every_order([&] {
        store_beside_atomics<<<1, 32>>>(n.data, ints.data, true, false);
        EXPECT_TRUE(reported("race in global memory: @atomic adds to what ~store_beside writes") ||
                    reported("race in global memory: @store_beside writes what ~atomic adds to"))
            << problem();
        emulator::reset_counts();
        store_beside_atomics<<<1, 32>>>(n.data, ints.data, false, true);
        EXPECT_TRUE(reported("race in global memory: @atomic adds to what ~read_beside reads") ||
                    reported("race in global memory: @read_beside reads what ~atomic adds to"))
            << problem();
    });
}

// A partial mask orders its own lanes.
__global__ void partial_masks(int* out, unsigned mask) {
    __shared__ int s[32];
    const int t = threadIdx.x;
    s[t] = t;  // @partial_write
    if (mask >> t & 1) __syncwarp(mask);
    out[t] = s[t ^ 1];  // @partial_read
}

TEST_F(Trace, PartialMasksOrderTheirLanes) {
    partial_masks<<<1, 8>>>(ints.data, 0xff);
    expect_problem("");
    in_every_order([&] {
        partial_masks<<<1, 8>>>(ints.data, 0x0f);  // lanes 4 to 7 stay out
        EXPECT_TRUE(reported("~partial_read")) << problem();
        EXPECT_FALSE(reported("threads 0 and") || reported("threads 1 and") ||
                     reported("threads 2 and") || reported("threads 3 and"))
            << problem();
    });
}

// Reads in four groups of lanes; then lanes 0 to 3 meet those of `mask`, and lane 0 writes.
__global__ void readers_in_groups(int* out, unsigned mask) {
    __shared__ int s;
    const int t = threadIdx.x;
    if (t == 0) s = 1;
    __syncthreads();
    __syncwarp(0xfu << t / 4 * 4);
    out[t] = s;  // @group_reads
    if (mask >> t & 1) __syncwarp(mask);
    if (t == 0) s = 2;  // @group_writes
}

TEST_F(Trace, EveryGroupOfReadersIsRemembered) {
    readers_in_groups<<<1, 16>>>(ints.data, 0xffff);
    expect_problem("");
    for (const unsigned mask : {0xfffu, 0xff0fu, 0xf0ffu})
        in_every_order([&] {
            readers_in_groups<<<1, 16>>>(ints.data, mask);
            EXPECT_TRUE(reported("@group_reads reads what ~group_writes writes") ||
                        reported("@group_writes writes what ~group_reads reads"))
                << std::hex << mask << problem();
        });
}

// Random kernels: each warp at each step synchronises some of its lanes, or the block synchronises, or
// lanes access one word.
constexpr int kSteps = 7, kWarps = 3, kLanes = 32 * kWarps;
enum Access : unsigned char { nothing, load, store, add };
struct Script {
    bool block[kSteps];
    unsigned mask[kSteps][kWarps];  // 0: the warp accesses
    Access access[kSteps][kLanes];
};
__global__ void play(const Script* script, int* out) {
    __shared__ volatile int s;
    const int t = threadIdx.x;
    if (t == 0) s = 0;
    __syncthreads();
    for (int i = 0; i < kSteps; ++i) {
        const unsigned mask = script->mask[i][t / 32];
        const Access access = script->access[i][t];
        if (script->block[i]) __syncthreads();
        else if (mask >> t % 32 & 1) __syncwarp(mask);
        else if (mask == 0 && access == load) out[t] = s;
        else if (mask == 0 && access == store) s = i;
        else if (mask == 0 && access == add) atomicAdd(const_cast<int*>(&s), 1);
    }
}

Script random_script(std::mt19937& random) {
    Script script{};
    const unsigned density = 1 + random() % 10;
    for (int i = 0; i < kSteps; ++i) {
        script.block[i] = random() % 5 == 0;
        const int alone = random() % 4;  // the one warp that accesses, or 3: all
        for (unsigned& mask : script.mask[i])
            if (random() % 2)
                mask = random() % 4 == 0 ? ~0u
                       : random() % 2    ? 0xffu << random() % 4 * 8
                                         : random() | 1;
        for (int t = 0; t < kLanes; ++t)
            if (random() % 40 < density && (alone == 3 || alone == t / 32))
                script.access[i][t] = random() % 8   ? load
                                      : random() % 2 ? add
                                      : random() % 4 ? load
                                                     : store;
    }
    return script;
}

// Whether two of its accesses race: by vector clocks in full, and every access remembered.
bool has_race(const Script& script) {
    using Clock = std::array<int, kLanes>;
    std::vector<Clock> clocks(kLanes, Clock{});
    for (int t = 0; t < kLanes; ++t) clocks[t][t] = 1;
    const auto synchronise = [&](const std::vector<int>& lanes) {
        Clock all{};
        for (int t : lanes)
            for (int u = 0; u < kLanes; ++u) all[u] = std::max(all[u], clocks[t][u]);
        for (int t : lanes) clocks[t] = all, ++clocks[t][t];
    };
    struct Done {
        int thread;
        Access access;
        Clock clock;
    };
    std::vector<Done> done;
    for (int i = 0; i < kSteps; ++i) {
        std::vector<int> block, lanes[kWarps];
        for (int t = 0; t < kLanes; ++t) {
            const unsigned mask = script.mask[i][t / 32];
            block.push_back(t);
            if (mask >> t % 32 & 1) lanes[t / 32].push_back(t);
            if (!script.block[i] && mask == 0 && script.access[i][t])
                done.push_back({t, script.access[i][t], clocks[t]});
        }
        if (script.block[i]) synchronise(block);
        else
            for (const auto& of_warp : lanes) synchronise(of_warp);
    }
    for (const Done& a : done)
        for (const Done& b : done)
            if (a.thread < b.thread && (a.access != b.access || a.access == store) &&
                a.clock[b.thread] < b.clock[b.thread] && b.clock[a.thread] < a.clock[a.thread])
                return true;
    return false;
}

TEST_F(Trace, RandomKernelsRaceAsTheirClocksSay) {
    std::mt19937 random(1);
    int races = 0;
    for (int i = 0; i < 200; ++i) {
        const Script script = random_script(random);
        const Device<Script> device(std::vector<Script>{script});
        const bool race = has_race(script);
        races += race;
        in_every_order([&] {
            play<<<1, kLanes>>>(device.data, ints.data);
            ASSERT_EQ(cudaGetLastError(), cudaSuccess);
            EXPECT_EQ(problem().empty(), !race) << i << problem();
        });
    }
    EXPECT_GT(races, 50);
    EXPECT_LT(races, 150);
}

// What mbarriers will do: warp 0 releases to an object that the others acquire; warp 3 then writes
// again. The threads run one after the other, so none needs to wait.
__global__ void across_warps(int* out, emulator::Sync* full, emulator::Sync* empty, bool acquire,
                             bool third, bool late) {
    __shared__ int s[32];
    const int t = threadIdx.x, warp = t / 32;
    if (warp == 0) s[t] = t;  // @producer
    if (warp == 0) full->release(t);
    if (warp == 0 && late) s[t] = 1;  // @late
    if (warp > 0 && acquire) full->acquire(t);
    if (warp == 1 || warp == 2) out[t] = s[t % 32 ^ 1];  // @consumer
    if (warp == 1 || (warp == 2 && third)) empty->release(t);
    if (warp == 3) empty->acquire(t);
    if (warp == 3) s[t % 32] = 0;  // @next
}

TEST_F(Trace, ReleaseAndAcquireOrderWarps) {
    const auto run = [&](bool acquire, bool third, bool late = false) {
        emulator::Sync full, empty;
        emulator::reset_counts();
        across_warps<<<1, 128>>>(ints.data, &full, &empty, acquire, third, late);
    };
    run(true, true);
    expect_problem("");
    run(false, true);
    EXPECT_TRUE(reported("@producer writes what ~consumer reads (block 0, threads 1 and 32)"))
        << problem();
    EXPECT_FALSE(reported("~consumer reads what")) << problem();
    run(true, true, true);
    EXPECT_TRUE(reported("@late writes what ~consumer reads (block 0, threads 1 and 32)"))
        << problem();
    run(true, false);
    expect_problem(
        "race in shared memory: @consumer reads what ~next writes (block 0, threads 65 and 96)");
}

// ---- Warp operations and barriers -------------------------------------------------------------------

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

// ---- Limits -----------------------------------------------------------------------------------------

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
        "the launch at tests/faults_test.cu:" + std::to_string(line) +
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
        "the launch at tests/faults_test.cu:" + std::to_string(line) +
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
    write_at<<<0, 32>>>(floats.data, 0);
    expect_error(
        cudaErrorInvalidConfiguration,
        "the launch at tests/faults_test.cu:" + std::to_string(line) +
            " asks for 0 x 1 x 1 blocks; a grid has 1 x 1 x 1 up to 2147483647 x 65535 x 65535");
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
        EXPECT_EXIT(
            (copy_vector<float4><<<1, 1>>>(floats.data, floats.data, 2)),
            testing::ExitedWithCode(3),
            "emulator: crash: thread 0 of block 0 of copy_vector<float4>.* accesses an address: misaligned");
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
