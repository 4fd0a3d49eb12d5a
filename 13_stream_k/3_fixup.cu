// A fix-up that always adds in the same order. The clusters that share a tile leave their partial
// sums in a workspace in device memory, and the last one adds them up. For each warp of a tile a
// counter hands out tickets. A warp with any but the last ticket writes its partial sum; the one
// with the last ticket keeps its own in registers, waits until the others have written, and adds
// all partial sums in the order of k. C is written once, and the same bits come out each time.
//
//    ticket 0    write the partial sum, fence, count it as written
//    ticket 1    (of two) wait for the count, fence, read the partial sum, add, store C
//
// No warp waits for one that may not be running yet: whoever has a ticket is running.
//
// Changed:  partial sums are added up through a workspace, not by atomicAdd on C.
#include "common/aligned_rows.h"
#include "common/cluster_occupancy.h"
#include "common/cluster_pipeline.cuh"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tile_scheduler.h"
#include "common/tma_epilogue.cuh"

constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
// With fewer waves, only as many blocks start as give each the same number of tiles. From here on
// all SMs get one, because that would leave at most 4 of 132 idle.
constexpr int kManyWaves = 32;
constexpr int kMinSaved = 4;  // k-tiles that Stream-K must save, or else tiles stay whole

template <class Tile, int kSplitK>
struct Shared {
    // Normal tiles are stored by TMA, from two pairs of boxes for each warpgroup. (Arrays of length
    // 0, as transposed tiles have, are an extension of C++ by nvcc, g++ and clang.)
    static constexpr int kPairs = Tile::kSwapped ? 0 : 2 * Tile::kWarpgroups;
    static constexpr int kOwned = ceil_div(Tile::kFragments, kSplitK);  // that a CTA adds up
    static constexpr int kReduced = kSplitK > 1 ? kOwned : 0;
    // In KiB. A block may have 227, of which mbarriers take up to two. A pair takes 16, a fragment of
    // a warpgroup 2.
    static constexpr int kRest = 225 - kPairs * 16 - kReduced * kSplitK * Tile::kWarpgroups * 2;
    static constexpr int kStages = std::min(12, kRest / (Tile::kTileM / 8 + Tile::kParts * 8));
    using Pipeline = ::Pipeline<Tile, kStages>;
    typename Pipeline::Memory stages;
    TmaEpilogue::Pair Cs[kPairs];
    float4 reduction_buffer[kReduced][kSplitK][Tile::kConsumers];
    uint64_t reduction_full, reduction_empty;
};

// How C is tiled: a CTA computes a tile of m x n, or a slice of its k-tiles.
struct Tiling {
    int m, n;
    bool transposed;
    int cluster_m, cluster_n;  // tiles of a cluster, one below the other and side by side
    int split_k;  // CTAs for each tile, a slice of its k-tiles each
    constexpr int ctas() const { return cluster_m * cluster_n * split_k; }
};

// Consecutive k-tiles of one tile that a cluster computes.
struct Unit {
    int tile, first, k_tiles;
};

// How a launch's k-tiles are divided among clusters: computed by the host, read by host and device.
struct Work {
    Work(int M, int N, int K, Tiling tiling)
        : M(M), N(N), k_tiles(ceil_div(K, kTileK)),
          scheduler(ceil_div(M, tiling.m * tiling.cluster_m),
                    ceil_div(N, tiling.n * tiling.cluster_n), kGroup / tiling.cluster_m) {
        const int at_once = clusters_at_once(tiling.ctas()), tiles = scheduler.tiles;
        const int waves = ceil_div(tiles, at_once);
        clusters = waves < kManyWaves ? ceil_div(tiles, waves) : at_once;
        // The tiles of all full waves but one stay whole. The others are shared if that saves
        // enough k-tiles.
        const int whole_waves = std::max(0, tiles / at_once - 1);
        const int remaining = tiles - whole_waves * at_once;
        const int saved = (waves - whole_waves) * k_tiles - ceil_div(remaining * k_tiles, at_once);
        if (saved < kMinSaved) return;
        stream_k_tiles = remaining;
        clusters = std::min(at_once, remaining * k_tiles);
        tile_divisor = Divisor(k_tiles);
    }
    // Where a cluster's share of the k-tiles begins, and whose share k-tile `at` belongs to.
    __host__ __device__ int begin(int cluster) const {
        return int(1ll * stream_k_tiles * k_tiles * cluster / clusters);
    }
    __host__ __device__ int cluster_of(int at) const {
        return int(((at + 1ll) * clusters - 1) / (stream_k_tiles * k_tiles));
    }
    // How many shares begin inside a tile.
    int cuts() const {
        int count = 0;
        for (int cluster = 1; cluster < clusters; ++cluster) count += begin(cluster) % k_tiles > 0;
        return count;
    }
    int M, N;
    int k_tiles;  // of a tile
    TileScheduler scheduler;  // of the tiles that a cluster computes together
    int clusters;  // each takes its share, and then every clusters-th of the other tiles
    int stream_k_tiles = 0;  // the first tiles, whose k-tiles all clusters divide
    Divisor tile_divisor;  // divides by k_tiles
    float4* workspace = nullptr;  // two partial sums for each CTA
};

