// Which configuration for which shape? A heuristic predicts the time of each configuration before
// the launch, and the fastest is launched. A k-tile takes as long as the slowest of three things:
//
//    the products       a figure of each configuration               0.64 us for 128 x 256
//    requests to L2     those of all CTAs for a k-tile               two for a row across two lines
//    bytes from L2      those of all CTAs for a k-tile               128 for a row of a tile
//
//    time = start + waves x (k-tiles x k-tile + rest) + storing the last wave + adding slices
//
// Where C has few tiles, they may be split into slices: shares that begin at the same k in all
// tiles, because clusters that load the same rows of A and columns of B at the same time share them
// in L2. A second kernel adds them. Where B's rows are unaligned, consumers realign them.
//
// Changed:  tiles are split into slices, not into equal shares, and a second kernel adds them; a
//           heuristic with a model of L2; configurations for all shapes.
#include "common/aligned_rows.h"
#include "common/cluster_occupancy.h"
#include "common/cluster_pipeline.cuh"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tile_scheduler.h"
#include "common/tma_epilogue.cuh"
#include "common/vector_access.cuh"

constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kManyWaves = 32;  // with so many each SM gets a block: at most 4 of 132 would idle

template <class Tile, int kSplitK>
struct Shared {
    // Normal tiles are stored by TMA, from two pairs of boxes for each warpgroup. (Arrays of length
    // 0, as transposed tiles have, are an extension of C++ by nvcc, g++ and clang.)
    static constexpr int kPairs = Tile::kSwapped ? 0 : 2 * Tile::kWarpgroups;
    static constexpr int kOwned = ceil_div(Tile::kFragments, kSplitK);  // that a CTA adds up
    static constexpr int kReduced = kSplitK > 1 ? kOwned : 0;
    // In KiB. A block may have 227, two for mbarriers; a pair takes 16, a fragment of a warpgroup 2.
    static constexpr int kRealigned = Tile::kRealignsB ? Tile::kParts * 16 : 0;
    static constexpr int kRest =
        225 - kPairs * 16 - kReduced * kSplitK * Tile::kWarpgroups * 2 - kRealigned;
    static constexpr int kStage = Tile::kTileM / 8 + Tile::kParts * 8 + Tile::kRealignsB;
    static constexpr int kStages = std::min(12, kRest / kStage);
    using Pipeline = ::Pipeline<Tile, kStages>;
    typename Pipeline::Memory stages;
    TmaEpilogue::Pair Cs[kPairs];
    float4 reduction_buffer[kReduced][kSplitK][Tile::kConsumers];
    uint64_t reduction_full, reduction_empty;
};

// A configuration of the kernel: a CTA computes a tile of m x n, or a slice of its k-tiles.
struct Tiling {
    int m, n;
    bool transposed;
    int cluster_m, cluster_n;  // tiles of a cluster, one below the other and side by side
    int split_k;  // CTAs for each tile, a slice of its k-tiles each
    bool realigned = false;  // consumers realign B
    constexpr int ctas() const { return cluster_m * cluster_n * split_k; }
};

// Consecutive k-tiles of one tile, which a cluster computes. Its sums lie `rows_above` rows further
// down than the tile in C.
struct Unit {
    int tile, first, k_tiles, rows_above;
};

// The host's part of a launch.
struct Work {
    Work(int M, int N, int K, Tiling tiling, bool sliced)
        : M(M), N(N), k_tiles(ceil_div(K, kTileK)),
          scheduler(ceil_div(M, tiling.m * tiling.cluster_m),
                    ceil_div(N, tiling.n * tiling.cluster_n), kGroup / tiling.cluster_m) {
        const int at_once = clusters_at_once(tiling.ctas()), tiles = scheduler.tiles;
        if (sliced) slices = Divisor(std::max(1, std::min(at_once / tiles, k_tiles)));
        slice_rows = ceil_div(M, tiling.m * tiling.cluster_m) * tiling.m * tiling.cluster_m;
        const int waves = ceil_div(units(), at_once);
        clusters = waves < kManyWaves ? ceil_div(units(), waves) : at_once;
    }
    __host__ __device__ int units() const { return scheduler.tiles * slices.value; }
    __device__ Unit unit(int i) const {
        const int tile = slices.quotient(i), slice = i - tile * slices.value;
        const int first = slices.quotient(slice * k_tiles);
        return {tile, first, slices.quotient((slice + 1) * k_tiles) - first, slice * slice_rows};
    }
    int M, N;
    int k_tiles;  // of a tile
    TileScheduler scheduler;  // of the tiles that a cluster computes together
    Divisor slices;  // of each tile, a unit each
    int slice_rows;  // rows of the workspace for the sums of one slice of all tiles
    int clusters;  // each computes every clusters-th unit
};

