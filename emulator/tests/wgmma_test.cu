// wgmma and setmaxnreg, traced: their reports. 07_fragment_probe/tests/ptx_check.cu shows that
// wgmma computes by PTX's formulas.
#include "common/ptx/hopper.cuh"
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
    kOverwritten,
    kOverwrittenAfterTheWait,
    kWarpElsewhere,
    kWarpMissing,
    kOtherOperands,
    kLaneDiffers,
    kNoDescriptor,
    kPastTheEnd,
    kNeverSet,
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
    uint64_t a = ptx::wgmma_descriptor(A, 128, 64), b = ptx::wgmma_descriptor(B, 128, 64);
    if (mistake == kOtherOperands && warp == 2) b += 2;
    if (mistake == kLaneDiffers && thread == 40) a += 2;
    if (mistake == kNoDescriptor) a = uint64_t(5) << 52;
    if (mistake == kPastTheEnd) b = ptx::wgmma_descriptor(B, 128, 64 + 1);
    float d[kN / 16][8];
    for (auto& row : d)
        for (float& x : row)
            if (mistake != kNeverSet) x = 0;
    if (mistake != kNoFence) ptx::wgmma_fence();
    for (int k = 0; k < kSteps; ++k) {
        if (mistake == kWarpElsewhere && warp == 1 && k == 1)
            ptx::wgmma_m64k16<half>(d, a, b + 2 * k);  // @elsewhere
        else if (mistake != kWarpMissing || warp < 3 || k < 3)
            ptx::wgmma_m64k16<half>(d, a + 2 * k, b + 2 * k);  // @multiply
        if (mistake == kWaitTooLittle) ptx::wgmma_commit_group();
    }
    if (mistake != kNoCommit) ptx::wgmma_commit_group();
    if (mistake == kReadTooEarly) out[thread] = d[0][0];
    if (mistake == kWriteTooEarly) d[0][0] = 0;
    if (mistake == kOverwritten) A[thread / 2][thread % 2] = half(7);  // @overwrite
    if (mistake == kWaitTooLittle) ptx::wgmma_wait_group<2>();  // @few
    else if (mistake != kNoWait) ptx::wgmma_wait_group<0>();  // @wait
    ptx::warpgroup_fence_operand(d);
    if (mistake == kOverwrittenAfterTheWait) B[thread / 2][thread % 2] = half(7);
    if (mistake == kNoFenceAfterZeros) {
        d[1][1] = 0;
        ptx::wgmma_m64k16<half>(d, a, b);  // @again
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
    }
    if (mistake == kReadTooEarly) return;
    for (int i = 0; i < kN / 2; ++i) out[i * 128 + thread] = d[i / 8][i % 8];
}

// Returns whether every element is correct.
bool run(Mistake mistake) {
    Device<float> out(64 * kN, 128.f);
    multiply<<<1, 128>>>(mistake, out.data);
    if (cudaPeekAtLastError() != cudaSuccess) return false;
    bool right = true;
    for (const float x : out.host()) right &= x == 2 * 16 * kSteps;
    return right;
}

TEST_F(Wgmma, Mistakes) {
    const Said no_wait = {"the block ends..wgmma_wait_group() covers the wgmma at @multiply"};
    const std::pair<Mistake, Said> all[] = {
        {kNoProxyFence,
         {"@fill writes what @multiply reads asynchronously, without a fence_proxy_async()"}},
        {kNoBarrier, race("shared", "@fill writes", "@multiply reads")},
        {kNoFence, {"wgmma: no wgmma_fence() before the first one at @multiply"}},
        {kNoFenceAfterZeros, {"wgmma: no wgmma_fence() since..were written at @again"}},
        {kNeverSet, {"wgmma at @multiply adds to accumulators that were never set"}},
        {kNoCommit, no_wait},
        {kNoWait, no_wait},
        {kWaitTooLittle, {no_wait[0] + ": the one at @few leaves the last 2 groups"}},
        {kWriteTooEarly, {"wgmma: accumulators were written..at @multiply was in flight at @wait"}},
        {kOverwritten, {"race in shared memory: @overwrite writes what @multiply reads"}},
        {kWarpElsewhere, {"wgmma: the warps of the warpgroup call different ones"}},
        {kWarpMissing, {"deadlock..wait at @wait, for a wgmma that not all"}},
        {kOtherOperands, {"wgmma: the warps..@multiply, of other operands at @multiply"}},
        {kLaneDiffers, {"wgmma: lanes 0 and 8 give different operands at @multiply"}},
        {kNoDescriptor, {"wgmma: that is not a descriptor..at @multiply"}},
        {kPastTheEnd, {"out of bounds: @multiply reads 16 bytes"}},
    };
    in_every_order([] {
        EXPECT_TRUE(run(kNone));
        EXPECT_TRUE(run(kOverwrittenAfterTheWait));  // complete for one warp, complete for all
        expect_silence();
    });
    for (const auto& [mistake, said] : all) {
        SCOPED_TRACE(said[0]);
        in_every_order([&, mistake = mistake, said = said] {
            EXPECT_TRUE(!run(mistake) || said[0].rfind(no_wait[0], 0) != 0);
            expect_some(said);
        });
    }
}

