// 06_wmma: tensor cores. Where a thread multiplied element by element, a warp now multiplies 16 x 16 by 16 x 16 elements with one
// mma_sync, halves in and floats out. To keep up the tiles grow, and copies bring them past the registers, two steps ahead.
//
//    multiply   0   1   | 0   1   | 0   1   ...    2 multiplies of depth 16 a step, out of buffer 0, then 1, then 2
//    fragments  1   0'  | 1'  0"  | 1"  ...        one multiply ahead
//    load           t3  |     t4  |     t5         global memory -> the buffer just read, two steps ahead
//    barrier        |   |     |   |     |          once a step: t1 is complete, t0 has been read
//
// Changed:  a, b and acc are fragments, which a warp holds together; asynchronous copies, a third buffer; C by way of Cs.
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 06_wmma/matmul.cu -o 06_wmma/matmul -lcublas
// Articles: "Tensorコアを使ってみた", on products of any size and on shared memory; "Tensor Core加速CUDA矩阵计算", 1
#include <cuda_pipeline.h>
#include <mma.h>

#include "common/harness.h"

using namespace nvcuda;

constexpr int kThreadM =
    8;  // a thread's share of C is 8 x 16 elements; which ones, the hardware decides
constexpr int kThreadN = 16;
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kStepK = 32;  // depth of the tiles
constexpr int kBuffers = 3;  // one is read while two are on their way
constexpr int kPad =
    8;  // 16 bytes: of the 8 rows that a warp reads at a time, each then starts in other banks
constexpr int kSharedBytes =
    kBuffers * (kTileM * (kStepK + kPad) + kStepK * (kTileN + kPad)) * sizeof(half);

static_assert(kTileM * kStepK == 2 * 8 * kThreads && kTileN * kStepK == 4 * 8 * kThreads,
              "a thread brings 2 x 8 of A, 4 x 8 of B");
static_assert(
    kStepK % 16 == 0 && (kStepK + kPad) % 8 == 0 && (kTileN + kPad) % 8 == 0,
    "load_matrix_sync: fragments that start on multiples of 32 bytes, rows a multiple of 16 bytes apart");

// Copies eight neighbours of a row, of which `valid` are inside the matrix; zeros for the others. kWide: all or none are.
template <bool kWide>
__device__ void copy8(half* to, const half* from, int valid) {
    if (kWide) __pipeline_memcpy_async(to, from, 16, valid > 0 ? 0 : 16);
#pragma unroll 4  // eight elements of all six copies at once would want more registers than there are
    for (int e = 0; !kWide && e < 8; ++e) to[e] = e < valid ? from[e] : __float2half(0);
}

