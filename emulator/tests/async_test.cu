// Asynchronous copies of a thread, traced: cp.async of common/ptx/ptx.cuh and CUDA's
// cuda_pipeline.h.
#include <cuda_pipeline.h>

#include "common/ptx/ptx.cuh"
#include "device.h"

namespace {

// The two interfaces for copies.
struct Pipeline {
    template <int bytes>
    static void copy(void* to, const void* from, int valid = bytes) {
        __pipeline_memcpy_async(to, from, bytes, bytes - valid);  // @copy
    }
    static void commit() { __pipeline_commit(); }
    template <int but_last>
    static void wait() {
        __pipeline_wait_prior(but_last);  // @wait
    }
};
struct CpAsync {
    template <int bytes>
    static void copy(void* to, const void* from, int valid = bytes) {
        ptx::cp_async<bytes>(to, from, valid);  // @copy
    }
    static void commit() { ptx::cp_async_commit_group(); }
    template <int but_last>
    static void wait() {
        ptx::cp_async_wait_group<but_last>();  // @wait
    }
};

template <class Api>
class Async : public Base {};
using Apis = testing::Types<Pipeline, CpAsync>;
TYPED_TEST_SUITE(Async, Apis);

template <class Api, int bytes>
__global__ void copy_some(const float* in, float* out, int valid) {
    __shared__ __align__(16) float s[4];
    for (float& x : s) x = 7;
    Api::template copy<bytes>(s, in, valid);
    Api::commit();
    Api::template wait<0>();
    for (int i = 0; i < 4; ++i) out[i] = s[i];
}

TYPED_TEST(Async, TheLastBytesMayBeZero) {
    Device<float> in({1, 2, 3, 4}), out(4);
    const auto expect = [&](auto kernel, int valid, const std::vector<float>& copied) {
        kernel<<<1, 1>>>(in.data, out.data, valid);
        EXPECT_EQ(global_loads()[3], unsigned(valid));
        EXPECT_EQ(out.host(), copied);
        expect_silence();
    };
    expect(copy_some<TypeParam, 16>, 16, {1, 2, 3, 4});
    expect(copy_some<TypeParam, 16>, 12, {1, 2, 3, 0});
    expect(copy_some<TypeParam, 16>, 0, {0, 0, 0, 0});
    expect(copy_some<TypeParam, 8>, 4, {1, 0, 7, 7});
    expect(copy_some<TypeParam, 4>, 4, {1, 7, 7, 7});
}

template <class Api>
__global__ void never_waits(const float* in, float* out) {
    __shared__ __align__(16) float s[64];
    Api::template copy<4>(&s[threadIdx.x], &in[threadIdx.x]);
    if (threadIdx.x < 32) return;  // which does not complete its copies
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x - 32];
    out[threadIdx.x - 32] = s[threadIdx.x];
}
template <class Api>
__global__ void three_batches(const float* in, float* out) {
    __shared__ float s[4];
    for (int i = 0; i < 4; ++i) {
        Api::template copy<4>(&s[i], &in[i]);
        if (i < 3) Api::commit();
    }
    Api::template wait<1>();
    for (int i = 0; i < 4; ++i) out[i] = s[i];  // @read_1
    Api::template wait<5>();
    Api::template wait<0>();
    for (int i = 0; i < 4; ++i) out[4 + i] = s[i];  // @read_0
}

TYPED_TEST(Async, BatchesAreEachThreadsOwnAndDoneInOrder) {
    Device<float> in({1, 2, 3, 4}), out(8), threes(64, 3), both(64);
    three_batches<TypeParam><<<1, 1>>>(in.data, out.data);
    std::string seen;  // the fourth was not committed
    for (const float x : out.host()) seen += std::isnan(x) ? '-' : char('0' + int(x));
    EXPECT_EQ(seen, "12--123-");
    const std::string early = "the copy at @copy has not written yet (s[";
    const std::string all = problem();
    for (const std::string& said :
         {"asynchronous copy: @read_1 reads what " + early +
              "2], block 0, thread 0): the wait at @wait leaves the last group in flight, and the "
              "copy is in it",
          "asynchronous copy: @read_0 reads what " + early +
              "3], block 0, thread 0): the wait at @wait does not cover it, because no commit "
              "comes before"})
        EXPECT_NE(all.find(said), all.npos) << said << "\nis not in\n" << all;
    emulator::reset_counts();
    never_waits<TypeParam><<<1, 64>>>(threes.data, both.data);
    for (const float x : both.host()) EXPECT_TRUE(std::isnan(x));
    expect_some(
        {"asynchronous copy: ..reads what the copy at @copy..block 0, thread 63): no wait follows"});
}

