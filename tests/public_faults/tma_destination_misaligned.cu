// Misaligned address, as soon as TMA loads into the second array in shared memory.
// Seen: crashes
// Cause: the tile's address in shared memory is not a multiple of 128 bytes.
// Source: https://gitmemories.com/NVIDIA/cutlass/issues/1870
// Says: the address in shared memory is not a multiple of 128
#include "common/ptx/ptx.cuh"
#include "common/tensor_map.h"
struct Memory {
    float bias[16];
#ifdef FIXED
    __align__(128) float tile[16][16];
#else
    float tile[16][16];
#endif
};
__global__ void copy(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ __align__(128) Memory memory;
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(&full, sizeof memory.tile);
        ptx::cp_async_bulk_tensor(memory.tile, &map, 0, 0, &full);  // <- here
    }
    __syncthreads();
    ptx::mbarrier_wait_parity(&full, 0);
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = memory.tile[i / 16][i % 16];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 1024), cudaMalloc(&out, 1024);
    cudaMemset(in, 0, 1024);
    copy<<<1, 32>>>(tensor_map(in, 16, 16, 16, 16), out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
