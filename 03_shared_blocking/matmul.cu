// The 256 threads of a block load their operands into shared memory together. A block loads each of
// its elements from global memory once instead of 16 times: 32 flop per byte instead of 2.
//
//                    B  K x N
//                    . [== 128 ==] .     a row of B's tile -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    .128.           . [128 x 128] .     a column of A's tile -> As
//    . | .           .  . . . . .  .
//
// Changed:  a block fills As and Bs at each k, between barriers; its threads read a and b there.
#include "common/stage.h"

constexpr int kThreadM = 8;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;

static_assert(kTileM + kTileN == kThreads, "at each k a thread loads one element, of A or of B");

__global__ void __launch_bounds__(kThreads)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[kTileM];
    __shared__ float Bs[kTileN];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    const int row = threadIdx.x / 16 * kThreadM;  // within the tile
    const int col = threadIdx.x % 16 * kThreadN;

    float acc[kThreadM][kThreadN] = {};
    for (int k = 0; k < K; ++k) {
        // Past the edge a thread stores zeros. It may not return: others read what it stores.
        const int a_row = threadIdx.x, b_col = threadIdx.x - kTileM;
        if (a_row < kTileM) {
            As[a_row] = tile_row + a_row < M ? A[size_t(tile_row + a_row) * K + k] : 0.0f;
        } else {
            Bs[b_col] = tile_col + b_col < N ? B[size_t(k) * N + tile_col + b_col] : 0.0f;
        }
        __syncthreads();  // the tiles are complete

        float a[kThreadM], b[kThreadN];
        for (int i = 0; i < kThreadM; ++i) a[i] = As[row + i];
        for (int j = 0; j < kThreadN; ++j) b[j] = Bs[col + j];
        for (int i = 0; i < kThreadM; ++i)
            for (int j = 0; j < kThreadN; ++j) acc[i][j] += a[i] * b[j];
        __syncthreads();  // the tiles may be overwritten
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; ++j) {
            const int c_row = tile_row + row + i, c_col = tile_col + col + j;
            if (c_row < M && c_col < N) C[size_t(c_row) * N + c_col] = acc[i][j];
        }
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    matmul<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    return K * (M * std::ceil(N / kTileN) + N * std::ceil(M / kTileM));
}

// From shared memory each thread reads its kThreadM + kThreadN operands at every k.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
    return threads * K * (kThreadM + kThreadN) * sizeof(float);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes};
    return run_stage(launch_matmul, facts, argc, argv);
}