// The units of work of a cluster, in order. kCut: some are parts of tiles.
template <bool kCut>
class Units {
public:
    __device__ Units(const Work& work, int cluster)
        : work_(work), whole_(work.stream_k_tiles + cluster) {
        if (!kCut) return;
        at_ = work.begin(cluster);
        end_ = work.begin(cluster + 1);
    }
    __device__ bool next(Unit& unit) {
        if (kCut && at_ < end_) {
            unit.tile = work_.tile_divisor.quotient(at_);
            unit.first = at_ - unit.tile * work_.k_tiles;
            unit.k_tiles = min(work_.k_tiles - unit.first, end_ - at_);
            at_ += unit.k_tiles;
            return true;
        }
        unit = {whole_, 0, work_.k_tiles};
        whole_ += work_.clusters;
        return unit.tile < work_.scheduler.tiles;
    }

private:
    const Work& work_;
    int at_ = 0, end_ = 0;  // of the share
    int whole_;  // the next whole tile
};

// A cut tile has a pair of counters for each warp of each CTA of a cluster. The warps of all
// clusters that share the tile count in them: how many have drawn a ticket, and how many have written
// their partial sums to the workspace. The warp that adds them up resets both.
constexpr int kCounters = 4096;  // two tiles for each CTA, twelve warps
__device__ int tickets[kCounters];
__device__ int written[kCounters];

