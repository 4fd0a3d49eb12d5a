// The kernel with TMA hangs in its first wait.
// Seen: hangs
// Cause: the mbarrier expects the bytes of two tiles, and one copy brings those of one.
// Source: https://sweetapi.com/biondizzle/nvfp4-megamoe-kernel/commits/commit/bd4f09d514a98472ddf550e444cbc2c033347498
// Says: deadlock: no thread of block 0 can go on
// Says: 1024 of the 2048 bytes that are expected by thread 0 at
#include "common/ptx/ptx.cuh"
#include "common/tensor_map.h"
__global__ void copy(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ __align__(128) float tile[16][16];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init();
#ifdef FIXED
        ptx::mbarrier_arrive_expect_tx(&full, sizeof tile);
#else
        ptx::mbarrier_arrive_expect_tx(&full, 2 * sizeof tile);  // <- here
#endif
        ptx::cp_async_bulk_tensor(tile, &map, 0, 0, &full);
    }
    __syncthreads();
    ptx::mbarrier_wait_parity(&full, 0);  // <- here
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = tile[i / 16][i % 16];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 1024), cudaMalloc(&out, 1024);
    cudaMemset(in, 0, 1024);
    copy<<<1, 32>>>(tensor_map(in, 16, 16, 16, 16), out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
