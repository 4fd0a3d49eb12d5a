// Races, traced: what is ordered, and what is not.
#include <random>

#include "common/ptx/ptx.cuh"
#include "device.h"

namespace {

class Races : public Base {};

__global__ void all_write(int* out) {
    __shared__ int s;
    s = threadIdx.x;  // @all
    __syncthreads();
    out[threadIdx.x] = s;
}
__global__ void three_on_a_line(volatile int* x) {
    // clang-format off
    x[0] = threadIdx.x; x[1] = threadIdx.x; x[2] = threadIdx.x;
    // clang-format on
}
__global__ void halves(short* out) {
    __shared__ short s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void in_place(signed char* bytes, int off) {
    const int t = threadIdx.x;
    __shared__ signed char s[64];
    s[t] = t;
    bytes[t] = s[t] + bytes[t ^ off];  // @byte
}

TEST_F(Races, OfSingleBytesSideBySide) {
    const Device<signed char> bytes(64, 1);
    in_every_order([&] {
        in_place<<<1, 64>>>(bytes.data, 0);
        expect_silence();
        in_place<<<1, 64>>>(bytes.data, 1);
        expect_some({"race in global memory: @byte"});
    });
}

TEST_F(Races, AreReportedOnceForEachPairOfLines) {
    all_write<<<1, 32>>>(ints.data);
    all_write<<<1, 32>>>(ints.data);
    expect_problem(
        {"race in shared memory: @all writes what @all writes (block 0, threads 0 and 1)"});
    EXPECT_EQ(emulator::counts().blocks, 0u);
    EXPECT_EQ(emulator::counts().lines.size(), 0u);
    three_on_a_line<<<1, 32>>>(ints.data);
    EXPECT_EQ(emulator::counts().problems.size(), 1u);
    emulator::reset_counts();
    halves<<<1, 64>>>(Device<short>(64).data);  // two halves of a word do not race
    expect_silence();
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
__global__ void read_then_write(int* out, bool sync) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 1;
    __syncthreads();
    out[threadIdx.x] = s;  // @read_first
    if (sync) __syncwarp();
    if (threadIdx.x == 5) s = 2;  // @written_later
}

TEST_F(Races, OfWritesAfterReads) {
    in_every_order([&] {
        reuse<true><<<2, 64>>>(ints.data);
        expect_silence();
        reuse<false><<<2, 64>>>(ints.data);
        expect_some(race("shared", "@reuse_reads reads", "@reuse_writes writes"));
    });
    const std::string race = "race in shared memory: @read_first reads what @written_later writes";
    read_then_write<<<1, 32>>>(ints.data, true);  // ordered within the only warp
    expect_silence();
    read_then_write<<<1, 96>>>(ints.data, true);  // but not for others, after 32 readers
    expect_problem({race + " (block 0, threads 32 and 5)"});
    read_then_write<<<1, 5>>>(ints.data, false);  // thread 5 is missing
    expect_silence();
    read_then_write<<<1, 6>>>(ints.data, false);
    expect_problem({race + " (block 0, threads 0 and 5)"});
}

__global__ void write_same(int* out, int blocks_apart) {
    out[threadIdx.x + blockIdx.x * blocks_apart] = 1;  // @same
}
__global__ void shift_global(int* data, bool barrier) {
    data[threadIdx.x] = threadIdx.x;  // @near
    if (barrier) __syncthreads();
    data[64 + threadIdx.x] = data[63 - threadIdx.x];  // @far
}

TEST_F(Races, InGlobalMemoryBarriersOrderABlockAlone) {
    write_same<<<2, 32>>>(ints.data, 32);
    expect_silence();
    write_same<<<2, 32>>>(ints.data, 31);
    expect_problem(
        {"race in global memory: @same writes what @same writes (block 0 thread 31, "
         "block 1 thread 0)"});
    shift_global<<<1, 64>>>(ints.data, true);
    shift_global<<<1, 64>>>(ints.data, true);  // nor do two launches race
    expect_silence();
    shift_global<<<1, 64>>>(ints.data, false);
    expect_some(race("global", "@near writes", "@far reads"));
}

__global__ void beside_atomics(int* n, int* out, bool store, bool read) {
    if (store && threadIdx.x == 9) *n = 5;  // @store
    atomicAdd(n, 1);  // @atomic
    if (read && threadIdx.x == 9) out[0] = *n;  // @read
    __syncthreads();
    out[threadIdx.x] = *n;
}

TEST_F(Races, OfAtomicsAndOrdinaryAccesses) {
    Device<int> n(1, 0);
    in_every_order([&] {
        beside_atomics<<<1, 32>>>(n.data, ints.data, false, false);
        expect_silence();
        beside_atomics<<<1, 32>>>(n.data, ints.data, true, false);
        expect_some(race("global", "@atomic adds to", "@store writes"));
        beside_atomics<<<1, 32>>>(n.data, ints.data, false, true);
        expect_some(race("global", "@atomic adds to", "@read reads"));
    });
}

// ---- Masks --------------------------------------------------------------------------------------

__global__ void partial_masks(int* out, unsigned mask) {
    __shared__ int s[32];
    const int t = threadIdx.x;
    s[t] = t;  // @partial_write
    if (mask >> t & 1) __syncwarp(mask);
    out[t] = s[t ^ 1];  // @partial_read
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

TEST_F(Races, PartialMasksOrderTheirLanes) {
    partial_masks<<<1, 8>>>(ints.data, 0xff);
    readers_in_groups<<<1, 16>>>(ints.data, 0xffff);
    expect_silence();
    in_every_order([&] {
        partial_masks<<<1, 8>>>(ints.data, 0x0f);  // lanes 4 to 7 stay out
        for (const char* first :
             {"threads 0 and", "threads 1 and", "threads 2 and", "threads 3 and"})
            EXPECT_EQ(problem().find(first), std::string::npos);
        expect_some({"@partial_read"});
        for (const unsigned mask : {0xfffu, 0xff0fu, 0xf0ffu}) {
            readers_in_groups<<<1, 16>>>(ints.data, mask);
            expect_some(race("shared", "@group_reads reads", "@group_writes writes"));
        }
    });
}

// ---- Random kernels -----------------------------------------------------------------------------

// Each warp at each step synchronises some of its lanes, or the block synchronises, or lanes access
// one word.
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

TEST_F(Races, OfRandomKernelsAreThoseTheirClocksSay) {
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
            EXPECT_EQ(emulator::counts().problems.empty(), !race) << i << problem();
        });
    }
    EXPECT_GT(races, 50);
    EXPECT_LT(races, 150);
}

