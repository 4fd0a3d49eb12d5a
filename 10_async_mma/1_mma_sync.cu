// PTX's ldmatrix and mma.sync replace the WMMA API: one loads fragments from shared memory, the
// other multiplies them on a tensor core. PTX documents which lane holds which element, so a lane
// can store its accumulators to C itself, without staging them in shared memory as in 06.
//
//    row 0   0 0 1 1 2 2 3 3     which lane holds each element of a 16 x 8 tile of C: two
//    row 1   4 4 5 5 6 6 7 7     adjacent ones in row lane / 4, and two in the row 8 below
//     ...
//    row 8   0 0 1 1 2 2 3 3
//    row 9   4 4 5 5 6 6 7 7
//     ...
//
// Changed:  (from 06) ldmatrix and mma.sync replace WMMA; lanes store their accumulators to C.
#include <cuda_pipeline.h>

#include "common/ptx/ptx.cuh"
#include "common/stage.h"

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
              "ldmatrix reads rows of 16 bytes that start on multiples of 16");

// Copies 8 elements of a row, with zeros past the first `valid`. kWide: all are valid or none.
template <bool kWide>
__device__ void copy8(half* to, const half* from, int valid) {
    if (kWide) __pipeline_memcpy_async(to, from, 16, valid > 0 ? 0 : 16);
#pragma unroll 4  // unrolled by eight, the six copies would need too many registers
    for (int e = 0; !kWide && e < 8; ++e) to[e] = e < valid ? from[e] : __float2half(0);
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
    matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    extern __shared__ __align__(16) half shared[];
    auto As = reinterpret_cast<half(*)[kTileM][kTileK + kPad]>(shared);
    auto Bs = reinterpret_cast<half(*)[kTileK][kTileN + kPad]>(As + kStages);
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

    // A register holds two elements. One of the two sets can be loaded while the other is in use:
    // four tiles of 16 x 16 of A, four pairs of tiles of 16 x 8 of B.
    half2 a[2][4][4], b[2][4][2][2];
    auto load_fragments = [&](int stage, int s) {
        for (int i = 0; i < 4; ++i)
            ptx::ldmatrix_x4(a[s / 16 % 2][i],
                             &As[stage][row + 16 * i + lane % 16][s + lane / 16 * 8]);
        for (int j = 0; j < 4; ++j)
            ptx::ldmatrix_x4_trans(b[s / 16 % 2][j],
                                   &Bs[stage][s + lane % 16][col + 16 * j + lane / 16 * 8]);
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

// From shared memory each warp reads its fragments of A and B for every 16 values of k.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
    const double padded_k = std::ceil(K / kTileK) * kTileK + 16;  // + 16: read ahead
    return threads / 32 * padded_k * (4 + 4) * 16 * sizeof(half);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kTensor};
    return run_stage(launch_matmul, facts, argc, argv);
}