template <class Tile, int kSplitK>
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
    typename Shared::Pipeline pipeline(shared.stages, slice * kMulticastCtas, in_group, work.N);
    // Of a unit's k-tiles this CTA computes those of its slice.
    const auto begin = [&](const Unit& unit, int slice) {
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
        if (warp > kConsumers / 32) return;
        // All lanes compute the same addresses. Of a thread alone the compiler does not know that
        // they are uniform, as TMA's instruction takes them, and writes a loop around each of these.
        const bool issues = ptx::elect_sync();
        typename Shared::Pipeline::Position stage;
        stage.parity = 1;
        for (int i = cluster; i < work.units(); i += work.clusters) {
            const Unit unit = work.unit(i);
            const auto at = work.scheduler.position(unit.tile);
            for (int k_tile = begin(unit, slice); k_tile < begin(unit, slice + 1); ++k_tile)
                pipeline.load(stage, A, B, row_of(at), col_of(at), k_tile * kTileK, issues);
        }
        pipeline.drain(stage);
        return;
    }
    if (Tile::kWarpgroups > 1) ptx::warpgroup_reg_alloc<Tile::kWarpgroups == 3 ? 152 : 232>();

    const int row = warp / 4 * 64;  // a warpgroup owns 64 rows of the tile; transposed, 64 columns
    TmaEpilogue epilogue(shared.Cs + (Tile::kSwapped ? 0 : warp / 4 * 2), C_map);
    // From registers to C: a fragment of 16 x 8 of each warp, of a transposed tile one of 8 x 16.
    const auto store_fragment = [&](const float(&x)[4], int c_row, int c_col, int fragment,
                                    int rows_above) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int along = warp % 4 * 16 + i / 2 * 8 + lane / 4;  // the 64 of the warpgroup
            const int across = fragment * 8 + lane % 4 * 2 + i % 2;
            const int r = c_row + (Tile::kSwapped ? across : along);
            const int c = c_col + (Tile::kSwapped ? along : across);
            if (r < work.M && c < work.N) C[size_t(rows_above + r) * work.N + c] = x[i];
        }
    };

    // Adds up the slices of the tile in acc: this CTA every kSplitK-th fragment, which begins with
    // number `slice`. They come to its reduction buffer, from all CTAs that compute the tile.
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

    typename Shared::Pipeline::Consumer consumer(pipeline, row);
    float deferred[kDeferred ? 8 * kDeferred : 1][4];  // those of the tile before
    bool pending = false;  // they are still to be stored
    int c_row = 0, c_col = 0, deferred_row = 0, deferred_col = 0;
    const auto store_deferred = [&](int i) {
        epilogue.store(&deferred[8 * i], deferred_row, deferred_col + (kImmediate + i) * 64);
    };
    for (int i = cluster; i < work.units(); i += work.clusters) {
        const Unit unit = work.unit(i);
        const int k_tiles = begin(unit, slice + 1) - begin(unit, slice);
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
        pending = false;
        if constexpr (kSplitK > 1) {
            float sums[kSums][4];  // where a CTA adds up fewer, the last is unset, and not stored
            reduce(acc, sums);
#pragma unroll
            for (int i = 0; i < kSums; ++i)
                if (int fragment = slice + i * kSplitK; fragment < kFragments)
                    store_fragment(sums[i], c_row, c_col, fragment, unit.rows_above);
        } else if (!Tile::kSwapped) {
            c_row += unit.rows_above;
            for (int i = 0; i < kImmediate; ++i) epilogue.store(&acc[8 * i], c_row, c_col + i * 64);
            if constexpr (kDeferred > 0) memcpy(deferred, acc + 8 * kImmediate, sizeof deferred);
            pending = true;
            deferred_row = c_row;
            deferred_col = c_col;
        } else {
#pragma unroll
            for (int i = 0; i < kFragments; ++i)
                store_fragment(acc[i], c_row, c_col, i, unit.rows_above);
        }
    }
    for (int i = 0; pending && i < kDeferred; ++i) store_deferred(i);
    if (!Tile::kSwapped) epilogue.finish();
    if (kSplitK > 1)  // the other CTAs' last arrivals come here
        ptx::mbarrier_wait_parity(&shared.reduction_empty, parity ^ 1);
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    matmul(const __grid_constant__ Work work, float* C, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map) {
    multiply<Tile, 1>(work, C, A, B, C_map);
}
template <class Tile, int kSplitK>
CLUSTER_DIMS(Tile::kMulticastCtas* kSplitK, 1, 1)
__global__ void __launch_bounds__(Tile::kThreads, 1)
    matmul_in_clusters(const __grid_constant__ Work work, float* C,
                       const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
                       const __grid_constant__ CUtensorMap C_map) {
    multiply<Tile, kSplitK>(work, C, A, B, C_map);
}

