// The emulator's versions of common/ptx.cuh, and its cuda_pipeline.h, traced: what they report and
// count. That the PTX computes by its formulas, 07_fragment_probe/ptx_check.cu shows.
#include <cuda_pipeline.h>

#include "common/ptx.cuh"
#include "device.h"

namespace {

class Ptx : public Base {};
class Copies : public Base {};
class Trace : public Base {};

// ---- ldmatrix -----------------------------------------------------------------------------------

// Reads a 16x16 matrix from shared memory, its rows `pitch` bytes apart. Lane 9 may make a mistake.
enum Mistake { kFine, kMisaligned, kGlobal, kReturns, kElsewhere, kNoSync, kNothingWritten };
template <class Load>
__global__ void load(Load read, Mistake mistake, int pitch, const half* global, half2* out) {
    __shared__ alignas(128) char s[16 * 128];
    const int lane = threadIdx.x;
    if (mistake != kNothingWritten)
        for (int i = lane * 4; i < int(sizeof(s)); i += 128) *(float*)&s[i] = 0;  // @written
    if (mistake != kNoSync) __syncwarp();
    const void* row = &s[lane % 16 * pitch + lane / 16 * 16];
    if (lane == 9 && mistake == kMisaligned) row = (const char*)row + 8;
    if (lane == 9 && mistake == kGlobal) row = global;
    if (lane == 9 && mistake == kReturns) return;
    half2 m[4] = {};
    if (lane == 9 && mistake == kElsewhere) ptx::ldmatrix_x4(m, row);
    else read(m, row);
    for (int i = 0; i < 4; ++i) out[lane * 4 + i] = m[i];
}
const auto x4 = [](half2 (&m)[4], const void* row) { ptx::ldmatrix_x4(m, row); };  // @x4
const auto x4_trans = [](half2 (&m)[4], const void* row) { ptx::ldmatrix_x4_trans(m, row); };
const auto x2 = [](half2 (&m)[4], const void* row) {
    half2 two[2];
    ptx::ldmatrix_x2(two, row);
    m[0] = two[0], m[1] = two[1];
};
const auto x1 = [](half2 (&m)[4], const void* row) {
    half2 one[1];
    ptx::ldmatrix_x1(one, row);  // @x1
    m[0] = one[0];
};

template <class Load>
void run(Load read, Mistake mistake, int pitch = 48) {
    Device<half> global(64, half(0));
    Device<half2> out(128);
    load<<<1, 32>>>(read, mistake, pitch, global.data, out.data);
}

TEST_F(Ptx, LdmatrixReportsMisuse) {
    in_every_order([&] {
        run(x4, kFine), run(x4_trans, kFine), run(x2, kFine), run(x1, kFine);
        expect_problem("");
        run(x4, kMisaligned);
        expect_failure("ldmatrix: the row of lane 9 is not aligned to 16 bytes at @x4 ...");
        run(x2, kGlobal);
        expect_failure("ldmatrix: the row of lane 9 is not in shared memory at ...");
        run(x4, kReturns);
        expect_lonely("@x4");
        run(x4, kElsewhere);
        expect_lonely("@x4");
    });
    emulator::set_architecture(70);
    run(x1, kFine);
    expect_failure("ldmatrix: needs sm_75, not sm_70 at @x1 ...");
}

TEST_F(Ptx, LdmatrixLooksAtTheLanesThatBringRows) {
    run(x1, kMisaligned);  // lane 9 brings none
    expect_problem("");
    emulator::set_architecture(75);  // where all addresses must be valid
    run(x1, kMisaligned);
    expect_failure("ldmatrix: the row of lane 9 is not aligned to 16 bytes at @x1 ...");
}

TEST_F(Trace, LdmatrixIsOneRequestOfRows) {
    const auto traffic = [](auto read, int pitch) {
        emulator::reset_counts();
        run(read, kFine, pitch);
        return shared_loads();
    };
    EXPECT_EQ(traffic(x4, 48), (Traffic{1, 4, 4, 512}));  // a wavefront for each 8 rows
    EXPECT_EQ(traffic(x4_trans, 48), (Traffic{1, 4, 4, 512}));
    EXPECT_EQ(traffic(x4, 32), (Traffic{1, 8, 4, 512}));  // two rows in the same banks
    EXPECT_EQ(traffic(x4, 128), (Traffic{1, 32, 4, 512}));  // all eight
    EXPECT_EQ(traffic(x2, 48), (Traffic{1, 2, 2, 256}));
    EXPECT_EQ(traffic(x1, 48), (Traffic{1, 1, 1, 128}));
    for (const emulator::Line& line : emulator::counts().lines) {
        if (line.store) continue;
        EXPECT_EQ(line.where, located("@x1", __FILE__));
        EXPECT_EQ(line.width, 16);
    }
}

TEST_F(Trace, LdmatrixRacesAndReadsWhatIsNotWritten) {
    run(x4, kNoSync);
    expect_problem("race in shared memory: @written writes what ~x4 reads...");
    run(x4, kNothingWritten);
    expect_problem(
        "uninitialised shared memory: @x4 reads what no thread of the block has written ...");
}

// ---- mma ----------------------------------------------------------------------------------------

enum Instruction { kM16n8k16, kM8n8k4, kMixed };
__global__ void multiply(Instruction instruction, int missing) {
    half2 a[4] = {}, b[2] = {}, a4[2] = {};
    float d[4] = {}, d8[8] = {};
    const int lane = threadIdx.x;
    if (lane == missing) return;
    if (instruction == kM16n8k16 || (instruction == kMixed && lane != 5))
        ptx::mma_m16n8k16(d, a, b);  // @m16n8k16
    else ptx::mma_m8n8k4(d8, a4, b);  // @m8n8k4
}

TEST_F(Ptx, MmaReportsMisuse) {
    in_every_order([&] {
        multiply<<<1, 32>>>(kM16n8k16, -1), multiply<<<1, 32>>>(kM8n8k4, -1);
        expect_problem("");
        multiply<<<1, 32>>>(kM16n8k16, 31);
        expect_lonely("@m16n8k16");
        multiply<<<1, 16>>>(kM8n8k4, -1);  // half a warp
        expect_lonely("@m8n8k4");
        multiply<<<1, 32>>>(kMixed, -1);
        expect_lonely("@m16n8k16");
    });
    emulator::set_architecture(75);
    multiply<<<1, 32>>>(kM16n8k16, -1);
    expect_failure("mma.m16n8k16: needs sm_80, not sm_75 at @m16n8k16 ...");
    multiply<<<1, 32>>>(kM8n8k4, -1);
    expect_problem("");
}

__global__ void two_on_a_line(float* out) {
    half2 a[4] = {}, a4[2] = {}, b[2] = {};
    float d[4] = {}, d8[8] = {};
    threadIdx.x == 5 ? ptx::mma_m8n8k4(d8, a4, b) : ptx::mma_m16n8k16(d, a, b);  // @two
    out[threadIdx.x] = d[0] + d8[0];
}

TEST_F(Ptx, LanesMustCallTheSameMma) {
    two_on_a_line<<<1, 32>>>(floats.data);
    expect_failure("mma: lanes 0 and 5 call different instructions at @two (block 0, thread 31)");
}

__global__ void sums(float in, float* out) {
    const half2 a[4] = {{half(in), half(in)}}, b[2] = {{half(1), half(1)}};
    half2 d[2] = {{half(1), half(0)}};
    float f[4] = {};
    ptx::mma_m16n8k16(d, a, b);
    ptx::mma_m16n8k16(f, a, b);
    out[0] = float(d[0].x), out[1] = f[0];
}

TEST_F(Ptx, SumsOfHalvesAreRoundedOnce) {
    Device<float> out(2);
    sums<<<1, 32>>>(0x1p-11f, out.data);  // 8 of them, each lost beside 1 in half
    EXPECT_EQ(out.host(), (std::vector<float>{1 + 8 * 0x1p-11f, 8 * 0x1p-11f}));
    sums<<<1, 32>>>(NAN, out.data);
    EXPECT_TRUE(std::isnan(out.host()[0]) && std::isnan(out.host()[1]));
}

// ---- Asynchronous copies ------------------------------------------------------------------------

// The two ways to ask for them.
struct Pipeline {
    template <int bytes>
    static void copy(void* to, const void* from, int valid = bytes) {
        __pipeline_memcpy_async(to, from, bytes, bytes - valid);  // @pipeline
    }
    static void commit() { __pipeline_commit(); }
    template <int but_last>
    static void wait() {
        __pipeline_wait_prior(but_last);
    }
    static constexpr auto line = "@pipeline";
};
struct CpAsync {
    template <int bytes>
    static void copy(void* to, const void* from, int valid = bytes) {
        ptx::cp_async<bytes>(to, from, valid);  // @cp_async
    }
    static void commit() { ptx::cp_async_commit_group(); }
    template <int but_last>
    static void wait() {
        ptx::cp_async_wait_group<but_last>();
    }
    static constexpr auto line = "@cp_async";
};
template <class Test>
void with_each_forward(const Test& test) {
    test(Pipeline());
    test(CpAsync());
}
template <class Test>
void with_each(const Test& test) {  // in every order of threads
    in_every_order([&] { with_each_forward(test); });
}

enum Fault { kNone, kNoWait, kNoCommit, kWaitTooLittle, kTooEarly };
// The sum of n tiles of 128 floats, each element by the thread after the one that copies it; two
// tiles on their way.
template <class Api, int bytes>
__global__ void sum_tiles(const float* in, float* out, int n, Fault fault) {
    __shared__ __align__(128) float s[2][128];
    constexpr int kFloats = bytes / 4;
    const auto start = [&](int tile) {
        for (int i = threadIdx.x * kFloats; i < 128; i += 32 * kFloats)
            Api::template copy<bytes>(&s[tile % 2][i], &in[tile * 128 + i]);
        if (fault != kNoCommit) Api::commit();
    };
    start(0);
    float sums[4] = {};
    for (int tile = 0; tile < n; ++tile) {
        if (tile + 1 < n && fault != kTooEarly) start(tile + 1);
        if (fault == kNoWait) {
        } else if (tile + 1 == n) Api::template wait<0>();
        else if (fault == kWaitTooLittle) Api::template wait<2>();
        else Api::template wait<1>();
        __syncthreads();
        if (tile + 1 < n && fault == kTooEarly) start(tile);
        for (int i = 0; i < 4; ++i) sums[i] += s[tile % 2][(threadIdx.x * 4 + i + 16) % 128];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = sums[i];
}

template <class Api, int bytes>
bool sums_are_right(Fault fault) {
    const int n = 5;
    std::vector<float> in(n * 128);
    for (int i = 0; i < n * 128; ++i) in[i] = i % 101;
    Device<float> device(in), out(128);
    sum_tiles<Api, bytes><<<1, 32>>>(device.data, out.data, n, fault);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    const auto host = out.host();
    bool right = true;
    for (int i = 0; i < 128; ++i) {
        float sum = 0;
        for (int tile = 0; tile < n; ++tile) sum += in[tile * 128 + (i + 16) % 128];
        right &= host[i] == sum;
    }
    return right;
}

TEST_F(Copies, TwoTilesOnTheirWay) {
    with_each([](auto api) {
        EXPECT_TRUE((sums_are_right<decltype(api), 4>(kNone)));
        EXPECT_TRUE((sums_are_right<decltype(api), 8>(kNone)));
        EXPECT_TRUE((sums_are_right<decltype(api), 16>(kNone)));
        expect_problem("");
    });
}

TEST_F(Copies, MistakesGiveWrongSumsInEveryOrder) {
    with_each([](auto api) {
        for (Fault fault : {kNoWait, kNoCommit, kWaitTooLittle, kTooEarly})
            EXPECT_FALSE((sums_are_right<decltype(api), 16>(fault))) << fault;
    });
}

template <class Api, int bytes>
__global__ void copy_some(const float* in, float* out, int valid) {
    __shared__ __align__(16) float s[4];
    for (float& x : s) x = 7;
    Api::template copy<bytes>(s, in, valid);
    Api::commit();
    Api::template wait<0>();
    for (int i = 0; i < 4; ++i) out[i] = s[i];
}

TEST_F(Copies, TheLastBytesMayBeZero) {
    Device<float> in({1, 2, 3, 4}), out(4);
    const auto expect = [&](auto kernel, int valid, const std::vector<float>& copied) {
        emulator::reset_counts();
        kernel<<<1, 1>>>(in.data, out.data, valid);
        EXPECT_EQ(problem(), "");
        EXPECT_EQ(global_loads()[3], unsigned(valid));
        EXPECT_EQ(out.host(), copied);
    };
    with_each([&](auto api) {
        expect(copy_some<decltype(api), 16>, 16, {1, 2, 3, 4});
        expect(copy_some<decltype(api), 16>, 12, {1, 2, 3, 0});
        expect(copy_some<decltype(api), 16>, 4, {1, 0, 0, 0});
        expect(copy_some<decltype(api), 16>, 0, {0, 0, 0, 0});
        expect(copy_some<decltype(api), 8>, 4, {1, 0, 7, 7});
        expect(copy_some<decltype(api), 4>, 4, {1, 7, 7, 7});
    });
}

template <class Api>
__global__ void never_waits(const float* in, float* out) {
    __shared__ __align__(16) float s[64];
    Api::template copy<4>(&s[threadIdx.x], &in[threadIdx.x]);
    if (threadIdx.x < 32) return;  // its copies are done then
    __syncwarp();
    // Ordered by nothing, but done with threads in forward order:
    out[threadIdx.x] = s[threadIdx.x - 32];
    out[threadIdx.x - 32] = s[threadIdx.x];
}

TEST_F(Copies, EndWithTheirThread) {
    Device<float> in(64, 3), out(64);
    with_each_forward([&](auto api) {
        never_waits<decltype(api)><<<1, 64>>>(in.data, out.data);
        const auto host = out.host();
        for (int t = 0; t < 32; ++t) {
            EXPECT_EQ(host[t + 32], 3);
            EXPECT_TRUE(std::isnan(host[t]));
        }
    });
}

template <class Api>
__global__ void three_batches(const float* in, float* out) {
    __shared__ float s[4];
    for (int i = 0; i < 4; ++i) {
        Api::template copy<4>(&s[i], &in[i]);
        if (i < 3) Api::commit();
    }
    Api::template wait<1>();
    for (int i = 0; i < 4; ++i) out[i] = s[i];
    Api::template wait<5>();
    Api::template wait<0>();
    for (int i = 0; i < 4; ++i) out[4 + i] = s[i];
}

TEST_F(Copies, BatchesAreEachThreadsOwnAndDoneInOrder) {
    Device<float> in({1, 2, 3, 4}), out(8);
    with_each([&](auto api) {
        three_batches<decltype(api)><<<1, 1>>>(in.data, out.data);
        const auto host = out.host();
        EXPECT_TRUE(host[0] == 1 && host[1] == 2 && std::isnan(host[2]) && std::isnan(host[3]));
        EXPECT_TRUE(host[4] == 1 && host[5] == 2 && host[6] == 3 && std::isnan(host[7]))
            << "the last was not committed";
    });
}

TEST_F(Trace, CopiesAreCountedOnce) {
    with_each([](auto api) {
        EXPECT_TRUE((sums_are_right<decltype(api), 16>(kNone)));
        EXPECT_EQ(global_loads(), (Traffic{5, 5 * 16, 0, 5 * 512}));
        EXPECT_EQ(shared_stores()[0], 0u);
        EXPECT_EQ(emulator::counts().lines[0].where, located(api.line, __FILE__));
        expect_problem("");
    });
}

// Lanes in rows, 512 bytes apart in global memory, to_stride bytes in shared memory.
template <class Api, int bytes>
__global__ void copy_rows(const char* in, int lanes_a_row, int to_stride) {
    __shared__ __align__(128) char s[8192];
    const int row = threadIdx.x / lanes_a_row, at = threadIdx.x % lanes_a_row * bytes;
    Api::template copy<bytes>(&s[row * to_stride + at], &in[row * 512 + at]);
}

TEST_F(Trace, SectorsOfCopiesAreThoseOfAnH200) {
    Device<char> in(16 * 1024, 0);
    const auto sectors = [&](auto kernel, int lanes_a_row, int to_stride) {
        emulator::reset_counts();
        kernel<<<1, 32>>>(in.data, lanes_a_row, to_stride);
        return global_loads()[1];
    };
    with_each_forward([&](auto api) {
        // Past L1: measured with ncu (driver 580.159.04, CUDA 13.0).
        const auto past_l1 = copy_rows<decltype(api), 16>;
        for (const int stride : {64, 128, 256}) EXPECT_EQ(sectors(past_l1, 4, stride), 16u);
        // Every other row lies across three sectors of shared memory instead of two.
        EXPECT_EQ(sectors(past_l1, 4, 80), 20u);
        EXPECT_EQ(sectors(past_l1, 32, 512), 16u);
        EXPECT_EQ(sectors(copy_rows<decltype(api), 8>, 4, 40), 8u);  // through L1, as any load
    });
}

template <class Api>
__global__ void racing_copy(const float* in, float* out, bool before, bool after) {
    __shared__ __align__(16) float s[32];
    s[threadIdx.x] = 1;
    if (!before) __syncthreads();
    Api::template copy<4>(&s[(threadIdx.x + 1) % 32], &in[threadIdx.x]);
    Api::commit();
    __syncthreads();
    // Ordered with the copy's start by a barrier, but the copy ends only here:
    Api::template wait<0>();
    if (!after) __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];  // @racing_read
}

TEST_F(Trace, CopiesRaceFromTheirStartToTheirWait) {
    Device<float> in(32, 1), out(32);
    with_each([&](auto api) {
        const auto kernel = racing_copy<decltype(api)>;
        kernel<<<1, 32>>>(in.data, out.data, false, false);
        expect_problem("");
        kernel<<<1, 32>>>(in.data, out.data, true, false);
        EXPECT_TRUE(reported(api.line)) << problem();
        expect_problem("race in shared memory: ...");
        kernel<<<1, 32>>>(in.data, out.data, false, true);
        EXPECT_TRUE(reported(api.line) && reported("~racing_read")) << problem();
        emulator::reset_counts();
    });
}

// Each way has its own misuse.
__global__ void misuse_pipeline(const char* in, int to, int from, int bytes, int zfill) {
    __shared__ __align__(16) char s[32];
    __pipeline_memcpy_async(s + to, in + from, bytes, zfill);  // @misused
}

TEST_F(Copies, PipelineReportsMisuse) {
    Device<char> in(64, 0);
    for (const int bytes : {8, 4}) {
        misuse_pipeline<<<1, 1>>>(in.data, bytes, 8, bytes, 8 - bytes);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        expect_problem("");
    }
    const auto fault = [&](int to, int from, int bytes, int zfill, const std::string& text) {
        misuse_pipeline<<<1, 1>>>(in.data, to, from, bytes, zfill);
        expect_failure("__pipeline_memcpy_async" + text + " at @misused (block 0, thread 0)");
    };
    fault(4, 8, 8, 0, ": an address is not aligned to the 8 bytes");
    fault(16, 8, 16, 0, ": an address is not aligned to the 16 bytes");
    fault(0, 0, 2, 0, " copies 4, 8 or 16 bytes, not 2 less 0");
    fault(0, 0, 8, 9, " copies 4, 8 or 16 bytes, not 8 less 9");
}

__global__ void misuse_cp_async(const char* in, char* global, int kind, int to, int from,
                                int valid) {
    __shared__ alignas(16) char s[64];
    char* const target = kind == 1 ? global : s;
    const char* const source = kind == 2 ? s : in;
    ptx::cp_async<8>(target + to, source + from, valid);  // @copied
    ptx::cp_async_wait_all();
}

TEST_F(Copies, CpAsyncReportsMisuse) {
    Device<char> in(64, 0), global(64);
    const auto expect = [&](const std::string& text, int kind, int to, int from, int valid) {
        misuse_cp_async<<<1, 1>>>(in.data, global.data, kind, to, from, valid);
        if (text.empty()) return expect_problem("");
        expect_failure("cp.async: " + text + " at @copied (block 0, thread 0)");
    };
    expect("", 0, 8, 16, 8);
    expect("an address is not aligned to the 8 bytes", 0, 4, 8, 8);
    expect("an address is not aligned to the 8 bytes", 0, 8, 4, 8);
    expect("reads 9 of 8 bytes", 0, 0, 0, 9);
    expect("reads -1 of 8 bytes", 0, 0, 0, -1);
    expect("the destination is not in shared memory", 1, 0, 0, 8);
    expect("the source is not in global memory", 2, 0, 16, 8);
    expect("", 0, 0, 1 << 20, 0);  // reads nothing, so the source may be anywhere
    emulator::set_architecture(75);
    expect("needs sm_80, not sm_75", 0, 0, 0, 8);
}

// ---- red ----------------------------------------------------------------------------------------

__global__ void add_four(float* to, int first) {
    const float t = threadIdx.x;
    ptx::red_add(to + first, {t, 1, 2 * t, -1});  // @red
}

TEST_F(Copies, RedAddsFourNeighbours) {
    Device<float> to(8, 5);
    add_four<<<1, 3>>>(to.data, 4);
    expect_problem("");
    EXPECT_EQ(std::vector<float>(to.data, to.data + 8),
              (std::vector<float>{5, 5, 5, 5, 8, 8, 11, 2}));
    add_four<<<1, 1>>>(to.data, 2);
    expect_failure("red: the address is not aligned to 16 bytes at @red (block 0, thread 0)");
}

}  // namespace
