// The fused kernel is wrong for small K, as if the last products came too late; compute-sanitizer reports nothing.
// Seen: hopper
// Cause: the accumulators are read before wgmma_wait_group<0>() has waited for the last group.
// Source: https://github.com/NVIDIA/Fuser/pull/3573
// Says: no wgmma_wait_group() covers the wgmma
#define MULTIPLES 64, 64, 64
#include "common/ptx/hopper.cuh"
#include "common/tensor_map.h"
__global__ void __launch_bounds__(128) multiply(int K, int N, const __grid_constant__ CUtensorMap A,
                                                const __grid_constant__ CUtensorMap B, float* C) {
    __shared__ __align__(1024) half a[64][64], b[64][64];
    __shared__ uint64_t full;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) ptx::mbarrier_init(&full, 1), ptx::fence_mbarrier_init();
    __syncthreads();
    float d[8][4];
    for (int k = 0, parity = 0; k < K; k += 64, parity ^= 1) {
        if (threadIdx.x == 0) {
            ptx::mbarrier_arrive_expect_tx(&full, sizeof a + sizeof b);
            ptx::cp_async_bulk_tensor(a, &A, k, row, &full);
            ptx::cp_async_bulk_tensor(b, &B, column, k, &full);
        }
        ptx::mbarrier_wait_parity(&full, parity);
        ptx::wgmma_fence();
        for (int s = 0; s < 64; s += 16) {
            const auto da = ptx::wgmma_descriptor(&a[0][s], 128, 64);
            const auto db = ptx::wgmma_descriptor(&b[s][0], 128, 64, 512);
            ptx::wgmma_m64k16<half, 0, 1>(d, da, db, k + s > 0);  // <- here
        }
        ptx::wgmma_commit_group();
#ifdef FIXED
        ptx::wgmma_wait_group<0>();
#else
        if (k + 64 < K) ptx::wgmma_wait_group<0>();
#endif
        __syncthreads();
    }
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 4; ++i)
            C[(row + threadIdx.x / 32 * 16 + lane / 4 + i / 2 * 8) * N + column + j * 8 +
              lane % 4 * 2 + i % 2] = d[j][i];
}
void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const auto a = tensor_map(A, M, K, 64, 64, 128), b = tensor_map(B, K, N, 64, 64, 128);
    multiply<<<dim3(N / 64, M / 64), 128>>>(K, N, a, b, C);
}
