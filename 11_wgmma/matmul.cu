// A single consumer warpgroup, for small matrices: tiles of 64 x 128 give work to 128 SMs at 1024. No
// second warpgroup fills the gap between two k-tiles there, so the consumer keeps the products of
// two k-tiles in flight, and all consumers execute few instructions between a wait and the next
// product.
//
//    128 x 64, two warpgroups    each reads 8 KiB of A and 8 KiB of B in a k-tile: 32 KiB together
//    64 x 128, one warpgroup     it reads 8 KiB of A and 16 KiB of B:              24 KiB
//
//    Descriptors in units of 16 bytes    of A                     of B
//    the next 16 values of k             + 2                      + 128, for 16 rows of 8 units
//    the next stage                      + sizeof(As[0]) / 16     + sizeof(Bs[0]) / 16
//
// Changed:  tiles of 64 x 128 with a single consumer warpgroup; descriptors advance by constants.
#include <algorithm>

#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"

constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kBoxes = 4;  // of C, for each warpgroup: two pairs
// With fewer waves, only as many blocks start as give each the same number of tiles. From here on
// all SMs get one, because that would leave at most 4 of 132 idle.
constexpr int kManyWaves = 32;

template <class T, int kTileM, int kTileN>  // half or __nv_bfloat16
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    static constexpr int kParts = ceil_div(kTileN, 64), kWarpgroups = kTileM / 64;
    // A block may have 227 KiB. A box, 64 rows of As and 64 columns of Bs take 8 each.
    static constexpr int kStages = (226 - kWarpgroups * kBoxes * 8) / 8 / (kWarpgroups + kParts);
    T As[kStages][kTileM][kTileK];
    T Bs[kStages][kParts][kTileK][64];
    float Cs[kWarpgroups][kBoxes / 2][2][64][32];
    uint64_t full[kStages], empty[kStages];
};
static_assert(kTileK == 64, "64 elements are 128 bytes");

template <int kTileM, int kTileN>
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

template <class T, int kTileM, int kTileN, bool kTma>
__global__ void __launch_bounds__(2 * kTileM + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map,
           float* C) {
    extern __shared__ __align__(1024) char memory[];
    using Shared = ::Shared<T, kTileM, kTileN>;
    using TileScheduler = ::TileScheduler<kTileM, kTileN>;
    constexpr int kConsumers = 2 * kTileM;  // a consumer warpgroup computes 64 rows
    constexpr int kStages = Shared::kStages, kParts = Shared::kParts;
    constexpr int kDeferred = kParts > 2 ? 2 : 0;  // parts stored during the next tile
    constexpr int kImmediate = kParts - kDeferred;  // at the tile's end
    constexpr bool kSingleConsumer = kTileM == 64;  // two k-tiles' products in flight
    auto& shared = *reinterpret_cast<Shared*>(memory);
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

    const int row = warp / 4 * 64;  // a warpgroup owns 64 x kTileN elements
    int next_pair = 0;
    // Stores a part, 64 x 64 accumulators: 8 tiles of 16 x 8 of each warp. 224 columns end in 64 x 32.
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
        for (int j = 0; j < 64 && part * 64 + j < kTileN; j += 32) {
            const int c_row = at.row + row, c_col = at.col + part * 64 + j;
            if (kTma && threadIdx.x % 128 == 0)
                ptx::cp_async_bulk_tensor(&C_map, c_col, c_row, pair[j / 32]);
            for (int r = warp % 4; !kTma && r < 64; r += 4)  // without TMA the warps copy rows to C
                if (c_row + r < M && c_col + lane < N)
                    C[size_t(c_row + r) * N + c_col + lane] = pair[j / 32][r][lane ^ r % 8 * 4];
        }
        if (kTma && threadIdx.x % 128 == 0) ptx::cp_async_bulk_commit_group();
    };

    const auto release = [&](int stage) {
        if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
    };

    // The descriptors of stage 0, in units of 16 bytes: 64 to the next eight rows, 512 to the next
    // 64 columns of B.
    const auto A_first = ptx::wgmma_descriptor(shared.As[0][row], 128, 64);
    const auto B_first = ptx::wgmma_descriptor(shared.Bs[0], 128, 64, 512);
    uint64_t a = A_first, b = B_first;
    const int last_k = (K - 1) / kTileK * kTileK;
    int stage = 0, parity = 0, previous = 0;
    float deferred[kDeferred ? 8 * kDeferred : 1][4];  // parts of the tile before
    TileScheduler deferred_at(M, N, blockIdx.x), at = deferred_at;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float acc[kTileN / 8][4];  // tiles of 16 x 8, side by side in the warp's 16 rows
        for (int k = 0; k < K; k += kTileK) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16)  // along the rows of A, down the rows of B
                ptx::wgmma_m64k16<T, 0, 1>(acc, a + s * 2 / 16, b + s * 128 / 16, k + s > 0);
            ptx::wgmma_commit_group();
            // While the products run: where this tile is, and deferred parts of the one before.
            if (k == 0) at = TileScheduler(M, N, tile);
