// Clusters whose blocks load for each other. The blocks of a cluster run at the same time, on SMs
// that lie together, and compute neighbouring tiles. Those that need the same B, or the same A,
// request a slice of it each from L2. TMA writes each slice to the shared memory of all of them: a
// multicast.
//
//    128 x 128, L2 requests of a k-tile    a block without a cluster       128 for A + 128 for B
//                                          each of a cluster of 4 x 1      128 for A +  32 for B
//
//    Each consumer warp arrives on the empty barrier of every CTA that multicasts to it.
//
// A cluster of a single block costs 4%, so such a block has a kernel without a cluster.
//
// Changed:  a cluster takes a tile for each of its blocks; loads are multicasts; a warp's arrivals
//           go to all blocks whose loads it reads; two kernels.
#include <algorithm>
#include <limits>

#include "common/aligned_rows.h"
#include "common/cluster_occupancy.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tma_epilogue.cuh"

constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kManyWaves = 32;  // after so many the blocks have drifted apart

template <class T, int kTileM, int kTileN, bool kTransposed>  // half or __nv_bfloat16
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    static constexpr int kParts = kTileN / 64;
    static constexpr int kWarpgroups = kTransposed ? kParts : kTileM / 64;
    // Threads: one loads. Where registers are handed over, that takes a warpgroup.
    static constexpr int kAllThreads = 128 * kWarpgroups + (kWarpgroups == 1 ? 32 : 128);
    // 64 x 8 accumulators of a warpgroup.
    static constexpr int kFragments = (kTransposed ? kTileM : kTileN) / 8;
    static constexpr int kPairs = kTransposed ? 0 : 2;  // of boxes, for each warpgroup
    // In KiB: of the 227 that a block may have, 16 for a pair.
    static constexpr int kRest = 226 - kWarpgroups * kPairs * 16;
    static constexpr int kStages = std::min(12, kRest * 1024 / (kTileM * 128 + kParts * 8192));
    T As[kStages][kTileM][kTileK];
    T Bs[kStages][kParts][kTileK][64];
    float Cs[kWarpgroups][std::max(kPairs, 1)][2][kTransposed ? 1 : 64][32];
    uint64_t full[kStages], empty[kStages];
};
static_assert(kTileK == 64, "64 elements are 128 bytes");

// n / by for n >= 0. It multiplies (Lemire et al., 2019).
struct Divisor {
    explicit Divisor(int by = 1) : by(by), inverse(~0ull / by + 1) {}
    __device__ int under(int n) const { return by == 1 ? n : int(__umul64hi(inverse, n)); }
    int by;
    unsigned long long inverse;  // 2^64 / by, rounded up
};

// A block computes a tile of m x n. A cluster has cluster_m x cluster_n of these.
struct Tile {
    int m, n;
    bool transposed;
    int cluster_m, cluster_n;
    constexpr int blocks() const { return cluster_m * cluster_n; }
    // How many clusters cover C.
    constexpr int count(int M, int N) const {
        return ceil_div(M, m * cluster_m) * ceil_div(N, n * cluster_n);
    }
};

// What the host has divided.
struct Work {
    Work(int M, int N, int K, Tile tile)
        : M(M), N(N), steps(ceil_div(K, kTileK)), tiles(tile.count(M, N)) {
        const int at_once = clusters_at_once(tile.blocks()), waves = ceil_div(tiles, at_once);
        clusters = waves < kManyWaves ? ceil_div(tiles, waves) : at_once;
        const int below = ceil_div(M, tile.m * tile.cluster_m), group = kGroup / tile.cluster_m;
        last_group = ceil_div(below, group) - 1;
        rows = Divisor(group);
        last_rows = Divisor(below - last_group * group);
        of_group = Divisor(group * ceil_div(N, tile.n * tile.cluster_n));
    }
    int M, N;
    int steps;  // of a tile
    int tiles;  // for a cluster each; it takes every clusters-th
    int clusters = 0;
    int last_group;
    Divisor rows, last_rows, of_group;  // of tiles in a group, in the last one; tiles in a group
};

template <int kTileM, int kTileN, int kClusterM, int kClusterN>
struct TileScheduler {  // the first row and column of the block at cta_m, cta_n of a cluster
    __device__ TileScheduler(const Work& work, int tile, int cta_m, int cta_n) {
        const int group = work.of_group.under(tile), in_group = tile - group * work.of_group.by;
        const Divisor& rows = group == work.last_group ? work.last_rows : work.rows;
        const int right = rows.under(in_group), below = in_group - right * rows.by;
        row = ((group * work.rows.by + below) * kClusterM + cta_m) * kTileM;
        col = (right * kClusterN + cta_n) * kTileN;
    }
    int row, col;
};

