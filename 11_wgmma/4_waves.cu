// As few blocks as the waves need. A wave is the time in which each block computes one tile. SMs
// without a block draw little power, and the GPU then runs at a higher clock.
//
//    3072 x 3072 on 132 SMs: 24 x 12 = 288 tiles    132 blocks: 2.18 -> 3 waves
//                                                    96 blocks: 3 waves, and all of them full
//
//    A group goes through all columns of C with the same rows of A, which L2 with its 60 MB should
//    hold. At 16384, groups of 8 rows of tiles need 34 MB of A, and groups of 16 rows 67 MB.
//
// Changed:  launch no more blocks than the waves need; groups of 8 rows of tiles.
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"

constexpr int kTileM = 128;  // rows of C per block, 64 for each warpgroup
constexpr int kTileN = 256;  // columns of C per block
constexpr int kConsumers = 2 * 128;  // threads of two consumer warpgroups
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kStages = 3;  // one is read while two are being filled
constexpr int kBoxes = 4;  // of C, for each warpgroup: two pairs
// Parts of 64 columns, stored at the tile's end and after it.
constexpr int kImmediate = 2, kDeferred = 2;
// With fewer waves, only as many blocks start as give each the same number of tiles. From here on
// all SMs get one, because that would leave at most 4 of 132 idle.
constexpr int kManyWaves = 32;

template <class T>  // half or __nv_bfloat16
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    T As[kStages][kTileM][kTileK];
    T Bs[kStages][kTileN / 64][kTileK][64];
    float Cs[2][kBoxes / 2][2][64][32];
    uint64_t full[kStages], empty[kStages];
};
constexpr int kSharedBytes = sizeof(Shared<half>);  // > 48 KiB: needs an opt-in
static_assert(kTileK == 64 && kTileN % 64 == 0, "64 elements are 128 bytes");

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

template <class T, bool kTma>
__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map,
           float* C) {
    extern __shared__ __align__(1024) char memory[];
    auto& shared = *reinterpret_cast<Shared<T>*>(memory);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

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
                ptx::mbarrier_arrive_expect_tx(&shared.full[stage],
                                               sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
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

    const int row = warp / 4 * 64;  // a warpgroup owns 64 x 256 elements
    int next_pair = 0;
    // Stores a part, 64 x 64 accumulators: 8 tiles of 16 x 8 of each warp.
    const auto store = [&](const float(*acc)[4], TileScheduler at, int part) {
        float(&pair)[2][64][32] = shared.Cs[warp / 4][next_pair];
        next_pair ^= 1;
        if (kTma && threadIdx.x % 128 == 0) ptx::cp_async_bulk_wait_group_read<kBoxes / 2 - 1>();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is free
#pragma unroll
        for (int j = 0; j < 8; ++j)
            for (int r = lane / 4; r < 16; r += 8) {  // the lane's two rows
                // Odd rows take tile j ^ 2, so that they hit other banks than even rows. ?: chooses
                // between two registers, as a register can't be indexed.
                const int t = r % 2 ? j ^ 2 : j, h = r / 8 * 2;
                const float x = r % 2 ? acc[j ^ 2][h] : acc[j][h];
                const float y = r % 2 ? acc[j ^ 2][h + 1] : acc[j][h + 1];
                const int b_row = warp % 4 * 16 + r, b_col = 8 * t + lane % 4 * 2;
                // The swizzle of As, for chunks of 4 floats.
                *(float2*)&pair[b_col / 32][b_row][(b_col ^ b_row % 8 * 4) % 32] = {x, y};
            }
        if (kTma) ptx::fence_proxy_async();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is full
        for (int j = 0; j < 64; j += 32) {
            const int c_row = at.row + row, c_col = at.col + part * 64 + j;
            if (kTma && threadIdx.x % 128 == 0)
                ptx::cp_async_bulk_tensor(&C_map, c_col, c_row, pair[j / 32]);
            for (int r = warp % 4; !kTma && r < 64; r += 4)  // without TMA the warps copy rows to C
                if (c_row + r < M && c_col + lane < N)
                    C[size_t(c_row + r) * N + c_col + lane] = pair[j / 32][r][lane ^ r % 8 * 4];
        }
        if (kTma && threadIdx.x % 128 == 0) ptx::cp_async_bulk_commit_group();
    };

    const int last_k = (K - 1) / kTileK * kTileK;
    int stage = 0, parity = 0;
    float deferred[8 * kDeferred][4];  // parts of the tile before
    TileScheduler deferred_at(M, N, blockIdx.x), at = deferred_at;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float acc[kTileN / 8][4];  // tiles of 16 x 8, side by side in the warp's 16 rows
        for (int k = 0; k < K; k += kTileK) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16) {
                // In units of 16 bytes: 64 to the next eight rows, 512 to B's next 64 columns.
                const uint64_t a = ptx::wgmma_descriptor(&shared.As[stage][row][s], 128, 64);
                const uint64_t b = ptx::wgmma_descriptor(&shared.Bs[stage][0][s], 128, 64, 512);
                // A is K-major (0), B MN-major (1). The tile's first product overwrites acc.
                ptx::wgmma_m64k16<T, 0, 1>(acc, a, b, k + s > 0);
            }
            ptx::wgmma_commit_group();
            // While the products run: where this tile is, and deferred parts of the one before.
            if (k == 0) at = TileScheduler(M, N, tile);
#pragma unroll
            for (int i = 0; i < kDeferred; ++i)
                if (tile >= int(gridDim.x) && k == min((2 + 2 * i) * kTileK, last_k))
                    store(&deferred[8 * i], deferred_at, kImmediate + i);
            ptx::wgmma_wait_group<0>();
            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
        }
        ptx::warpgroup_fence_operand(acc);  // keeps the compiler from reading acc earlier
        for (int i = 0; i < kImmediate; ++i) store(&acc[8 * i], at, i);
        memcpy(deferred, acc + 8 * kImmediate, sizeof(deferred));
        deferred_at = at;
    }
    for (int i = 0; i < kDeferred; ++i) store(&deferred[8 * i], deferred_at, kImmediate + i);
    // Before the block ends, TMA must have read the boxes. This waits until C is written, too.
    if (kTma && threadIdx.x % 128 == 0) ptx::cp_async_bulk_wait_group<0>();
}

template <class T>
void launch_matmul(int M, int N, int K, const T* A, const T* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const int at_once = sm_count(), waves = ceil_div(tiles, at_once);
    const int blocks = waves < kManyWaves ? ceil_div(tiles, waves) : at_once;
    const bool tma = N % 4 == 0;  // TMA stores rows that start on multiples of 16 bytes
    const auto C_map = tma ? tensor_map(C, M, N, 64, 32, 128) : CUtensorMap();
    const auto kernel = tma ? matmul<T, true> : matmul<T, false>;
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, kConsumers + kProducers, kSharedBytes>>>(M, N, K, A_map, B_map, C_map, C);
}

// A is loaded once per column of tiles, B once per row of tiles, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    return M * K * std::ceil(N / kTileN) + K * N * std::ceil(M / kTileM) +
           loaded_by_copies(M, N, K);
}

// Where TMA can't store C, it is read from shared memory and stored.
double shared_loaded_bytes(double M, double N, double) {
    return M * N * (int(N) % 4 ? sizeof(float) : 0);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kWgmma};
    facts.stored_elements = stored_with_copies;
    facts.bf16 = launch_matmul<__nv_bfloat16>;
    return run_stage(launch_matmul<half>, facts, argc, argv);
}
