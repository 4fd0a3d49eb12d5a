// The kernel with TMA hangs after some tiles, but only for data with many zeros.
// Seen: hangs
// Cause: a warp that has nothing to do in a tile leaves the loop's body before it releases the buffer.
// Source: own
// Says: which was made at mbarrier empty[
// Says: 1 of 2 arrivals have been made (thread 0 at
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
    float total = 0;
    for (int t = 0; t < tiles && threadIdx.x <= 64; ++t) {
        const int s = t % kStages, round = t / kStages;
        if (threadIdx.x == 64) {
            ptx::mbarrier_wait_parity(&empty[s], (round + 1) % 2);  // <- here
            ptx::mbarrier_arrive_expect_tx(&full[s], sizeof tile[s]);
            ptx::cp_async_bulk_tensor(tile[s], &map, 0, 16 * t, &full[s]);
        } else {
            ptx::mbarrier_wait_parity(&full[s], round % 2);  // <- here
            const float weight = tile[s][threadIdx.x / 32];
#ifndef FIXED
            if (weight == 0) continue;
#endif
            if (weight != 0)
                for (int i = threadIdx.x; i < 256; i += 64) total += weight * tile[s][i];
            ptx::fence_proxy_async();
            __syncwarp();
            if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&empty[s]);  // <- here
        }
    }
    if (threadIdx.x < 64) out[threadIdx.x] = total;
}
int main() {
    float *in, *out, ones[256], h[5 * 256] = {};
    for (float& x : ones) x = 1;
    for (int t = 0; t < 5; ++t)
        for (int i = 0; i < 256; ++i) h[t * 256 + i] = t == 1 && i == 1 ? 0 : ones[i];
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, 64 * sizeof(float));
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    sum<<<1, 96>>>(tensor_map(in, 80, 16, 16, 16), out, 5);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
