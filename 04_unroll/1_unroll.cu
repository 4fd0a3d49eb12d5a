// A k-tile has eight values of k instead of one. A thread then does 512 multiply-adds between two
// barriers instead of 64, and the compiler unrolls them. The block loads as many bytes as in 03.
//
//                    B  K x N
//                    8 [== 128 ==] .     8 rows of B's tile -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    .128.           . [128 x 128] .     8 columns of A's tile -> As, transposed: As[k][row]
//    . | .           .  . . . . .  .
//
// Changed:  k-tiles of 8, of which a thread loads 4 elements of A and 4 of B; #pragma unroll.
#include "common/stage.h"

constexpr int kThreadM = 8;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kTileK = 8;  // extent of the tiles along k

static_assert(kTileM * kTileK == 4 * kThreads && kTileN * kTileK == 4 * kThreads,
              "per k-tile a thread loads 4 elements of A and 4 of B");

__global__ void __launch_bounds__(kThreads)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[kTileK][kTileM];
    __shared__ float Bs[kTileK][kTileN];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    const int row = threadIdx.x / 16 * kThreadM;  // within the tile
    const int col = threadIdx.x % 16 * kThreadN;

    // For each k-tile this thread loads consecutive elements of a row of A and of a row of B.
    const int a_row = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * 4;

    float acc[kThreadM][kThreadN] = {};
    for (int k = 0; k < K; k += kTileK) {
        // Past the edge a thread stores zeros. It may not return: others read what it stores.
        for (int e = 0; e < 4; ++e) {
            const bool a_valid = tile_row + a_row < M && k + a_k + e < K;
            As[a_k + e][a_row] = a_valid ? A[size_t(tile_row + a_row) * K + k + a_k + e] : 0.0f;
            const bool b_valid = k + b_k < K && tile_col + b_col + e < N;
            Bs[b_k][b_col + e] = b_valid ? B[size_t(k + b_k) * N + tile_col + b_col + e] : 0.0f;
        }
        __syncthreads();  // the tiles are complete

#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            float a[kThreadM], b[kThreadN];
            for (int i = 0; i < kThreadM; ++i) a[i] = As[s][row + i];
            for (int j = 0; j < kThreadN; ++j) b[j] = Bs[s][col + j];
            for (int i = 0; i < kThreadM; ++i)
                for (int j = 0; j < kThreadN; ++j) acc[i][j] += a[i] * b[j];
        }
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
    const double padded_k = std::ceil(K / kTileK) * kTileK;
    return threads * padded_k * (kThreadM + kThreadN) * sizeof(float);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes};
    return run_stage(launch_matmul, facts, argc, argv);
}