enum class Between { nothing, barrier, wait, wait_for_all_but_one };
// Reads what its own thread has copied, or another one; twice, in two stages.
template <class Api>
__global__ void read_copy(const float* in, float* out, int of, Between between) {
    __shared__ __align__(16) float s[2][32];
    const int t = threadIdx.x;
    for (int stage = 0; stage < 2; ++stage) {
        Api::template copy<4>(&s[stage][t], &in[t]);
        Api::commit();
    }
    if (between == Between::wait) Api::template wait<0>();
    if (between == Between::wait_for_all_but_one) Api::template wait<1>();
    if (between != Between::nothing) __syncthreads();
    out[t] = s[0][(t + of) % 32];  // @read_first
    if (between != Between::wait_for_all_but_one) return;
    out[t] = s[1][(t + of) % 32];  // @read_second
    __syncthreads();
    Api::template wait<0>();
}

// Whichever of the two threads runs first, and though the last wait covers everything.
TYPED_TEST(Async, ReadsBeforeTheWaitAreReported) {
    Device<float> in(32, 1), out(32);
    in_every_order([&] {
        for (const int of : {0, 1}) {
            const auto read = [&](Between between) {
                const auto kernel = read_copy<TypeParam>;
                kernel<<<1, 32>>>(in.data, out.data, of, between);
            };
            const std::string whose = of ? "copied by thread " : "block 0, thread ";
            read(Between::wait);
            expect_silence();
            read(Between::barrier);
            expect_problem(
                {"asynchronous copy: @read_first reads what the copy at @copy has not "
                 "written yet (s[0][.." +
                 whose + "..): no wait follows the copy"});
            read(Between::wait_for_all_but_one);
            expect_problem(
                {"asynchronous copy: @read_second reads what the copy at @copy has not "
                 "written yet (s[1][.." +
                 whose +
                 "..): the wait at @wait leaves the last group in flight, and "
                 "the copy is in it"});
        }
        const auto kernel = read_copy<TypeParam>;
        kernel<<<1, 32>>>(in.data, out.data, 1, Between::nothing);
        expect_some(race("shared", "@copy writes", "@read_first reads"));
    });
}

// The last copies of a pipeline may be ones that nobody needs.
template <class Api>
__global__ void copies_to_spare(const float* in, float* out, bool reuse) {
    __shared__ __align__(16) float s[2][32];
    const int t = threadIdx.x;
    for (int stage = 0; stage < 2; ++stage) {
        Api::template copy<4>(&s[stage][t], &in[t], stage ? 0 : 4);
        Api::commit();
    }
    Api::template wait<1>();
    __syncthreads();
    out[blockIdx.x * 32 + t] = s[0][31 - t];
    __syncthreads();
    if (reuse) s[1][31 - t] = 5;  // @reuse
}

TYPED_TEST(Async, ACopyThatNobodyNeedsNeedsNoWait) {
    Device<float> in(32, 1), out(64);
    in_every_order([&] {
        const auto kernel = copies_to_spare<TypeParam>;
        kernel<<<2, 32>>>(in.data, out.data, false);
        expect_silence();
        kernel<<<1, 32>>>(in.data, out.data, true);
        expect_problem(
            {"asynchronous copy: @reuse writes where the copy at @copy has yet to write "
             "(s[1][..leaves the last group in flight"});
        kernel<<<2, 32>>>(in.data, out.data, false);  // nothing is left of it
        expect_silence();
    });
}

// Rows are 512 bytes apart in global memory, and to_stride bytes in shared memory.
template <class Api, int bytes>
__global__ void copy_rows(const char* in, int lanes_a_row, int to_stride) {
    __shared__ __align__(128) char s[8192];
    const int row = threadIdx.x / lanes_a_row, at = threadIdx.x % lanes_a_row * bytes;
    Api::template copy<bytes>(&s[row * to_stride + at], &in[row * 512 + at]);
}

TYPED_TEST(Async, SectorsOfCopiesAreThoseOfAnH200) {
    Device<char> in(16 * 1024, 0);
    const auto sectors = [&](auto kernel, int lanes_a_row, int to_stride) {
        emulator::reset_counts();
        kernel<<<1, 32>>>(in.data, lanes_a_row, to_stride);
        EXPECT_EQ(global_loads()[0], 1u);
        EXPECT_EQ(shared_stores()[0], 0u);
        EXPECT_EQ(named(emulator::lines()[0].where), "@copy");
        return global_loads()[1];
    };
    // Copies that bypass L1, as measured with ncu (driver 580.159.04, CUDA 13.0).
    const auto past_l1 = copy_rows<TypeParam, 16>;
    for (const int stride : {64, 128, 256}) EXPECT_EQ(sectors(past_l1, 4, stride), 16u);
    // Every other row straddles three sectors of shared memory instead of two.
    EXPECT_EQ(sectors(past_l1, 4, 80), 20u);
    EXPECT_EQ(sectors(past_l1, 32, 512), 16u);
    EXPECT_EQ(sectors(copy_rows<TypeParam, 8>, 4, 40), 8u);  // through L1, like any load
}

