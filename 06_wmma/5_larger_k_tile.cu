// Larger k-tiles: 32 values of k, which are two k-blocks of 16, so that a warp passes half as many
// barriers.
//
//    multiply  0   1   | 0   1   | 0   1   ...   each 16 values of k
//    a, b      0   1   | 0   1   | 0   1         shared memory -> fragments
//    copy      T2      | T3      | T4            global memory -> the stage read last
//    barrier           |         |               T1 has arrived, T0 was read (T0: the first k-tile)
//
// Changed:  k-tiles of 32, two k-blocks between barriers; the first one starts all six copies.
#include <cuda_pipeline.h>
#include <mma.h>

#include "common/stage.h"
#include "common/vector_access.cuh"  // store4

using namespace nvcuda;

constexpr int kTileM = 128;  // rows of C per block
constexpr int kTileN = 256;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kTileK = 32;  // extent of the tiles along k
constexpr int kStages = 3;  // one is read while two are being filled
constexpr int kPad = 8;  // 16 bytes of half: the 8 rows read together share no bank
constexpr int kTileElements = kTileM * (kTileK + kPad) + kTileK * (kTileN + kPad);
constexpr int kSharedBytes = kStages * kTileElements * sizeof(half);  // > 48 KiB: needs an opt-in

static_assert(kTileM * kTileK == 2 * 8 * kThreads && kTileN * kTileK == 4 * 8 * kThreads,
              "per k-tile a thread loads 2 x 8 elements of A and 4 x 8 of B");
static_assert(kTileK % 16 == 0 && (kTileK + kPad) % 8 == 0 && (kTileN + kPad) % 8 == 0,
              "load_matrix_sync needs fragments aligned to 32 bytes and rows to 16");

// Copies 8 elements of a row, with zeros past the first `valid`. kWide: all are valid or none.
template <bool kWide>
__device__ void copy8(half* to, const half* from, int valid) {
    if (kWide) __pipeline_memcpy_async(to, from, 16, valid > 0 ? 0 : 16);
    for (int e = 0; !kWide && e < 8; ++e) to[e] = e < valid ? from[e] : __float2half(0);
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    extern __shared__ __align__(32) half shared[];
    auto As = reinterpret_cast<half(*)[kTileM][kTileK + kPad]>(shared);
    auto Bs = reinterpret_cast<half(*)[kTileK][kTileN + kPad]>(As + kStages);
    __shared__ alignas(32) float Cs[kThreads / 32][16][16 + kPad];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 4 * 64;  // the warp tile is 64 x 64
    const int col = warp % 4 * 64;

    // For each k-tile this thread copies 8 consecutive elements of two rows of A and of four rows
    // of B, of which a_row and b_k are the first.
    const int a_row = threadIdx.x / 4, a_k = threadIdx.x % 4 * 8;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * 8;
    const half* a_from = A + size_t(tile_row + a_row) * K + a_k;
    const half* b_from = B + size_t(b_k) * N + tile_col + b_col;
    const int b_valid = N - tile_col - b_col;

    auto load_tiles = [&](int k, int stage) {
        for (int i = 0; i < kTileM; i += 64)
            copy8<kWide>(&As[stage][a_row + i][a_k], a_from + size_t(i) * K,
                         tile_row + a_row + i < M ? K - a_k - k : 0);
        a_from += kTileK;
        for (int i = 0; i < kTileK; i += 8)
            copy8<kWide>(&Bs[stage][b_k + i][b_col], b_from + size_t(i) * N,
                         k + b_k + i < K ? b_valid : 0);
        b_from += size_t(kTileK) * N;
        __pipeline_commit();
    };

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[4];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b[4];
    auto load_fragments = [&](int stage, int s) {
        for (int i = 0; i < 4; ++i)
            wmma::load_matrix_sync(a[i], &As[stage][row + 16 * i][s], kTileK + kPad);
        for (int j = 0; j < 4; ++j)
            wmma::load_matrix_sync(b[j], &Bs[stage][s][col + 16 * j], kTileN + kPad);
    };

    load_tiles(0, 0);
    load_tiles(kTileK, 1);

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4][4];
    for (auto& acc_row : acc)
        for (auto& fragment : acc_row) wmma::fill_fragment(fragment, 0.0f);
    for (int k = 0, stage = 0, next = 1; k < K;
         k += kTileK, stage = next, next = (next + 1) % kStages) {
        __pipeline_wait_prior(kStages - 2);
        __syncthreads();  // these tiles are complete, and all warps have read the previous ones
#pragma unroll
        for (int s = 0; s < kTileK; s += 16) {
            load_fragments(stage, s);
            if (s == 0) load_tiles(k + 2 * kTileK, (next + 1) % kStages);
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
        }
    }

#pragma unroll
    for (int i = 0; i < 4; ++i)
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
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, kThreads, kSharedBytes>>>(M, N, K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    return K * (M * std::ceil(N / kTileN) + N * std::ceil(M / kTileM));
}

// From shared memory each warp reads its fragments of A and B for every 16 values of k, and C once.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
    const double padded_k = std::ceil(K / kTileK) * kTileK;
    return threads / 32 * padded_k * (4 + 4) * 16 * sizeof(half) + M * N * sizeof(float);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kTensor};
    return run_stage(launch_matmul, facts, argc, argv);
}
