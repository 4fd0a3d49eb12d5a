// Multicast: the CTAs of a cluster load for each other. CTAs side by side need the same rows of A,
// CTAs one below the other the same columns of B. So each of them loads a slice of what they share,
// and TMA multicasts the slice: it arrives in the shared memory of all of them, and its bytes count
// on the full barrier of each.
//
//    128 x 256, L2 requests of a k-tile    a CTA without a cluster        128 for A + 256 for B
//                                          a CTA of a cluster of 2 x 1    128 for A + 128 for B
//
// A stage may be loaded again when the consumers of all these CTAs have read it. So each consumer
// warp arrives on the empty barrier of every CTA that multicasts to it.
//
// Changed:  loads are multicasts; consumer warps arrive on the empty barriers of all CTAs of the
//           cluster; a CTA waits for the last of these arrivals before it ends.
#include "common/aligned_rows.h"
#include "common/cluster_occupancy.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tile_scheduler.h"
#include "common/tma_epilogue.cuh"

constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
// With fewer waves, only as many blocks start as give each the same number of tiles. From here on
// all SMs get one, because that would leave at most 4 of 132 idle.
constexpr int kManyWaves = 32;

template <int kTileM, int kTileN, bool kTransposed>
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    static constexpr int kParts = kTileN / 64;
    static constexpr int kWarpgroups = kTransposed ? kParts : kTileM / 64;
    // The producer is one thread, in a warpgroup of its own for setmaxnreg, which a whole warpgroup
    // executes. A single consumer warpgroup can have 255 registers per thread without it.
    static constexpr int kThreads = 128 * kWarpgroups + (kWarpgroups == 1 ? 32 : 128);
    // Pairs of boxes for each warpgroup. Arrays of length 0 are an extension of g++ and nvcc.
    static constexpr int kPairs = kTransposed ? 0 : 2;
    // A block may have 227 KiB. A pair of boxes takes 16, 8 rows of As 1, 64 columns of Bs 8.
    static constexpr int kStages =
        std::min(12, (226 - kWarpgroups * kPairs * 16) / (kTileM / 8 + kParts * 8));
    half As[kStages][kTileM][kTileK];
    half Bs[kStages][kParts][kTileK][64];
    TmaEpilogue::Pair Cs[kWarpgroups][kPairs];
    uint64_t full[kStages], empty[kStages];
};
static_assert(kTileK == 64, "64 halves are 128 bytes");

struct Tiling {
    int m, n;  // rows and columns of C that a block computes
    bool transposed;
    int cluster_m, cluster_n;  // CTAs of a cluster, one below the other and side by side
    constexpr int ctas() const { return cluster_m * cluster_n; }
};

// How a launch's tiles are divided among clusters: computed by the host, read by host and device.
struct Work {
    Work(int M, int N, int K, Tiling tiling)
        : M(M), N(N), k_tiles(ceil_div(K, kTileK)),
          scheduler(ceil_div(M, tiling.m * tiling.cluster_m),
                    ceil_div(N, tiling.n * tiling.cluster_n), kGroup / tiling.cluster_m) {
        const int at_once = clusters_at_once(tiling.ctas());
        const int waves = ceil_div(scheduler.tiles, at_once);
        clusters = waves < kManyWaves ? ceil_div(scheduler.tiles, waves) : at_once;
    }
    int M, N;
    int k_tiles;  // of a tile
    TileScheduler scheduler;  // of the tiles that a cluster computes together
    int clusters;  // each takes every clusters-th of them
};

