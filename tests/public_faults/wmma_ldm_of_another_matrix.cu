// The product by WMMA is correct for square matrices, and wrong as soon as N and K differ.
// Seen: wrong_product
// Cause: load_matrix_sync() gets K as the leading dimension of B, whose rows have N elements.
// Source: https://github.com/NVIDIA/cuda-samples/issues/5
// Says: of B the distance from row to row is K, not N: is the leading dimension K, where N is due?
#define MULTIPLES 16, 16, 16
#include <mma.h>
using namespace nvcuda;
__global__ void multiply(int N, int K, const half* A, const half* B, float* C) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
#ifdef FIXED
    const int ldb = N;
#else
    const int ldb = K;
#endif
    wmma::fill_fragment(sums, 0.0f);
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + column, ldb);  // <- here
        wmma::mma_sync(sums, a, b, sums);
    }
    wmma::store_matrix_sync(C + row * N + column, sums, N, wmma::mem_row_major);
}
void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    multiply<<<dim3(N / 16, M / 16), 32>>>(N, K, A, B, C);
}
