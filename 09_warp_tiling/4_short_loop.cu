// An iteration of the loop has one k-tile instead of two: 18 KB of code instead of 35, and warps
// hardly stall on instruction fetch. The addresses now depend on the buffer, so they must be cheap.
//
//    shared memory:   tiles[0].As | tiles[0].Bs | tiles[1].As | tiles[1].Bs
//                     ^ a_at        ^ b_at: both move on by `other`, and back, after each k-tile
//
// Changed:  Tiles has As and Bs side by side; pointers that move by `other`; no #pragma unroll 2.
#include "common/ptx/ptx.cuh"
#include "common/stage.h"

constexpr int kThreadM = 16;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 8 * kThreadM;  // rows of C per block
constexpr int kTileN = 32 * kThreadN;  // columns of C per block
constexpr int kThreads = 8 * 32;
constexpr int kTileK = 8;  // extent of the tiles along k
constexpr int kPad = 8;  // a warp's copies of 8 rows by 4 k go to 32 different banks
constexpr int kPitchA = kTileM + kPad;  // from one k of A's tile to the next

static_assert(kTileM * kTileK == 4 * kThreads && kTileN * kTileK == 8 * kThreads,
              "per k-tile a thread copies 4 elements of A and 8 of B");

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    struct Tiles {
        float As[kTileK][kPitchA], Bs[kTileK][kTileN];
    };
    __shared__ alignas(32) Tiles tiles[2];  // copies of 128 bytes fill 4 sectors, not parts of 5
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    // The warp tile is 64 x 64; a lane owns eight 4 x 4 sub-tiles, 16 rows and 32 columns apart.
    // Two lanes read the same words of As if they differ only in bit 0, of Bs if only in bit 1: a
    // 16-byte read then serves half a warp per wavefront, not a quarter, and takes 2, not 4.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 4 * 64 + lane / 2 % 4 * 4;
    const int col = warp % 4 * 64 + (lane / 8 * 2 + lane % 2) * 4;

    // For each k-tile this thread copies every fourth k of two rows of A, and kCopied consecutive
    // elements of a row of B and those 32 * kCopied columns further right.
    constexpr int kCopied = kWide ? 4 : 1;
    const int a_row = threadIdx.x / 4, a_k = threadIdx.x % 4;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * kCopied;
    const float* a_from[2];  // below A's last row it is copied again, for sums that are not stored
    for (int i = 0; i < 2; ++i)
        a_from[i] = A + size_t(min(tile_row + a_row + i * 64, M - 1)) * K + a_k;
    const float* b_from = B + size_t(b_k) * N + tile_col + b_col;
    const int b_valid = N - tile_col - b_col;

    // Where this thread copies to and where it reads. The other buffer lies `other` floats away,
    // after this one or before it.
    float *a_to = &tiles[0].As[a_k][a_row], *b_to = &tiles[0].Bs[b_k][b_col];
    const float *a_at = &tiles[0].As[0][row], *b_at = &tiles[0].Bs[0][col];
    int other = sizeof(Tiles) / sizeof(float);

    auto copy_tiles = [&](int k) {
        const int a_left = K - k - a_k, b_left = k + b_k < K ? b_valid : 0;
        for (int j = 0; j < kTileN; j += 32 * kCopied)
            ptx::cp_async<4 * kCopied>(b_to + j, b_from + j, j < b_left ? 4 * kCopied : 0);
        b_from += size_t(kTileK) * N;
        for (int i = 0; i < 2; ++i) {
            for (int e = 0; e < kTileK; e += 4)
                ptx::cp_async<4>(a_to + e * kPitchA + i * 64, a_from[i] + e, e < a_left ? 4 : 0);
            a_from[i] += kTileK;
        }
    };

    alignas(16) float a[2][kThreadM], b[2][kThreadN];
    auto load_fragments = [&](int s) {
        for (int i = 0; i < kThreadM; i += 4)
            *(float4*)&a[s % 2][i] = *(const float4*)(a_at + s * kPitchA + i / 4 * 16);
        for (int j = 0; j < kThreadN; j += 4)
            *(float4*)&b[s % 2][j] = *(const float4*)(b_at + s * kTileN + j / 4 * 32);
    };

    copy_tiles(0);
    ptx::cp_async_wait_all();
    __syncthreads();  // the first tiles are complete
    load_fragments(0);
    a_to += other;
    b_to += other;

    float acc[kThreadM][kThreadN] = {};
#pragma unroll 1  // two k-tiles per iteration, 35 KB of code, would stall warps on instruction fetch
    for (int k = 0; k < K; k += kTileK) {
#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            if (s == 0) copy_tiles(k + kTileK);
            if (s == kTileK - 1) {
                ptx::cp_async_wait_all();
                __syncthreads();  // the next tiles are complete, and all warps have read these
                a_at += other;
                b_at += other;
                other = -other;
                a_to += other;
                b_to += other;
            }
            load_fragments((s + 1) % kTileK);
            // In serpentine order consecutive multiply-adds share an operand, so that the reuse
            // cache delivers one operand and the register file only two.
            for (int i = 0; i < kThreadM; ++i)
                for (int at = 0; at < kThreadN; ++at) {
                    const int j = i % 2 ? kThreadN - 1 - at : at;
                    acc[i][j] += a[s % 2][i] * b[s % 2][j];
                }
        }
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; ++j) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4;
            const int c_col = tile_col + col + j / 4 * 32 + j % 4;
            if (c_row < M && c_col < N) C[size_t(c_row) * N + c_col] = acc[i][j];
        }
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    // 16-byte accesses need every row of N elements to start on a multiple of 16 bytes.
    const auto kernel = N % 4 == 0 ? matmul<true> : matmul<false>;
    kernel<<<blocks, kThreads>>>(M, N, K, A, B, C);
}

// A, padded to whole tiles along M, is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    return K * std::ceil(M / kTileM) * (kTileM * std::ceil(N / kTileN) + N);
}

// From shared memory each thread reads its kThreadM + kThreadN operands at every k.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
    const double padded_k = std::ceil(K / kTileK) * kTileK + 1;  // + 1: fragments read ahead
    return threads * padded_k * (kThreadM + kThreadN) * sizeof(float);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes};
    return run_stage(launch_matmul, facts, argc, argv);
}