// C = the sums of all slices, added in the order of k. C has `count` elements, and the sums of the
// next slice lie `stride` elements further on, a multiple of 4. kWide: count is one, too. The kernel
// may be launched while the one before still runs, for whose end it waits.
template <bool kWide>
__global__ void add_slices(const float* sums, int slices, size_t stride, size_t count, float* C) {
    const size_t i = 4 * (blockIdx.x * size_t(blockDim.x) + threadIdx.x);
    if (i >= count) return;
    cudaGridDependencySynchronize();
    const int valid = int(min(count - i, size_t(4)));
    float total[4] = {};
#pragma unroll 8
    for (int slice = 0; slice < slices; ++slice) {
        const float4 x = load4<kWide>(sums + slice * stride + i, valid);
        total[0] += x.x;
        total[1] += x.y;
        total[2] += x.z;
        total[3] += x.w;
    }
    store4<kWide>(C + i, total, valid);
}

template <class Tile, int kSplitK>
void launch(Work work, int K, const half* A, const half* B, float* C) {
    const int M = work.M, N = work.N;
    // Where consumers realign B, TMA takes `period` rows for one, which is aligned.
    const int period = Tile::kRealignsB ? rows_period(N) : 1;
    const AlignedRows A_rows(A, M, K), B_rows(B, K / period, period * N);
    const auto A_map =
        tensor_map(A_rows.data, M, K, Tile::kTileM / Tile::kAlongN, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(
        B_rows.data, K / period, period * N, kTileK / Tile::kAlongM / period,
        Tile::kRealignsB ? Tile::kTileN + 8 : 64, Tile::kRealignsB ? 0 : 128, B_rows.stride);
    const int slices = work.slices.value;
    const size_t stride = size_t(work.slice_rows) * N;
    float* sums = C;
    if (slices > 1) {  // finish_launch() reports the error
        keep_freed_memory();
        if (cudaMallocAsync(&sums, slices * stride * sizeof(float), 0)) return;
    }
    const int rows = slices > 1 ? slices * work.slice_rows : M;
    const auto C_map = Tile::kSwapped ? CUtensorMap() : tensor_map(sums, rows, N, 64, 32, 128);
    constexpr int kCtas = Tile::kMulticastCtas * kSplitK;
    const auto kernel = [] {
        if constexpr (kCtas == 1) return matmul<Tile>;
        else return matmul_in_clusters<Tile, kSplitK>;
    }();
    using Shared = ::Shared<Tile, kSplitK>;
    allow_shared_memory(kernel, sizeof(Shared));
    kernel<<<work.clusters * kCtas, Tile::kThreads, sizeof(Shared)>>>(work, sums, A_map, B_map,
                                                                      C_map);
    if (slices == 1) return;
    const size_t count = size_t(M) * N;
    // Programmatic stream serialization: the second kernel is on the SMs when the first one ends.
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(128);
    config.gridDim = dim3(unsigned(ceil_div(count, 4 * 128)));
    config.attrs = &early;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, count % 4 ? add_slices<false> : add_slices<true>,
                       (const float*)sums, slices, stride, count, C);
    cudaFreeAsync(sums, 0);
}

