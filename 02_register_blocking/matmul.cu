// One thread computes 8 x 8 elements of C and keeps their sums in registers. Eight elements of A
// and eight of B then feed 64 multiply-adds instead of 8: 2 flop per byte instead of 0.25.
//
//                    B  K x N
//                    . [=== 8 ===] .     b: 8 adjacent elements of a row of B
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    . 8 .           . [  8 x 8  ] .     a: 8 adjacent elements of a column of A
//    . | .           .  . . . . .  .
//
// Changed:  a thread computes 8 x 8 elements of C, and a block of 16 x 16 threads 128 x 128.
#include "common/stage.h"

constexpr int kThreadM = 8;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;

__global__ void __launch_bounds__(kThreads)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int row = blockIdx.x / tiles_n * kTileM + threadIdx.x / 16 * kThreadM;
    const int col = blockIdx.x % tiles_n * kTileN + threadIdx.x % 16 * kThreadN;
    if (row >= M || col >= N) return;

    // Past the edge of C a thread reads the last row or column again. Those sums are not stored.
    const float* a_from[kThreadM];
    const float* b_from[kThreadN];
    for (int i = 0; i < kThreadM; ++i) a_from[i] = A + size_t(min(row + i, M - 1)) * K;
    for (int j = 0; j < kThreadN; ++j) b_from[j] = B + min(col + j, N - 1);

    float acc[kThreadM][kThreadN] = {};
    for (int k = 0; k < K; ++k) {
        float a[kThreadM], b[kThreadN];
        for (int i = 0; i < kThreadM; ++i) a[i] = a_from[i][k];
        for (int j = 0; j < kThreadN; ++j) b[j] = b_from[j][size_t(k) * N];
        for (int i = 0; i < kThreadM; ++i)
            for (int j = 0; j < kThreadN; ++j) acc[i][j] += a[i] * b[j];
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; ++j) {
            const int c_row = row + i, c_col = col + j;
            if (c_row < M && c_col < N) C[size_t(c_row) * N + c_col] = acc[i][j];
        }
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    matmul<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

// Each thread with a part of C loads 8 elements of A and 8 of B at every k.
double loaded_elements(double M, double N, double K) {
    return K * (kThreadM + kThreadN) * std::ceil(M / kThreadM) * std::ceil(N / kThreadN);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements};
    return run_stage(launch_matmul, facts, argc, argv);
}
