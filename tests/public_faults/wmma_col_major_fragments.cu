// WMMA gives a wrong product, though the layouts and ldm look correct.
// Seen: wrong_product
// Cause: A and B are stored row by row, and their fragments say col_major.
// Source: https://forums.developer.nvidia.com/t/wmma-load-mma-sync-api/265654
// Says: A is read at [col * M or N or K + row], as column-major, not at [row * K + col]
// Says: B is read at [col * M or N or K + row], as column-major, not at [row * N + col]
#define MULTIPLES 16, 16, 16
#include <mma.h>
using namespace nvcuda;
#ifdef FIXED
using Layout = wmma::row_major;
#else
using Layout = wmma::col_major;
#endif
__global__ void multiply(int N, int K, const half* A, const half* B, float* C) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, Layout> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, Layout> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);  // <- here
        wmma::load_matrix_sync(b, B + k * N + column, N);  // <- here
        wmma::mma_sync(sums, a, b, sums);
    }
    wmma::store_matrix_sync(C + row * N + column, sums, N, wmma::mem_row_major);
}
void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    multiply<<<dim3(N / 16, M / 16), 32>>>(N, K, A, B, C);
}
