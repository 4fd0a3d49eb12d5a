// wgmma and setmaxnreg, traced: what they report. That wgmma computes by its formulas,
// 07_fragment_probe/ptx_check.cu shows.
#include "common/hopper.cuh"
#include "device.h"

namespace {

class Wgmma : public Base {};

enum Mistake {
    kNone,
    kNoProxyFence,
    kNoBarrier,
    kNoFence,
    kNoFenceAfterZeros,
    kNoCommit,
    kNoWait,
    kWaitTooLittle,
    kReadTooEarly,
    kWriteTooEarly,
    kChangedA,
    kOverwritten,
    kOverwrittenBehindTheWait,
    kWarpElsewhere,
    kWarpMissing,
    kOtherOperands,
    kLaneDiffers,
    kNoDescriptor,
    kPastTheEnd,
};
constexpr int kN = 64, kSteps = 4;  // 64 x 64 x 64

// A and B are K-major, in rows of 128 bytes with its swizzle, all 1 and 2.
__global__ void __launch_bounds__(128) multiply(Mistake mistake, float* out) {
    __shared__ alignas(1024) half A[64][64];
    __shared__ alignas(1024) half B[kN][64];
    const int thread = threadIdx.x, warp = thread / 32;
    for (int i = thread; i < 64 * 64; i += 128)
        A[i / 64][i % 64] = half(1), B[i / 64][i % 64] = half(2);  // @fill
    if (mistake != kNoProxyFence) ptx::fence_proxy_async();
    if (mistake != kNoBarrier) __syncthreads();
    uint64_t a = ptx::wgmma_descriptor(A, 128, 1024), b = ptx::wgmma_descriptor(B, 128, 1024);
    if (mistake == kOtherOperands && warp == 2) b += 2;
    if (mistake == kLaneDiffers && thread == 40) a += 2;
    if (mistake == kNoDescriptor) a = uint64_t(5) << 52;
    if (mistake == kPastTheEnd) b = ptx::wgmma_descriptor(B, 128, 1024 + 16);
    float d[kN / 16][8];
    for (auto& row : d)
        for (float& x : row) x = 0;
    if (mistake != kNoFence) ptx::wgmma_fence();
    half2 registers[4];
    for (half2& x : registers) x = half2{half(1), half(1)};
    for (int k = 0; k < kSteps; ++k) {
        if (mistake == kWarpElsewhere && warp == 1 && k == 1)
            ptx::wgmma_m64k16<half>(d, a, b + 2 * k);  // @elsewhere
        else if (mistake == kChangedA)
            ptx::wgmma_m64k16<half>(d, registers, b + 2 * k);  // @from_registers
        else if (mistake != kWarpMissing || warp < 3 || k < 3)
            ptx::wgmma_m64k16<half>(d, a + 2 * k, b + 2 * k);  // @multiply
        if (mistake == kWaitTooLittle) ptx::wgmma_commit_group();
    }
    if (mistake != kNoCommit) ptx::wgmma_commit_group();
    if (mistake == kReadTooEarly) out[thread] = d[0][0];
    if (mistake == kWriteTooEarly) d[0][0] = 0;
    if (mistake == kChangedA) registers[1].x = half(5);
    if (mistake == kOverwritten) A[thread / 2][thread % 2] = half(7);  // @overwrite
    if (mistake == kWaitTooLittle) ptx::wgmma_wait_group<2>();
    else if (mistake != kNoWait) ptx::wgmma_wait_group<0>();  // @wait
    ptx::wgmma_keep(d);
    if (mistake == kOverwrittenBehindTheWait) B[thread / 2][thread % 2] = half(7);
    if (mistake == kNoFenceAfterZeros) {
        d[1][1] = 0;
        ptx::wgmma_m64k16<half>(d, a, b);  // @again
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
    }
    if (mistake == kReadTooEarly) return;
    for (int i = 0; i < kN / 2; ++i) out[i * 128 + thread] = d[i / 8][i % 8];
}

// True if every element is as it should be.
bool run(Mistake mistake) {
    Device<float> out(64 * kN, 128.f);
    multiply<<<1, 128>>>(mistake, out.data);
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    bool right = true;
    for (const float x : out.host()) right &= x == 2 * 16 * kSteps;
    return right;
}

TEST_F(Wgmma, Multiplies) {
    in_every_order([] {
        EXPECT_TRUE(run(kNone));
        EXPECT_TRUE(run(kOverwrittenBehindTheWait));  // complete for one warp, complete for all
        expect_problem("");
    });
}

TEST_F(Wgmma, Mistakes) {
    const std::string ends =
        "the block ends, and no wgmma_wait_group() of warp 0 covers the wgmma at ";
    const struct {
        Mistake mistake;
        std::string said, or_said = said;
    } all[] = {
        {kNoProxyFence,
         "no fence_proxy_async() after @fill writes what @multiply reads asynchronously"},
        {kNoBarrier, "race in shared memory: @fill writes what ~multiply reads (block 0, ",
         "race in shared memory: @multiply reads what ~fill writes (block 0, "},
        {kNoFence, "wgmma: no wgmma_fence() before the first one at @multiply (block 0, thread "},
        {kNoFenceAfterZeros,
         "wgmma: no wgmma_fence() since the accumulators were written at @again "},
        {kNoCommit, ends + "@multiply (block 0)"},
        {kNoWait, ends + "@multiply (block 0)"},
        {kWaitTooLittle, ends + "@multiply (block 0)"},
        {kWriteTooEarly,
         "wgmma: accumulators were written while the wgmma at @multiply was under way at @wait "},
        {kChangedA,
         "wgmma: A's registers were written while the wgmma at @from_registers was under way at @wait "},
        {kOverwritten, "race in shared memory: @overwrite writes what ~multiply reads (block 0, "},
        {kWarpElsewhere, "wgmma: the warps of the warpgroup call different ones: warp "},
        {kWarpMissing,
         "deadlock: no thread of block 0 can go on: thread 0 at @wait waits for a wgmma that not all "
         "warps have called"},
        {kOtherOperands, "this one, another the one at @multiply, of other operands at @multiply "},
        {kLaneDiffers, "wgmma: lanes 0 and 8 give different operands at @multiply "},
        {kNoDescriptor, "wgmma: that is no descriptor of wgmma_descriptor() at @multiply "},
        {kPastTheEnd, "out of bounds: @multiply reads 16 bytes, "},
    };
    for (const auto& row : all) {
        SCOPED_TRACE(row.said);
        in_every_order([&] {
            run(row.mistake);
            EXPECT_TRUE(reported(row.said) || reported(row.or_said)) << problem();
            cudaGetLastError();
        });
    }
}

TEST_F(Wgmma, AccumulatorsAreNaNUntilTheWait) {
    in_every_order([] {
        Device<float> out(64 * kN);
        multiply<<<1, 128>>>(kReadTooEarly, out.data);
        for (int i = 0; i < 128; ++i) EXPECT_TRUE(std::isnan(out.host()[i]));
        EXPECT_FALSE(run(kNoWait));
        EXPECT_FALSE(run(kNoCommit));
    });
}

__global__ void describe(int swizzle, int stride, int offset, const char* global) {
    __shared__ alignas(1024) char s[1024];
    ptx::wgmma_descriptor(global ? global : s + offset, swizzle, stride);  // @describe
    float d[16];
    uint64_t none = 0;
    ptx::wgmma_fence();  // @fence
    ptx::wgmma_m64k16<half>(d, none, none);  // @few
}

TEST_F(Wgmma, Misuse) {
    Device<char> global(64);
    const auto expect = [&](int swizzle, int stride, int offset, const char* from,
                            const std::string& text) {
        describe<<<1, 96>>>(swizzle, stride, offset, from);
        expect_failure(text + " (block 0, thread ...");
    };
    expect(48, 16, 0, nullptr,
           "wgmma_descriptor: a swizzle of 48 bytes, not 0, 32, 64 or 128 at @describe");
    expect(32, 24, 0, nullptr,
           "wgmma_descriptor: 24 bytes, not a multiple of 16 below 2^18 at @describe");
    expect(32, 1 << 18, 0, nullptr,
           "wgmma_descriptor: 262144 bytes, not a multiple of 16 below 2^18 at @describe");
    expect(32, 16, 8, nullptr, "wgmma_descriptor: the start is not a multiple of 16 at @describe");
    expect(32, 16, 0, global.data,
           "wgmma_descriptor: the start is not in shared memory at @describe");
    expect(32, 16, 0, nullptr, "wgmma: the block has no 128 threads for this warpgroup at @few");
    emulator::set_architecture(75);
    expect(32, 16, 0, nullptr, "wgmma_fence: needs sm_90, not sm_75 at @fence");
}

// ---- setmaxnreg ---------------------------------------------------------------------------------

enum Registers { kFine, kUneven, kTooFew, kTooMany, kOneWarp };
template <Registers kind>
__device__ void share_registers() {
    if (threadIdx.x < 128) {
        if (kind != kOneWarp || threadIdx.x < 32)
            ptx::setmaxnreg_fewer<kind == kTooFew ? 16 : 24>();  // @fewer
    } else {
        ptx::setmaxnreg_more<kind == kUneven ? 225 : kind == kTooMany ? 256 : 240>();  // @more
    }
}
template <Registers kind>
__global__ void __launch_bounds__(384) bounded() {
    share_registers<kind>();
}
__global__ void unbounded() { share_registers<kFine>(); }

TEST_F(Wgmma, Setmaxnreg) {
    bounded<kFine><<<1, 384>>>();
    expect_problem("");
    bounded<kUneven><<<1, 384>>>();
    expect_failure(
        "setmaxnreg_more: 225 registers, not a multiple of 8 from 24 to 256 at @more ...");
    bounded<kTooFew><<<1, 384>>>();
    expect_failure(
        "setmaxnreg_fewer: 16 registers, not a multiple of 8 from 24 to 256 at @fewer ...");
    bounded<kTooMany><<<1, 384>>>();
    expect_failure("setmaxnreg_more: the warps would have 68608 registers of 65536 at @more ...");
    bounded<kOneWarp><<<1, 384>>>();
    expect_problem(
        "the block ends, and the warps of a warpgroup have set 24 and 0 registers (block 0)...");
    bounded<kFine><<<1, 320>>>();
    expect_failure("setmaxnreg_more: the block has no 128 threads for this warpgroup at @more ...");
    unbounded<<<1, 384>>>();
    expect_failure("setmaxnreg_fewer: the kernel has no __launch_bounds__ at @fewer ...");
}

}  // namespace