template <int kTileM, int kTileN, bool kTransposed, int kClusterM, int kClusterN>
__device__ __forceinline__ void multiply(const Work& work, float* C, const CUtensorMap& A,
                                         const CUtensorMap& B, const CUtensorMap& C_map) {
    extern __shared__ __align__(1024) char memory[];
    using Shared = ::Shared<kTileM, kTileN, kTransposed>;
    constexpr int kConsumers = 128 * Shared::kWarpgroups;  // consumer threads
    constexpr int kStages = Shared::kStages, kParts = Shared::kParts;
    constexpr int kFragments = (kTransposed ? kTileM : kTileN) / 8;  // a warp's, of 16 x 8
    constexpr int kDeferred =
        !kTransposed && kParts > 2 ? 2 : 0;  // parts stored during the next tile
    constexpr int kImmediate = kParts - kDeferred;  // at the tile's end
    constexpr bool kSingleConsumer = Shared::kWarpgroups == 1;  // two k-tiles' products in flight
    auto& shared = *reinterpret_cast<Shared*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    static_assert(kTileM / kClusterN % 8 == 0, "a slice of A is whole repeats of the swizzle");
    constexpr int kCtas = kClusterM * kClusterN;
    const int rank = kCtas > 1 ? ptx::get_sreg_cluster_ctarank() : 0, cluster = blockIdx.x / kCtas;
    const int cta_m = rank / kClusterN, cta_n = rank % kClusterN;

    const auto load = [&](int row, int col, int k, int stage) {
        uint64_t* const full = &shared.full[stage];
        ptx::mbarrier_arrive_expect_tx(full, sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
        // CTAs side by side load some rows of A each, CTAs one below the other some rows of B.
        constexpr int kRowsA = kTileM / kClusterN, kRowsB = kTileK / kClusterM;
        const int a = cta_n * kRowsA, b = cta_m * kRowsB;  // where this CTA's slices begin
        // A bit for each CTA of the row of the cluster in which this one is, and of its column.
        constexpr unsigned kRow = (1 << kClusterN) - 1, kColumn = ((1 << kCtas) - 1) / kRow;
        const unsigned in_row = kRow << cta_m * kClusterN, in_column = kColumn << cta_n;
        if (kClusterN == 1) ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, row, full);
        else ptx::cp_async_bulk_tensor(shared.As[stage][a], &A, k, row + a, full, in_row);
        for (int j = 0; j < kTileN; j += 64)
            if (kClusterM == 1)
                ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64], &B, col + j, k, full);
            else
                ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64][b], &B, col + j, k + b, full,
                                          in_column);
    };
    // A consumer warp has read the stage: lanes 0, 1, ... each arrive on the barrier of one CTA, the
    // first on those of this CTA's row in the cluster, the others on those of its column.
    constexpr int kSharers = kClusterM + kClusterN - 1;  // CTAs that load for this one
    const int above = lane - kClusterN, m = above < cta_m ? above : above + 1;
    const int sharer = lane < kClusterN ? cta_m * kClusterN + lane : m * kClusterN + cta_n;
    const auto release = [&](int stage) {
        if (kCtas == 1 && lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
        if (kCtas > 1 && lane < kSharers)
            ptx::mbarrier_arrive_cluster(&shared.empty[stage], sharer);
    };

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            ptx::mbarrier_init(&shared.full[stage], 1);  // one arrival, of the thread that loads
            // One arrival of each consumer warp that reads what this CTA loads.
            ptx::mbarrier_init(&shared.empty[stage], kSharers * kConsumers / 32);
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the mbarriers are initialised
    if (kCtas > 1) {  // in every CTA
        ptx::barrier_cluster_arrive_relaxed();
        ptx::barrier_cluster_wait();
    }

    if (warp >= kConsumers / 32) {
        if (!kSingleConsumer) ptx::warpgroup_reg_dealloc<40>();
        if (threadIdx.x > kConsumers) return;
        int stage = 0, parity = 1;  // 1: that of the phase before the first, which is complete
        const auto next = [&] {
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
        };
        for (int tile = cluster; tile < work.scheduler.tiles; tile += work.clusters) {
            const auto at = work.scheduler.position(tile);
            const int row = (at.m * kClusterM + cta_m) * kTileM;
            const int col = (at.n * kClusterN + cta_n) * kTileN;
            for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile, next()) {
                ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
                load(row, col, k_tile * kTileK, stage);
            }
        }
        // This CTA must not exit before the last arrivals of the others' warps on its barriers.
        for (int i = 0; kCtas > 1 && i < kStages; ++i, next())
            ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
        return;
    }
    if (!kSingleConsumer) ptx::warpgroup_reg_alloc<Shared::kWarpgroups == 3 ? 152 : 232>();

    const int row = warp / 4 * 64;  // a warpgroup owns 64 rows of the tile; transposed, 64 columns
    TmaEpilogue epilogue(shared.Cs[kTransposed ? 0 : warp / 4], C_map);
    // The descriptors of stage 0, in units of 16 bytes: 64 to the next eight rows, 512 to the next
    // 64 columns of B.
    const auto A_first = ptx::wgmma_descriptor(shared.As[0][kTransposed ? 0 : row], 128, 64);
    const auto B_first =
        ptx::wgmma_descriptor(shared.Bs[0][kTransposed ? row / 64 : 0], 128, 64, 512);
    uint64_t a = A_first, b = B_first;
    int stage = 0, parity = 0, previous = 0;
    float deferred[kDeferred ? 8 * kDeferred : 1][4];  // parts of the tile before
    int c_row = 0, c_col = 0, deferred_row = 0, deferred_col = 0;
    for (int tile = cluster; tile < work.scheduler.tiles; tile += work.clusters) {
        float acc[kFragments][4];  // tiles of 16 x 8, side by side in the warp's 16 rows
        for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16) {  // along the rows of A, down the rows of B
                const uint64_t a_s = a + s * 2 / 16, b_s = b + s * 128 / 16;
                if (kTransposed) ptx::wgmma_m64k16<half, 1, 0>(acc, b_s, a_s, k_tile + s > 0);
                else ptx::wgmma_m64k16<half, 0, 1>(acc, a_s, b_s, k_tile + s > 0);
            }
            ptx::wgmma_commit_group();
            // While the products run: where this tile is, and deferred parts of the one before.
            if (k_tile == 0) {
                const auto at = work.scheduler.position(tile);
                c_row = (at.m * kClusterM + cta_m) * kTileM + (kTransposed ? 0 : row);
                c_col = (at.n * kClusterN + cta_n) * kTileN + (kTransposed ? row : 0);
            }