template <class Api>
__global__ void racing_copy(const float* in, float* out, bool before, bool after) {
    __shared__ __align__(16) float s[32];
    s[threadIdx.x] = 1;  // @fill
    if (!before) __syncthreads();
    Api::template copy<4>(&s[(threadIdx.x + 1) % 32], &in[threadIdx.x]);
    Api::commit();
    __syncthreads();
    // A barrier orders the store after the start of the copy, but the copy ends only here:
    Api::template wait<0>();
    if (!after) __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];  // @read
}

TYPED_TEST(Async, CopiesRaceFromTheirStartToTheirWait) {
    Device<float> in(32, 1), out(32);
    in_every_order([&] {
        const auto kernel = racing_copy<TypeParam>;
        kernel<<<1, 32>>>(in.data, out.data, false, false);
        expect_silence();
        kernel<<<1, 32>>>(in.data, out.data, true, false);
        expect_some(race("shared", "@copy writes", "@fill writes"));
        kernel<<<1, 32>>>(in.data, out.data, false, true);
        expect_some(race("shared", "@copy writes", "@read reads"));
    });
}

// ---- Misuse of each interface -------------------------------------------------------------------

class Misuse : public Base {};

__global__ void misuse_pipeline(const char* in, int to, int from, int bytes, int zfill) {
    __shared__ __align__(16) char s[32];
    __pipeline_memcpy_async(s + to, in + from, bytes, zfill);  // @pipeline
}
__global__ void misuse_cp_async(const char* in, char* global, int kind, int to, int from,
                                int valid) {
    __shared__ alignas(16) char s[64];
    char* const target = kind == 1 ? global : s;
    const char* const source = kind == 2 ? s : in;
    ptx::cp_async<8>(target + to, source + from, valid);  // @cp_async
    ptx::cp_async_wait_all();
}

TEST_F(Misuse, OfCopies) {
    Device<char> in(64, 0), global(64);
    const auto pipeline = [&](int to, int from, int bytes, int zfill, const std::string& said) {
        misuse_pipeline<<<1, 1>>>(in.data, to, from, bytes, zfill);
        if (said.empty()) expect_silence();
        else expect_failure({"__pipeline_memcpy_async.." + said + "..@pipeline"});
    };
    pipeline(8, 8, 8, 0, "");
    pipeline(4, 8, 4, 4, "");
    pipeline(4, 8, 8, 0, "aligned to 8 bytes");
    pipeline(16, 8, 16, 0, "aligned to 16 bytes");
    pipeline(0, 0, 2, 0, "4, 8 or 16 bytes, not 2 less 0");
    pipeline(0, 0, 8, 9, "4, 8 or 16 bytes, not 8 less 9");
    const auto cp_async = [&](const std::string& said, int kind, int to, int from, int valid) {
        misuse_cp_async<<<1, 1>>>(in.data, global.data, kind, to, from, valid);
        if (said.empty()) expect_silence();
        else expect_failure({"cp.async: .." + said + "..@cp_async"});
    };
    cp_async("", 0, 8, 16, 8);
    cp_async("aligned to 8 bytes", 0, 4, 8, 8);
    cp_async("aligned to 8 bytes", 0, 8, 4, 8);
    cp_async("reads 9 of 8 bytes", 0, 0, 0, 9);
    cp_async("reads -1 of 8 bytes", 0, 0, 0, -1);
    cp_async("destination is not in shared memory", 1, 0, 0, 8);
    cp_async("source is not in global memory", 2, 0, 16, 8);
    misuse_cp_async<<<1, 1>>>(in.data, global.data, 0, 0, 64, 8);
    expect_failure({"out of bounds: @cp_async reads 8 bytes, just past the end of 64 bytes"},
                   cudaErrorIllegalAddress);
    cp_async("", 0, 0, 1 << 20, 0);  // reads nothing, so the source may be anywhere
    emulator::set_architecture(75);
    cp_async("needs sm_80, not sm_75", 0, 0, 0, 8);
}

}  // namespace
