// Races, traced: which accesses are ordered, and which are not.
#include <random>

#include "device.h"

namespace {

class Races : public Base {};

// ---- Kernels with and without order between their accesses --------------------------------------

__global__ void single_bytes(int* data, bool ordered) {
    const int t = threadIdx.x;
    auto* const bytes = reinterpret_cast<signed char*>(data);
    __shared__ signed char s[64];  // neighbours share a cell
    s[t] = t;
    bytes[t] = s[t] & bytes[ordered ? t : t ^ 1];  // @byte
}
__global__ void reuse(int* out, bool ordered) {
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[threadIdx.x] = threadIdx.x;  // @reuse_writes
        __syncthreads();
        // Another warp's thread reads it, and its own thread writes it again in the next iteration:
        sum += s[63 - threadIdx.x];  // @reuse_reads
        if (ordered) __syncthreads();
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}
__global__ void shift_global(int* data, bool ordered) {
    data[threadIdx.x] = threadIdx.x;  // @near
    if (ordered) __syncthreads();
    data[64 + threadIdx.x] = data[63 - threadIdx.x];  // @far
}
__global__ void store_and_atomics(int* data, bool ordered) {
    if (threadIdx.x == 9) data[0] = 5;  // @store
    if (ordered) __syncthreads();
    atomicAdd(data, 1);  // @add
}
__global__ void atomics_and_reads(int* data, bool ordered) {
    atomicAdd(data, 1);  // @added
    if (ordered) __syncthreads();
    data[1 + threadIdx.x] = data[0];  // @read
}

struct Case {
    const char* name;
    void (*kernel)(int* data, bool ordered);
    int blocks, threads;
    Said said;  // the report if nothing orders them
};
const Case kCases[] = {
    {"SingleBytes", single_bytes, 1, 64, {"race in global memory: @byte"}},
    {"WritesAfterReads", reuse, 2, 64,
     race("shared", "@reuse_reads reads", "@reuse_writes writes")},
    {"Global", shift_global, 1, 64, race("global", "@near writes", "@far reads")},
    {"AStore", store_and_atomics, 1, 32, race("global", "@add adds to", "@store writes")},
    {"AReads", atomics_and_reads, 1, 32, race("global", "@added adds to", "@read reads")},
};
class Cases : public Races, public testing::WithParamInterface<Case> {};

TEST_P(Cases, RaceUnlessOrdered) {
    const Case& of = GetParam();
    const auto kernel = of.kernel;
    in_every_order([&] {
        kernel<<<of.blocks, of.threads>>>(ints.data, true);
        kernel<<<of.blocks, of.threads>>>(ints.data, true);  // two launches do not race either
        expect_silence();
        kernel<<<of.blocks, of.threads>>>(ints.data, false);
        expect_some(of.said);
    });
}
INSTANTIATE_TEST_SUITE_P(, Cases, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

// ---- Which are reported -------------------------------------------------------------------------

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

TEST_F(Races, AreReportedOnceForEachPairOfLines) {
    all_write<<<1, 32>>>(ints.data);
    all_write<<<1, 32>>>(ints.data);
    expect_problem(
        {"race in shared memory: @all writes what @all writes (s, block 0, threads 0 and 1)"});
    // Each of the two lines comes before the other for some element.
    reuse<<<1, 64>>>(ints.data, false);
    const std::string pair = problem(), more = ", and 127 more like it";
    EXPECT_EQ(pair.substr(pair.size() - std::min(pair.size(), more.size())), more);
    expect_problem(race("shared", "@reuse_reads reads", "@reuse_writes writes"));
    EXPECT_EQ(emulator::counts().blocks, 0u);
    EXPECT_EQ(emulator::lines().size(), 0u);
    three_on_a_line<<<1, 32>>>(ints.data);
    EXPECT_EQ(emulator::counts().problems.size(), 1u);
    emulator::reset_counts();
    halves<<<1, 64>>>(Device<short>(64).data);  // two halves of a word do not race
    expect_silence();
}

// ---- What is one report -------------------------------------------------------------------------

// Each line needs a barrier before it, and one between its read and its write.
__device__ void last_warp(volatile int* s, int t) {
    s[t] += s[t + 8];  // @first_sum
    s[t] += s[t + 4];  // @second_sum
    s[t] += s[t + 2];  // @third_sum
    s[t] += s[t + 1];  // @fourth_sum
}
__global__ void sum_up(int* out) {
    __shared__ volatile int s[32];
    s[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x < 16) last_warp(s, threadIdx.x);
    if (threadIdx.x == 0) out[0] = s[0];
}
// One barrier is missing, which would order the accesses to both arrays.
__global__ void two_arrays(int* out) {
    __shared__ int a[64], b[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        a[threadIdx.x] = i;  // @write_a
        b[threadIdx.x] = i;  // @write_b
        __syncthreads();
        sum += a[63 - threadIdx.x] * b[63 - threadIdx.x];  // @read_both
    }
    out[threadIdx.x] = sum;
}
// Two barriers are missing, and with kInLoop no block barrier lies between the two places.
enum Two { kApart, kInLoop };
__global__ void two_causes(Two two, int* out) {
    __shared__ int a[64], b[64];
    const int t = threadIdx.x;
    a[t] = t;  // @one_writes
    b[t] = a[63 - t];  // @one_reads
    __syncthreads();
    if (two == kApart) {
        out[t] = b[t];
        a[t] = b[63 - t];  // @two_writes
        out[t] += a[63 - t];  // @two_reads
    }
    for (int i = 0; two == kInLoop && i < 2; ++i) {
        b[t] = i;  // @next_round
        __syncthreads();
        a[t] = i;  // @after
        out[t] = a[63 - t];  // @after_too
        out[t] += b[63 - t];  // @last
    }
}
__global__ void read_first(bool written, int* out) {
    __shared__ int s[64];
    if (threadIdx.x < (written ? 64 : 60)) s[threadIdx.x] = threadIdx.x;  // @fills
    out[threadIdx.x] = s[63 - threadIdx.x];  // @reads_first
}
__global__ void add_to_nothing(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] += threadIdx.x;  // @adds_to_nothing
    out[threadIdx.x] = s[63 - threadIdx.x];  // @reads_it
}

std::vector<std::string> reports() {
    std::vector<std::string> all;
    for (const std::string& problem : emulator::counts().problems) all.push_back(named(problem));
    emulator::reset_counts();
    return all;
}
bool has(const std::string& text, const std::string& words) {
    return text.find(words) != text.npos;
}

TEST_F(Races, OfOneMissingBarrierAreOneReport) {
    sum_up<<<1, 32>>>(ints.data);
    const auto all = reports();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_TRUE(has(all[0], "@first_sum") && has(all[0], "@second_sum")) << all[0];
    EXPECT_TRUE(has(all[0], "; the same between @second_sum and @third_sum")) << all[0];
    EXPECT_TRUE(has(all[0], "more pairs of lines")) << all[0];
    in_every_order([&] {
        sum_up<<<1, 32>>>(ints.data);
        EXPECT_EQ(reports().size(), 1u);
        two_arrays<<<1, 64>>>(ints.data);
        const auto all = reports();
        ASSERT_EQ(all.size(), 1u);
        for (const char* place : {"@write_a", "@write_b", "@read_both"})
            EXPECT_TRUE(has(all[0], place)) << all[0];
    });
}

TEST_F(Races, OfTwoMissingBarriersAreTwoReports) {
    in_every_order([&] {
        two_causes<<<1, 64>>>(kApart, ints.data);
        auto all = reports();
        ASSERT_EQ(all.size(), 2u);
        EXPECT_TRUE(has(all[0], "@one_writes") && has(all[0], "@one_reads")) << all[0];
        EXPECT_TRUE(has(all[1], "@two_writes") && has(all[1], "@two_reads")) << all[1];
        two_causes<<<1, 64>>>(kInLoop, ints.data);
        all = reports();
        ASSERT_EQ(all.size(), 3u);
        EXPECT_TRUE(has(all[1], "@after") && has(all[1], "@after_too")) << all[1];
        EXPECT_TRUE(has(all[2], "@next_round") && has(all[2], "@last")) << all[2];
    });
}

TEST_F(Races, StandWithTheirConsequences) {
    in_every_order([&] {
        read_first<<<1, 64>>>(true, ints.data);
        expect_problem(
            {"race in shared memory: ..@fills..so @reads_first also reads uninitialised "
             "shared memory"});
        // Here nobody writes four of the elements.
        read_first<<<1, 64>>>(false, ints.data);
        auto all = reports();
        ASSERT_EQ(all.size(), 2u);
        EXPECT_TRUE(has(all[1], "uninitialised shared memory: @reads_first")) << all[1];
        // Here the elements are read before they are written, whatever the others do.
        add_to_nothing<<<1, 64>>>(ints.data);
        all = reports();
        EXPECT_TRUE(has(all.back(), "uninitialised shared memory: @adds_to_nothing")) << all.back();
    });
}

// ---- Which thread is named ----------------------------------------------------------------------

__global__ void read_then_write(int* out, bool sync) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 1;
    __syncthreads();
    out[threadIdx.x] = s;  // @read_first
    if (sync) __syncwarp();
    if (threadIdx.x == 5) s = 2;  // @written_later
}

