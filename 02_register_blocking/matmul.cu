// 02_register_blocking: one thread computes 8 x 8 elements of C and keeps their sums in registers.
// Eight elements of A and eight of B now feed 64 multiply-adds instead of 8: a quarter flop per byte becomes 2.
//
// Changed:  a thread owns 8 x 8 elements; a block of 16 x 16 threads owns 128 x 128.
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 02_register_blocking/matmul.cu -o 02_register_blocking/matmul -lcublas
// Articles: Fixstars slides 47 to 49 (their 2 x 2 code multiplies a0 * a0 where it means a0 * b0)
#include "common/harness.h"

constexpr int kThreadM = 8;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;

__global__ void __launch_bounds__(kThreads)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int tiles_n = ceil_div(N, kTileN);
    const int row = blockIdx.x / tiles_n * kTileM + threadIdx.x / 16 * kThreadM;
    const int col = blockIdx.x % tiles_n * kTileN + threadIdx.x % 16 * kThreadN;
    if (row >= M || col >= N) return;

    // Past the edge of C a thread reads the last row or column once more; what it makes of it is not stored.
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
        for (int j = 0; j < kThreadN; ++j)
            if (row + i < M && col + j < N) C[size_t(row + i) * N + col + j] = acc[i][j];
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    matmul<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

int main(int argc, char** argv) {
    Stage stage;
    stage.name = "02_register_blocking";
    stage.launch = launch_matmul;
    // Each thread with a part of C loads 8 elements of A and 8 of B at every k.
    stage.loaded_elements = [](double M, double N, double K) {
        return K * (kThreadM + kThreadN) * std::ceil(M / kThreadM) * std::ceil(N / kThreadN);
    };
    return run_stage(stage, argc, argv);
}