template <class Tile, int kSplitK, bool kCut>
__device__ __forceinline__ void multiply(const Work& work, float* C, const CUtensorMap& A,
                                         const CUtensorMap& B, const CUtensorMap& C_map) {
    extern __shared__ __align__(1024) char memory[];
    using Shared = ::Shared<Tile, kSplitK>;
    static_assert(kSplitK == 1 || Tile::kSwapped, "only transposed tiles are split");
    constexpr int kConsumers = Tile::kConsumers, kFragments = Tile::kFragments;
    constexpr int kSums = Shared::kOwned;  // fragments that a CTA adds up and stores
    // Of a normal tile's parts, which have 64 columns each, those stored during the next tile.
    constexpr int kDeferred = !Tile::kSwapped && Tile::kParts > 2 ? 2 : 0;
    constexpr int kImmediate = Tile::kParts - kDeferred;
    constexpr int kMulticastCtas = Tile::kMulticastCtas, kCtas = kMulticastCtas * kSplitK;
    auto& shared = *reinterpret_cast<Shared*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int rank = kCtas > 1 ? ptx::get_sreg_cluster_ctarank() : 0, cluster = blockIdx.x / kCtas;
    const int slice = rank / kMulticastCtas, in_group = rank % kMulticastCtas;
    typename Shared::Pipeline pipeline(shared.stages, slice * kMulticastCtas, in_group);
    // Of a unit's k-tiles this CTA computes those of its slice.
    const auto first_k_tile = [&](const Unit& unit, int slice) {
        return unit.first + unit.k_tiles * slice / kSplitK;
    };

    if (threadIdx.x == 0) {
        pipeline.initialise();
        ptx::mbarrier_init(&shared.reduction_full, 1);  // a thread's arrival, and bytes
        ptx::mbarrier_init(&shared.reduction_empty, kSplitK * kConsumers / 32);
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the mbarriers are initialised
    if (kCtas > 1) {  // in every CTA
        ptx::barrier_cluster_arrive_relaxed();
        ptx::barrier_cluster_wait();
    }
    // The first row and column of this CTA's tile.
    const auto row_of = [&](TileScheduler::Position at) {
        return (at.m * Tile::kAlongM + in_group / Tile::kAlongN) * Tile::kTileM;
    };
    const auto col_of = [&](TileScheduler::Position at) {
        return (at.n * Tile::kAlongN + in_group % Tile::kAlongN) * Tile::kTileN;
    };

    if (warp >= kConsumers / 32) {
        if (Tile::kWarpgroups > 1) ptx::warpgroup_reg_dealloc<40>();
        if (threadIdx.x > kConsumers) return;
        typename Shared::Pipeline::Position stage;
        stage.parity = 1;
        Unit unit;
        for (Units<kCut> units(work, cluster); units.next(unit);) {
            const auto at = work.scheduler.position(unit.tile);
            for (int k_tile = first_k_tile(unit, slice); k_tile < first_k_tile(unit, slice + 1);
                 ++k_tile)
                pipeline.load(stage, A, B, row_of(at), col_of(at), k_tile * kTileK);
        }
        pipeline.drain(stage);
        return;
    }
    if (Tile::kWarpgroups > 1) ptx::warpgroup_reg_alloc<Tile::kWarpgroups == 3 ? 152 : 232>();

    const int row = warp / 4 * 64;  // a warpgroup owns 64 rows of the tile; transposed, 64 columns
    TmaEpilogue epilogue(shared.Cs + (Tile::kSwapped ? 0 : warp / 4 * 2), C_map);
    // From registers to C: a fragment of 16 x 8 of each warp, of a transposed tile one of 8 x 16.
    const auto store_fragment = [&](const float(&x)[4], int c_row, int c_col, int fragment) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int along = warp % 4 * 16 + i / 2 * 8 + lane / 4;  // the 64 of the warpgroup
            const int across = fragment * 8 + lane % 4 * 2 + i % 2;
            const int r = c_row + (Tile::kSwapped ? across : along);
            const int c = c_col + (Tile::kSwapped ? along : across);
            if (r < work.M && c < work.N) C[size_t(r) * work.N + c] = x[i];
        }
    };

    // Adds up the slices of the tile in acc. This CTA adds up fragments slice, slice + kSplitK, ...,
    // for which all CTAs that compute the tile send their accumulators to its reduction buffer.
    int parity = 0;  // of the reduction's barriers
    const auto reduce = [&](const float(&acc)[kFragments][4], float(&sums)[kSums][4]) {
        const int owned = (kFragments - slice + kSplitK - 1) / kSplitK;  // may be 0
        // Waits until the warps of all CTAs that share this tile have read their reduction buffers.
        // A CTA that adds up no fragment must not arrive earlier: it expects no bytes, so that its
        // phase completes at once, and a slower warp would miss the end of the phase before.
        ptx::mbarrier_wait_parity(&shared.reduction_empty, parity ^ 1);
        if (threadIdx.x == 0)
            ptx::mbarrier_arrive_expect_tx(&shared.reduction_full,
                                           owned * kSplitK * kConsumers * int(sizeof(float4)));
#pragma unroll
        for (int fragment = 0; fragment < kFragments; ++fragment) {
            const float(&x)[4] = acc[fragment];
            ptx::st_async(&shared.reduction_buffer[fragment / kSplitK][slice][threadIdx.x],
                          {x[0], x[1], x[2], x[3]}, &shared.reduction_full,
                          fragment % kSplitK * kMulticastCtas + in_group);
        }
        ptx::mbarrier_wait_parity(&shared.reduction_full, parity);
#pragma unroll
        for (int i = 0; i < kSums; ++i)
            for (int from = 0; from < kSplitK && i < owned; ++from) {  // always in this order
                const float4 x = shared.reduction_buffer[i][from][threadIdx.x];
                const float terms[4] = {x.x, x.y, x.z, x.w};
                for (int e = 0; e < 4; ++e) sums[i][e] = from ? sums[i][e] + terms[e] : terms[e];
            }
        __syncwarp();  // all lanes have read
        if (lane < kSplitK)
            ptx::mbarrier_arrive_cluster(&shared.reduction_empty, lane * kMulticastCtas + in_group);
        parity ^= 1;
    };

    // Whether this CTA adds up an i-th fragment: it may have one fewer than another CTA.
    const auto owns = [&](int i) {
        return i < kSums && (kFragments % kSplitK == 0 || slice + i * kSplitK < kFragments);
    };
    // Adds up the partial sums of a tile that is cut, the fragments of each warp separately. Returns
    // whether this warp is the last: then `sums` has become the sum of all, in the order of k, and
    // the caller stores it.
    const auto fix_up = [&](float(&sums)[kSums][4], const Unit& unit) {
        const int counter = (unit.tile * kCtas + rank) * (kConsumers / 32) + warp;
        const int first_cluster = work.cluster_of(unit.tile * work.k_tiles);
        const int last_cluster = work.cluster_of((unit.tile + 1) * work.k_tiles - 1);
        const int count = last_cluster - first_cluster + 1, own = cluster - first_cluster;
        // A cluster may have two partial sums: of the end of a tile, and the beginning of another.
        const auto partial = [&](int i) {
            const size_t place = 2 * (first_cluster + i) + (i == 0);
            return work.workspace + (place * kCtas + rank) * kSums * kConsumers + threadIdx.x;
        };
        const int ticket = lane == 0 ? atomicAdd(&tickets[counter], 1) : 0;
        if (__shfl_sync(~0u, ticket, 0) < count - 1) {
            float4* const own_partial = partial(own);
#pragma unroll
            for (int i = 0; i < kSums; ++i)
                if (owns(i))
                    __stcg(own_partial + i * kConsumers,
                           float4{sums[i][0], sums[i][1], sums[i][2], sums[i][3]});
            __syncwarp();  // all lanes have written: the fence covers that, too
            if (lane == 0) {
                __threadfence();
                atomicAdd(&written[counter], 1);
            }
            return false;
        }
        if (lane == 0) {
            while (atomicAdd(&written[counter], 0) < count - 1) {
            }
            __threadfence();
            atomicExch(&tickets[counter], 0);
            atomicExch(&written[counter], 0);
        }
        __syncwarp();  // all other partial sums have been written
        const auto add = [](float(&sum)[4], float4 x) {
            sum[0] += x.x;
            sum[1] += x.y;
            sum[2] += x.z;
            sum[3] += x.w;
        };
        constexpr int kAtOnce = kSums < 16 ? kSums : 16;  // loads of a thread in flight
#pragma unroll
        for (int first = 0; first < kSums; first += kAtOnce) {
            float before[kAtOnce][4] = {};  // the partial sums before this one
            for (int i = 0; i < own; ++i)
#pragma unroll
                for (int j = 0; j < kAtOnce; ++j)
                    if (owns(first + j))
                        add(before[j], __ldcg(partial(i) + (first + j) * kConsumers));
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j)
                if (owns(first + j))
                    add(sums[first + j], {before[j][0], before[j][1], before[j][2], before[j][3]});
            for (int i = own + 1; i < count; ++i)
#pragma unroll
                for (int j = 0; j < kAtOnce; ++j)
                    if (owns(first + j))
                        add(sums[first + j], __ldcg(partial(i) + (first + j) * kConsumers));
        }
        return true;
    };

    typename Shared::Pipeline::Consumer consumer(pipeline, row);
    float deferred[kDeferred ? 8 * kDeferred : 1][4];  // accumulators of the previous tile
    bool pending = false;  // `deferred` is still to be stored
    int c_row = 0, c_col = 0, deferred_row = 0, deferred_col = 0;
    const auto store_deferred = [&](int i) {
        epilogue.store(&deferred[8 * i], deferred_row, deferred_col + (kImmediate + i) * 64);
    };
    Unit unit;
    for (Units<kCut> units(work, cluster); units.next(unit);) {
        const int k_tiles = first_k_tile(unit, slice + 1) - first_k_tile(unit, slice);
        float acc[kFragments][4];
        consumer.multiply(acc, k_tiles, [&](int k_tile) {
            if (k_tile == 0) {
                const auto at = work.scheduler.position(unit.tile);
                c_row = row_of(at) + (Tile::kSwapped ? 0 : row);
                c_col = col_of(at) + (Tile::kSwapped ? row : 0);
            }
#pragma unroll
            for (int i = 0; i < kDeferred; ++i)
                if (pending && k_tile == min(2 + 2 * i, k_tiles - 1)) store_deferred(i);
        });
        if (kCut) memset(deferred, 0, sizeof deferred);  // else unused values fill registers
        pending = false;
        const bool whole = !kCut || unit.k_tiles == work.k_tiles;
        if constexpr (kSplitK > 1) {
            float sums[kSums][4];  // where a CTA adds up fewer, the last is unset, and not stored
            reduce(acc, sums);
            if (!whole && !fix_up(sums, unit)) continue;
#pragma unroll
            for (int i = 0; i < kSums; ++i)
                if (int fragment = slice + i * kSplitK; fragment < kFragments)
                    store_fragment(sums[i], c_row, c_col, fragment);
        } else if (!Tile::kSwapped && whole) {
            for (int i = 0; i < kImmediate; ++i) epilogue.store(&acc[8 * i], c_row, c_col + i * 64);
            if constexpr (kDeferred > 0) memcpy(deferred, acc + 8 * kImmediate, sizeof deferred);
            pending = true;
            deferred_row = c_row;
            deferred_col = c_col;
        } else if (whole || fix_up(acc, unit)) {
#pragma unroll
            for (int i = 0; i < kFragments; ++i) store_fragment(acc[i], c_row, c_col, i);
        }
    }
    for (int i = 0; pending && i < kDeferred; ++i) store_deferred(i);
    if (!Tile::kSwapped) epilogue.finish();
    if (kSplitK > 1)  // the other CTAs' last arrivals come here
        ptx::mbarrier_wait_parity(&shared.reduction_empty, parity ^ 1);
}

