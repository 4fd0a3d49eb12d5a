// Tensor cores: a warp multiplies 16 x 16 by 16 x 16 elements with one mma_sync, halves in, floats
// out. The elements are spread over the registers of its 32 lanes, as fragments.
//
//           b[0]  b[1]  b[2]  b[3]
//    a[0]   acc   acc   acc   acc       each a 16 x 16 fragment; together 32 x 64 of C per warp
//    a[1]   acc   acc   acc   acc
//
// Changed:  a, b and acc are fragments; As and Bs hold halves; C goes through Cs; no kStoreAt.
#include <mma.h>

#include "common/stage.h"
#include "common/vector_access.cuh"  // store4

using namespace nvcuda;

constexpr int kTileM = 128;  // rows of C per block
constexpr int kTileN = 128;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kTileK = 16;  // extent of the tiles along k
constexpr int kPad = 8;  // 16 bytes of half: the 8 rows read together share no bank

static_assert(kTileM * kTileK == 8 * kThreads && kTileN * kTileK == 8 * kThreads,
              "per k-tile a thread loads 8 elements of A and 8 of B");
static_assert(kTileK % 16 == 0 && (kTileK + kPad) % 8 == 0 && (kTileN + kPad) % 8 == 0,
              "load_matrix_sync needs fragments aligned to 32 bytes and rows to 16");

// Loads 8 elements of a row, with zeros past the first `valid`. kWide: all are valid or none.
template <bool kWide>
__device__ uint4 load8(const half* from, int valid) {
    alignas(16) half values[8];
    if (kWide) *(uint4*)values = valid > 0 ? *(const uint4*)from : uint4{};
    for (int e = 0; !kWide && e < 8; ++e) values[e] = e < valid ? from[e] : __float2half(0);
    return *(const uint4*)values;
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 2)
    matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    __shared__ alignas(32) half As[2][kTileM][kTileK + kPad];
    __shared__ alignas(32) half Bs[2][kTileK][kTileN + kPad];
    __shared__ alignas(32) float Cs[kThreads / 32][16][16 + kPad];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 2 * 32;  // the warp tile is 32 x 64
    const int col = warp % 2 * 64;

    // For each k-tile this thread loads consecutive elements of a row of A and of a row of B.
    const int a_row = threadIdx.x / 2, a_k = threadIdx.x % 2 * 8;
    const int b_k = threadIdx.x / 16, b_col = threadIdx.x % 16 * 8;
    const half* a_from = A + size_t(tile_row + a_row) * K + a_k;
    const half* b_from = B + size_t(b_k) * N + tile_col + b_col;
    const int a_end = tile_row + a_row < M ? K - a_k : 0;
    const int b_valid = N - tile_col - b_col;

    uint4 a_next, b_next;
    auto load_tiles = [&](int k) {
        a_next = load8<kWide>(a_from, a_end - k);
        a_from += kTileK;
        b_next = load8<kWide>(b_from, k + b_k < K ? b_valid : 0);
        b_from += size_t(kTileK) * N;
    };
    auto store_tiles = [&](int buffer) {
        *(uint4*)&As[buffer][a_row][a_k] = a_next;
        *(uint4*)&Bs[buffer][b_k][b_col] = b_next;
    };

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b[4];
    auto load_fragments = [&](int buffer) {
        for (int i = 0; i < 2; ++i)
            wmma::load_matrix_sync(a[i], &As[buffer][row + 16 * i][0], kTileK + kPad);
        for (int j = 0; j < 4; ++j)
            wmma::load_matrix_sync(b[j], &Bs[buffer][0][col + 16 * j], kTileN + kPad);
    };

    load_tiles(0);
    store_tiles(0);
    __syncthreads();  // the first tiles are complete
    load_tiles(kTileK);

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][4];
    for (auto& acc_row : acc)
        for (auto& fragment : acc_row) wmma::fill_fragment(fragment, 0.0f);
#pragma unroll 2  // two k-tiles per iteration: `buffer` and all offsets become constants
    for (int k = 0, buffer = 0; k < K; k += kTileK, buffer ^= 1) {
        load_fragments(buffer);
        store_tiles(buffer ^ 1);
        load_tiles(k + 2 * kTileK);
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 4; ++j) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
        __syncthreads();  // the next tiles are complete, and all warps have read these
    }

#pragma unroll
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
            wmma::store_matrix_sync(&Cs[warp][0][0], acc[i][j], 16 + kPad, wmma::mem_row_major);
            __syncwarp();  // all lanes have stored; which elements a lane holds is unspecified
            for (int r = lane / 4, c = lane % 4 * 4; r < 16; r += 8) {
                const int c_row = tile_row + row + 16 * i + r;
                const int c_col = tile_col + col + 16 * j + c;
                if (c_row < M)
                    store4<kWide>(&C[size_t(c_row) * N + c_col], &Cs[warp][r][c], N - c_col);
            }
            __syncwarp();  // all lanes have read
        }
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    // 16-byte accesses need every row to start on a multiple of 16 bytes.
    const auto kernel = K % 8 == 0 && N % 8 == 0 ? matmul<true> : matmul<false>;
    kernel<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    return K * (M * std::ceil(N / kTileN) + N * std::ceil(M / kTileM));
}

// From shared memory each warp reads its fragments of A and B for every 16 values of k, and C once.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
    const double padded_k = std::ceil(K / kTileK) * kTileK;
    return threads / 32 * padded_k * (2 + 4) * 16 * sizeof(half) + M * N * sizeof(float);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kTensor};
    return run_stage(launch_matmul, facts, argc, argv);
}
