// Operations of a warp, traced: shuffles, __syncwarp(), masks, and lanes that do not arrive.
#include "device.h"

namespace {

class Warps : public Base {};

__global__ void shuffles(int* out) {
    const int t = threadIdx.x, n = blockDim.x;
    out[0 * n + t] = __shfl_sync(0xffffffff, t, 3);
    out[1 * n + t] = __shfl_up_sync(0xffffffff, t, 2);
    out[2 * n + t] = __shfl_down_sync(0xffffffff, t, 5);
    out[3 * n + t] = __shfl_xor_sync(0xffffffff, t, 1);
    out[4 * n + t] = __shfl_sync(0xffffffff, t, 9, 8);
    out[5 * n + t] = __shfl_up_sync(0xffffffff, t, 1, 8);
    out[6 * n + t] = __shfl_down_sync(0xffffffff, t, 1, 8);
    out[7 * n + t] = t % 32 < 16 ? __shfl_sync(0xffff, t, 15) : t;
}

TEST_F(Warps, Shuffles) {
    in_every_order([] {
        const int n = 96;
        Device<int> device(8 * n);
        shuffles<<<1, n>>>(device.data);
        expect_silence();
        const auto out = device.host();
        for (int t = 0; t < n; ++t) {
            const int lane = t % 32, first = t - lane;
            const int expected[] = {first + 3,
                                    lane < 2 ? t : t - 2,
                                    lane + 5 > 31 ? t : t + 5,
                                    t ^ 1,
                                    t / 8 * 8 + 1,
                                    t % 8 == 0 ? t : t - 1,
                                    t % 8 == 7 ? t : t + 1,
                                    lane < 16 ? first + 15 : t};
            for (int kind = 0; kind < 8; ++kind)
                EXPECT_EQ(out[kind * n + t], expected[kind]) << kind << ", thread " << t;
        }
    });
}

__global__ void reduce(const double* in, double* out, int n) {
    const int t = threadIdx.x;
    if (t >= n) return;  // the other lanes go on without these
    double sum = in[t];
    for (int delta = 16; delta > 0; delta /= 2) {
        const int from = t % 32 + delta, lanes = min(32, n - t / 32 * 32);
        const double other = __shfl_sync(0xffffffff, sum, from < lanes ? from : t % 32);
        if (from < lanes) sum += other;
    }
    if (t % 32 == 0) out[t / 32] = sum;
}

TEST_F(Warps, PartialWarpsAndLanesThatReturned) {
    in_every_order([] {
        for (int threads : {70, 96}) {  // 70: the last warp has 6 threads; 96: 26 of its 32 return
            Device<double> in(70, 1.0), out(3);
            reduce<<<1, threads>>>(in.data, out.data, 70);
            EXPECT_EQ(out.host(), (std::vector<double>{32, 32, 6}));
            expect_silence();
        }
    });
}

__global__ void swap_in_warp(int* out, bool sync, int distance) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;  // @write
    __syncwarp();
    const int other = s[t ^ 1];
    __syncwarp();
    s[t] = other;  // @again
    if (sync) __syncwarp();
    out[t] = s[t ^ distance];  // @read
}

TEST_F(Warps, SyncwarpOrdersTheLanesOfOneWarp) {
    in_every_order([&] {
        swap_in_warp<<<1, 64>>>(ints.data, true, 31);
        for (int t = 0; t < 64; ++t) EXPECT_EQ(ints.host()[t], t ^ 30);
        expect_silence();
        swap_in_warp<<<1, 64>>>(ints.data, false, 31);
        expect_some({"@again writes what @read reads", "@read reads what @again writes"});
        swap_in_warp<<<1, 64>>>(ints.data, true, 32);  // from the other warp
        expect_some({"@again writes what @read reads", "@read reads what @again writes",
                     "uninitialised shared memory: @read reads"});
    });
}

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

TEST_F(Warps, PartialMasksOrderTheirLanes) {
    partial_masks<<<1, 8>>>(ints.data, 0xff);
    readers_in_groups<<<1, 16>>>(ints.data, 0xffff);
    expect_silence();
    in_every_order([&] {
        partial_masks<<<1, 8>>>(ints.data, 0x0f);  // lanes 4 to 7 do not take part
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

// ---- Wrong uses ---------------------------------------------------------------------------------

enum Fault {
    kFromOutside,
    kFromReturned,
    kFromMissing,
    kOddWidth,
    kOtherMask,
    kInBranch,
    kTwoBranches,
    kMaskWithoutSelf,
    kBlockBarrier,
};
__global__ void misuse(Fault fault) {
    const int t = threadIdx.x;
    unsigned mask = 0xffffffff;
    if (fault == kFromOutside && t < 16) __shfl_sync(0xffff, 1, 20);  // @outside
    if (fault == kFromReturned && t >= 16) return;  // @return
    if (fault == kFromReturned) __shfl_xor_sync(mask, 1, 16);  // @returned
    if (fault == kFromMissing) __shfl_down_sync(mask, 1, 4);  // @missing
    if (fault == kOddWidth) __shfl_sync(mask, 1, 0, 12);  // @width
    if (fault == kOtherMask) __syncwarp(t < 16 ? mask : 0xfffffffe);  // @masks
    if (fault == kMaskWithoutSelf) __syncwarp(t == 0 ? 0xfffffffe : mask);  // @self
    if (fault == kInBranch && t < 16) __shfl_down_sync(mask, 1, 8);  // @branch
    if (fault == kInBranch) __syncwarp();  // @after
    if (fault == kTwoBranches && t < 16) __shfl_sync(mask, 1, 1);  // @one
    if (fault == kTwoBranches && t >= 16) __shfl_sync(mask, 1, 2);  // @other
    if (fault == kBlockBarrier && t == 5) __syncthreads();  // @block
    if (fault == kBlockBarrier) __syncwarp();  // @lonely
    if (fault == kBlockBarrier && t != 5) __syncthreads();
}

TEST_F(Warps, NeedTheirPartners) {
    const std::pair<Fault, const char*> faults[] = {
        {kFromOutside, "__shfl_sync at @outside reads lane 20..not in the mask 0xffff..thread 0"},
        {kFromReturned,
         "__shfl_xor_sync at @returned reads lane 16..returned at @return (..thread 0"},
        {kFromMissing, "__shfl_down_sync at @missing reads lane 30..not exist..thread 26"},
        {kOddWidth, "__shfl_sync of width 12..@width..thread 0"},
        {kOtherMask,
         "warp divergence: thread 1 calls __syncwarp at @masks..0xffffffff..thread 16 "
         "calls __syncwarp at @masks..0xfffffffe"},
        {kInBranch,
         "warp divergence: thread 0 calls __shfl_down_sync at @branch..thread 16 calls "
         "__syncwarp at @after"},
        {kTwoBranches, "warp divergence: thread 0 calls __shfl_sync at @one..thread 16..@other"},
        {kMaskWithoutSelf, "mask 0xfffffffe at @self lacks..__syncwarp, lane 0..thread 0"},
        {kBlockBarrier,
         "warp divergence: threads 0 to 4 and 6 to 31..@lonely..never arrive there: thread 5 waits at @block"},
    };
    for (const auto& [fault, said] : faults) {
        misuse<<<1, fault == kFromMissing ? 30 : 32>>>(fault);
        expect_failure({said});
    }
}

}  // namespace
