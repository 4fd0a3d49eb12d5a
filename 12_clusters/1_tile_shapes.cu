// A handful of tile shapes. 11's tiles are made for large matrices, and a narrow C fills only a
// part of each. So here one is 64 columns wide. What 10 and 11 have taught comes from headers: the
// tile scheduler, and the epilogue by TMA.
//
//    16384 x 64    tiles of 64 x 128: 256, half of each outside of C
//                  tiles of 128 x 64: 128, whole
//
// Where N is not a multiple of 4, TMA can't store C. Then accumulators go there straight from
// registers: four lanes hold eight adjacent elements of a row, whose stores L2 merges.
//
// Changed:  (after 11) the tile scheduler and the epilogue come from headers, and the host divides;
//           128 x 64 takes the place of 128 x 224; a single consumer warpgroup gets a producer
//           warp, not a warpgroup.
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

template <int kTileM, int kTileN>
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    static constexpr int kParts = kTileN / 64, kWarpgroups = kTileM / 64;
    // The producer is one thread, in a warpgroup of its own for setmaxnreg, which a whole warpgroup
    // executes. A single consumer warpgroup can have 255 registers per thread without it.
    static constexpr int kThreads = 128 * kWarpgroups + (kWarpgroups == 1 ? 32 : 128);
    // A block may have 227 KiB. Two pairs of boxes take 32; 64 rows of As or columns of Bs take 8.
    static constexpr int kStages = (226 - kWarpgroups * 32) / 8 / (kWarpgroups + kParts);
    half As[kStages][kTileM][kTileK];
    half Bs[kStages][kParts][kTileK][64];
    TmaEpilogue::Pair Cs[kWarpgroups][2];
    uint64_t full[kStages], empty[kStages];
};
static_assert(kTileK == 64, "64 halves are 128 bytes");

struct Tiling {
    int m, n;  // rows and columns of C that a block computes
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

template <int kTileM, int kTileN, bool kTma>
__global__ void __launch_bounds__(Shared<kTileM, kTileN>::kThreads, 1)
    matmul(const __grid_constant__ Work work, float* C, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map) {
    extern __shared__ __align__(1024) char memory[];
    using Shared = ::Shared<kTileM, kTileN>;
    constexpr int kConsumers = 128 * Shared::kWarpgroups;  // consumer threads
    constexpr int kStages = Shared::kStages, kParts = Shared::kParts, kFragments = kTileN / 8;
    constexpr int kDeferred = kTma && kParts > 2 ? 2 : 0;  // parts stored during the next tile
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

    const int row = warp / 4 * 64;  // a warpgroup owns 64 x kTileN elements
    TmaEpilogue epilogue(shared.Cs[warp / 4], C_map);
    // The descriptors of stage 0, in units of 16 bytes: 64 to the next eight rows, 512 to the next
    // 64 columns of B.
    const auto A_first = ptx::wgmma_descriptor(shared.As[0][row], 128, 64);
    const auto B_first = ptx::wgmma_descriptor(shared.Bs[0], 128, 64, 512);
    uint64_t a = A_first, b = B_first;
    int stage = 0, parity = 0, previous = 0;
    float deferred[kDeferred ? 8 * kDeferred : 1][4];  // parts of the tile before
    int c_row = 0, c_col = 0, deferred_row = 0, deferred_col = 0;
    for (int tile = blockIdx.x; tile < work.scheduler.tiles; tile += work.blocks) {
        float acc[kFragments][4];  // tiles of 16 x 8, side by side in the warp's 16 rows
        for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16)  // along the rows of A, down the rows of B
                ptx::wgmma_m64k16<half, 0, 1>(acc, a + s * 2 / 16, b + s * 128 / 16,
                                              k_tile + s > 0);
            ptx::wgmma_commit_group();
            // While the products run: where this tile is, and deferred parts of the one before.
            if (k_tile == 0) {
                const auto at = work.scheduler.position(tile);
                c_row = at.m * kTileM + row;
                c_col = at.n * kTileN;
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
        if constexpr (kTma) {
            for (int i = 0; i < kImmediate; ++i) epilogue.store(&acc[8 * i], c_row, c_col + i * 64);
            if constexpr (kDeferred > 0) memcpy(deferred, acc + 8 * kImmediate, sizeof deferred);
            deferred_row = c_row;
            deferred_col = c_col;
        } else {
#pragma unroll
            for (int i = 0; i < 4 * kFragments; ++i) {
                const int r = c_row + warp % 4 * 16 + i % 4 / 2 * 8 + lane / 4;
                const int c = c_col + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (r < work.M && c < work.N) C[size_t(r) * work.N + c] = acc[i / 4][i % 4];
            }
        }
    }
    for (int i = 0; i < kDeferred; ++i)
        epilogue.store(&deferred[8 * i], deferred_row, deferred_col + (kImmediate + i) * 64);
    if (kTma) epilogue.finish();
}

template <int kTileM, int kTileN>
void launch(const Work& work, int K, const half* A, const half* B, float* C) {
    const int M = work.M, N = work.N;
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const bool tma = N % 4 == 0;  // TMA stores rows that start on multiples of 16 bytes
    const auto C_map = tma ? tensor_map(C, M, N, 64, 32, 128) : CUtensorMap();
    const auto kernel = tma ? matmul<kTileM, kTileN, true> : matmul<kTileM, kTileN, false>;
    using Shared = ::Shared<kTileM, kTileN>;
    allow_shared_memory(kernel, sizeof(Shared));
    kernel<<<work.blocks, Shared::kThreads, sizeof(Shared)>>>(work, C, A_map, B_map, C_map);
}

// A k-tile takes `step` nanoseconds, the rest of a tile `rest`, fitted to times of an H100.
struct Config {
    Tiling tiling;
    int step, rest;
    void (*launch)(const Work& work, int K, const half* A, const half* B, float* C);
    std::string name() const { return format("%dx%d", tiling.m, tiling.n); }
};
template <int m, int n>
constexpr Config config(int step, int rest) {
    return {{m, n}, step, rest, launch<m, n>};
}
// 64 x 128 has the figures of its transposed form in 2_transposed.cu, as only that one was timed.
constexpr Config kConfigs[] = {config<128, 64>(203, 676), config<128, 128>(326, 1236),
                               config<128, 192>(472, 1701), config<128, 256>(657, 2245),
                               config<64, 128>(189, 464)};

const Config& best_config(int M, int N, int K) {
    const auto time = [=](const Config& config) {
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
