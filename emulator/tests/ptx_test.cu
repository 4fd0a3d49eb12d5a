// The emulator's versions of common/ptx.cuh, traced: what they report and count. That they compute
// by the formulas, 07_fragment_probe/ptx_check.cu shows.
#include "common/ptx.cuh"
#include "device.h"

namespace {

class Ptx : public Base {};
class Trace : public Base {};

// ---- ldmatrix -----------------------------------------------------------------------------------

// Reads a 16x16 matrix from shared memory, rows `pitch` bytes apart, after lane 9 did what it wants.
enum Mistake { kNone, kMisaligned, kGlobal, kReturns, kElsewhere, kNoSync, kNothingWritten };
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
    const std::string never = " for lanes of its warp that never come there";
    in_every_order([&] {
        run(x4, kNone), run(x4_trans, kNone), run(x2, kNone), run(x1, kNone);
        expect_problem("");
        run(x4, kMisaligned);
        expect_failure("ldmatrix: the row of lane 9 is not aligned to 16 bytes at @x4 ...");
        run(x2, kGlobal);
        expect_failure("ldmatrix: the row of lane 9 is not in shared memory at ...");
        run(x4, kReturns);
        expect_failure("warp divergence: thread 0 of block 0 waits at @x4" + never);
        run(x4, kElsewhere);
        expect_failure("warp divergence: thread 0 of block 0 waits at @x4" + never);
    });
    emulator::set_architecture(70);
    run(x1, kNone);
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
        run(read, kNone, pitch);
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
    const auto diverges = [](const std::string& mark) {
        expect_failure("warp divergence: thread 0 of block 0 waits at " + mark +
                       " for lanes of its warp that never come there");
    };
    in_every_order([&] {
        multiply<<<1, 32>>>(kM16n8k16, -1), multiply<<<1, 32>>>(kM8n8k4, -1);
        expect_problem("");
        multiply<<<1, 32>>>(kM16n8k16, 31);
        diverges("@m16n8k16");
        multiply<<<1, 16>>>(kM8n8k4, -1);  // half a warp
        diverges("@m8n8k4");
        multiply<<<1, 32>>>(kMixed, -1);
        diverges("@m16n8k16");
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

// ---- cp.async -----------------------------------------------------------------------------------

__global__ void copy(const char* in, char* global, int kind, int to, int from, int valid) {
    __shared__ alignas(16) char s[64];
    char* const target = kind == 1 ? global : s;
    const char* const source = kind == 2 ? s : in;
    ptx::cp_async<8>(target + to, source + from, valid);  // @copied
    ptx::cp_async_wait_all();
}

TEST_F(Ptx, CpAsyncReportsMisuse) {
    Device<char> in(64, 0), global(64);
    const auto expect = [&](const std::string& text, int kind, int to, int from, int valid) {
        copy<<<1, 1>>>(in.data, global.data, kind, to, from, valid);
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

// Copies 16 bytes a lane, in groups of one; each lane reads its neighbour's.
enum Fault { kRight, kNoWait, kNoCommit, kWaitsForTooLittle, kNoBarrier };
__global__ void exchange(const float* in, float* out, Fault fault) {
    __shared__ alignas(128) float s[2][32][4];
    const int lane = threadIdx.x;
    for (int part = 0; part < 2; ++part) {
        ptx::cp_async<16>(s[part][lane], &in[(part * 32 + lane) * 4]);  // @exchanged
        if (fault != kNoCommit) ptx::cp_async_commit_group();
    }
    if (fault == kWaitsForTooLittle) ptx::cp_async_wait_group<1>();
    else if (fault != kNoWait) ptx::cp_async_wait_group<0>();
    if (fault != kNoBarrier) __syncthreads();
    for (int i = 0; i < 4; ++i) out[lane * 4 + i] = s[1][(lane + 1) % 32][i];  // @received
    __syncthreads();
}

TEST_F(Ptx, CopiesAreCompleteAfterTheWait) {
    std::vector<float> numbers(256);
    for (int i = 0; i < 256; ++i) numbers[i] = i;
    Device<float> in(numbers), out(128);
    in_every_order([&] {
        exchange<<<1, 32>>>(in.data, out.data, kRight);
        expect_problem("");
        EXPECT_EQ(out.host()[0], 128 + 4);
        for (Fault fault : {kNoWait, kNoCommit, kWaitsForTooLittle}) {
            exchange<<<1, 32>>>(in.data, out.data, fault);
            for (float x : out.host()) EXPECT_TRUE(std::isnan(x)) << fault;
        }
    });
}

TEST_F(Trace, CopiesAreCountedAndRace) {
    Device<float> in(256, 0), out(128);
    exchange<<<1, 32>>>(in.data, out.data, kRight);
    EXPECT_EQ(global_loads(), (Traffic{2, 32, 0, 1024}));
    EXPECT_EQ(shared_stores()[0], 0u);
    EXPECT_EQ(emulator::counts().lines[0].where, located("@exchanged", __FILE__));
    expect_problem("");
    exchange<<<1, 32>>>(in.data, out.data, kNoBarrier);
    EXPECT_TRUE(reported("@exchanged") && reported("~received")) << problem();
}

}  // namespace
