// 01_naive: one thread computes one element of C, as the dot product of a row of A and a column of B.
// The 32 lanes of a warp take 32 neighbouring columns: each load of B is then one contiguous stretch of 128 bytes
// (coalesced), and each load of A is one address for the whole warp (a broadcast).
//
//                B  K x N
//                . . | . .
//                . . | . .
//                . . v . .
//    A  M x K    C  M x N
//    . . . .     . . . . .
//    ------>     . . c . .        c = C[row][col] = sum over k of A[row][k] * B[k][col]
//    . . . .     . . . . .
//
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 01_naive/matmul.cu -o 01_naive/matmul -lcublas
// Articles: "CUDA Python 3: matrix product" (Zenn), sections 2 to 4; Fixstars slides 41 to 47
#include "common/harness.h"

constexpr int kTileM = 16;  // rows of C per block, one warp each
constexpr int kTileN = 32;  // columns of C per block, one lane each
constexpr int kThreads = kTileM * kTileN;

static_assert(kTileN == 32,
              "a warp lies along a row of C: only then are its loads of B contiguous");

__global__ void __launch_bounds__(kThreads)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    // Blocks are numbered along one axis: the other axes of a grid end at 65535, and a tall C has more tiles than that.
    const int tiles_n = ceil_div(N, kTileN);
    const int row = blockIdx.x / tiles_n * kTileM + threadIdx.x / kTileN;
    const int col = blockIdx.x % tiles_n * kTileN + threadIdx.x % kTileN;
    if (row >= M || col >= N) return;

    // size_t: a square matrix has more than 2^31 elements from 46341 rows on.
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = A[size_t(row) * K + k];
        const float b = B[size_t(k) * N + col];
        acc += a * b;
    }
    C[size_t(row) * N + col] = acc;
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    matmul<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

int main(int argc, char** argv) {
    Stage stage;
    stage.name = "01_naive";
    stage.launch = launch_matmul;
    // Nothing is reused: each of the M * N threads loads a whole row of A and a whole column of B.
    stage.loaded_elements = [](double M, double N, double K) { return 2 * K * M * N; };
    return run_stage(stage, argc, argv);
}
