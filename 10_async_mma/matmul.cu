// Persistent blocks: as many start as there are SMs, and each computes one tile of C after another.
// While the consumers store one tile, the producer already loads for the next. A block chooses its
// tile, so the order is free. The tile scheduler goes down groups of 16 rows of tiles, so that the
// tiles computed at one time share rows of A and columns of B in L2.
//
//    producer    load tile 0  | load tile 132         | load tile 264         | ...
//    consumers      multiply 0   | store | multiply 132  | store | multiply 264  | ...
//
//    0  4  8 12 | 16 20 24 28     The order with groups of 4 rows. Tiles 0 to 15 need 4 tiles of
//    1  5  9 13 | 17 21 25 29     rows of A and 4 of columns of B, where 16 tiles of a single row
//    2  6 10 14 | 18 22 26 30     would need 1 and 16.
//    3  7 11 15 | 19 23 27 31
//
// Changed:  persistent blocks, a tile scheduler with grouped rasterization, bfloat16 operands.
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"

constexpr int kTileM = 128;  // rows of C per block
constexpr int kTileN = 256;  // columns of C per block
constexpr int kConsumers = 16 * 16;  // consumer threads
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 16;  // rows of tiles in a group of the tile scheduler
constexpr int kStages = 4;  // one is read while three are being filled
constexpr int kStageBytes = (kTileM + kTileN) * kTileK * sizeof(half);  // 48 KiB

template <class T>  // half or __nv_bfloat16
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    T As[kStages][kTileM][kTileK];
    T Bs[kStages][kTileN / 64][kTileK][64];
    uint64_t full[kStages], empty[kStages];
};
constexpr int kSharedBytes = sizeof(Shared<half>);  // > 48 KiB: needs an opt-in
static_assert(kTileK == 64 && kTileN % 64 == 0, "64 elements are 128 bytes");

// The column where the chunk of 8 elements that begins at `column` of that row is stored.
__device__ constexpr int swizzled(int row, int column) { return column ^ row % 8 * 8; }

struct TileScheduler {  // the first row and column of tile number `tile` of C
    __device__ TileScheduler(int M, int N, int tile) {
        const int tiles_n = ceil_div(N, kTileN), group = tile / (kGroup * tiles_n);
        const int rows = min(kGroup, ceil_div(M, kTileM) - group * kGroup);  // of this group
        tile %= kGroup * tiles_n;
        row = (group * kGroup + tile % rows) * kTileM;
        col = tile / rows * kTileN;
    }
    int row, col;
};

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

template <class T, bool kWide>
__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, float* C) {
    extern __shared__ __align__(1024) char memory[];
    auto& shared = *reinterpret_cast<Shared<T>*>(memory);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
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
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const TileScheduler at(M, N, tile);
            for (int k = 0; k < K; k += kTileK) {
                ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
                ptx::mbarrier_arrive_expect_tx(&shared.full[stage], kStageBytes);
                ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, at.row, &shared.full[stage]);
                for (int j = 0; j < kTileN; j += 64)
                    ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64], &B, at.col + j, k,
                                              &shared.full[stage]);
                stage = (stage + 1) % kStages;
                parity ^= stage == 0;
            }
        }
        return;
    }
    ptx::warpgroup_reg_alloc<240>();

    // A register holds two elements. One of the two sets can be loaded while the other is in use:
    // four tiles of 16 x 16 of A, four pairs of tiles of 16 x 8 of B.
    ptx::Pair<T> a[2][4][4], b[2][4][2][2];
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

    int stage = 0, parity = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float acc[4][8][4] = {};  // 4 x 8 tiles of 16 x 8
        for (int k = 0; k < K; k += kTileK) {
            const int next = (stage + 1) % kStages, next_parity = parity ^ (next == 0);
#pragma unroll
            for (int s = 0; s < kTileK; s += 16) {
                if (s < kTileK - 16) {
                    load_fragments(stage, s + 16);
                } else if (k + kTileK < K || tile + int(gridDim.x) < tiles) {
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
        const TileScheduler at(M, N, tile);
        store_accumulators<kWide>(acc, at.row + row, at.col + col, M, N, C);
    }
}

template <class T>
void launch_matmul(int M, int N, int K, const T* A, const T* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const int blocks = std::min(sm_count(), ceil_div(M, kTileM) * ceil_div(N, kTileN));
    const auto kernel = N % 2 == 0 ? matmul<T, true> : matmul<T, false>;  // stores of 8 bytes
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
    facts.bf16 = launch_matmul<__nv_bfloat16>;
    return run_stage(launch_matmul<half>, facts, argc, argv);
}