template <class T, int kTileM, int kTileN, bool kTransposed, int kClusterM, int kClusterN>
__device__ __forceinline__ void multiply(const Work& work, float* C, const CUtensorMap& A,
                                         const CUtensorMap& B, const CUtensorMap& C_map) {
    extern __shared__ __align__(1024) char memory[];
    using Shared = ::Shared<T, kTileM, kTileN, kTransposed>;
    using TileScheduler = ::TileScheduler<kTileM, kTileN, kClusterM, kClusterN>;
    constexpr int kConsumers = 128 * Shared::kWarpgroups;  // threads that multiply
    constexpr int kStages = Shared::kStages, kParts = Shared::kParts,
                  kFragments = Shared::kFragments;
    constexpr bool kBoxed = !kTransposed;  // C is stored by TMA
    // Parts that are stored during the next tile.
    constexpr int kDeferred = kBoxed && kParts > 2 ? 2 : 0;
    constexpr int kImmediate = kParts - kDeferred;  // at the tile's end
    constexpr bool kSingleConsumer = Shared::kWarpgroups == 1;  // two k-tiles' products in flight
    auto& shared = *reinterpret_cast<Shared*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Of a cluster: its blocks, those that multicast A or B to each other, and where this one is.
    static_assert(kClusterM == 1 || kClusterN == 1, "CTAs of a multicast share A or B");
    constexpr int kMulticastCtas = kClusterM * kClusterN, kBlocks = kMulticastCtas;
    const int rank = kBlocks > 1 ? ptx::get_sreg_cluster_ctarank() : 0,
              cluster = blockIdx.x / kBlocks;
    const int cta_m = rank / kClusterN, cta_n = rank % kClusterN;

    const auto load = [&](TileScheduler at, int step, int stage) {
        const int k = step * kTileK;
        uint64_t* const full = &shared.full[stage];
        ptx::mbarrier_arrive_expect_tx(full, sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
        // CTAs side by side multicast a slice of A each, CTAs one below the other one of B.
        constexpr int kRows = kTileM / kClusterN, kDepth = kTileK / kClusterM;
        const unsigned multicast_mask = (1 << kMulticastCtas) - 1;
        if (kClusterN == 1) ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, at.row, full);
        else
            ptx::cp_async_bulk_tensor(shared.As[stage][cta_n * kRows], &A, k,
                                      at.row + cta_n * kRows, full, multicast_mask);
        for (int j = 0; j < kTileN; j += 64)
            if (kClusterM == 1)
                ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64], &B, at.col + j, k, full);
            else
                ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64][cta_m * kDepth], &B, at.col + j,
                                          k + cta_m * kDepth, full, multicast_mask);
    };

    int ahead = 0;  // steps that are loaded before the barrier
    if (threadIdx.x == kConsumers) {
        for (int stage = 0; stage < kStages; ++stage) {
            ptx::mbarrier_init(&shared.full[stage], 1);  // one arrival, of the thread that loads
            // One arrival of each warp.
            ptx::mbarrier_init(&shared.empty[stage], kMulticastCtas * kConsumers / 32);
        }
        ptx::fence_mbarrier_init();
        const TileScheduler at(work, cluster, cta_m, cta_n);
        // Not where other CTAs' mbarriers are needed, which may not be set up yet.
        for (; kMulticastCtas == 1 && ahead < min(kStages, work.steps); ++ahead)
            load(at, ahead, ahead);
    }
    __syncthreads();  // the mbarriers are initialised
    if (kBlocks > 1) {  // in every block
        ptx::barrier_cluster_arrive_relaxed();
        ptx::barrier_cluster_wait();
    }

    if (warp >= kConsumers / 32) {
        if (!kSingleConsumer) ptx::warpgroup_reg_dealloc<48>();  // with 24 the compiler spills
        if (threadIdx.x > kConsumers) return;
        int stage = ahead % kStages, parity = ahead < kStages;
        const auto next = [&] {
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
        };
        for (int tile = cluster; tile < work.tiles; tile += work.clusters, ahead = 0) {
            const TileScheduler at(work, tile, cta_m, cta_n);
            for (int step = ahead; step < work.steps; ++step, next()) {
                // In the first round the wait ends at once.
                ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
                load(at, step, stage);
            }
        }
        // The block must outlive the arrivals of others.
        for (int i = 0; kMulticastCtas > 1 && i < kStages; ++i, next())
            ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
        return;
    }
    if (!kSingleConsumer) ptx::warpgroup_reg_alloc<224>();

    const int row = warp / 4 * 64;  // a warpgroup owns 64 rows of the tile; transposed, 64 columns
    // Transposed: 8 x 64 of a warpgroup's elements, from registers to C. Eight lanes write a sector
    // if N is a multiple of 8.
    const auto store_fragment = [&](const float(&acc)[4], TileScheduler at, int fragment) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int c_row = at.row + fragment * 8 + lane % 4 * 2 + i % 2;
            const int c_col = at.col + warp * 16 + i / 2 * 8 + lane / 4;
            if (c_row < work.M && c_col < work.N) C[size_t(c_row) * work.N + c_col] = acc[i];
        }
    };
    int next_pair = 0;
    // Stores a part, 64 x 64 accumulators: 8 tiles of 16 x 8 of each warp.
    const auto store = [&](const float(*acc)[4], TileScheduler at, int part) {
        auto& pair = shared.Cs[warp / 4][next_pair];
        next_pair ^= 1;
        if (threadIdx.x % 128 == 0) ptx::cp_async_bulk_wait_group_read<1>();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is free
        store_to_boxes(pair, acc, warp, lane);
        ptx::fence_proxy_async();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is full
        for (int j = 0; j < 64; j += 32)
            if (threadIdx.x % 128 == 0)
                ptx::cp_async_bulk_tensor(&C_map, at.col + part * 64 + j, at.row + row,
                                          pair[j / 32]);
        if (threadIdx.x % 128 == 0) ptx::cp_async_bulk_commit_group();
    };

    const auto release = [&](int stage) {  // lanes 0, 1, ... arrive at one CTA each
        if (kMulticastCtas == 1 && lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
        if (kMulticastCtas > 1 && lane < kMulticastCtas)
            ptx::mbarrier_arrive_cluster(&shared.empty[stage], lane);
    };

    // Of stage 0. In units of 16 bytes: 64 to the next eight rows, 512 to the next 64 columns of B.
    const auto A_first = ptx::wgmma_descriptor(shared.As[0][kTransposed ? 0 : row], 128, 64);
    const auto B_first =
        ptx::wgmma_descriptor(shared.Bs[0][kTransposed ? row / 64 : 0], 128, 64, 512);
    uint64_t a = A_first, b = B_first;
    int stage = 0, parity = 0, previous = 0;
    // Parts of the tile before.
    float deferred[kDeferred ? 8 * kDeferred : 1][4];
    TileScheduler deferred_at(work, cluster, cta_m, cta_n), at = deferred_at;
    for (int tile = cluster; tile < work.tiles; tile += work.clusters) {
        float acc[kFragments][4];  // tiles of 16 x 8, side by side in the warp's 16 rows
        for (int step = 0; step < work.steps; ++step) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16) {  // along the rows of A, down the rows of B
                const uint64_t a_s = a + s * 2 / 16, b_s = b + s * 128 / 16;
                if (kTransposed) ptx::wgmma_m64k16<T, 1, 0>(acc, b_s, a_s, step + s > 0);
                else ptx::wgmma_m64k16<T, 0, 1>(acc, a_s, b_s, step + s > 0);
            }
            ptx::wgmma_commit_group();
            // While the products run: where this tile is, and deferred parts of the one before.
            if (step == 0) at = TileScheduler(work, tile, cta_m, cta_n);
#pragma unroll
            for (int i = 0; i < kDeferred; ++i)
                if (tile >= work.clusters && step == min(2 + 2 * i, work.steps - 1))
                    store(&deferred[8 * i], deferred_at, kImmediate + i);
            if (kSingleConsumer) {  // waits for the k-tile before, while these products run
                ptx::wgmma_wait_group<1>();
                if (step > 0) release(previous);
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
        if constexpr (kBoxed) {
            for (int i = 0; i < kImmediate; ++i) store(&acc[8 * i], at, i);
            if constexpr (kDeferred > 0)
                memcpy(deferred, acc + 8 * kImmediate,
                       sizeof(acc[0]) * (kFragments - 8 * kImmediate));
            deferred_at = at;
        } else {
#pragma unroll
            for (int fragment = 0; fragment < kFragments; ++fragment)
                store_fragment(acc[fragment], at, fragment);
        }
    }
    for (int i = 0; i < kDeferred; ++i) store(&deferred[8 * i], deferred_at, kImmediate + i);
    // Shared memory must outlive the stores.
    if (kBoxed && threadIdx.x % 128 == 0) ptx::cp_async_bulk_wait_group_read<0>();
}