template <class Tile, bool kCut>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    matmul(const __grid_constant__ Work work, float* C, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map) {
    multiply<Tile, 1, kCut>(work, C, A, B, C_map);
}
template <class Tile, int kSplitK, bool kCut>
CLUSTER_DIMS(Tile::kMulticastCtas* kSplitK, 1, 1)
__global__ void __launch_bounds__(Tile::kThreads, 1)
    matmul_in_clusters(const __grid_constant__ Work work, float* C,
                       const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                       const __grid_constant__ CUtensorMap C_map) {
    multiply<Tile, kSplitK, kCut>(work, C, A, B, C_map);
}

template <class Tile, int kSplitK>
void launch(Work work, int K, const half* A, const half* B, float* C) {
    const int M = work.M, N = work.N;
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map =
        tensor_map(A_rows.data, M, K, Tile::kTileM / Tile::kAlongN, kTileK, 128, A_rows.stride);
    const auto B_map =
        tensor_map(B_rows.data, K, N, kTileK / Tile::kAlongM, 64, 128, B_rows.stride);
    const auto C_map = Tile::kSwapped ? CUtensorMap() : tensor_map(C, M, N, 64, 32, 128);
    constexpr int kCtas = Tile::kMulticastCtas * kSplitK;
    const auto kernel = [&] {
        if constexpr (kCtas == 1)
            return work.stream_k_tiles ? matmul<Tile, true> : matmul<Tile, false>;
        else
            return work.stream_k_tiles ? matmul_in_clusters<Tile, kSplitK, true>
                                       : matmul_in_clusters<Tile, kSplitK, false>;
    }();
    using Shared = ::Shared<Tile, kSplitK>;
    static_assert(sizeof(Shared) <= 227 << 10, "a block may have 227 KiB of shared memory");
    const int blocks = work.clusters * kCtas;
    if (work.stream_k_tiles) {  // finish_launch() reports the error
        keep_freed_memory();
        const size_t bytes = 2 * sizeof(float4) * blocks * Shared::kOwned * Tile::kConsumers;
        if (cudaMallocAsync(&work.workspace, bytes, 0)) return;
    }
    allow_shared_memory(kernel, sizeof(Shared));
    kernel<<<blocks, Tile::kThreads, sizeof(Shared)>>>(work, C, A_map, B_map, C_map);
    if (work.workspace) cudaFreeAsync(work.workspace, 0);
}