// Each block has a warpgroup and one more warp, so that in the cluster the second warpgroup begins
// at warp 5. The rows of A differ, so that a warp with wrong rows is noticed.
__global__ void CLUSTER_DIMS(2) __launch_bounds__(160) five_warps(float* out) {
    extern __shared__ __align__(1024) half tiles[];
    half(*const A)[64] = (half(*)[64])tiles, (*const B)[64] = A + 64;
    const int thread = threadIdx.x;
    for (int i = thread; i < 64 * 64; i += 160)
        A[i / 64][i % 64] = half(i / 64), B[i / 64][i % 64] = half(1);
    ptx::fence_proxy_async();
    __syncthreads();
    if (thread >= 128) return;
    float d[kN / 2];
    ptx::wgmma_fence();
    ptx::wgmma_m64k16<half>(d, ptx::wgmma_descriptor(A, 128, 64), ptx::wgmma_descriptor(B, 128, 64),
                            false);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::warpgroup_fence_operand(d);
    out[blockIdx.x * 128 + thread] = d[0];  // of row 16 * warp + lane / 4
}
TEST_F(Wgmma, WarpgroupsOfAClustersBlocks) {
    Device<float> out(256);
    in_every_order([&] {
        five_warps<<<2, 160, 2 * 64 * 64 * sizeof(half)>>>(out.data);
        expect_silence();
        for (int i = 0; i < 256; ++i)
            EXPECT_EQ(out.host()[i], 16 * (i % 128 / 32 * 16 + i % 32 / 4));
    });
}

TEST_F(Wgmma, AccumulatorsAreNaNUntilTheWait) {
    in_every_order([] {
        Device<float> out(128);
        multiply<<<1, 128>>>(kReadTooEarly, out.data);
        for (const float x : out.host()) EXPECT_TRUE(std::isnan(x));
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
    const struct {
        int swizzle, stride, offset;
        const char *from, *said;
        int architecture = 90;
    } all[] = {
        {48, 16, 0, nullptr, "wgmma_descriptor: a swizzle of 48 bytes..at @describe"},
        {32, -1, 0, nullptr, "wgmma_descriptor: -1 units of 16 bytes..at @describe"},
        {32, 1 << 14, 0, nullptr, "wgmma_descriptor: 16384 units of 16 bytes..at @describe"},
        {32, 16, 8, nullptr, "wgmma_descriptor: ..multiple of 16 at @describe"},
        {32, 16, 0, global.data, "wgmma_descriptor: ..not in shared memory at @describe"},
        {32, 16, 0, nullptr, "wgmma: a warpgroup has 128 threads..at @few"},
        {32, 16, 0, nullptr, "wgmma_fence: needs sm_90, not sm_75 at @fence", 75},
    };
    for (const auto& row : all) {
        emulator::set_architecture(row.architecture);
        describe<<<1, 96>>>(row.swizzle, row.stride, row.offset, row.from);
        expect_failure({row.said});
    }
}

// ---- setmaxnreg ---------------------------------------------------------------------------------

enum Registers { kFine, kUneven, kTooFew, kTooMany, kRounded, kOneWarp };
template <Registers kind>
__device__ void share_registers() {
    constexpr int kFewer = kind == kTooFew ? 16 : kind == kRounded ? 32 : 24;
    if (threadIdx.x < 128) {
        if (kind != kOneWarp || threadIdx.x < 32) ptx::warpgroup_reg_dealloc<kFewer>();  // @fewer
    } else {
        ptx::warpgroup_reg_alloc<kind == kUneven ? 225 : kind == kTooMany ? 256 : 240>();  // @more
    }
}
template <Registers kind>
__global__ void __launch_bounds__(384) bounded() {
    share_registers<kind>();
}
__global__ void unbounded() { share_registers<kFine>(); }

TEST_F(Wgmma, Setmaxnreg) {
    bounded<kFine><<<1, 384>>>();
    expect_silence();
    bounded<kUneven><<<1, 384>>>();
    expect_failure({"warpgroup_reg_alloc: 225 registers..at @more"});
    bounded<kTooFew><<<1, 384>>>();
    expect_failure({"warpgroup_reg_dealloc: 16 registers..at @fewer"});
    bounded<kTooMany><<<1, 384>>>();
    expect_failure(
        {"warpgroup_reg_alloc: ..68608 registers, and the block has 64512 at @more"
         "..(warpgroup_reg_dealloc at @fewer)..(warpgroup_reg_alloc at @more)"});
    bounded<kRounded><<<1, 384>>>();  // 65536 / 384 is 170, of which 168 can be allocated
    expect_failure({"warpgroup_reg_alloc: ..65536 registers, and the block has 64512 at @more"});
    bounded<kOneWarp><<<1, 384>>>();
    expect_some({"the block ends..24 and 0 registers"});
    bounded<kFine><<<1, 320>>>();
    expect_failure({"warpgroup_reg_alloc: a warpgroup has 128 threads..at @more"});
    unbounded<<<1, 384>>>();
    expect_failure({"warpgroup_reg_dealloc: ..no __launch_bounds__ at @fewer"});
}

}  // namespace
