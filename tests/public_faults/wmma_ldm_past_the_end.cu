// load_matrix_sync() ends with an illegal address, but only if N is larger than K.
// Seen: crashes
// Cause: it gets N as the leading dimension of A, whose rows have K elements.
// Source: https://github.com/NVIDIA/cuda-samples/issues/5
// Says: of a fragment whose ldm is 272
// Says: just past the end of
#define MULTIPLES 16, 16, 16
#include <mma.h>
using namespace nvcuda;
__global__ void multiply(int N, int K, const half* A, const half* B, float* C) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
#ifdef FIXED
    const int lda = K;
#else
    const int lda = N;
#endif
    wmma::fill_fragment(sums, 0.0f);
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, lda);  // <- here
        wmma::load_matrix_sync(b, B + k * N + column, N);
        wmma::mma_sync(sums, a, b, sums);
    }
    wmma::store_matrix_sync(C + row * N + column, sums, N, wmma::mem_row_major);
}
void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    multiply<<<dim3(N / 16, M / 16), 32>>>(N, K, A, B, C);
}
