// Slices of K for the whole GPU. Where C has so few tiles that several clusters could share each of
// them, its k-tiles are cut into slices, one for a cluster. They begin at the same k in all tiles,
// because clusters that load the same rows of A and columns of B at the same time share them in L2.
//
//    2 tiles of C,        cluster   tile   k-tiles    stores its sums to
//    64 k-tiles each      0         0      0 to 31    rows of slice 0 of a workspace
//                         1         0      32 to 63   rows of slice 1
//                         2         1      0 to 31    rows of slice 0
//                         3         1      32 to 63   rows of slice 1
//
// A slice is stored like a tile of C, without flags and fences. A second kernel adds the slices, in
// the order of k. Where rows of B are unaligned, consumers realign what TMA has loaded. Which of its
// configurations computes a shape, choice.h decides.
//
// Changed:  (after 13/1) several clusters compute slices of a tile, and a second kernel adds them;
//           B is realigned instead of copied; a heuristic with a model of L2, in choice.h.
#include <utility>

#include "13_stream_k/choice.h"
#include "common/aligned_rows.h"
#include "common/cluster_pipeline.cuh"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tma_epilogue.cuh"
#include "common/vector_access.cuh"

template <class Tile, int kSplitK>
struct Shared {
    // Normal tiles are stored by TMA, from two pairs of boxes for each warpgroup. (Arrays of length
    // 0, as transposed tiles have, are an extension of C++ by nvcc, g++ and clang.)
    static constexpr int kPairs = Tile::kSwapped ? 0 : 2 * Tile::kWarpgroups;
    static constexpr int kOwned = ceil_div(Tile::kFragments, kSplitK);  // that a CTA adds up
    static constexpr int kReduced = kSplitK > 1 ? kOwned : 0;
    // In KiB. A block may have 227, of which mbarriers take up to two. A pair takes 16, a fragment of
    // a warpgroup 2, and 64 columns of B 8; realigned ones, which have two places, 16. A row that is
    // to be realigned has 8 columns more, which makes 1 in a stage.
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
        // All lanes compute the same addresses, and one issues the loads. For a single thread, or a
        // lane chosen by its number, nvcc writes a loop around each load, which makes the addresses
        // uniform, as TMA's instruction takes them.
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

    typename Shared::Pipeline::Consumer consumer(pipeline, row);
    float deferred[kDeferred ? 8 * kDeferred : 1][4];  // accumulators of the previous tile
    bool pending = false;  // `deferred` is still to be stored
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
// next slice lie `stride` elements further on, a multiple of 4. kWide: count is one, too. Blocks may
// come to the SMs when those of the kernel before have returned, and wait until its writes are
// visible.
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

// Adds the slices, where launch() has stored them. Programmatic stream serialization: blocks may
// come to the SMs before the kernel before has ended.
void launch_add_slices(const float* sums, int slices, size_t stride, size_t count, float* C) {
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    constexpr int kThreads = 128, kElements = 4 * kThreads;  // of C, for a block
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(kThreads);
    config.gridDim = dim3(unsigned((count + kElements - 1) / kElements));
    config.attrs = &early;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, count % 4 ? add_slices<false> : add_slices<true>, sums, slices,
                       stride, count, C);
}

template <size_t kConfig>
void launch(const Work& work, int K, const half* A, const half* B, float* C) {
    static constexpr Tiling tiling = kConfigs[kConfig].tiling;  // not captured by the lambda below
    using Tile = CtaTile<tiling.m, tiling.n, tiling.transposed, tiling.cluster_m, tiling.cluster_n,
                         tiling.realigned>;
    using Shared = ::Shared<Tile, tiling.split_k>;
    constexpr int kCtas = tiling.ctas();
    const auto kernel = [] {
        if constexpr (kCtas == 1) return matmul<Tile>;
        else return matmul_in_clusters<Tile, tiling.split_k>;
    }();
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
    allow_shared_memory(kernel, sizeof(Shared));
    kernel<<<work.clusters * kCtas, Tile::kThreads, sizeof(Shared)>>>(work, sums, A_map, B_map,
                                                                      C_map);
    if (slices == 1) return;
    launch_add_slices(sums, slices, stride, size_t(M) * N, C);
    cudaFreeAsync(sums, 0);
}

using LaunchFunction = void (*)(const Work& work, int K, const half* A, const half* B, float* C);
template <size_t... kConfig>
LaunchFunction launch_of(size_t config, std::index_sequence<kConfig...>) {
    constexpr LaunchFunction kLaunches[] = {launch<kConfig>...};
    return kLaunches[config];
}

// config: of kConfigs, one that takes the shape.
void launch_config(const Config& config, int M, int N, int K, const half* A, const half* B,
                   float* C) {
    const auto all = std::make_index_sequence<std::size(kConfigs)>();
    launch_of(&config - kConfigs, all)(Work(M, N, K, config.tiling), K, A, B, C);
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    launch_config(best_config(M, N, K), M, N, K, A, B, C);
}

// How many floats the second kernel loads; and how many slices store, whose normal tiles TMA stores
// whole, below the last row of C, too.
double sums_loaded(double M, double N, double K) {
    const int slices = Work(M, N, K, best_config(M, N, K).tiling).slices.value;
    return slices > 1 ? slices * M * N : 0;
}
double sums_stored(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    const Work work(M, N, K, tiling);
    const double rows = tiling.transposed ? M : work.slice_rows;
    return work.slices.value > 1 ? work.slices.value * rows * N : 0;
}

// A is loaded once per column of clusters, B once per row of them, plus once for a padded copy.
// A float of a slice's sums is as large as two halves.
double loaded_elements(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    const double B_columns =
        tiling.realigned ? columns_loaded(N, tiling.n, ceil_div(N, tiling.n)) : N;
    return M * K * std::ceil(N / (tiling.n * tiling.cluster_n)) +
           K * B_columns * std::ceil(M / (tiling.m * tiling.cluster_m)) +
           loaded_by_copies(M, tiling.realigned ? 0 : N, K) + 2 * sums_loaded(M, N, K);
}
double stored_elements(double M, double N, double K) {
    const bool realigned = best_config(M, N, K).tiling.realigned;
    return (realigned ? M * N + stored_with_copies(M, 0, K) : stored_with_copies(M, N, K)) +
           sums_stored(M, N, K);
}

// The accumulators that the CTAs of a cluster send each other, for each unit of work; and where B
// is realigned, two words for each word of a tile of B.
double shared_loaded_bytes(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    const Work work(M, N, K, tiling);
    const double sent = 4.0 * work.units() * tiling.ctas() * tiling.m * tiling.n;
    const double realigned = 2 * 2.0 * work.scheduler.tiles * work.k_tiles * kTileK * tiling.n;
    return (tiling.split_k > 1 ? sent : 0) + (tiling.realigned ? realigned : 0);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, kWgmma};
    facts.stored_elements = stored_elements;
    for (const Config& config : kConfigs)
        facts.configs.push_back({config.name(), config.tiling.m * config.tiling.cluster_m,
                                 config.tiling.n * config.tiling.cluster_n,
                                 kTileK * config.tiling.split_k, config.tiling.sliced});
    facts.chosen = [](int M, int N, int K) {
        const Config& best = best_config(M, N, K);
        return format("%s: %.1f us", best.name().c_str(), predicted_times(best, M, N, K)[0]);
    };
    return run_stage(launch_matmul, facts, argc, argv);
}
