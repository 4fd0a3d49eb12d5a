// The first tile is zeros or old data, and later the kernel with TMA hangs or fails.
// Seen: hopper
// Cause: the thread arrives without expecting any bytes (expect_tx), so the wait returns before the copy completes.
// Source: https://sweetapi.com/biondizzle/nvfp4-megamoe-kernel/commits/commit/bd4f09d514a98472ddf550e444cbc2c033347498
// Says: no mbarrier_arrive_expect_tx() expects any bytes
// Says: race in shared memory
#include "common/ptx/ptx.cuh"
#include "common/tensor_map.h"
__global__ void twice(const __grid_constant__ CUtensorMap map, float* out, int steps) {
    __shared__ __align__(128) float tile[16][16];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init();
    }
    __syncthreads();
    for (int s = 0; s < steps; ++s) {
        if (threadIdx.x == 0) {
#ifdef FIXED
            ptx::mbarrier_arrive_expect_tx(&full, sizeof tile);
#else
            ptx::mbarrier_arrive(&full);
#endif
            ptx::cp_async_bulk_tensor(tile, &map, 0, s * 16, &full);  // <- here
        }
        ptx::mbarrier_wait_parity(&full, s % 2);
        for (int i = threadIdx.x; i < 256; i += 32)
            out[s * 256 + i] = 2 * tile[i / 16][i % 16];  // <- here
        ptx::fence_proxy_async();
        __syncthreads();
    }
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 3072), cudaMalloc(&out, 3072);
    cudaMemset(in, 0, 3072);
    twice<<<1, 32>>>(tensor_map(in, 48, 16, 16, 16), out, 3);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
