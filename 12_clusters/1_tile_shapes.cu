// Tiles for narrow matrices, and accumulators from registers to memory. TMA stores rows that start
// on multiples of 16 bytes. For another N 11 sends the accumulators through shared memory, as for
// TMA, so that a warp can store a row. That is not needed: four lanes hold eight neighbours of a
// row, one sector or parts of two. Two stores write them, and L2 puts them together.
//
//    lane      0     1     2     3     |  4 ...
//    columns   0 1   2 3   4 5   6 7   |  0 1 ... of the next row       32 bytes
//
// A small product spends its time before the first k-tile arrives, so nothing there waits: the host
// divides, and the thread that sets the mbarriers up loads ahead of __syncthreads.
//
// Changed:  (from 11) tiles of 128 x 64, which one warp loads, and none of 128 x 128 and 128 x 224;
//           where TMA can't store C, accumulators go straight there; the host divides; k-tiles are
//           loaded ahead of __syncthreads; no bfloat16.
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tma_epilogue.cuh"

constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kBoxes = 4;  // of C, for each warpgroup: two pairs
constexpr int kManyWaves = 32;  // after so many the blocks have drifted apart

template <class T, int kTileM, int kTileN>  // half or __nv_bfloat16
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    static constexpr int kParts = kTileN / 64, kWarpgroups = kTileM / 64;
    // Threads: one loads. Where registers are handed over, that takes a warpgroup.
    static constexpr int kAllThreads = 128 * kWarpgroups + (kWarpgroups == 1 ? 32 : 128);
    // A block may have 227 KiB. A box, 64 rows of As and 64 columns of Bs take 8 each.
    static constexpr int kStages = (226 - kWarpgroups * kBoxes * 8) / 8 / (kWarpgroups + kParts);
    T As[kStages][kTileM][kTileK];
    T Bs[kStages][kParts][kTileK][64];
    float Cs[kWarpgroups][kBoxes / 2][2][64][32];
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

// A block computes a tile of m x n elements.
struct Tile {
    int m, n;
    // How many cover C.
    constexpr int count(int M, int N) const { return ceil_div(M, m) * ceil_div(N, n); }
};

// What the host has divided.
struct Work {
    Work(int M, int N, int K, Tile tile)
        : M(M), N(N), steps(ceil_div(K, kTileK)), tiles(tile.count(M, N)) {
        const int below = ceil_div(M, tile.m);
        last_group = ceil_div(below, kGroup) - 1;
        rows = Divisor(kGroup);
        last_rows = Divisor(below - last_group * kGroup);
        of_group = Divisor(kGroup * ceil_div(N, tile.n));
    }
    int M, N;
    int steps;  // of a tile
    int tiles;
    int last_group;
    Divisor rows, last_rows, of_group;  // of tiles in a group, in the last one; tiles in a group
};

template <int kTileM, int kTileN>
struct TileScheduler {  // the first row and column of tile number `tile` of C
    __device__ TileScheduler(const Work& work, int tile) {
        const int group = work.of_group.under(tile), in_group = tile - group * work.of_group.by;
        const Divisor& rows = group == work.last_group ? work.last_rows : work.rows;
        const int right = rows.under(in_group), below = in_group - right * rows.by;
        row = (group * work.rows.by + below) * kTileM;
        col = right * kTileN;
    }
    int row, col;
};

