// Every second WMMA tile of C is missing.
// Seen: wrong_product
// Cause: the warp's number is threadIdx.x / 32; in a block of 16 x 16 it is 0 for all, so that they compute one tile.
// Source: own
// Says: C[0][16] was not written
// Says: race in global memory
#define MULTIPLES 16, 32, 16
#include <mma.h>
__global__ void multiply(int M, int N, int K, const half* A, const half* B, float* C) {
    using namespace nvcuda::wmma;
#ifdef FIXED
    int warp = (threadIdx.y * 16 + threadIdx.x) / 32;
#else
    int warp = threadIdx.x / 32;
#endif
    int row = blockIdx.y * 16, column = blockIdx.x * 32 + warp * 16;
    if (warp > 1) return;
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 16) {
        load_matrix_sync(a, A + row * K + k, K);
        load_matrix_sync(b, B + k * N + column, N);
        mma_sync(c, a, b, c);
    }
    store_matrix_sync(C + row * N + column, c, N, mem_row_major);  // <- here
}
void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    multiply<<<dim3(N / 32, M / 16), dim3(16, 16)>>>(M, N, K, A, B, C);
}
