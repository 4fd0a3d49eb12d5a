// The epilogue of a consumer warpgroup, by TMA, as 11_wgmma/2_tma_store.cu teaches it: accumulators
// go to boxes in shared memory, and TMA stores the boxes while the warpgroup goes on.
#pragma once

#include "common/ptx/hopper.cuh"

class TmaEpilogue {
public:
    using Pair = float[2][64][32];  // two boxes: 64 rows of 64 columns of C, 16 KiB
    // pairs: two pairs in shared memory that no other warpgroup uses, on multiples of 1024 bytes.
    // C: a tensor map with boxes of 64 x 32 floats and a swizzle of 128 bytes.
    __device__ TmaEpilogue(Pair* pairs, const CUtensorMap& C) : pairs_(pairs), C_(C) {}
    // Stores 64 x 64 accumulators to C from that row and column on. acc: the thread's, in eight
    // fragments of 16 x 8 side by side in its warp's 16 rows. All threads of the warpgroup call it.
    __device__ __forceinline__ void store(const float (*acc)[4], int row, int col) {
        const int warpgroup = threadIdx.x / 128, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const bool leader = threadIdx.x % 128 == 0;
        Pair& pair = pairs_[next_];
        next_ ^= 1;
        if (leader) ptx::cp_async_bulk_wait_group_read<1>();
        ptx::named_barrier_sync(1 + warpgroup, 128);  // the pair is free
#pragma unroll
        for (int j = 0; j < 8; ++j)
            // The lane has accumulators of two rows, r. In an odd row fragments j and j ^ 2 change
            // places, so that the lanes of a request write to different banks. The choice is made
            // by ?:, because registers can't be indexed at run time.
            for (int r = lane / 4; r < 16; r += 8) {
                const int t = r % 2 ? j ^ 2 : j, h = r / 8 * 2;
                const float x = r % 2 ? acc[j ^ 2][h] : acc[j][h];
                const float y = r % 2 ? acc[j ^ 2][h + 1] : acc[j][h + 1];
                const int b_row = warp % 4 * 16 + r, b_col = 8 * t + lane % 4 * 2;
                // The swizzle permutes chunks of 16 bytes, which are 4 floats, as in As.
                *(float2*)&pair[b_col / 32][b_row][(b_col ^ b_row % 8 * 4) % 32] = {x, y};
            }
        ptx::fence_proxy_async();
        ptx::named_barrier_sync(1 + warpgroup, 128);  // the pair is full
        for (int j = 0; leader && j < 64; j += 32)
            ptx::cp_async_bulk_tensor(&C_, col + j, row, pair[j / 32]);
        if (leader) ptx::cp_async_bulk_commit_group();
    }
    // Waits until TMA has read the boxes, which must outlive its reads. Called before a block ends.
    __device__ void finish() {
        if (threadIdx.x % 128 == 0) ptx::cp_async_bulk_wait_group_read<0>();
    }

private:
    Pair* pairs_;
    const CUtensorMap& C_;
    int next_ = 0;  // the pair that is used next
};