template <bool kWide>
__device__ void store4(float* to, const float* values, int valid) {
    if (kWide && valid > 0)
        *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
    for (int e = 0; !kWide && e < 4; ++e)
        if (e < valid) to[e] = values[e];
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    extern __shared__ __align__(32)
        half shared[];  // 80 KiB, more than the 48 that a block has without asking
    auto As = reinterpret_cast<half(*)[kTileM][kStepK + kPad]>(shared);
    auto Bs = reinterpret_cast<half(*)[kStepK][kTileN + kPad]>(As + kBuffers);
    __shared__ alignas(32) float Cs[kThreads / 32][16][16 + kPad];
    const int tiles_n = ceil_div(N, kTileN);
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 4 * 64;  // a warp owns 64 x 64 elements
    const int col = warp % 4 * 64;

    // What this thread brings at each step: eight neighbours along k of two rows of A, eight along n of four rows of B.
    const int a_row = threadIdx.x / 4, a_k = threadIdx.x % 4 * 8;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * 8;
    const half* a_from = A + size_t(tile_row + a_row) * K + a_k;
    const half* b_from = B + size_t(b_k) * N + tile_col + b_col;
    const int b_valid = N - tile_col - b_col;

    auto load_tiles = [&](int k, int buffer) {
        for (int i = 0; i < kTileM; i += 64)
            copy8<kWide>(&As[buffer][a_row + i][a_k], a_from + size_t(i) * K,
                         tile_row + a_row + i < M ? K - a_k - k : 0);
        a_from += kStepK;
        for (int i = 0; i < kStepK; i += 8)
            copy8<kWide>(&Bs[buffer][b_k + i][b_col], b_from + size_t(i) * N,
                         k + b_k + i < K ? b_valid : 0);
        b_from += size_t(kStepK) * N;
        __pipeline_commit();
    };

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2][4];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b[2][4];
    auto load_fragments = [&](int buffer, int s) {
        for (int i = 0; i < 4; ++i)
            wmma::load_matrix_sync(a[s / 16 % 2][i], &As[buffer][row + 16 * i][s], kStepK + kPad);
        for (int j = 0; j < 4; ++j)
            wmma::load_matrix_sync(b[s / 16 % 2][j], &Bs[buffer][s][col + 16 * j], kTileN + kPad);
    };

    for (int buffer = 0; buffer < kBuffers; ++buffer) load_tiles(buffer * kStepK, buffer);
    __pipeline_wait_prior(kBuffers - 1);
    __syncthreads();  // the first tiles are complete
    load_fragments(0, 0);

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4][4];
    for (auto& fragments : acc)
        for (auto& fragment : fragments) wmma::fill_fragment(fragment, 0.0f);
    for (int k = 0, buffer = 0, next = 1; k < K;
         k += kStepK, buffer = next, next = (next + 1) % kBuffers) {
#pragma unroll
        for (int s = 0; s < kStepK; s += 16) {
            if (s == kStepK - 16) {
                __pipeline_wait_prior(kBuffers - 2);
                __syncthreads();  // the next tiles are complete, and everyone has read these
            }
            load_fragments(s < kStepK - 16 ? buffer : next, (s + 16) % kStepK);
            if (s == kStepK - 16) load_tiles(k + kBuffers * kStepK, buffer);
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    wmma::mma_sync(acc[i][j], a[s / 16 % 2][i], b[s / 16 % 2][j], acc[i][j]);
        }
    }

#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            wmma::store_matrix_sync(&Cs[warp][0][0], acc[i][j], 16 + kPad, wmma::mem_row_major);
            __syncwarp();  // all lanes have stored their elements, wherever those lie
            for (int r = lane / 4; r < 16; r += 8) {
                const int c_row = tile_row + row + 16 * i + r,
                          c_col = tile_col + col + 16 * j + lane % 4 * 4;
                if (c_row < M)
                    store4<kWide>(&C[size_t(c_row) * N + c_col], &Cs[warp][r][lane % 4 * 4],
                                  N - c_col);
            }
            __syncwarp();  // all lanes have read
        }
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    // 16-byte accesses need every row to start on a multiple of 16 bytes.
    if (K % 8 == 0 && N % 8 == 0) {
        cudaFuncSetAttribute(matmul<true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes);
        matmul<true><<<blocks, kThreads, kSharedBytes>>>(M, N, K, A, B, C);
    } else {
        cudaFuncSetAttribute(matmul<false>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kSharedBytes);
        matmul<false><<<blocks, kThreads, kSharedBytes>>>(M, N, K, A, B, C);
    }
}

int main(int argc, char** argv) {
    StageOf<half, float> stage;
    stage.name = "06_wmma";
    stage.launch = launch_matmul;
    // A is loaded once for every column of tiles, B once for every row of tiles.
    stage.loaded_elements = [](double M, double N, double K) {
        return K * (M * std::ceil(N / kTileN) + N * std::ceil(M / kTileM));
    };
    // From shared memory each warp reads 4 + 4 fragments for every 16 of k, and once ahead; and C on its way out.
    stage.shared_loaded_bytes = [](double M, double N, double K) {
        const double warps = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads / 32;
        return warps * (std::ceil(K / kStepK) * kStepK / 16 + 1) * (4 + 4) * 16 * 16 *
                   sizeof(half) +
               M * N * sizeof(float);
    };
    stage.arithmetic = kTensor;
    return run_stage(stage, argc, argv);
}