TEST_F(Races, OfWritesAfterReads) {
    const std::string race = "race in shared memory: @read_first reads what @written_later writes";
    read_then_write<<<1, 32>>>(ints.data, true);  // ordered within the only warp
    expect_silence();
    read_then_write<<<1, 96>>>(ints.data, true);  // but not for others, after 32 readers
    expect_problem({race + " (s, block 0, threads 32 and 5)"});
    read_then_write<<<1, 5>>>(ints.data, false);  // without thread 5, which writes
    expect_silence();
    read_then_write<<<1, 6>>>(ints.data, false);
    expect_problem({race + " (s, block 0, threads 0 and 5)"});
}

__global__ void write_same(int* out, int blocks_apart) {
    out[threadIdx.x + blockIdx.x * blocks_apart] = blockIdx.x;  // @same
}
TEST_F(Races, OfBlocksInGlobalMemory) {
    write_same<<<2, 32>>>(ints.data, 32);
    expect_silence();
    write_same<<<2, 32>>>(ints.data, 31);
    expect_problem(
        {"race in global memory: @same writes what @same writes (block 0 thread 31, "
         "block 1 thread 0)"});
}

enum Flag { kOneValue, kAlmostOneValue, kWithReader };
__global__ void set_flag(Flag kind, int* flag, int* out) {
    __shared__ int found;
    const int t = threadIdx.x;
    const int value = kind == kAlmostOneValue && t == 40 ? 2 : 1;
    if (t % 2 == 0) *flag = value;  // @flag
    if (t % 3 == 0) found = value;  // @found
    if (kind != kWithReader) __syncthreads();
    out[t] = found;  // @looks
}
__global__ void copy_structs(const int4* from, int4* to) {
    struct Three {
        int4 parts[3];
    };
    // 48 bytes, which threads store one after the other
    *reinterpret_cast<Three*>(to) = reinterpret_cast<const Three*>(from)[threadIdx.x];
}
TEST_F(Races, OfEqualStoresAreNotes) {
    const Device<int> out(64);
    in_every_order([&] {
        set_flag<<<1, 64>>>(kOneValue, ints.data, out.data);
        const auto notes = emulator::counts().notes;
        ASSERT_EQ(notes.size(), 2u);
        EXPECT_TRUE(has(named(notes[0]), "global memory: @flag writes what @flag writes"));
        EXPECT_TRUE(has(named(notes[1]), "shared memory: @found writes what @found writes"));
        expect_silence();
        set_flag<<<1, 64>>>(kAlmostOneValue, ints.data, out.data);
        expect_problem(race("global", "@flag writes", "@flag writes"));
        set_flag<<<1, 64>>>(kWithReader, ints.data, out.data);
        EXPECT_EQ(emulator::counts().notes.size(), 2u);
        expect_problem({"race in shared memory: ..@found..@looks"});
        std::vector<int> numbers(12 * 64);
        for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = int(i);
        const Device<int> many(numbers);
        copy_structs<<<1, 64>>>(reinterpret_cast<int4*>(many.data),
                                reinterpret_cast<int4*>(ints.data));
        expect_problem({"race in global memory"});
    });
}

