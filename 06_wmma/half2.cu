// The product in FP16 without tensor cores, for comparison. An f16x2 instruction does two
// multiply-adds. It is 05 with a pair of halves in the place of each float: two adjacent
// elements of a row of B and C, and (a, a) for A. A thread's 8 x 16 elements take as many registers
// and instructions as 8 x 8 floats.
//
// Changed:  (from 05) pairs of halves; tiles twice as wide; the accumulators are FP16, too.
#include <cuda_fp16.h>

#include "common/stage.h"

constexpr int kThreadM = 8;  // rows of C per thread
constexpr int kThreadN = 16;  // columns of C per thread, in pairs
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kTileK = 8;  // extent of the tiles along k
constexpr int kStoreAt = 4;  // store before this k-block: five k-blocks after the loads
constexpr int kPad = 4;  // keeps even and odd lanes of the transposing store 16 banks apart

static_assert(kTileM * kTileK == 4 * kThreads && kTileN * kTileK == 8 * kThreads,
              "per k-tile a thread loads 4 elements of A and 8 of B");

// Loads elements of a row, with zeros past the first `valid`. kWide: all are valid or none.
// Wide is uint2 for four halves, uint4 for eight.
template <bool kWide, class Wide>
__device__ Wide load(const half* from, int valid) {
    if (kWide) return valid > 0 ? *(const Wide*)from : Wide{};
    constexpr int kCount = sizeof(Wide) / sizeof(half);
    alignas(Wide) half values[kCount];
    for (int e = 0; e < kCount; ++e) values[e] = e < valid ? from[e] : __float2half(0);
    return *(const Wide*)values;
}

template <bool kWide>
__device__ void store8(half* to, const half2* pairs, int valid) {
    if (kWide && valid > 0) *(uint4*)to = *(const uint4*)pairs;
    for (int e = 0; !kWide && e < 8; ++e)
        if (e < valid) to[e] = e % 2 ? __high2half(pairs[e / 2]) : __low2half(pairs[e / 2]);
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 2)
    matmul(int M, int N, int K, const half* A, const half* B, half* C) {
    __shared__ alignas(16) half2 As[2][kTileK][kTileM + kPad];  // (a, a)
    __shared__ alignas(16) half Bs[2][kTileK][kTileN];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    // The warp tile is 32 x 128; a lane owns four 4 x 8 sub-tiles, 16 rows and 64 columns apart.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 2 * 32 + lane / 2 % 4 * 4;
    const int col = warp % 2 * 128 + (lane / 8 * 2 + lane % 2) * 8;

    // For each k-tile this thread loads consecutive elements of a row of A and of a row of B.
    const int a_row = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * 8;
    const half* a_from = A + size_t(tile_row + a_row) * K + a_k;
    const half* b_from = B + size_t(b_k) * N + tile_col + b_col;
    const int a_end = tile_row + a_row < M ? K - a_k : 0;
    const int b_valid = N - tile_col - b_col;

    uint2 a_next;
    uint4 b_next;
    auto load_tiles = [&](int k) {
        a_next = load<kWide, uint2>(a_from, a_end - k);
        a_from += kTileK;
        b_next = load<kWide, uint4>(b_from, k + b_k < K ? b_valid : 0);
        b_from += size_t(kTileK) * N;
    };
    auto store_tiles = [&](int buffer) {
        const half2* pairs = (const half2*)&a_next;
        As[buffer][a_k + 0][a_row] = __low2half2(pairs[0]);
        As[buffer][a_k + 1][a_row] = __high2half2(pairs[0]);
        As[buffer][a_k + 2][a_row] = __low2half2(pairs[1]);
        As[buffer][a_k + 3][a_row] = __high2half2(pairs[1]);
        *(uint4*)&Bs[buffer][b_k][b_col] = b_next;
    };

    alignas(16) half2 a[2][kThreadM], b[2][kThreadN / 2];
    auto load_fragments = [&](int buffer, int s) {
        for (int i = 0; i < kThreadM; i += 4)
            *(uint4*)&a[s % 2][i] = *(uint4*)&As[buffer][s][row + i / 4 * 16];
        for (int j = 0; j < kThreadN; j += 8)
            *(uint4*)&b[s % 2][j / 2] = *(uint4*)&Bs[buffer][s][col + j / 8 * 64];
    };

    load_tiles(0);
    store_tiles(0);
    __syncthreads();  // the first tiles are complete
    load_tiles(kTileK);
    load_fragments(0, 0);

    half2 acc[kThreadM][kThreadN / 2] = {};
#pragma unroll 2  // two k-tiles per iteration: `buffer` and all offsets become constants
    for (int k = 0, buffer = 0; k < K; k += kTileK, buffer ^= 1) {
#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            if (s == kStoreAt) store_tiles(buffer ^ 1);
            if (s == kTileK - 1) {
                load_tiles(k + 2 * kTileK);
                __syncthreads();  // the next tiles are complete, and all warps have read these
            }
            load_fragments(s < kTileK - 1 ? buffer : buffer ^ 1, (s + 1) % kTileK);
            // Two rows at a time, in serpentine order: the two FMA pipes, which execute pairs of
            // halves as well, alternate, and the next instruction of each shares an operand with
            // its last.
            for (int i = 0; i < kThreadM; i += 2)
                for (int at = 0; at < kThreadN / 2; ++at) {
                    const int j = i / 2 % 2 ? kThreadN / 2 - 1 - at : at;
                    acc[i][j] = __hfma2(a[s % 2][i], b[s % 2][j], acc[i][j]);
                    acc[i + 1][j] = __hfma2(a[s % 2][i + 1], b[s % 2][j], acc[i + 1][j]);
                }
        }
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += 8) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4;
            const int c_col = tile_col + col + j / 8 * 64;
            if (c_row < M) store8<kWide>(&C[size_t(c_row) * N + c_col], &acc[i][j / 2], N - c_col);
        }
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, half* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    // Wide accesses need every row to start on a multiple of 8 bytes in A, of 16 in B and C.
    const auto kernel = K % 4 == 0 && N % 8 == 0 ? matmul<true> : matmul<false>;
    kernel<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    return K * (M * std::ceil(N / kTileN) + N * std::ceil(M / kTileM));
}

// From shared memory each thread reads its kThreadM pairs and kThreadN halves at every k.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
    const double padded_k = std::ceil(K / kTileK) * kTileK + 1;  // + 1: fragments read ahead
    return threads * padded_k * (2 * kThreadM + kThreadN) * sizeof(half);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kHalf2};
    return run_stage(launch_matmul, facts, argc, argv);
}