// Warp 0 arrives at a barrier that warps 1 and 2 wait for; these at one that warp 3 waits for, before it
// writes again.
enum Mistake { kNone, kNoWait, kOneArrives, kLate };
__global__ void across_warps(int* out, Mistake mistake) {
    __shared__ int s[32];
    __shared__ uint64_t full, empty;
    const int t = threadIdx.x, warp = t / 32;
    if (t == 0)
        ptx::mbarrier_init(&full, 32), ptx::mbarrier_init(&empty, mistake == kOneArrives ? 32 : 64);
    __syncthreads();
    if (warp == 0) s[t] = t;  // @producer
    if (warp == 0) ptx::mbarrier_arrive(&full);
    if (warp == 0 && mistake == kLate) s[t] = 1;  // @late
    if (warp == 1 || (warp == 2 && mistake != kNoWait)) ptx::mbarrier_wait(&full, 0);
    if (warp == 1 || warp == 2) out[t] = s[t % 32 ^ 1];  // @consumer
    if (warp == 1 || (warp == 2 && mistake != kOneArrives)) ptx::mbarrier_arrive(&empty);
    if (warp == 3) ptx::mbarrier_wait(&empty, 0);
    if (warp == 3) s[t % 32] = 0;  // @next
}

TEST_F(Races, ReleaseAndAcquireOrderWarps) {
    in_every_order([&] {
        across_warps<<<1, 128>>>(ints.data, kNone);
        expect_silence();
        across_warps<<<1, 128>>>(ints.data, kNoWait);
        EXPECT_EQ(problem().find("@producer writes what @next"), std::string::npos);
        expect_some({"@producer writes what @consumer", "@consumer reads what @producer",
                     "uninitialised shared memory: @consumer"});
        across_warps<<<1, 128>>>(ints.data, kLate);
        expect_some(race("shared", "@late writes", "@consumer reads"));
        across_warps<<<1, 128>>>(ints.data, kOneArrives);
        expect_problem(race("shared", "@consumer reads", "@next writes"));
    });
}

