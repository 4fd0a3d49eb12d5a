// A circular buffer of two tiles: the first results are garbage, and then an arrival too many ends the kernel.
// Seen: hopper
// Cause: each wait is for parity 1, so it returns at once in the phases with parity 0, such as the first.
// Source: https://github.com/facebookexperimental/CUTracer/pull/106
// Says: for parity 1, returned at once
// Says: race in shared memory
#include "common/ptx/ptx.cuh"
#include "common/tensor_map.h"
__global__ void twice(const __grid_constant__ CUtensorMap map, float* out, int steps) {
    __shared__ __align__(128) float tile[2][16][16];
    __shared__ uint64_t full[2];
    if (threadIdx.x == 0) {
        for (uint64_t& each : full) ptx::mbarrier_init(&each, 1);
        ptx::fence_mbarrier_init();
    }
    __syncthreads();
    const auto load = [&](int s) {
        if (threadIdx.x != 0 || s >= steps) return;
        ptx::mbarrier_arrive_expect_tx(&full[s % 2], sizeof tile[0]);
        ptx::cp_async_bulk_tensor(tile[s % 2], &map, 0, s * 16, &full[s % 2]);  // <- here
    };
    load(0);
    for (int s = 0; s < steps; ++s) {
        load(s + 1);
#ifdef FIXED
        ptx::mbarrier_wait_parity(&full[s % 2], s / 2 % 2);
#else
        ptx::mbarrier_wait_parity(&full[s % 2], 1);  // <- here
#endif
        for (int i = threadIdx.x; i < 256; i += 32)
            out[s * 256 + i] = 2 * tile[s % 2][i / 16][i % 16];  // <- here
        ptx::fence_proxy_async();
        __syncthreads();
    }
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 6144), cudaMalloc(&out, 6144);
    cudaMemset(in, 0, 6144);
    twice<<<1, 32>>>(tensor_map(in, 96, 16, 16, 16), out, 6);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
