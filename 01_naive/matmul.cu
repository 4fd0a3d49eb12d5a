// One thread computes one element of C, the dot product of a row of A and a column of B. The 32
// lanes of a warp compute 32 adjacent elements of C. So each load of B reads 128 contiguous bytes
// (it is coalesced), and each load of A reads one address for the whole warp (a broadcast).
//
//                B  K x N
//                . . | . .
//                . . | . .
//                . . v . .
//    A  M x K    C  M x N
//    . . . .     . . . . .
//    ------>     . . c . .        c = C[row][col] = sum over k of A[row][k] * B[k][col]
//    . . . .     . . . . .
#include "common/stage.h"

constexpr int kTileM = 16;  // rows of C per block, one warp each
constexpr int kTileN = 32;  // columns of C per block, one lane each
constexpr int kThreads = kTileM * kTileN;

static_assert(kTileN == 32, "a warp's lanes share a row, so that its loads of B are contiguous");

__global__ void __launch_bounds__(kThreads)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int row = blockIdx.x / tiles_n * kTileM + threadIdx.x / kTileN;
    const int col = blockIdx.x % tiles_n * kTileN + threadIdx.x % kTileN;
    if (row >= M || col >= N) return;

    float acc = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = A[size_t(row) * K + k];  // size_t: 46341 x 46341 overflow an int
        const float b = B[size_t(k) * N + col];
        acc += a * b;
    }
    C[size_t(row) * N + col] = acc;
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    matmul<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

// Nothing is reused: each of the M * N threads loads a whole row of A and a whole column of B.
double loaded_elements(double M, double N, double K) { return 2 * K * M * N; }

int main(int argc, char** argv) {
    Facts facts = {loaded_elements};
    return run_stage(launch_matmul, facts, argc, argv);
}