template <class T, int kTileM, int kTileN, bool kBoxed>
__global__ void __launch_bounds__(Shared<T, kTileM, kTileN>::kAllThreads, 1)
    matmul(const __grid_constant__ Work work, float* C, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map) {
    extern __shared__ __align__(1024) char memory[];
    using Shared = ::Shared<T, kTileM, kTileN>;
    using TileScheduler = ::TileScheduler<kTileM, kTileN>;
    constexpr int kConsumers = 128 * Shared::kWarpgroups;  // threads that multiply
    constexpr int kStages = Shared::kStages, kParts = Shared::kParts, kFragments = kTileN / 8;
    // Parts that are stored during the next tile.
    constexpr int kDeferred = kBoxed && kParts > 2 ? 2 : 0;
    constexpr int kImmediate = kParts - kDeferred;  // at the tile's end
    constexpr bool kSingleConsumer = Shared::kWarpgroups == 1;  // two k-tiles' products in flight
    auto& shared = *reinterpret_cast<Shared*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    const auto load = [&](TileScheduler at, int step, int stage) {
        const int k = step * kTileK;
        uint64_t* const full = &shared.full[stage];
        ptx::mbarrier_arrive_expect_tx(full, sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
        ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, at.row, full);
        for (int j = 0; j < kTileN; j += 64)
            ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64], &B, at.col + j, k, full);
    };

    int ahead = 0;  // steps that are loaded before the barrier
    if (threadIdx.x == kConsumers) {
        for (int stage = 0; stage < kStages; ++stage) {
            ptx::mbarrier_init(&shared.full[stage], 1);  // one arrival, of the thread that loads
            ptx::mbarrier_init(&shared.empty[stage], kConsumers / 32);  // one arrival of each warp
        }
        ptx::fence_mbarrier_init();
        const TileScheduler at(work, blockIdx.x);
        for (; ahead < min(kStages, work.steps); ++ahead) load(at, ahead, ahead);
    }
    __syncthreads();  // the mbarriers are initialised

    if (warp >= kConsumers / 32) {
        if (!kSingleConsumer) ptx::warpgroup_reg_dealloc<48>();  // with 24 the compiler spills
        if (threadIdx.x > kConsumers) return;
        int stage = ahead % kStages, parity = ahead < kStages;
        for (int tile = blockIdx.x; tile < work.tiles; tile += gridDim.x, ahead = 0) {
            const TileScheduler at(work, tile);
            for (int step = ahead; step < work.steps; ++step) {
                // In the first round the wait ends at once.
                ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
                load(at, step, stage);
                stage = (stage + 1) % kStages;
                parity ^= stage == 0;
            }
        }
        return;
    }
    if (!kSingleConsumer) ptx::warpgroup_reg_alloc<224>();

    const int row = warp / 4 * 64;  // a warpgroup owns 64 x kTileN elements
    // 64 x 8 of a warpgroup's elements, from registers to C.
    const auto store_fragment = [&](const float(&acc)[4], TileScheduler at, int fragment) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int c_row = at.row + warp * 16 + i / 2 * 8 + lane / 4;
            const int c_col = at.col + fragment * 8 + lane % 4 * 2 + i % 2;
            if (c_row < work.M && c_col < work.N) C[size_t(c_row) * work.N + c_col] = acc[i];
        }
    };
    int next_pair = 0;
    // Stores a part, 64 x 64 accumulators: 8 tiles of 16 x 8 of each warp.
    const auto store = [&](const float(*acc)[4], TileScheduler at, int part) {
        float(&pair)[2][64][32] = shared.Cs[warp / 4][next_pair];
        next_pair ^= 1;
        if (threadIdx.x % 128 == 0) ptx::cp_async_bulk_wait_group_read<kBoxes / 2 - 1>();
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

    const auto release = [&](int stage) {
        if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
    };

    // Of stage 0. In units of 16 bytes: 64 to the next eight rows, 512 to the next 64 columns of B.
    const auto A_first = ptx::wgmma_descriptor(shared.As[0][row], 128, 64);
    const auto B_first = ptx::wgmma_descriptor(shared.Bs[0], 128, 64, 512);
    uint64_t a = A_first, b = B_first;
    int stage = 0, parity = 0, previous = 0;
    // Parts of the tile before.
    float deferred[kDeferred ? 8 * kDeferred : 1][4];
    TileScheduler deferred_at(work, blockIdx.x), at = deferred_at;
    for (int tile = blockIdx.x; tile < work.tiles; tile += gridDim.x) {
        float acc[kFragments][4];  // tiles of 16 x 8, side by side in the warp's 16 rows
        for (int step = 0; step < work.steps; ++step) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16)  // along the rows of A, down the rows of B
                ptx::wgmma_m64k16<T, 0, 1>(acc, a + s * 2 / 16, b + s * 128 / 16, step + s > 0);
            ptx::wgmma_commit_group();
            // While the products run: where this tile is, and deferred parts of the one before.
            if (step == 0) at = TileScheduler(work, tile);
#pragma unroll
            for (int i = 0; i < kDeferred; ++i)
                if (tile >= int(gridDim.x) && step == min(2 + 2 * i, work.steps - 1))
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

template <class T, int m, int n>
void launch(const Work& work, int K, const T* A, const T* B, float* C) {
    const int M = work.M, N = work.N;
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, m, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const int at_once = sm_count(), waves = ceil_div(work.tiles, at_once);
    const int blocks = waves < kManyWaves ? ceil_div(work.tiles, waves) : at_once;
    const bool boxed = N % 4 == 0;  // TMA stores rows that start on multiples of 16 bytes
    const auto C_map = boxed ? tensor_map(C, M, N, 64, 32, 128) : CUtensorMap();
    using Shared = ::Shared<T, m, n>;
    constexpr int kBytes = sizeof(Shared);
    const auto kernel = boxed ? matmul<T, m, n, true> : matmul<T, m, n, false>;
    allow_shared_memory(kernel, kBytes);
    kernel<<<blocks, Shared::kAllThreads, kBytes>>>(work, C, A_map, B_map, C_map);
}

template <class T>
struct Config {
    Tile tile;
    int step, rest;  // nanoseconds, on an H200, of a step and of the rest of a tile
    void (*launch)(const Work& work, int K, const T* A, const T* B, float* C);
    std::string name() const { return format("%dx%d", tile.m, tile.n); }
};
template <class T>
constexpr Config<T> kConfigs[] = {{{128, 256}, 611, 2069, launch<T, 128, 256>},
                                  {{128, 192}, 479, 1531, launch<T, 128, 192>},
                                  {{128, 64}, 243, 353, launch<T, 128, 64>},
                                  {{64, 128}, 180, 400, launch<T, 64, 128>}};

template <class T>
const Config<T>& best_config(int M, int N, int K) {
    const auto time = [=, steps = ceil_div(K, kTileK)](const Config<T>& config) {
        const int waves = ceil_div(config.tile.count(M, N), sm_count());
        return waves * (1.0 * steps * config.step + config.rest);
    };
    return fastest(kConfigs<T>, time);
}

template <class T>
void launch_matmul(int M, int N, int K, const T* A, const T* B, float* C) {
    const Config<T>& config = best_config<T>(M, N, K);
    config.launch(Work(M, N, K, config.tile), K, A, B, C);
}

// A is loaded once per column of tiles, B once per row of tiles, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    const Tile tile = best_config<half>(M, N, K).tile;
    return M * K * std::ceil(N / tile.n) + K * N * std::ceil(M / tile.m) +
           loaded_by_copies(M, N, K);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, nullptr, kWgmma};
    facts.stored_elements = stored_with_copies;
    for (const auto& config : kConfigs<half>)
        facts.configs.push_back({config.name(), config.tile.m, config.tile.n, kTileK});
    facts.chosen = [](int M, int N, int K) { return best_config<half>(M, N, K).name(); };
    return run_stage(launch_matmul<half>, facts, argc, argv);
}
