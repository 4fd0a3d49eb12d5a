// The loads start one k-tile ahead, so that the store can move from a k-tile's end, where all warps
// wait for it, to its middle. The barrier follows the reads of the k-tile's last operands.
//
//    multiply  0   1   2   3   4   5   6   7   | 0   1   2   3   4  ...  outer product As[s] Bs[s]
//    store                     T1              |                 T2      registers -> shared memory
//    load                                  T2  |                         global memory -> registers
//    barrier                               |   |                         T1 is stored, T0 was read
//
//    Time runs to the right, one k-tile from | to |. T0 is the current k-tile, T1 the next one.
//
// Changed:  loads one k-tile ahead; stores before k-block kStoreAt; barrier before the last one.
#include "common/stage.h"
#include "common/vector_access.cuh"  // load4, store4

constexpr int kThreadM = 8;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kTileK = 8;  // extent of the tiles along k
constexpr int kStoreAt = 4;  // store before this k-block: five k-blocks after the loads
constexpr int kPad = 4;  // keeps even and odd lanes of the transposing store 16 banks apart

static_assert(kTileM * kTileK == 4 * kThreads && kTileN * kTileK == 4 * kThreads,
              "per k-tile a thread loads 4 elements of A and 4 of B");

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 2)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ alignas(16) float As[2][kTileK][kTileM + kPad];
    __shared__ alignas(16) float Bs[2][kTileK][kTileN];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    // The warp tile is 32 x 64; a lane owns four 4 x 4 sub-tiles, 16 rows and 32 columns apart.
    // Two lanes read the same words of As if they differ only in bit 0, of Bs if only in bit 1: a
    // 16-byte read then serves half a warp per wavefront, not a quarter, and takes 2, not 4.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 2 * 32 + lane / 2 % 4 * 4;
    const int col = warp % 2 * 64 + (lane / 8 * 2 + lane % 2) * 4;

    // For each k-tile this thread loads consecutive elements of a row of A and of a row of B.
    const int a_row = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * 4;
    const float* a_from = A + size_t(tile_row + a_row) * K + a_k;
    const float* b_from = B + size_t(b_k) * N + tile_col + b_col;
    const int a_end = tile_row + a_row < M ? K - a_k : 0;
    const int b_valid = N - tile_col - b_col;

    float4 a_next, b_next;
    auto load_tiles = [&](int k) {
        a_next = load4<kWide>(a_from, a_end - k);
        a_from += kTileK;
        b_next = load4<kWide>(b_from, k + b_k < K ? b_valid : 0);
        b_from += size_t(kTileK) * N;
    };
    auto store_tiles = [&](int buffer) {
        As[buffer][a_k + 0][a_row] = a_next.x;
        As[buffer][a_k + 1][a_row] = a_next.y;
        As[buffer][a_k + 2][a_row] = a_next.z;
        As[buffer][a_k + 3][a_row] = a_next.w;
        *(float4*)&Bs[buffer][b_k][b_col] = b_next;
    };

    load_tiles(0);
    store_tiles(0);
    __syncthreads();  // the first tiles are complete
    load_tiles(kTileK);

    float acc[kThreadM][kThreadN] = {};
#pragma unroll 2  // two k-tiles per iteration: `buffer` and all offsets become constants
    for (int k = 0, buffer = 0; k < K; k += kTileK, buffer ^= 1) {
#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            alignas(16) float a[kThreadM], b[kThreadN];
            for (int i = 0; i < kThreadM; i += 4)
                *(float4*)&a[i] = *(float4*)&As[buffer][s][row + i / 4 * 16];
            for (int j = 0; j < kThreadN; j += 4)
                *(float4*)&b[j] = *(float4*)&Bs[buffer][s][col + j / 4 * 32];
            if (s == kStoreAt) store_tiles(buffer ^ 1);
            if (s == kTileK - 1) {
                load_tiles(k + 2 * kTileK);
                __syncthreads();  // the next tiles are complete, and all warps have read these
            }
            // In serpentine order consecutive multiply-adds share an operand, so that the reuse
            // cache delivers one operand and the register file only two.
            for (int i = 0; i < kThreadM; ++i)
                for (int at = 0; at < kThreadN; ++at) {
                    const int j = i % 2 ? kThreadN - 1 - at : at;
                    acc[i][j] += a[i] * b[j];
                }
        }
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += 4) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4;
            const int c_col = tile_col + col + j / 4 * 32;
            if (c_row < M) store4<kWide>(&C[size_t(c_row) * N + c_col], &acc[i][j], N - c_col);
        }
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    // 16-byte accesses need every row to start on a multiple of 16 bytes.
    const auto kernel = K % 4 == 0 && N % 4 == 0 ? matmul<true> : matmul<false>;
    kernel<<<blocks, kThreads>>>(M, N, K, A, B, C);
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
