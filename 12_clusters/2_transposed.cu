// Transposed tiles (swap A and B: C^T = B^T A^T). The first operand of wgmma always has 64 rows. The
// second has any multiple of 8 columns, here of 16. In a transposed tile a warpgroup takes 64
// columns of B as its first operand, and rows of A as its second, so that few rows of C fill it.
//
//    normal        64 rows of A     x  256 columns of B      72 rows of C: 56 of 128 are idle
//    transposed    64 columns of B  x   96 rows of A         72 rows of C: 24 of  96
//
// The accumulators are those of C's transpose: eight lanes hold eight adjacent elements of a row of
// C, a sector of 32 bytes. So they go to C from registers, whatever N is. TMA stores normal tiles.
//
// Changed:  transposed tiles, also in place of normal tiles that TMA can't store and of 64 x 128.
#include "common/aligned_rows.h"
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
};

// How a launch's tiles are divided among blocks: computed by the host, read by host and device.
struct Work {
    Work(int M, int N, int K, Tiling tiling)
        : M(M), N(N), k_tiles(ceil_div(K, kTileK)),
          scheduler(ceil_div(M, tiling.m), ceil_div(N, tiling.n), kGroup) {
        const int at_once = sm_count(), waves = ceil_div(scheduler.tiles, at_once);
        blocks = waves < kManyWaves ? ceil_div(scheduler.tiles, waves) : at_once;
    }
    int M, N;
    int k_tiles;  // of a tile
    TileScheduler scheduler;
    int blocks;  // each takes every blocks-th tile
};

template <int kTileM, int kTileN, bool kTransposed>
__global__ void __launch_bounds__(Shared<kTileM, kTileN, kTransposed>::kThreads, 1)
    matmul(const __grid_constant__ Work work, float* C, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map) {
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

    const auto load = [&](int row, int col, int k, int stage) {
        uint64_t* const full = &shared.full[stage];
        ptx::mbarrier_arrive_expect_tx(full, sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
        ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, row, full);
        for (int j = 0; j < kTileN; j += 64)
            ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64], &B, col + j, k, full);
    };
    const auto release = [&](int stage) {  // a consumer warp has read the stage
        if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
    };

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            ptx::mbarrier_init(&shared.full[stage], 1);  // one arrival, of the thread that loads
            ptx::mbarrier_init(&shared.empty[stage], kConsumers / 32);  // one arrival of each warp
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the mbarriers are initialised

    if (warp >= kConsumers / 32) {
        if (!kSingleConsumer) ptx::warpgroup_reg_dealloc<24>();
        if (threadIdx.x > kConsumers) return;
        int stage = 0, parity = 1;  // 1: that of the phase before the first, which is complete
        for (int tile = blockIdx.x; tile < work.scheduler.tiles; tile += work.blocks) {
            const auto at = work.scheduler.position(tile);
            for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
                ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
                load(at.m * kTileM, at.n * kTileN, k_tile * kTileK, stage);
                stage = (stage + 1) % kStages;
                parity ^= stage == 0;
            }
        }
        return;
    }
    if (!kSingleConsumer) ptx::warpgroup_reg_alloc<240>();

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
    for (int tile = blockIdx.x; tile < work.scheduler.tiles; tile += work.blocks) {
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
                c_row = at.m * kTileM + (kTransposed ? 0 : row);
                c_col = at.n * kTileN + (kTransposed ? row : 0);
            }
#pragma unroll
            for (int i = 0; i < kDeferred; ++i)
                if (tile >= work.blocks && k_tile == min(2 + 2 * i, work.k_tiles - 1))
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

template <int kTileM, int kTileN, bool kTransposed>
void launch(const Work& work, int K, const half* A, const half* B, float* C) {
    const int M = work.M, N = work.N;
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const auto C_map = kTransposed ? CUtensorMap() : tensor_map(C, M, N, 64, 32, 128);
    const auto kernel = matmul<kTileM, kTileN, kTransposed>;
    using Shared = ::Shared<kTileM, kTileN, kTransposed>;
    allow_shared_memory(kernel, sizeof(Shared));
    kernel<<<work.blocks, Shared::kThreads, sizeof(Shared)>>>(work, C, A_map, B_map, C_map);
}

// A k-tile takes `step` nanoseconds, the rest of a tile `rest`, fitted to times of an H100.
struct Config {
    Tiling tiling;
    int step, rest;
    void (*launch)(const Work& work, int K, const half* A, const half* B, float* C);
    std::string name() const {
        return format("%dx%d%s", tiling.m, tiling.n, tiling.transposed ? "-transposed" : "");
    }
};
template <int m, int n>
constexpr Config normal(int step, int rest) {
    return {{m, n, false}, step, rest, launch<m, n, false>};
}
template <int m, int n>
constexpr Config transposed(int step, int rest) {
    return {{m, n, true}, step, rest, launch<m, n, true>};
}
constexpr Config kConfigs[] = {normal<128, 64>(203, 676),     normal<128, 128>(326, 1236),
                               normal<128, 192>(472, 1701),   normal<128, 256>(657, 2245),
                               transposed<32, 64>(128, 82),   transposed<64, 64>(138, 226),
                               transposed<64, 128>(189, 464), transposed<96, 128>(264, 810)};

const Config& best_config(int M, int N, int K) {
    const auto time = [=](const Config& config) {
        if (!config.tiling.transposed &&
            N % 4)  // TMA stores rows that start on multiples of 16 bytes
            return std::numeric_limits<double>::infinity();
        const Work work(M, N, K, config.tiling);
        const double waves = ceil_div(work.scheduler.tiles, work.blocks);
        return waves * (1.0 * work.k_tiles * config.step + config.rest);
    };
    return fastest(kConfigs, time);
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const Config& best = best_config(M, N, K);
    best.launch(Work(M, N, K, best.tiling), K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of them, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    const Tiling tiling = best_config(M, N, K).tiling;
    return M * K * std::ceil(N / tiling.n) + K * N * std::ceil(M / tiling.m) +
           loaded_by_copies(M, N, K);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, [](double, double, double) { return 0.0; }, kWgmma};
    facts.stored_elements = stored_with_copies;
    for (const Config& config : kConfigs)
        facts.configs.push_back({config.name(), config.tiling.m, config.tiling.n, kTileK});
    facts.chosen = [](int M, int N, int K) { return best_config(M, N, K).name(); };
    return run_stage(launch_matmul, facts, argc, argv);
}
