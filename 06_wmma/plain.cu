// The Tensor Core article's product of any size: C is cut into 16 x 16 blocks, and one warp
// computes each. It copies a block of A and one of B into shared memory, with zeros past the edges,
// loads them from there as fragments, multiplies, and goes on along k.
//
//                    B  K x N
//                    16 [== 16 ==] .     16 rows of B's tile -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    . 16.           . [ 16 x 16 ] .     16 columns of A's tile -> As
//    . | .           .  . . . . .  .
#include <mma.h>

#include "common/stage.h"

using namespace nvcuda;

constexpr int kTileM = 16;  // rows of C per warp
constexpr int kTileN = 16;  // columns of C per warp
constexpr int kThreads = 32;  // one warp a block
constexpr int kTileK = 16;  // extent of the tiles along k

__global__ void __launch_bounds__(kThreads)
    matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    __shared__ alignas(32) half As[kTileM][kTileK];
    __shared__ alignas(32) half Bs[kTileK][kTileN];
    __shared__ alignas(32) float Cs[kTileM][kTileN];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += kTileK) {
        for (int e = threadIdx.x; e < 16 * 16; e += kThreads) {
            const int i = e / 16, j = e % 16;
            const bool in_a = tile_row + i < M && k + j < K;
            As[i][j] = in_a ? A[size_t(tile_row + i) * K + k + j] : __float2half(0);
            const bool in_b = k + i < K && tile_col + j < N;
            Bs[i][j] = in_b ? B[size_t(k + i) * N + tile_col + j] : __float2half(0);
        }
        __syncwarp();  // the tiles are complete
        wmma::load_matrix_sync(a, &As[0][0], kTileK);
        wmma::load_matrix_sync(b, &Bs[0][0], kTileN);
        wmma::mma_sync(acc, a, b, acc);
        __syncwarp();  // the tiles may be overwritten
    }

    wmma::store_matrix_sync(&Cs[0][0], acc, kTileN, wmma::mem_row_major);
    __syncwarp();  // all lanes have stored; which elements a lane holds is unspecified
    for (int e = threadIdx.x; e < 16 * 16; e += kThreads) {
        const int c_row = tile_row + e / 16, c_col = tile_col + e % 16;
        if (c_row < M && c_col < N) C[size_t(c_row) * N + c_col] = Cs[e / 16][e % 16];
    }
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    matmul<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    return K * (M * std::ceil(N / kTileN) + N * std::ceil(M / kTileM));
}

// From shared memory each warp reads 1 + 1 fragments for every 16 values of k, and C at the end.
double shared_loaded_bytes(double M, double N, double K) {
    const double warps = std::ceil(M / kTileM) * std::ceil(N / kTileN);
    const double padded_k = std::ceil(K / kTileK) * kTileK;
    return warps * padded_k * (1 + 1) * 16 * sizeof(half) + M * N * sizeof(float);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kTensor};
    return run_stage(launch_matmul, facts, argc, argv);
}