template <class T, int m, int n, bool transposed>
__global__ void __launch_bounds__(Shared<T, m, n, transposed>::kAllThreads, 1)
    matmul(const __grid_constant__ Work work, float* C, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map) {
    multiply<T, m, n, transposed, 1, 1>(work, C, A, B, C_map);
}
template <class T, int m, int n, bool transposed, int cluster_m, int cluster_n>
CLUSTER_DIMS(cluster_m* cluster_n, 1, 1)
__global__ void __launch_bounds__(Shared<T, m, n, transposed>::kAllThreads, 1)
    matmul_in_clusters(const __grid_constant__ Work work, float* C,
                       const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                       const __grid_constant__ CUtensorMap C_map) {
    multiply<T, m, n, transposed, cluster_m, cluster_n>(work, C, A, B, C_map);
}

template <class T, int m, int n, bool transposed, int cluster_m, int cluster_n>
void launch(const Work& work, int K, const T* A, const T* B, float* C) {
    const int M = work.M, N = work.N;
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, m / cluster_n, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK / cluster_m, 64, 128, B_rows.stride);
    const auto C_map = transposed ? CUtensorMap() : tensor_map(C, M, N, 64, 32, 128);
    using Shared = ::Shared<T, m, n, transposed>;
    constexpr int kBlocks = cluster_m * cluster_n, kBytes = sizeof(Shared);
    const auto kernel = [] {
        if constexpr (kBlocks == 1) return matmul<T, m, n, transposed>;
        else return matmul_in_clusters<T, m, n, transposed, cluster_m, cluster_n>;
    }();
    allow_shared_memory(kernel, kBytes);
    kernel<<<work.clusters * kBlocks, Shared::kAllThreads, kBytes>>>(work, C, A_map, B_map, C_map);
}