#pragma unroll
            for (int i = 0; i < kDeferred; ++i)
                if (tile >= work.clusters && k_tile == min(2 + 2 * i, work.k_tiles - 1))
                    epilogue.store(&deferred[8 * i], deferred_row,
                                   deferred_col + (kImmediate + i) * 64);
            if (kSingleConsumer) {  // waits for the k-tile before, while these products run
                ptx::wgmma_wait_group<1>();
                if (k_tile > 0) release(previous);
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
        if constexpr (!kTransposed) {
            for (int i = 0; i < kImmediate; ++i) epilogue.store(&acc[8 * i], c_row, c_col + i * 64);
            if constexpr (kDeferred > 0) memcpy(deferred, acc + 8 * kImmediate, sizeof deferred);
            deferred_row = c_row;
            deferred_col = c_col;
        } else {
#pragma unroll
            for (int i = 0; i < 4 * kFragments; ++i) {
                const int r = c_row + i / 4 * 8 + lane % 4 * 2 + i % 2;
                const int c = c_col + warp % 4 * 16 + i % 4 / 2 * 8 + lane / 4;
                if (r < work.M && c < work.N) C[size_t(r) * work.N + c] = acc[i / 4][i % 4];
            }
        }
    }
    for (int i = 0; i < kDeferred; ++i)
        epilogue.store(&deferred[8 * i], deferred_row, deferred_col + (kImmediate + i) * 64);
    if (!kTransposed) epilogue.finish();
}

template <int m, int n, bool transposed>
__global__ void __launch_bounds__(Shared<m, n, transposed>::kThreads, 1)
    matmul(const __grid_constant__ Work work, float* C, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map) {
    multiply<m, n, transposed, 1, 1>(work, C, A, B, C_map);
}
template <int m, int n, bool transposed, int cluster_m, int cluster_n>
CLUSTER_DIMS(cluster_m* cluster_n, 1, 1)
__global__ void __launch_bounds__(Shared<m, n, transposed>::kThreads, 1)
    matmul_in_clusters(const __grid_constant__ Work work, float* C,
                       const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                       const __grid_constant__ CUtensorMap C_map) {
    multiply<m, n, transposed, cluster_m, cluster_n>(work, C, A, B, C_map);
}

