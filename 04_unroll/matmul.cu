// 04_unroll: eight steps of k at a time. Each thread brings four neighbours in one 16-byte load; 512 multiply-adds, not 64, lie
// between the two barriers. The traffic is that of 03; what changes is how wide it comes and what it costs to ask.
//
//                    B  K x N
//                    8 [== 128 ==] .     8 rows of B's tile -> Bs
//    A  M x K        C  M x N
//    . | .           .  . . . . .  .
//    .128.           . [128 x 128] .     8 columns of A's tile -> As, transposed: As[k][row]
//    . | .           .  . . . . .  .
//
// Changed:  kStepK; 16-byte loads and stores; pointers that advance; a thread's 8 x 8 lie as four 4 x 4 (no bank conflicts).
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 04_unroll/matmul.cu -o 04_unroll/matmul -lcublas
// Articles: Fixstars slides 54 to 56
#include "common/harness.h"

constexpr int kThreadM = 8;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 16 * kThreadM;  // rows of C per block
constexpr int kTileN = 16 * kThreadN;  // columns of C per block
constexpr int kThreads = 16 * 16;
constexpr int kStepK = 8;  // depth of the tiles
constexpr int kPad = 4;  // moves the two halves of a warp's transposing store 16 banks apart

static_assert(kTileM * kStepK == 4 * kThreads && kTileN * kStepK == 4 * kThreads,
              "a thread brings 4 of A and 4 of B");

// Four neighbours of a row, of which `valid` are inside the matrix; zeros for the others. kWide: all or none are.
template <bool kWide>
__device__ float4 load4(const float* from, int valid) {
    if (kWide) return valid > 0 ? *reinterpret_cast<const float4*>(from) : make_float4(0, 0, 0, 0);
    return make_float4(valid > 0 ? from[0] : 0, valid > 1 ? from[1] : 0, valid > 2 ? from[2] : 0,
                       valid > 3 ? from[3] : 0);
}

template <bool kWide>
__device__ void store4(float* to, const float* values, int valid) {
    if (kWide && valid > 0)
        *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
    for (int e = 0; !kWide && e < 4; ++e)
        if (e < valid) to[e] = values[e];
}

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 2)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ alignas(16) float As[kStepK][kTileM + kPad];
    __shared__ alignas(16) float Bs[kStepK][kTileN];
    const int tiles_n = ceil_div(N, kTileN);
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    // A warp owns 32 x 64 elements, a lane 4 rows and 4 columns, and the same again 16 rows and 32 columns further on. Lanes
    // that differ in bit 0 read the same of A, in bit 1 the same of B: 16-byte reads then take two wavefronts, not four.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 2 * 32 + lane / 2 % 4 * 4;
    const int col = warp % 2 * 64 + (lane / 8 * 2 + lane % 2) * 4;

    // What this thread brings at each step: four neighbours along k of A, four neighbours along n of B.
    const int a_row = threadIdx.x / 2, a_k = threadIdx.x % 2 * 4;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * 4;
    const float* a_from = A + size_t(tile_row + a_row) * K + a_k;
    const float* b_from = B + size_t(b_k) * N + tile_col + b_col;
    const int a_end = tile_row + a_row < M ? K - a_k : 0;
    const int b_valid = N - tile_col - b_col;

    float4 a_next, b_next;
    auto load_tiles = [&](int k) {
        a_next = load4<kWide>(a_from, a_end - k);
        a_from += kStepK;
        b_next = load4<kWide>(b_from, k + b_k < K ? b_valid : 0);
        b_from += size_t(kStepK) * N;
    };
    auto store_tiles = [&] {
        As[a_k + 0][a_row] = a_next.x;
        As[a_k + 1][a_row] = a_next.y;
        As[a_k + 2][a_row] = a_next.z;
        As[a_k + 3][a_row] = a_next.w;
        *reinterpret_cast<float4*>(&Bs[b_k][b_col]) = b_next;
    };

    float acc[kThreadM][kThreadN] = {};
    for (int k = 0; k < K; k += kStepK) {
        load_tiles(k);
        store_tiles();
        __syncthreads();  // the tiles are complete

#pragma unroll
        for (int s = 0; s < kStepK; ++s) {
            alignas(16) float a[kThreadM], b[kThreadN];
            for (int i = 0; i < kThreadM; i += 4)
                *reinterpret_cast<float4*>(&a[i]) =
                    *reinterpret_cast<const float4*>(&As[s][row + i / 4 * 16]);
            for (int j = 0; j < kThreadN; j += 4)
                *reinterpret_cast<float4*>(&b[j]) =
                    *reinterpret_cast<const float4*>(&Bs[s][col + j / 4 * 32]);
            // To and fro along the rows: each multiply-add then shares an operand with the one before, and the register
            // file is asked for two operands instead of three.
            for (int i = 0; i < kThreadM; ++i)
                for (int at = 0; at < kThreadN; ++at) {
                    const int j = i % 2 ? kThreadN - 1 - at : at;
                    acc[i][j] += a[i] * b[j];
                }
        }
        __syncthreads();  // the tiles may be overwritten
    }

    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += 4) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4,
                      c_col = tile_col + col + j / 4 * 32;
            if (c_row < M) store4<kWide>(&C[size_t(c_row) * N + c_col], &acc[i][j], N - c_col);
        }
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    // 16-byte accesses need every row to start on a multiple of 16 bytes.
    if (K % 4 == 0 && N % 4 == 0) {
        matmul<true><<<blocks, kThreads>>>(M, N, K, A, B, C);
    } else {
        matmul<false><<<blocks, kThreads>>>(M, N, K, A, B, C);
    }
}

int main(int argc, char** argv) {
    Stage stage;
    stage.name = "04_unroll";
    stage.launch = launch_matmul;
    // A is loaded once for every column of tiles, B once for every row of tiles.
    stage.loaded_elements = [](double M, double N, double K) {
        return K * (M * std::ceil(N / kTileN) + N * std::ceil(M / kTileM));
    };
    // From shared memory each thread reads its kThreadM + kThreadN operands at every k.
    stage.shared_loaded_bytes = [](double M, double N, double K) {
        const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kThreads;
        return threads * std::ceil(K / kStepK) * kStepK * (kThreadM + kThreadN) * sizeof(float);
    };
    return run_stage(stage, argc, argv);
}
