// ldmatrix returns other elements than I expect.
// Seen: wrong_result
// Cause: each lane passes the address of its own element, where lanes 0 to 7 must pass those of the matrix's rows.
// Source: https://forums.developer.nvidia.com/t/help-with-ldmatrix-instruction/333666
// Says: ldmatrix: the row of lane 1 is not aligned to 16 bytes
#include <cuda_fp16.h>

#include "common/ptx/ptx.cuh"
__global__ void load(const half* in, half2* out) {
    __shared__ __align__(16) half rows[32][8];
    for (int i = 0; i < 8; ++i) rows[threadIdx.x][i] = in[threadIdx.x * 8 + i];
    __syncwarp();
    half2 fragment[4];
#ifdef FIXED
    const half* mine = rows[threadIdx.x];
#else
    const half* mine = &rows[threadIdx.x / 4][threadIdx.x % 4 * 2];
#endif
    ptx::ldmatrix_x4(fragment, mine);  // <- here
    for (int i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = fragment[i];
}
int main() {
    half* in;
    half2* out;
    cudaMalloc(&in, 256 * sizeof(half)), cudaMalloc(&out, 128 * sizeof(half2));
    cudaMemset(in, 0, 256 * sizeof(half));
    load<<<1, 32>>>(in, out);
    cudaDeviceSynchronize();
    cudaFree(in), cudaFree(out);
}