// A k-tile takes `step` nanoseconds, the rest of a tile `rest`, fitted to times of an H100.
struct Config {
    Tiling tiling;
    int step, rest;
    void (*launch)(Work work, int K, const half* A, const half* B, float* C);
    std::string name() const {
        return format("%dx%d%s-%dx%dx%d", tiling.m, tiling.n,
                      tiling.transposed ? "-transposed" : "", tiling.cluster_m, tiling.cluster_n,
                      tiling.split_k);
    }
};
template <int m, int n, int cm, int cn>
constexpr Config normal(int step, int rest) {
    using Tile = CtaTile<m, n, false, cm, cn>;
    return {{m, n, false, cm, cn, 1}, step, rest, launch<Tile, 1>};
}
template <int m, int n, int cm, int cn, int split_k>
constexpr Config transposed(int step, int rest) {
    using Tile = CtaTile<m, n, true, cm, cn>;
    return {{m, n, true, cm, cn, split_k}, step, rest, launch<Tile, split_k>};
}
constexpr Config kConfigs[] = {
    normal<128, 64, 1, 1>(203, 676),          normal<128, 128, 1, 1>(326, 1236),
    normal<128, 192, 1, 1>(472, 1701),        normal<128, 192, 2, 1>(524, 1901),
    normal<128, 256, 1, 1>(657, 2245),        normal<128, 256, 2, 1>(671, 2331),
    transposed<32, 64, 1, 1, 1>(128, 82),     transposed<32, 64, 1, 1, 8>(144, 484),
    transposed<64, 64, 1, 1, 1>(138, 226),    transposed<64, 64, 1, 1, 8>(152, 841),
    transposed<96, 64, 1, 1, 4>(185, 1108),   transposed<96, 128, 1, 1, 1>(264, 810),
    transposed<112, 128, 4, 2, 1>(285, 1076), transposed<160, 128, 4, 2, 1>(396, 1402),
    transposed<192, 192, 1, 2, 1>(718, 2933)};