// A k-tile takes `step` nanoseconds, the rest of a tile `rest`, fitted to times of an H100.
struct Config {
    Tiling tiling;
    bool sliced;
    int step, rest;
    void (*launch)(Work work, int K, const half* A, const half* B, float* C);
    std::string name() const {
        return format("%dx%d%s-%dx%dx%d%s%s", tiling.m, tiling.n,
                      tiling.transposed ? "-transposed" : "", tiling.cluster_m, tiling.cluster_n,
                      tiling.split_k, sliced ? "-sliced" : "",
                      tiling.realigned ? "-unaligned" : "");
    }
};
template <class Tile, int split_k = 1>
constexpr Config config(bool sliced, int step, int rest) {
    return {{Tile::kTileM, Tile::kTileN, Tile::kSwapped, Tile::kAlongM, Tile::kAlongN, split_k,
             Tile::kRealignsB},
            sliced,
            step,
            rest,
            launch<Tile, split_k>};
}
template <int m, int n, int cm, int cn, bool sliced = false>
constexpr Config normal(int step, int rest) {
    return config<CtaTile<m, n, false, cm, cn>>(sliced, step, rest);
}
template <int m, int n, int cm, int cn, int split_k, bool sliced = false>
constexpr Config transposed(int step, int rest) {
    return config<CtaTile<m, n, true, cm, cn>, split_k>(sliced, step, rest);
}
template <int m, int n, int split_k, bool sliced = false>
constexpr Config unaligned(int step, int rest) {
    return config<CtaTile<m, n, true, 1, 1, true>, split_k>(sliced, step, rest);
}
constexpr bool kSliced = true;
constexpr Config kConfigs[] = {  // rows, columns of a tile; cluster_m, cluster_n, split_k
    normal<128, 64, 1, 4>(208, 733),
    normal<128, 128, 1, 1>(317, 1158),
    normal<128, 192, 2, 1>(483, 1889),
    normal<128, 192, 4, 2>(476, 1612),
    normal<128, 256, 1, 1>(631, 2213),
    normal<128, 256, 2, 1>(630, 2548),
    transposed<16, 64, 1, 1, 1>(112, 131),
    transposed<16, 64, 1, 1, 8>(88, 625),
    transposed<32, 64, 1, 1, 1>(121, 187),
    transposed<32, 64, 1, 1, 4>(96, 726),
    transposed<48, 64, 1, 1, 8>(79, 955),
    transposed<64, 64, 1, 1, 1>(137, 314),
    transposed<64, 64, 1, 1, 4>(156, 1211),
    transposed<80, 64, 1, 1, 1>(143, 528),
    transposed<96, 64, 1, 1, 4>(171, 1431),
    transposed<96, 64, 1, 1, 8>(157, 1613),
    transposed<96, 64, 1, 4, 1>(160, 789),
    transposed<96, 64, 4, 2, 1>(171, 831),
    transposed<64, 128, 1, 1, 1>(196, 699),
    transposed<128, 64, 4, 2, 1>(190, 1078),
    transposed<160, 64, 1, 4, 1>(222, 1208),
    transposed<96, 128, 2, 4, 1>(253, 1427),
    transposed<208, 64, 1, 2, 1>(355, 1387),
    transposed<112, 128, 4, 2, 1>(289, 1474),
    transposed<160, 128, 2, 4, 1>(403, 2054),
    transposed<192, 128, 1, 2, 1>(498, 2728),
    transposed<224, 128, 1, 2, 1>(564, 3420),
    transposed<240, 128, 1, 2, 1>(603, 3411),
    transposed<192, 192, 1, 2, 1>(704, 4595),
    normal<128, 64, 1, 4, kSliced>(152, 1205),
    transposed<96, 64, 4, 2, 1, kSliced>(183, 701),
    transposed<160, 64, 1, 4, 1, kSliced>(199, 1309),
    transposed<96, 128, 2, 4, 1, kSliced>(288, 1091),
    transposed<128, 128, 4, 2, 1, kSliced>(320, 1595),
    transposed<160, 128, 2, 1, 1, kSliced>(389, 1253),
    transposed<160, 128, 4, 2, 1, kSliced>(426, 1874),
    transposed<224, 128, 1, 2, 1, kSliced>(646, 2103),
    unaligned<16, 192, 1>(597, 810),
    unaligned<48, 128, 1>(501, 914),
    unaligned<64, 128, 1>(535, 1030),
    unaligned<128, 64, 4>(396, 1478),
    unaligned<96, 128, 1>(549, 2201),
    unaligned<128, 128, 1>(622, 3106),
    unaligned<160, 128, 1>(630, 3606),
    unaligned<128, 192, 1>(783, 5733),
    unaligned<192, 128, 1>(635, 5092),
    unaligned<48, 128, 1, kSliced>(501, 914)};