enum Largest { kCompared, kPlainStore, kUnrelated };
__global__ void raise(Largest kind, int* largest, int* other) {
    int old = *largest, assumed;  // @guess
    do {
        assumed = old;
        if (assumed >= int(threadIdx.x)) break;
        if (kind == kUnrelated) old = atomicCAS(other, assumed, threadIdx.x);
        else old = atomicCAS(largest, assumed, threadIdx.x);  // @compare
    } while (old != assumed && kind != kUnrelated);
    if (kind == kPlainStore && threadIdx.x == 63) *largest = 63;  // @plain
    if (kind == kUnrelated) atomicMax(largest, int(threadIdx.x));  // @max
}
// A plain read may guess what atomicCAS() on the same pointer then checks.
TEST_F(Races, OfAGuessWithItsCompareAndSwapAreNotes) {
    const Device<int> other(1, 0);
    in_every_order([&] {
        Device<int> largest(1, 0);
        raise<<<1, 64>>>(kCompared, largest.data, other.data);
        EXPECT_EQ(largest.host()[0], 63);
        const auto notes = emulator::counts().notes;
        ASSERT_EQ(notes.size(), 1u);
        EXPECT_TRUE(has(named(notes[0]), "benign race in global memory: @"));
        expect_silence();
        raise<<<1, 64>>>(kPlainStore, largest.data, other.data);
        expect_some(race("global", "@guess reads", "@plain writes"));
        raise<<<1, 64>>>(kUnrelated, largest.data, other.data);
        expect_some(race("global", "@guess reads", "@max adds to"));
    });
}