#pragma unroll
            for (int i = 0; i < kDeferred; ++i)
                if (tile >= int(gridDim.x) && k == min((2 + 2 * i) * kTileK, last_k))
                    store(&deferred[8 * i], deferred_at, kImmediate + i);
            if (kSingleConsumer) {  // waits for the k-tile before, while these products run
                ptx::wgmma_wait_group<1>();
                if (k > 0) release(previous);
            } else {
                ptx::wgmma_wait_group<0>();
                release(stage);
            }
            previous = stage++;
            a += sizeof(shared.As[0]) / 16;
            b += sizeof(shared.Bs[0]) / 16;
            if (stage == kStages) {
                stage = 0;
                parity ^= 1;
                a = A_first;
                b = B_first;
            }
        }
        if (kSingleConsumer) {  // waits for the last k-tile
            ptx::wgmma_wait_group<0>();
            release(previous);
        }
        ptx::warpgroup_fence_operand(acc);  // keeps the compiler from reading acc earlier
        for (int i = 0; i < kImmediate; ++i) store(&acc[8 * i], at, i);
        memcpy(deferred, acc + 8 * kImmediate, sizeof(acc) - 8 * kImmediate * sizeof(acc[0]));
        deferred_at = at;
    }
    for (int i = 0; i < kDeferred; ++i) store(&deferred[8 * i], deferred_at, kImmediate + i);
    // Before the block ends, TMA must have read the boxes. This waits until C is written, too.
    if (kTma && threadIdx.x % 128 == 0) ptx::cp_async_bulk_wait_group<0>();
}

template <class T, int kTileM, int kTileN>
void launch(int M, int N, int K, const T* A, const T* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const int at_once = sm_count(), waves = ceil_div(tiles, at_once);
    const int blocks = waves < kManyWaves ? ceil_div(tiles, waves) : at_once;
    const bool tma = N % 4 == 0;  // TMA stores rows that start on multiples of 16 bytes
    const auto C_map = tma ? tensor_map(C, M, N, 64, 32, 128) : CUtensorMap();
    const auto kernel = tma ? matmul<T, kTileM, kTileN, true> : matmul<T, kTileM, kTileN, false>;
    constexpr int kSharedBytes = sizeof(Shared<T, kTileM, kTileN>);
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, 2 * kTileM + kProducers, kSharedBytes>>>(M, N, K, A_map, B_map, C_map, C);
}

template <class T>
struct Config {  // on an H200 a k-tile takes `step` ns, the rest of a tile `rest`
    int m, n, step, rest;
    void (*launch)(int M, int N, int K, const T* A, const T* B, float* C);
    std::string name() const { return format("%dx%d", m, n); }
};
template <class T>
constexpr Config<T> kConfigs[] = {{128, 256, 650, 3200, launch<T, 128, 256>},
                                  {128, 224, 600, 2800, launch<T, 128, 224>},
                                  {128, 192, 530, 2400, launch<T, 128, 192>},
                                  {128, 128, 330, 1400, launch<T, 128, 128>},
                                  {64, 128, 180, 1400, launch<T, 64, 128>}};

template <class T>
const Config<T>& best_config(int M, int N, int K) {
    const auto time = [=, at_once = sm_count()](const Config<T>& config) {
        const int tiles = ceil_div(M, config.m) * ceil_div(N, config.n);
        return ceil_div(tiles, at_once) * (1.0 * ceil_div(K, kTileK) * config.step + config.rest);
    };
    return fastest(kConfigs<T>, time);
}

template <class T>
void launch_matmul(int M, int N, int K, const T* A, const T* B, float* C) {
    best_config<T>(M, N, K).launch(M, N, K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of tiles, plus once for a padded copy.
// B comes in whole boxes of 64 columns.
double loaded_elements(double M, double N, double K) {
    const auto& config = best_config<half>(M, N, K);
    double columns = 0;
    for (int col = 0; col < N; col += config.n)
        columns += std::min(N - col, std::ceil(config.n / 64.0) * 64);
    return M * K * std::ceil(N / config.n) + K * columns * std::ceil(M / config.m) +
           loaded_by_copies(M, N, K);
}

// Where TMA can't store C, it is read from shared memory and stored.
double shared_loaded_bytes(double M, double N, double) {
    return M * N * (int(N) % 4 ? sizeof(float) : 0);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kWgmma};
    facts.stored_elements = stored_with_copies;
    for (const auto& config : kConfigs<half>)
        facts.configs.push_back({config.name(), config.m, config.n, kTileK});
    facts.chosen = [](int M, int N, int K) { return best_config<half>(M, N, K).name(); };
    facts.bf16 = launch_matmul<__nv_bfloat16>;
    return run_stage(launch_matmul<half>, facts, argc, argv);
}