constexpr double kFixupTime = 3000;  // nanoseconds: to write a tile's partial sums, and to add them

const Config& best_config(int M, int N, int K) {
    const auto time = [=](const Config& config) {
        const Tiling& tiling = config.tiling;
        if (!tiling.transposed && N % 4)  // TMA stores rows that start on multiples of 16 bytes
            return std::numeric_limits<double>::infinity();
        const Work work(M, N, K, tiling);
        const double waves = ceil_div(work.scheduler.tiles - work.stream_k_tiles, work.clusters);
        const double cut = work.stream_k_tiles > 0, share = work.begin(1) + cut;
        const double k_tiles = std::ceil((waves * work.k_tiles + share) / tiling.split_k);
        return k_tiles * config.step + (waves + 2 * cut) * config.rest + cut * kFixupTime;
    };
    return fastest(kConfigs, time);
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const Config& best = best_config(M, N, K);
    best.launch(Work(M, N, K, best.tiling), K, A, B, C);
}

// How many floats of cut tiles go through the workspace: with each cut, a partial sum of what a
// cluster computes.
double workspace_elements(int M, int N, int K) {
    const Tiling& tiling = best_config(M, N, K).tiling;
    return 1.0 * Work(M, N, K, tiling).cuts() * tiling.cluster_m * tiling.cluster_n * tiling.m *
           tiling.n;
}

// A is loaded once per column of clusters, B once per row of them, plus once for a padded copy.
// A partial sum is loaded once, and each of its floats counts as two FP16 elements.
double loaded_elements(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    return M * K * std::ceil(N / (tiling.n * tiling.cluster_n)) +
           K * N * std::ceil(M / (tiling.m * tiling.cluster_m)) + loaded_by_copies(M, N, K) +
           2 * workspace_elements(M, N, K);
}
double stored_elements(double M, double N, double K) {
    return stored_with_copies(M, N, K) + workspace_elements(M, N, K);
}

// The accumulators that the CTAs of a cluster send each other, for each unit of work.
double shared_loaded_bytes(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    const Work work(M, N, K, tiling);
    const double sent =
        4.0 * (work.scheduler.tiles + work.cuts()) * tiling.ctas() * tiling.m * tiling.n;
    return tiling.split_k > 1 ? sent : 0;
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kWgmma};
    facts.stored_elements = stored_elements;
    for (const Config& config : kConfigs)
        facts.configs.push_back({config.name(), config.tiling.m * config.tiling.cluster_m,
                                 config.tiling.n * config.tiling.cluster_n,
                                 kTileK * config.tiling.split_k});
    facts.chosen = [](int M, int N, int K) { return best_config(M, N, K).name(); };
    return run_stage(launch_matmul, facts, argc, argv);
}