// The block that finishes last adds up what all have written. `flaw` is its mistake.
__device__ unsigned done[2];
enum Flaw { kSound, kNoFence, kFenceTooEarly, kPlainRead, kOtherCounter, kNotAsked };
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
        done[0] = 0;  // for the next launch; ordered after the others' atomics
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
// Block 0 releases its write to block 1, which releases it to block 2 by another counter.
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
    const std::pair<Flaw, Said> all[] = {
        {kSound, {}},
        {kNoFence, unordered},
        {kFenceTooEarly, unordered},
        {kPlainRead, race("global", "@count adds to", "@peek reads")},
        {kOtherCounter, unordered},
        {kNotAsked, unordered},
    };
    for (const auto& [flaw, said] : all) {
        SCOPED_TRACE(flaw);
        const unsigned zeros[2] = {};
        cudaMemcpyToSymbol(done, zeros, sizeof done);
        last_adds_up<<<4, 32>>>(ints.data, out.data, flaw);
        if (said.empty()) expect_silence();
        else expect_some(said);
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

// Each block's first thread reads both halves of a word, and the last block writes one of them.
__global__ void bytes_of_a_cell(unsigned char* data, int* out, int written) {
    if (blockIdx.x < gridDim.x - 1) out[blockIdx.x] = data[0] + data[1];  // @both_bytes
    else data[written] = 1;  // @one_byte
}
// Two threads write the bytes of a cell, and another block reads one of them.
__global__ void bytes_of_two_threads(unsigned char* data, int* out, int read) {
    if (blockIdx.x == 0) data[threadIdx.x] = threadIdx.x;  // @each_byte
    __syncthreads();
    if (blockIdx.x == 1 && threadIdx.x == 0) out[0] = data[read];  // @read_byte
}
// Two blocks each write one byte of a cell. The later one then passes a barrier, which orders nothing
// with the other block.
__global__ void byte_past_a_barrier(unsigned char* data, int* out, int byte) {
    if (blockIdx.x == 0) data[byte] = 1;  // @other_block
    else if (threadIdx.x == 0) data[1 - byte] = 1;
    __syncthreads();
    if (blockIdx.x == 1 && threadIdx.x == 32) out[0] = data[byte];  // @past_the_barrier
}
TEST_F(Races, OfSingleBytesOfACell) {
    const Device<unsigned char> data(2, 0);
    for (const int byte : {0, 1}) {
        bytes_of_a_cell<<<3, 1>>>(data.data, ints.data, byte);
        expect_problem(race("global", "@one_byte writes", "@both_bytes reads"));
        bytes_of_two_threads<<<2, 2>>>(data.data, ints.data, byte);
        expect_problem(race("global", "@each_byte writes", "@read_byte reads"));
        byte_past_a_barrier<<<2, 64>>>(data.data, ints.data, byte);
        expect_problem(race("global", "@other_block writes", "@past_the_barrier reads"));
    }
}
// Three blocks read, and all but one of them release that by a fence and an atomic to the last one,
// which then writes.
__global__ void one_reader_unreleased(int* data, int* out, unsigned unreleased) {
    if (blockIdx.x < 3) out[blockIdx.x] = data[0];  // @reader
    if (blockIdx.x != unreleased) {
        __threadfence();
        atomicAdd(&done[0], 1);
    }
    if (blockIdx.x == 3) data[0] = 1;  // @writer
}
TEST_F(Races, OfAReaderThatReleasesNothing) {
    const Device<int> data(1, 0);
    for (const unsigned unreleased : {0, 1, 2}) {
        SCOPED_TRACE(unreleased);
        one_reader_unreleased<<<4, 1>>>(data.data, ints.data, unreleased);
        expect_problem(race("global", "@reader reads", "@writer writes"));
    }
    one_reader_unreleased<<<4, 1>>>(data.data, ints.data, 4);
    expect_silence();
}

// The warps of block 0 read before the first fence, and all of them release but one.
__global__ void one_warp_unreleased(int* data, int* out, unsigned unreleased) {
    const unsigned warp = threadIdx.x / 32;
    const bool first = threadIdx.x % 32 == 0;
    if (blockIdx.x == 0) {
        if (first) out[warp] = data[0];  // @warp
        __syncwarp();
        if (!first || warp == unreleased) return;
        __threadfence();
    } else if (threadIdx.x > 0) {
        return;
    }
    atomicAdd(&done[0], 1);
    if (blockIdx.x == 1) data[0] = 1;  // @overwrites
}
// A kernel's first launch keeps the readers of two warps before its first fence, later ones all.
TEST_F(Races, OfAWarpThatReleasesNothing) {
    const Device<int> data(1, 0);
    one_warp_unreleased<<<2, 96>>>(data.data, ints.data, 3);
    expect_silence();
    for (const unsigned unreleased : {0, 1, 2}) {
        SCOPED_TRACE(unreleased);
        one_warp_unreleased<<<2, 96>>>(data.data, ints.data, unreleased);
        expect_problem(race("global", "@warp reads", "@overwrites writes"));
    }
    one_warp_unreleased<<<2, 96>>>(data.data, ints.data, 3);
    expect_silence();
}

// ---- Random kernels -----------------------------------------------------------------------------

// At each step each warp synchronises some of its lanes, or the block synchronises, or lanes access
// one word, or one of its first two bytes.
constexpr int kSteps = 7, kWarps = 3, kLanes = 32 * kWarps;
enum Access : unsigned char { nothing, load, store, add };
struct Step {
    bool block;
    unsigned mask[kWarps];  // 0: the warp accesses
    Access access[kLanes];
    unsigned char bytes[kLanes];  // 1 or 2: the first or the second one; 3: the word
};
using Script = std::array<Step, kSteps>;
__global__ void play(const Script* script, int* out) {
    __shared__ volatile int s;
    const int t = threadIdx.x;
    if (t == 0) s = 0;
    __syncthreads();
    for (int i = 0; i < kSteps; ++i) {
        const Step& step = (*script)[i];
        const unsigned mask = step.mask[t / 32];
        const Access access = step.access[t];
        const unsigned char bytes = step.bytes[t];
        volatile unsigned char* const byte =
            reinterpret_cast<volatile unsigned char*>(&s) + bytes - 1;
        const int value = t + i % 2 * kLanes;
        if (step.block) __syncthreads();
        else if (mask >> t % 32 & 1) __syncwarp(mask);
        else if (mask == 0 && access == load) out[t] = bytes == 3 ? s : *byte;
        else if (mask == 0 && access == store && bytes == 3) s = value;
        else if (mask == 0 && access == store) *byte = value;
        else if (mask == 0 && access == add) atomicAdd(const_cast<int*>(&s), 1);
    }
}

Script random_script(std::mt19937& random, bool single_bytes) {
    Script script{};
    const unsigned density = 1 + random() % 10;
    for (Step& step : script) {
        step.block = random() % 5 == 0;
        std::fill(std::begin(step.bytes), std::end(step.bytes), 3);
        const int alone = random() % 4;  // the only warp that accesses memory, or 3: all
        for (unsigned& mask : step.mask)
            if (random() % 2)
                mask = random() % 4 == 0 ? ~0u
                       : random() % 2    ? 0xffu << random() % 4 * 8
                                         : random() | 1;
        for (int t = 0; t < kLanes; ++t)
            if (random() % 40 < density && (alone == 3 || alone == t / 32))
                step.access[t] = random() % 8   ? load
                                 : random() % 2 ? add
                                 : random() % 4 ? load
                                                : store;
        if (!single_bytes) continue;
        for (int t = 0; t < kLanes; ++t) {  // by few lanes, so that few of them race
            step.access[t] = t % 32 > 1 || random() % 3 ? nothing : random() % 12 ? load : store;
            step.bytes[t] = 1 + random() % 2;
        }
    }
    return script;
}

// Whether two of its accesses race, by full vector clocks and with every access remembered.
bool has_race(const Script& script) {
    using Clock = std::array<int, kLanes>;
    std::vector<Clock> clocks(kLanes, Clock{});
    for (int t = 0; t < kLanes; ++t) clocks[t][t] = 1;
    struct Done {
        int thread;
        Access access;
        int bytes;
        Clock clock;
    };
    std::vector<Done> done;
    for (const Step& step : script) {
        std::vector<int> meeting[kWarps];  // a block's barrier in the first
        for (int t = 0; t < kLanes; ++t) {
            const unsigned mask = step.mask[t / 32];
            if (step.block) meeting[0].push_back(t);
            else if (mask >> t % 32 & 1) meeting[t / 32].push_back(t);
            else if (mask == 0 && step.access[t])
                done.push_back({t, step.access[t], step.bytes[t], clocks[t]});
        }
        for (const auto& lanes : meeting) {
            Clock all{};
            for (int t : lanes)
                for (int u = 0; u < kLanes; ++u) all[u] = std::max(all[u], clocks[t][u]);
            for (int t : lanes) {
                clocks[t] = all;
                ++clocks[t][t];
            }
        }
    }
    for (const Done& a : done)
        for (const Done& b : done)
            if (a.thread < b.thread && (a.access != b.access || a.access == store) &&
                (a.bytes & b.bytes) && a.clock[b.thread] < b.clock[b.thread] &&
                b.clock[a.thread] < a.clock[a.thread])
                return true;
    return false;
}

TEST_F(Races, OfRandomKernelsAreThoseTheirClocksSay) {
    std::mt19937 random(1);
    int races = 0;
    for (int i = 0; i < 600; ++i) {
        const Script script = random_script(random, i % 2);
        const Device<Script> device(std::vector<Script>{script});
        const bool race = has_race(script);
        races += race;
        in_every_order([&] {
            play<<<1, kLanes>>>(device.data, ints.data);
            ASSERT_EQ(cudaGetLastError(), cudaSuccess);
            EXPECT_EQ(emulator::counts().problems.empty(), !race) << i << problem();
        });
    }
    EXPECT_GT(races, 150);
    EXPECT_LT(races, 450);
}

// ---- Arrays that are the same memory --------------------------------------------------------

// Meant as two arrays, which are one; or used one after the other.
__global__ void two_names(int* out, bool meant_as_one) {
    extern __shared__ int keys[];
    extern __shared__ int values[];
    const int t = threadIdx.x;
    keys[t] = t;  // @keys
    if (meant_as_one) {
        __syncthreads();
        out[t] = keys[63 - t];
        __syncthreads();
    }
    values[t] = t + 1;  // @values
    __syncthreads();
    out[t] += values[63 - t];
}
TEST_F(Races, TwoExternArraysAreTheSameMemory) {
    in_every_order([&] {
        two_names<<<1, 64, 2 * 64 * sizeof(int)>>>(ints.data, false);
        expect_problem(
            {"@values overwrites a value of @keys that nothing has read: keys and "
             "values..are the same memory"});
        two_names<<<1, 64, 64 * sizeof(int)>>>(ints.data, true);
        expect_silence();
    });
}

}  // namespace