// Microseconds, fitted to times of an H100: from the launch to the first k-tile; until a second
// kernel has added slices, and for each slice; for a copy to aligned rows.
constexpr double kStart = 4.75, kSecondKernel = 1.86, kSlice = 0.21, kCopy = 2.75;
constexpr double kRequests = 98e3;  // to L2, in a microsecond
// Megabytes in a microsecond: from L2, where CTAs load the same data at the same time, and where
// slices of K do not; to and from device memory; of C by TMA, and from registers; through the second
// kernel; of copies.
constexpr double kL2 = 12.6, kL2Slices = 6.72, kDevice = 2.78, kStored = 7.0, kScattered = 23,
                 kAdded = 10.4, kCopied = 2.82;

// The predicted microseconds of a configuration with aligned rows, if device memory does not take
// longer; infinity: the configuration does not take that shape.
double time_of(const Config& config, int M, int N, int K) {
    const auto [m, n, transposed, cluster_m, cluster_n, split_k, realigned] = config.tiling;
    const Work work(M, N, K, config.tiling, config.sliced);
    const bool stored = transposed || N % 4 == 0;  // by TMA, which takes multiples of 16 bytes
    const bool loaded = !realigned || (N % 8 && K % rows_period(N) == 0);
    const int slices = work.slices.value;
    if (!stored || !loaded || (config.sliced && slices == 1))
        return std::numeric_limits<double>::infinity();
    // What all CTAs load for a k-tile: rows of 128 bytes, each with two requests if it lies across
    // two lines of L2. A longer row of a box that is realigned has one more.
    const double A_rows = double(m) / cluster_n, B_rows = double(n) / cluster_m;
    const double B_requests = realigned ? n + 64 : B_rows * (aligned(N) % 64 ? 2 : 1);
    const double requests = A_rows * (aligned(K) % 64 ? 2 : 1) + B_requests;
    const double ctas = work.clusters * config.tiling.ctas();
    const double l2 = split_k * slices > 1 ? kL2Slices : kL2;
    const double step = std::max(
        {config.step * 1e-3, requests * ctas / kRequests, (A_rows + B_rows) * 128e-6 * ctas / l2});
    const int waves = ceil_div(work.units(), work.clusters);
    const int k_tiles = ceil_div(ceil_div(work.k_tiles, slices), split_k);
    double time = kStart + waves * (k_tiles * step + config.rest * 1e-3);
    // A wave's tiles are stored while the next wave's are computed, but nothing hides the last.
    const double MB_of_C = 4e-6 * M * N;
    const double MB_of_wave = std::min(MB_of_C * slices, 4e-6 * ctas / split_k * m * n);
    time += MB_of_wave / (transposed ? kScattered : kStored);
    if (slices > 1) time += kSecondKernel + slices * kSlice + MB_of_C * (slices + 1) / kAdded;
    return time;
}

