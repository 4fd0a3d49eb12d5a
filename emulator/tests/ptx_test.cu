// ldmatrix, mma and red of common/ptx/ptx.cuh, traced: reports and counts.
// 07_fragment_probe/tests/ptx_check.cu shows that they compute by PTX's formulas.
#include "common/ptx/ptx.cuh"
#include "device.h"

namespace {

class Ptx : public Base {};

// Reads a 16x16 matrix from shared memory, its rows `pitch` bytes apart. Lane 9 may make a mistake.
enum Mistake { kFine, kMisaligned, kGlobal, kReturns, kElsewhere, kNoSync, kNothingWritten };
template <int matrices, bool transposed>
__global__ void load(Mistake mistake, int pitch, const half* global, half2* out) {
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
    half2(&two)[2] = (half2(&)[2])m, (&one)[1] = (half2(&)[1])m;
    if (lane == 9 && mistake == kElsewhere) ptx::ldmatrix_x4(m, row);
    else if (transposed) ptx::ldmatrix_x4_trans(m, row);
    else if (matrices == 4) ptx::ldmatrix_x4(m, row);  // @x4
    else if (matrices == 2) ptx::ldmatrix_x2(two, row);
    else ptx::ldmatrix_x1(one, row);  // @x1
    for (int i = 0; i < 4; ++i) out[lane * 4 + i] = m[i];
}

template <int matrices, bool transposed = false>
Traffic run(Mistake mistake, int pitch = 48) {
    Device<half> global(64, half(0));
    Device<half2> out(128);
    load<matrices, transposed><<<1, 32>>>(mistake, pitch, global.data, out.data);
    return shared_loads();
}

TEST_F(Ptx, LdmatrixReportsMisuse) {
    in_every_order([&] {
        run<4>(kFine), run<4, true>(kFine), run<2>(kFine), run<1>(kFine);
        run<1>(kMisaligned);  // lane 9 passes no row
        expect_silence();
        run<4>(kMisaligned);
        expect_failure({"ldmatrix: the row of lane 9..aligned to 16 bytes at @x4"});
        run<2>(kGlobal);
        expect_failure({"ldmatrix: the row of lane 9..not in shared memory"});
        run<4>(kReturns);
        expect_missing_lanes("@x4");
        run<4>(kElsewhere);
        expect_missing_lanes("@x4");
    });
    emulator::set_architecture(75);  // on sm_75 all addresses must be valid
    run<1>(kMisaligned);
    expect_failure({"ldmatrix: the row of lane 9..aligned to 16 bytes at @x1"});
    emulator::set_architecture(70);
    run<1>(kFine);
    expect_failure({"ldmatrix: needs sm_75, not sm_70 at @x1"});
}

TEST_F(Ptx, LdmatrixIsOneRequestOfRows) {
    const auto expect = [](const Traffic& all, const Traffic& traffic) {
        EXPECT_EQ(all, traffic);
        emulator::reset_counts();
    };
    expect(run<4>(kFine), {1, 4, 4, 512});  // a wavefront for each 8 rows
    expect(run<4, true>(kFine), {1, 4, 4, 512});
    expect(run<4>(kFine, 32), {1, 8, 4, 512});  // two rows in the same banks
    expect(run<4>(kFine, 128), {1, 32, 4, 512});  // all eight
    expect(run<2>(kFine), {1, 2, 2, 256});
    EXPECT_EQ(run<1>(kFine), (Traffic{1, 1, 1, 128}));
    for (const emulator::Line& line : emulator::lines())
        EXPECT_TRUE(line.store || (named(line.where) == "@x1" && line.width == 16)) << line.where;
    expect_silence();
    run<4>(kNoSync);
    expect_problem({"race in shared memory: @written writes what @x4 reads"});
    run<4>(kNothingWritten);
    expect_problem({"uninitialised shared memory: @x4 reads"});
}

// ---- mma ----------------------------------------------------------------------------------------

enum Instruction { kM16n8k16, kM8n8k4, kMixed, kOneLine };
__global__ void multiply(Instruction instruction, int missing) {
    half2 a[4] = {}, b[2] = {}, a4[2] = {};
    float d[4] = {}, d8[8] = {};
    const int lane = threadIdx.x;
    if (lane == missing) return;
    if (instruction == kOneLine)
        lane == 5 ? ptx::mma_m8n8k4(d8, a4, b) : ptx::mma_m16n8k16(d, a, b);  // @two
    else if (instruction == kM16n8k16 || (instruction == kMixed && lane != 5))
        ptx::mma_m16n8k16(d, a, b);  // @m16n8k16
    else ptx::mma_m8n8k4(d8, a4, b);  // @m8n8k4
}

TEST_F(Ptx, MmaReportsMisuse) {
    in_every_order([&] {
        multiply<<<1, 32>>>(kM16n8k16, -1);
        multiply<<<1, 32>>>(kM8n8k4, -1);
        expect_silence();
        multiply<<<1, 32>>>(kM16n8k16, 31);
        expect_missing_lanes("@m16n8k16");
        multiply<<<1, 16>>>(kM8n8k4, -1);  // half a warp
        expect_missing_lanes("@m8n8k4");
        multiply<<<1, 32>>>(kMixed, -1);
        expect_missing_lanes("@m16n8k16");
        multiply<<<1, 32>>>(kOneLine, -1);
        expect_failure({"mma: lanes 0 and 5..at @two"});
    });
    emulator::set_architecture(75);
    multiply<<<1, 32>>>(kM8n8k4, -1);
    expect_silence();
    multiply<<<1, 32>>>(kM16n8k16, -1);
    expect_failure({"mma.m16n8k16: needs sm_80, not sm_75 at @m16n8k16"});
}

__global__ void sums(float in, float* out) {
    const half2 a[4] = {{half(in), half(in)}}, b[2] = {{half(1), half(1)}};
    half2 d[2] = {{half(1), half(0)}};
    float f[4] = {};
    ptx::mma_m16n8k16(d, a, b);
    ptx::mma_m16n8k16(f, a, b);
    if (threadIdx.x == 0) {
        out[0] = float(d[0].x);
        out[1] = f[0];
    }
}
__global__ void add_four(float* to, int first) {
    const float t = threadIdx.x;
    ptx::red_add(to + first, {t, 1, 2 * t, -1});  // @red
}

TEST_F(Ptx, SumsOfHalvesAreRoundedOnceAndRedAddsFour) {
    Device<float> out(2), to(8, 5);
    sums<<<1, 32>>>(0x1p-11f, out.data);  // the sum of 8, each of which is lost beside 1 in half
    EXPECT_EQ(out.host(), (std::vector<float>{1 + 8 * 0x1p-11f, 8 * 0x1p-11f}));
    sums<<<1, 32>>>(NAN, out.data);
    EXPECT_TRUE(std::isnan(out.host()[0]) && std::isnan(out.host()[1]));
    add_four<<<1, 3>>>(to.data, 4);
    EXPECT_EQ(to.host(), (std::vector<float>{5, 5, 5, 5, 8, 8, 11, 2}));
    expect_silence();
    add_four<<<1, 1>>>(to.data, 2);
    expect_failure({"red: ..aligned to 16 bytes at @red"});
}

__global__ void elect(unsigned mask, int missing, int* elections) {
    if (int(threadIdx.x) != missing && ptx::elect_sync(mask)) ++elections[threadIdx.x];  // @elect
}

TEST_F(Ptx, ElectSyncElectsOneLaneOfTheMask) {
    Device<int> elections(32, 0);
    in_every_order([&] { elect<<<1, 32>>>(~0u, -1, elections.data); });
    const std::vector<int> all = elections.host();
    EXPECT_EQ(std::count(all.begin(), all.end(), 0), 31);
    expect_silence();
    elect<<<1, 32>>>(~0u, 7, elections.data);  // it has returned
    expect_silence();
    elect<<<1, 32>>>(0xff, -1, elections.data);
    expect_failure({"the mask 0xff at @elect lacks the lane..elect.sync"});
    emulator::set_architecture(80);
    elect<<<1, 32>>>(~0u, -1, elections.data);
    expect_failure({"elect.sync: needs sm_90, not sm_80 at @elect"});
}

}  // namespace
