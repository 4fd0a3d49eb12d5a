// The epilogue of a warpgroup whose tile TMA stores to C: how the accumulators are written to
// shared memory first. 11_wgmma/2_tma_store.cu explains it, and 12's programs include it from here.
#pragma once

#include <cuda_runtime.h>

// Stores 64 x 64 accumulators of a warpgroup to a pair of boxes of 64 x 32 in shared memory, with
// the swizzle of 128 bytes that C's tensor map has. acc: the thread's accumulators, of 8 tiles of
// 16 x 8 of its warp.
template <int kRows>
__device__ __forceinline__ void store_to_boxes(float (&pair)[2][kRows][32], const float (*acc)[4],
                                               int warp, int lane) {
#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int r = lane / 4; r < 16; r += 8) {  // the two rows whose accumulators the lane has
            // Odd rows are two tiles further on, so that the lanes of a request write to different
            // banks. The choice is made by ?:, because registers have no index.
            const int t = r % 2 ? j ^ 2 : j, h = r / 8 * 2;
            const float x = r % 2 ? acc[j ^ 2][h] : acc[j][h];
            const float y = r % 2 ? acc[j ^ 2][h + 1] : acc[j][h + 1];
            const int b_row = warp % 4 * 16 + r, b_col = 8 * t + lane % 4 * 2;
            // The swizzle exchanges chunks of 16 bytes, which are 4 floats, as in As.
            *(float2*)&pair[b_col / 32][b_row][(b_col ^ b_row % 8 * 4) % 32] = {x, y};
        }
}