// The block that comes last adds up what all have written. `flaw` is what it does wrong.
enum Flaw { kSound, kNoFence, kFenceTooEarly, kPlainRead, kOtherCounter, kNotAsked };
__device__ unsigned done[2];
__global__ void last_adds_up(volatile int* parts, int* out, Flaw flaw) {
    __shared__ bool last;
    const unsigned t = threadIdx.x, n = gridDim.x;
    if (t == 0 && flaw == kFenceTooEarly) __threadfence();
    if (t == 0) parts[blockIdx.x] = 1;  // @part
    if (t == 0 && flaw != kNoFence && flaw != kFenceTooEarly) __threadfence();
    if (t == 0 && flaw == kPlainRead) {
        last = *(volatile unsigned*)&done[0] == gridDim.x - 1;  // @peek
        if (!last) atomicAdd(&done[0], 1);  // @count
    } else if (t == 0 && (flaw != kNotAsked || blockIdx.x < n - 1)) {
        last = atomicAdd(&done[flaw == kOtherCounter && blockIdx.x == n - 1], 1) == n - 1;
    }
    if (t == 0 && blockIdx.x == n - 1) last = true;
    __syncthreads();
    if (last && t < n) out[t] = parts[t];  // @adds_up
    if (last && t == 0 && flaw != kNotAsked)
        done[0] = 0;  // for the next launch; it knows of the others' atomics
}
__device__ int lock;
__global__ void in_turn(int* sum, bool fence,
                        bool threads) {  // a lock for each thread, or each block
    if (!threads && threadIdx.x > 0) return;
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    *sum += 1;  // @locked
    if (fence) __threadfence();
    atomicExch(&lock, 0);
}
// Block 0 tells block 1 of its write, and that tells block 2, by another counter.
__global__ void by_way_of(int* data, bool fence) {
    if (blockIdx.x == 0) data[0] = 1;  // @first
    if (blockIdx.x != 1 || fence) __threadfence();
    if (blockIdx.x < 2) atomicAdd(&done[0], 1);
    if (blockIdx.x > 0 && fence) __threadfence();
    if (blockIdx.x > 0) atomicAdd(&done[1], 1);
    if (blockIdx.x == 2) data[1] = data[0];  // @third
}

TEST_F(Races, AFenceAndAnAtomicOrderBlocks) {
    const Said unordered = race("global", "@part writes", "@adds_up reads");
    const Device<int> out(32);
    const struct {
        Flaw flaw;
        Said said;
    } cases[] = {{kSound, {}},
                 {kNoFence, unordered},
                 {kFenceTooEarly, unordered},
                 {kPlainRead, race("global", "@count adds to", "@peek reads")},
                 {kOtherCounter, unordered},
                 {kNotAsked, unordered}};
    for (const auto& each : cases) {
        SCOPED_TRACE(each.flaw);
        const unsigned zeros[2] = {};
        cudaMemcpyToSymbol(done, zeros, sizeof done);
        last_adds_up<<<4, 32>>>(ints.data, out.data, each.flaw);
        if (each.said.empty()) expect_silence();
        else expect_some(each.said);
    }
    by_way_of<<<3, 1>>>(ints.data, true);
    expect_silence();
    by_way_of<<<3, 1>>>(ints.data, false);
    expect_problem(race("global", "@first writes", "@third reads"));
}

TEST_F(Races, AFenceAndAnAtomicAreALock) {
    for (const bool threads : {false, true}) {
        SCOPED_TRACE(threads);
        cudaMemset(ints.data, 0, 4);
        in_turn<<<5, 64>>>(ints.data, true, threads);
        EXPECT_EQ(ints.host()[0], threads ? 320 : 5);
        expect_silence();
        in_turn<<<5, 64>>>(ints.data, false, threads);
        expect_some({"race in global memory: @locked"});
    }
}

}  // namespace
