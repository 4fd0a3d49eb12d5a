// Tests of tracing: counts, bounds and the order of accesses. Small kernels with known traffic, or with a fault that a learner
// might make. Each fault must be reported with thread, line and reason.
#include "device.h"
#include "emulator/internal.h"

#include <cuda_fp16.h>
#include <sys/resource.h>

#include <random>

namespace {

class Trace : public Base {};

void expect_out_of_bounds(const std::string& text, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
    expect_error(cudaErrorIllegalAddress, "out of bounds: " + text, file, line);
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

__global__ void branches(volatile int* data) {
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x < 16) data[threadIdx.x] = i;
        else data[threadIdx.x * 8] = i;
        data[threadIdx.x + 256] = i;
    }
}
constexpr int kBranches = __LINE__ - 7;  // its first line

TEST_F(Trace, ARecordHasTheFirstAndTheLastBlocksEventsInEachLanesOrder) {
    Device<int> data(288, 0);
    std::string text, events;
    emulator::record_next_launch({{"A", data.data, 2, 144, 4}},
                                 [&](const std::string& record) { text += record; });
    branches<<<3, 32>>>(data.data);
    branches<<<1, 32>>>(data.data);  // is not recorded
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("block,", 0) == 0) events += line.substr(6, 8) + ":";
        if (line.rfind("event,0,global store,", 0) != 0) continue;
        const size_t number = line.find(".cu:") + 4;  // LINE,4,SECTORS,...
        const int at = std::stoi(line.substr(number)) - kBranches;
        events += " " + std::to_string(at) + line.substr(line.find(',', number), 5);
    }
    const std::string each = ": 3,4,16 2,4,2, 4,4,4, 3,4,16 2,4,2, 4,4,4,";
    EXPECT_EQ(events, "block 0," + each + "block 2," + each) << text;
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
        EXPECT_EQ(line.where.find("tests/trace_test.cu:"), 0u) << line.where;
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
        EXPECT_EQ(line.where.find("tests/trace_test.cu:"), 0u) << line.where;
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

// As mbarriers would: warp 0 releases an object, the others acquire it, then warp 3 writes again. The threads run one after the
// other, so none has to wait.
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

}  // namespace