template <int m, int n, bool transposed, int cluster_m, int cluster_n>
void launch(const Work& work, int K, const half* A, const half* B, float* C) {
    const int M = work.M, N = work.N;
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, m / cluster_n, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK / cluster_m, 64, 128, B_rows.stride);
    const auto C_map = transposed ? CUtensorMap() : tensor_map(C, M, N, 64, 32, 128);
    const auto kernel = [] {
        if constexpr (cluster_m * cluster_n == 1) return matmul<m, n, transposed>;
        else return matmul_in_clusters<m, n, transposed, cluster_m, cluster_n>;
    }();
    using Shared = ::Shared<m, n, transposed>;
    allow_shared_memory(kernel, sizeof(Shared));
    const int blocks = work.clusters * cluster_m * cluster_n;
    kernel<<<blocks, Shared::kThreads, sizeof(Shared)>>>(work, C, A_map, B_map, C_map);
}

// A k-tile takes `step` nanoseconds, the rest of a tile `rest`, fitted to times of an H100.
struct Config {
    Tiling tiling;
    int step, rest;
    void (*launch)(const Work& work, int K, const half* A, const half* B, float* C);
    std::string name() const {
        return format("%dx%d%s-%dx%d", tiling.m, tiling.n, tiling.transposed ? "-transposed" : "",
                      tiling.cluster_m, tiling.cluster_n);
    }
};
template <int m, int n, int cm = 1, int cn = 1>
constexpr Config normal(int step, int rest) {
    return {{m, n, false, cm, cn}, step, rest, launch<m, n, false, cm, cn>};
}
template <int m, int n, int cm = 1, int cn = 1>
constexpr Config transposed(int step, int rest) {
    return {{m, n, true, cm, cn}, step, rest, launch<m, n, true, cm, cn>};
}
constexpr Config kConfigs[] = {normal<128, 64>(203, 676),
                               normal<128, 128>(326, 1236),
                               normal<128, 192>(472, 1701),
                               normal<128, 192, 2, 1>(524, 1901),
                               normal<128, 256>(657, 2245),
                               normal<128, 256, 2, 1>(671, 2331),
                               transposed<32, 64>(128, 82),
                               transposed<64, 64>(138, 226),
                               transposed<96, 128>(264, 810),
                               transposed<112, 128, 4, 2>(285, 1076),
                               transposed<160, 128, 4, 2>(396, 1402),
                               transposed<192, 192, 1, 2>(718, 2933)};

const Config& best_config(int M, int N, int K) {
    const auto time = [=](const Config& config) {
        if (!config.tiling.transposed &&
            N % 4)  // TMA stores rows that start on multiples of 16 bytes
            return std::numeric_limits<double>::infinity();
        const Work work(M, N, K, config.tiling);
        const double waves = ceil_div(work.scheduler.tiles, work.clusters);
        return waves * (1.0 * work.k_tiles * config.step + config.rest);
    };
    return fastest(kConfigs, time);
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const Config& best = best_config(M, N, K);
    best.launch(Work(M, N, K, best.tiling), K, A, B, C);
}

// A is loaded once per column of clusters, B once per row of them, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    return M * K * std::ceil(N / (tiling.n * tiling.cluster_n)) +
           K * N * std::ceil(M / (tiling.m * tiling.cluster_m)) + loaded_by_copies(M, N, K);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, [](double, double, double) { return 0.0; }, kWgmma};
    facts.stored_elements = stored_with_copies;
    for (const Config& config : kConfigs)
        facts.configs.push_back({config.name(), config.tiling.m * config.tiling.cluster_m,
                                 config.tiling.n * config.tiling.cluster_n, kTileK});
    facts.chosen = [](int M, int N, int K) { return best_config(M, N, K).name(); };
    return run_stage(launch_matmul, facts, argc, argv);
}