// The microseconds of the copies to aligned rows.
double copies_time(const Config& config, int M, int N, int K) {
    const bool copies_B = aligned(N) > N && !config.tiling.realigned;
    return (aligned(K) > K ? kCopy + 4e-6 * M * K / kCopied : 0) +
           (copies_B ? kCopy + 4e-6 * K * N / kCopied : 0);
}

// What the launch takes with device memory, which is the same for all configurations, so that it
// does not help to choose: where device memory is the limit, all predictions are equal.
double predicted_time(const Config& config, int M, int N, int K) {
    const double device = 1e-6 * (2.0 * K * (double(M) + N) + 4.0 * M * N) / kDevice;
    return std::max(time_of(config, M, N, K), kStart + device) + copies_time(config, M, N, K);
}

const Config& best_config(int M, int N, int K) {
    return fastest(kConfigs, [=](const Config& config) {
        return time_of(config, M, N, K) + copies_time(config, M, N, K);
    });
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const Config& best = best_config(M, N, K);
    best.launch(Work(M, N, K, best.tiling, best.sliced), K, A, B, C);
}

// How many floats the second kernel loads; and how many slices store, whose normal tiles TMA stores
// whole, below the last row of C, too.
double sums_loaded(double M, double N, double K) {
    const Config& best = best_config(M, N, K);
    const int slices = Work(M, N, K, best.tiling, best.sliced).slices.value;
    return slices > 1 ? slices * M * N : 0;
}
double sums_stored(double M, double N, double K) {
    const Config& best = best_config(M, N, K);
    const Work work(M, N, K, best.tiling, best.sliced);
    const int slices = work.slices.value;
    return slices > 1 ? slices * (best.tiling.transposed ? M : work.slice_rows) * N : 0;
}

// A is loaded once per column of clusters, B once per row of them, plus once for a padded copy.
// A float of a slice's sums is as large as two halves.
double loaded_elements(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    double B_columns = N, copied_N = N;
    if (tiling.realigned) {
        const int tiles = ceil_div(int(N), tiling.n * tiling.cluster_n) * tiling.cluster_n;
        B_columns = columns_loaded(int(N), tiling.n, tiles);
        copied_N = 0;
    }
    return M * K * std::ceil(N / (tiling.n * tiling.cluster_n)) +
           K * B_columns * std::ceil(M / (tiling.m * tiling.cluster_m)) +
           loaded_by_copies(M, copied_N, K) + 2 * sums_loaded(M, N, K);
}
double stored_elements(double M, double N, double K) {
    const bool realigned = best_config(M, N, K).tiling.realigned;
    return (realigned ? M * N + stored_with_copies(M, 0, K) : stored_with_copies(M, N, K)) +
           sums_stored(M, N, K);
}

// The accumulators that the CTAs of a cluster send each other, for each unit of work; and where B
// is realigned, two words for each word of a tile of B.
double shared_loaded_bytes(double M, double N, double K) {
    const Config& best = best_config(M, N, K);
    const Tiling& tiling = best.tiling;
    const Work work(M, N, K, tiling, best.sliced);
    const double tiles = double(work.scheduler.tiles) * tiling.cluster_m * tiling.cluster_n;
    const double sent = 4.0 * work.units() * tiling.ctas() * tiling.m * tiling.n;
    const double realigned = 2 * 2.0 * tiles * work.k_tiles * kTileK * tiling.n;
    return (tiling.split_k > 1 ? sent : 0) + (tiling.realigned ? realigned : 0);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kWgmma};
    facts.stored_elements = stored_elements;
    for (const Config& config : kConfigs)
        facts.configs.push_back({config.name(), config.tiling.m * config.tiling.cluster_m,
                                 config.tiling.n * config.tiling.cluster_n,
                                 kTileK * config.tiling.split_k, config.sliced});
    facts.chosen = [](int M, int N, int K) {
        const Config& best = best_config(M, N, K);
        return format("%s: %.1f us", best.name().c_str(), predicted_time(best, M, N, K));
    };
    return run_stage(launch_matmul, facts, argc, argv);
}
