// TMA loads the first row of a tile correctly, and then other rows than it should.
// Seen: hopper
// Cause: globalStrides of a tensor map is in bytes, and the program gives the number of elements.
// Source: https://github.com/tile-ai/tilelang/pull/2871
// Hint: rows overlap: globalStrides[0] is 32, and a row, globalDim[0], has 128 bytes
#include <cuda.h>

#include "common/ptx/ptx.cuh"

constexpr cuuint64_t kColumns = 32, kRows = 8;

__global__ void copy(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ __align__(128) float tile[kRows][kColumns];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init();
        ptx::mbarrier_arrive_expect_tx(&full, sizeof tile);
        ptx::cp_async_bulk_tensor(tile, &map, 0, 0, &full);
    }
    __syncthreads();
    ptx::mbarrier_wait_parity(&full, 0);
    for (int row = 0; row < kRows; ++row)
        out[row * kColumns + threadIdx.x] = tile[row][threadIdx.x];
}

int main() {
    float *in, *out;
    cudaMalloc(&in, kRows * kColumns * sizeof(float));
    cudaMalloc(&out, kRows * kColumns * sizeof(float));
    cudaMemset(in, 0, kRows * kColumns * sizeof(float));
    const cuuint64_t extents[] = {kColumns, kRows};
#ifdef FIXED
    const cuuint64_t strides[] = {kColumns * sizeof(float)};
#else
    const cuuint64_t strides[] = {kColumns};
#endif
    const cuuint32_t box[] = {kColumns, kRows}, steps[] = {1, 1};
    CUtensorMap map;
    cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, in, extents,  // <- here
                           strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                           CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    copy<<<1, kColumns>>>(map, out);
    cudaDeviceSynchronize();
    cudaFree(in);
    cudaFree(out);
}
