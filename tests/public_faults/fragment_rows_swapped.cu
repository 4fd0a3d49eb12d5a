// With mma.m16n8k16 and my own stores, the rows of every tile come out in the wrong order.
// Seen: wrong_product
// Cause: registers 0 and 1 of a lane belong to row g, 2 and 3 to row g + 8; the store swaps the two.
// Source: own
// Says: rows i and i + 8 of C are swapped
#define MULTIPLES 16, 8, 16
#include "common/ptx/ptx.cuh"
__global__ void multiply(int N, int K, const half* A, const half* B, float* C) {
    int row = blockIdx.y * 16, column = blockIdx.x * 8, group = threadIdx.x / 4,
        pair = threadIdx.x % 4 * 2;
    float sums[4] = {};
    for (int k = 0; k < K; k += 16) {
        __half2 a[4], b[2];
        for (int i = 0; i < 4; ++i)
            a[i] = *(const __half2*)&A[(row + group + i % 2 * 8) * K + k + pair + i / 2 * 8];
        for (int i = 0; i < 2; ++i) {
            const half* from = &B[(k + pair + i * 8) * N + column + group];
            b[i] = __halves2half2(from[0], from[N]);
        }
        ptx::mma_m16n8k16(sums, a, b);
    }
    for (int i = 0; i < 4; ++i) {
#ifdef FIXED
        int at = row + group + i / 2 * 8;
#else
        int at = row + group + (1 - i / 2) * 8;
#endif
        C[at * N + column + pair + i % 2] = sums[i];  // <- here
    }
}
void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    multiply<<<dim3(N / 8, M / 16), 32>>>(N, K, A, B, C);
}
