// The product by WMMA is NaN or huge as soon as there are several blocks.
// Seen: unset
// Cause: fill_fragment() is missing: the accumulator begins with what the registers hold.
// Source: https://github.com/tile-ai/tilelang/issues/2936
// Says: uninitialised variable
#include <mma.h>
#define MULTIPLES 16, 16, 16
using namespace nvcuda;
__global__ void multiply(int N, int K, const half* A, const half* B, float* C) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
#ifdef FIXED
    wmma::fill_fragment(c, 0);
#endif
    const int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        wmma::mma_sync(c, a, b, c);  // <- here
    }
    wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
}
void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    multiply<<<dim3(N / 16, M / 16), 32>>>(N, K, A, B, C);
}
