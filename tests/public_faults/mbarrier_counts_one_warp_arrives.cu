// Why is the mbarrier's count 1 and not 32, if a whole warp arrives on it?
// Seen: hangs
// Cause: each lane that arrives is one arrival; with a count of 1, one lane arrives for the warp.
// Source: https://github.com/deepseek-ai/DeepEP/pull/293
// Says: one arrival more than the 1 of phase 0
#include "common/ptx/ptx.cuh"
#include "common/tensor_map.h"
__global__ void copy(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ __align__(128) float tile[16][16];
    __shared__ uint64_t full;
    const bool first = threadIdx.x == 0;
    if (first) ptx::mbarrier_init(&full, 1), ptx::fence_mbarrier_init();
    __syncthreads();
#ifdef FIXED
    if (first) ptx::mbarrier_arrive_expect_tx(&full, sizeof tile);
#else
    ptx::mbarrier_arrive_expect_tx(&full, first ? sizeof tile : 0);  // <- here
#endif
    if (first) ptx::cp_async_bulk_tensor(tile, &map, 0, 0, &full);
    ptx::mbarrier_wait_parity(&full, 0);
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
