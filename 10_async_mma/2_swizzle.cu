// The swizzle replaces the pad. A row of a tile is eight chunks of 16 bytes, and row r stores chunk
// c at position c ^ (r % 8). The same chunk of eight consecutive rows then lies in eight different
// groups of four banks, so ldmatrix reads them without a bank conflict. Unlike a padded row, no row
// begins in the middle of 32 bytes of shared memory, where the copies of 06 fetched sectors of L2
// twice. TMA can write the same layout (CU_TENSOR_MAP_SWIZZLE_128B).
//
//    row 0  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |     the number is the chunk that lies there
//    row 1  | 1 | 0 | 3 | 2 | 5 | 4 | 7 | 6 |
//    row 2  | 2 | 3 | 0 | 1 | 6 | 7 | 4 | 5 |     each position is 4 banks wide
//
// Changed:  an XOR swizzle replaces the pad; k-tiles of 64, four stages; AlignedRows pads A and B.
#include <cuda_pipeline.h>

#include "common/aligned_rows.h"
#include "common/ptx/ptx.cuh"
#include "common/stage.h"

constexpr int kTileM = 128;  // rows of C per block
constexpr int kTileN = 256;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kStages = 4;  // one is read while three are being filled

struct Shared {
    half As[kStages][kTileM][kTileK];
    half Bs[kStages][kTileN / 64][kTileK][64];  // strips with rows of 128 bytes
};
constexpr int kSharedBytes = sizeof(Shared);  // > 48 KiB: needs an opt-in
static_assert(kTileM * kTileK == 4 * 8 * kThreads && kTileN * kTileK == 8 * 8 * kThreads,
              "per k-tile a thread loads 4 x 8 elements of A and 8 x 8 of B");
static_assert(kTileK == 64 && kTileN % 64 == 0, "64 elements are 128 bytes");

// The column where the chunk of 8 elements that begins at `column` of that row is stored.
__device__ constexpr int swizzled(int row, int column) { return column ^ row % 8 * 8; }

// Copies 16 bytes, 8 elements of a row, or writes zeros where the row or the matrix has ended.
__device__ void copy8(half* to, const half* from, bool valid) {
    __pipeline_memcpy_async(to, from, 16, valid ? 0 : 16);
}

template <bool kWide>
__device__ void store2(float* to, const float* values, int valid) {
    if (kWide && valid > 0) *(float2*)to = {values[0], values[1]};
    for (int e = 0; !kWide && e < 2; ++e)
        if (e < valid) to[e] = values[e];
}

// Stores a warp's 64 x 64 accumulators to the part of C that begins at C[row][col].
template <bool kWide>
__device__ void store_accumulators(const float (&acc)[4][8][4], int row, int col, int M, int N,
                                   float* C) {
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j)
            for (int r = 0; r < 16; r += 8) {  // a lane holds elements of two rows
                const int c_row = row + 16 * i + r + lane / 4;
                const int c_col = col + 8 * j + lane % 4 * 2;
                if (c_row < M)
                    store2<kWide>(&C[size_t(c_row) * N + c_col], &acc[i][j][r / 4], N - c_col);
            }
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    matmul(int M, int N, int K, const half* A, int lda, const half* B, int ldb, float* C) {
    extern __shared__ __align__(1024) char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 4 * 64;  // the warp tile is 64 x 64
    const int col = warp % 4 * 64;

    // For each k-tile this thread copies 8 consecutive elements of four rows of A and of eight rows
    // of B, of which a_row and b_k are the first.
    const int a_row = threadIdx.x / 8, a_k = threadIdx.x % 8 * 8;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * 8;
    const half* a_from = A + size_t(tile_row + a_row) * lda + a_k;
    const half* b_from = B + size_t(b_k) * ldb + tile_col + b_col;

    auto load_tiles = [&](int k, int stage) {
        for (int i = 0; i < kTileM; i += 32)
            copy8(&shared.As[stage][a_row + i][swizzled(a_row, a_k)], a_from + size_t(i) * lda,
                  tile_row + a_row + i < M && k + a_k < K);
        a_from += kTileK;
        for (int i = 0; i < kTileK; i += 8)
            copy8(&shared.Bs[stage][b_col / 64][b_k + i][swizzled(b_k, b_col % 64)],
                  b_from + size_t(i) * ldb, k + b_k + i < K && tile_col + b_col < N);
        b_from += size_t(kTileK) * ldb;
        __pipeline_commit();
    };

    // A register holds two elements. One of the two sets can be loaded while the other is in use:
    // four tiles of 16 x 16 of A, four pairs of tiles of 16 x 8 of B.
    half2 a[2][4][4], b[2][4][2][2];
    auto load_fragments = [&](int stage, int s) {
        for (int i = 0; i < 4; ++i)
            ptx::ldmatrix_x4(
                a[s / 16 % 2][i],
                &shared.As[stage][row + 16 * i + lane % 16][swizzled(lane, s + lane / 16 * 8)]);
        for (int j = 0; j < 4; ++j)
            ptx::ldmatrix_x4_trans(
                b[s / 16 % 2][j],
                &shared.Bs[stage][col / 64][s + lane % 16][swizzled(lane, 16 * j + lane / 16 * 8)]);
    };

    for (int stage = 0; stage < kStages; ++stage) load_tiles(stage * kTileK, stage);
    __pipeline_wait_prior(kStages - 1);
    __syncthreads();  // the first tiles are complete
    load_fragments(0, 0);

    float acc[4][8][4] = {};  // 4 x 8 tiles of 16 x 8
    for (int k = 0, stage = 0, next = 1; k < K;
         k += kTileK, stage = next, next = (next + 1) % kStages) {
#pragma unroll
        for (int s = 0; s < kTileK; s += 16) {
            if (s == kTileK - 16) {
                __pipeline_wait_prior(kStages - 2);
                __syncthreads();  // the next tiles are complete, and all warps have read these
            }
            load_fragments(s < kTileK - 16 ? stage : next, (s + 16) % kTileK);
            if (s == kTileK - 16) load_tiles(k + kStages * kTileK, stage);
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 8; ++j)
                    ptx::mma_m16n8k16(acc[i][j], a[s / 16 % 2][i], b[s / 16 % 2][j / 2][j % 2]);
        }
    }

    store_accumulators<kWide>(acc, tile_row + row, tile_col + col, M, N, C);
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const auto kernel = N % 2 == 0 ? matmul<true> : matmul<false>;  // stores of 8 bytes
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, kThreads, kSharedBytes>>>(M, N, K, A_rows.data, A_rows.stride, B_rows.data,
                                               B_rows.stride, C);
}

// A is loaded once per column of tiles, B once per row of tiles, with the zeros that fill up their
// rows, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    const double a_row = std::ceil(K / 8) * 8, b_row = std::ceil(N / 8) * 8;
    return M * a_row * std::ceil(N / kTileN) + K * b_row * std::ceil(M / kTileM) +
           loaded_by_copies(M, N, K);
}

// From shared memory each warp reads its fragments of A and B for every 16 values of k.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
    const double padded_k = std::ceil(K / kTileK) * kTileK + 16;  // + 16: read ahead
    return threads / 32 * padded_k * (4 + 4) * 16 * sizeof(half);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kTensor};
    facts.stored_elements = stored_with_copies;
    return run_stage(launch_matmul, facts, argc, argv);
}
