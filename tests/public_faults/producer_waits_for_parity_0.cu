// With 1 as the first parity of the producer's wait it works, and with 0 it loops forever. Why?
// Seen: hangs
// Cause: no consumer has arrived when the first round begins; a wait for parity 1 returns at once there.
// Source: https://github.com/Dao-AILab/flash-attention/issues/1317
// Says: none of 2 arrivals has been made
// Says: one of the waits must return at once in the first round, as one for parity 1 does
#include "common/ptx/ptx.cuh"
#include "common/tensor_map.h"
constexpr int kStages = 2;
__global__ void sum(const __grid_constant__ CUtensorMap map, float* out, int tiles) {
    __shared__ __align__(128) float tile[kStages][256];
    __shared__ uint64_t full[kStages], empty[kStages];
    for (int s = 0; threadIdx.x == 0 && s < kStages; ++s) {
        ptx::mbarrier_init(&full[s], 1);
        ptx::mbarrier_init(&empty[s], 2);  // both warps of consumers
    }
    if (threadIdx.x == 0) ptx::fence_mbarrier_init();
    __syncthreads();
    const bool produces = threadIdx.x >= 64;
    float total = 0;
    for (int t = 0; t < tiles && threadIdx.x <= 64; ++t) {
        const int s = t % kStages, round = t / kStages;
        if (produces) {
#ifdef FIXED
            ptx::mbarrier_wait_parity(&empty[s], (round + 1) % 2);
#else
            ptx::mbarrier_wait_parity(&empty[s], round % 2);  // <- here
#endif
            ptx::mbarrier_arrive_expect_tx(&full[s], sizeof tile[s]);
            ptx::cp_async_bulk_tensor(tile[s], &map, 0, 16 * t, &full[s]);
        } else {
            ptx::mbarrier_wait_parity(&full[s], round % 2);  // <- here
            for (int i = threadIdx.x; i < 256; i += 64) total += tile[s][i];
            ptx::fence_proxy_async();
            __syncwarp();
            if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&empty[s]);
        }
    }
    if (!produces) out[threadIdx.x] = total;
}
int main() {
    float *in, *out;
    const int tiles = 5;
    cudaMalloc(&in, tiles * 1024), cudaMalloc(&out, 64 * sizeof(float));
    cudaMemset(in, 0, tiles * 1024);
    sum<<<1, 96>>>(tensor_map(in, tiles * 16, 16, 16, 16), out, tiles);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