template <class T>
struct Config {
    Tile tile;
    int step, rest;  // nanoseconds, on an H200, of a step and of the rest of a tile
    void (*launch)(const Work& work, int K, const T* A, const T* B, float* C);
    std::string name() const {
        return format("%dx%d%s", tile.m, tile.n, tile.transposed ? "-transposed" : "");
    }
};
template <class T, int m, int n, int cm, int cn>
constexpr Config<T> normal(int step, int rest) {
    return {{m, n, false, cm, cn}, step, rest, launch<T, m, n, false, cm, cn>};
}
template <class T, int m, int n, int cm, int cn>
constexpr Config<T> transposed(int step, int rest) {
    return {{m, n, true, cm, cn}, step, rest, launch<T, m, n, true, cm, cn>};
}
template <class T>
constexpr Config<T> kConfigs[] = {  // rows, columns of a tile; cluster_m, cluster_n
    normal<T, 128, 256, 1, 1>(611, 2069),   normal<T, 128, 128, 1, 4>(341, 979),
    normal<T, 128, 64, 1, 1>(243, 353),     transposed<T, 32, 64, 1, 1>(140, 137),
    transposed<T, 64, 64, 1, 1>(178, 60),   transposed<T, 64, 128, 1, 1>(296, 98),
    transposed<T, 96, 128, 1, 1>(298, 352), transposed<T, 80, 128, 2, 1>(240, 586)};

template <class T>
const Config<T>& best_config(int M, int N, int K) {
    const auto time = [=, steps = ceil_div(K, kTileK)](const Config<T>& config) {
        // TMA stores rows that start on multiples of 16 bytes.
        if (!config.tile.transposed && N % 4) return std::numeric_limits<double>::infinity();
        const int waves = ceil_div(config.tile.count(M, N), clusters_at_once(config.tile.blocks()));
        return waves * (1.0 * steps * config.step + config.rest);
    };
    return fastest(kConfigs<T>, time);
}

template <class T>
void launch_matmul(int M, int N, int K, const T* A, const T* B, float* C) {
    const Config<T>& config = best_config<T>(M, N, K);
    config.launch(Work(M, N, K, config.tile), K, A, B, C);
}

// A is loaded once per column of clusters, B once per row of them, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    const Tile tile = best_config<half>(M, N, K).tile;
    return M * K * std::ceil(N / (tile.n * tile.cluster_n)) +
           K * N * std::ceil(M / (tile.m * tile.cluster_m)) + loaded_by_copies(M, N, K);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, nullptr, kWgmma};
    facts.stored_elements = stored_with_copies;
    for (const auto& config : kConfigs<half>)
        facts.configs.push_back({config.name(), config.tile.m * config.tile.cluster_m,
                                 config.tile.n * config.tile.cluster_n, kTileK});
    facts.chosen = [](int M, int N, int K) { return best_config<half>(M, N, K).name(); };
    return run_stage(launch_matmul<half>, facts, argc, argv);
}
