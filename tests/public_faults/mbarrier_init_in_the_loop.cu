// The first tile arrives, and in the second round the kernel hangs or reads old data.
// Seen: hangs
// Cause: mbarrier_init() is inside the loop over the tiles, while the mbarrier is in use.
// Source: https://sweetapi.com/biondizzle/nvfp4-megamoe-kernel/commits/commit/bd4f09d514a98472ddf550e444cbc2c033347498
// Says: mbarrier full is already initialised
#include "common/ptx/ptx.cuh"
#include "common/tensor_map.h"
__global__ void copy(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ __align__(128) float tile[16][16];
    __shared__ uint64_t full;
#ifdef FIXED
    if (threadIdx.x == 0) ptx::mbarrier_init(&full, 1), ptx::fence_mbarrier_init();
#endif
    for (int step = 0; step < 3; ++step) {
        if (threadIdx.x == 0) {
#ifndef FIXED
            ptx::mbarrier_init(&full, 1);  // <- here
            ptx::fence_mbarrier_init();
#endif
            ptx::mbarrier_arrive_expect_tx(&full, sizeof tile);
            ptx::cp_async_bulk_tensor(tile, &map, 0, step * 16, &full);
        }
        __syncthreads();
#ifdef FIXED
        ptx::mbarrier_wait_parity(&full, step % 2);
#else
        ptx::mbarrier_wait_parity(&full, 0);
#endif
        for (int i = threadIdx.x; i < 256; i += 32) out[step * 256 + i] = tile[i / 16][i % 16];
        __syncthreads();
    }
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 3072), cudaMalloc(&out, 3072);
    cudaMemset(in, 0, 3072);
    copy<<<1, 32>>>(tensor_map(in, 48, 16, 16, 16), out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
