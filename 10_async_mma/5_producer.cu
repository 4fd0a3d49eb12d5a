// A producer warp issues all loads. In 4_stages.cu thread 0 did so, and its warp could not multiply
// while it waited for the slowest warp to free a stage. The consumers, the eight warps that
// multiply, now wait for full stages and for nothing else.
//
//    Registers are moved between warpgroups, groups of four warps, so the producer is given a whole
//    one. At the launch every thread has 168. The producer's keep 24, the consumers' get 240.
//
// Changed:  a producer warp issues the loads; setmaxnreg gives its registers to the consumers.
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"

constexpr int kTileM = 128;  // rows of C per block
constexpr int kTileN = 256;  // columns of C per block
constexpr int kConsumers = 16 * 16;  // consumer threads
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kStages = 4;  // one is read while three are being filled
constexpr int kStageBytes = (kTileM + kTileN) * kTileK * sizeof(half);  // 48 KiB

struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    half As[kStages][kTileM][kTileK];
    half Bs[kStages][kTileN / 64][kTileK][64];
    uint64_t full[kStages], empty[kStages];
};
constexpr int kSharedBytes = sizeof(Shared);  // > 48 KiB: needs an opt-in
static_assert(kTileK == 64 && kTileN % 64 == 0, "64 elements are 128 bytes");

// The column where the chunk of 8 elements that begins at `column` of that row is stored.
__device__ constexpr int swizzled(int row, int column) { return column ^ row % 8 * 8; }

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
__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, float* C) {
    extern __shared__ __align__(1024) char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile_row = blockIdx.x / tiles_n * kTileM;
    const int tile_col = blockIdx.x % tiles_n * kTileN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 4 * 64;  // the warp tile is 64 x 64
    const int col = warp % 4 * 64;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            ptx::mbarrier_init(&shared.full[stage], 1);  // one arrival, of the thread that loads
            ptx::mbarrier_init(&shared.empty[stage], kConsumers / 32);  // one arrival of each warp
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the mbarriers are initialised

    if (warp >= kConsumers / 32) {
        ptx::warpgroup_reg_dealloc<24>();
        if (threadIdx.x > kConsumers) return;
        int stage = 0, parity = 1;  // 1: that of the phase before the first, which is complete
        for (int k = 0; k < K; k += kTileK) {
            ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
            ptx::mbarrier_arrive_expect_tx(&shared.full[stage], kStageBytes);
            ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, tile_row, &shared.full[stage]);
            for (int j = 0; j < kTileN; j += 64)
                ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64], &B, tile_col + j, k,
                                          &shared.full[stage]);
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
        }
        return;
    }
    ptx::warpgroup_reg_alloc<240>();

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

    ptx::mbarrier_wait_parity(&shared.full[0], 0);
    load_fragments(0, 0);

    float acc[4][8][4] = {};  // 4 x 8 tiles of 16 x 8
    for (int k = 0, stage = 0, parity = 0; k < K; k += kTileK) {
        const int next = (stage + 1) % kStages, next_parity = parity ^ (next == 0);
#pragma unroll
        for (int s = 0; s < kTileK; s += 16) {
            if (s < kTileK - 16) {
                load_fragments(stage, s + 16);
            } else if (k + kTileK < K) {
                ptx::mbarrier_wait_parity(&shared.full[next], next_parity);
                load_fragments(next, 0);
            }
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 8; ++j)
                    ptx::mma_m16n8k16(acc[i][j], a[s / 16 % 2][i], b[s / 16 % 2][j / 2][j % 2]);
        }
        ptx::fence_proxy_async();  // these reads come before TMA's next writes
        __syncwarp();
        if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
        stage = next;
        parity = next_parity;
    }
    store_accumulators<kWide>(acc, tile_row + row, tile_col + col, M, N, C);
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const int blocks = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const auto kernel = N % 2 == 0 ? matmul<true> : matmul<false>;  // stores of 8 bytes
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, kConsumers + kProducers, kSharedBytes>>>(M, N, K, A_map, B_map, C);
}

// A is loaded once per column of tiles, B once per row of tiles, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    return M * K * std::ceil(N / kTileN) + K * N * std::ceil(M / kTileM) +
           loaded_by_copies(M, N, K);
}

// From shared memory each warp reads its fragments of A and B for every 16 values of k.
double shared_loaded_bytes(double M, double N, double K) {
    const double threads = std::ceil(M / kTileM) * std::ceil(N / kTileN) * kConsumers;
    const double padded_k = std::ceil(K / kTileK) * kTileK;
    return threads / 32 * padded_k * (4 + 4) * 16 * sizeof(half);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kTensor};
    facts.stored_elements = stored_with_copies;
    return run_stage(launch_matmul, facts, argc, argv);
}
