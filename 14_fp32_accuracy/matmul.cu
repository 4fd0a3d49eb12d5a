// Speed. One accumulator and one total leave room for tiles of 128 x 192, which load fewer bytes for
// each product:
//
//    tile         loaded for a k-tile    cycles of its products    bytes a cycle    waves at 4096
//    128 x 128    64 KiB                 3 x 512 = 1536            43               7.8 of 8
//    128 x 192    80 KiB                 3 x 768 = 2304            36               5.3 of 6
//
// L2 is no limit, but traffic takes power, and less of it leaves a higher clock. Larger tiles also
// fill the last wave worse, so a launch takes the shape that is faster for its size.
//
// Changed:  two tile shapes; descriptors advance by constants, as in 11/matmul.cu.
#include <string>

#include "14_fp32_accuracy/split.cuh"
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tile_scheduler.h"

constexpr int kTileM = 128;  // rows of C per block, 64 for each warpgroup
constexpr int kConsumers = 2 * 128;  // threads of two consumer warpgroups
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kHi = 0, kLo = 1;

template <int kTileN>
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    static constexpr int kStages = 226 * 1024 / ((kTileM + kTileN) * kTileK * 2 * sizeof(half));
    half As[kStages][2][kTileM][kTileK];  // kHi, kLo
    half Bs[kStages][2][kTileN / 64][kTileK][64];
    uint64_t full[kStages], empty[kStages];
};

template <int kTileN>
__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ TileScheduler scheduler,
           const __grid_constant__ CUtensorMap A_hi, const __grid_constant__ CUtensorMap A_lo,
           const __grid_constant__ CUtensorMap B_hi, const __grid_constant__ CUtensorMap B_lo,
           const int* A_exponents, const int* B_exponents, float* C) {
    extern __shared__ __align__(1024) char memory[];
    using Shared = ::Shared<kTileN>;
    constexpr int kStages = Shared::kStages;
    auto& shared = *reinterpret_cast<Shared*>(memory);
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
        int stage = 0, parity = 1;  // 1: that of the phase before the first, which is over
        for (int tile = blockIdx.x; tile < scheduler.tiles; tile += gridDim.x) {
            const auto at = scheduler.position(tile);
            for (int k = 0; k < K; k += kTileK) {
                ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
                ptx::mbarrier_arrive_expect_tx(&shared.full[stage],
                                               sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
                const int row = at.m * kTileM, col = at.n * kTileN;
                uint64_t* const full = &shared.full[stage];
                ptx::cp_async_bulk_tensor(shared.As[stage][kHi], &A_hi, k, row, full);
                ptx::cp_async_bulk_tensor(shared.As[stage][kLo], &A_lo, k, row, full);
                for (int j = 0; j < kTileN; j += 64) {
                    ptx::cp_async_bulk_tensor(shared.Bs[stage][kHi][j / 64], &B_hi, col + j, k,
                                              full);
                    ptx::cp_async_bulk_tensor(shared.Bs[stage][kLo][j / 64], &B_lo, col + j, k,
                                              full);
                }
                stage = (stage + 1) % kStages;
                parity ^= stage == 0;
            }
        }
        return;
    }
    ptx::warpgroup_reg_alloc<240>();

    const int first_row = warp / 4 * 64;  // a warpgroup owns 64 x kTileN elements
    // The descriptors of hi in stage 0, in units of 16 bytes: 64 to the next eight rows, 512 to B's
    // next 64 columns. lo lies behind hi.
    const auto A_first = ptx::wgmma_descriptor(shared.As[0][kHi][first_row], 128, 64);
    const auto B_first = ptx::wgmma_descriptor(shared.Bs[0][kHi], 128, 64, 512);
    uint64_t a = A_first, b = B_first;
    int stage = 0, parity = 0;
    // Adds the product of hi or lo of A and hi or lo of B of the stage, or begins a sum with it.
    const auto multiply = [&](auto& acc, int a_half, int b_half, bool adds) {
        for (int s = 0; s < kTileK; s += 16)  // along the rows of A, down the rows of B
            ptx::wgmma_m64k16<half, 0, 1>(
                acc, a + a_half * sizeof(shared.As[0][0]) / 16 + s * 2 / 16,
                b + b_half * sizeof(shared.Bs[0][0]) / 16 + s * 128 / 16, adds || s > 0);
    };
    for (int tile = blockIdx.x; tile < scheduler.tiles; tile += gridDim.x) {
        // Fragments of 16 x 8, side by side in the warp's 16 rows: the sum of a k-tile, and that of
        // the k-tiles.
        float acc[kTileN / 8][4], total[kTileN / 8][4] = {};
        for (int k = 0; k < K; k += kTileK) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            // Small sums first: what is truncated of them is small, too.
            multiply(acc, kLo, kHi, false);
            multiply(acc, kHi, kLo, true);
            multiply(acc, kHi, kHi, true);
            ptx::wgmma_commit_group();
            ptx::wgmma_wait_group<0>();
            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
            a += sizeof(shared.As[0]) / 16;
            b += sizeof(shared.Bs[0]) / 16;
            if (++stage == kStages) {
                stage = 0;
                parity ^= 1;
                a = A_first;
                b = B_first;
            }
            ptx::warpgroup_fence_operand(acc);  // keeps the compiler from reading acc earlier
            for (int i = 0; i < kTileN / 8; ++i)
                for (int e = 0; e < 4; ++e) total[i][e] += acc[i][e];
        }

        // A lane has two adjacent elements in each of two rows of a fragment.
        const auto at = scheduler.position(tile);
        const int row = at.m * kTileM + first_row + warp % 4 * 16 + lane / 4;
        const int col = at.n * kTileN + lane % 4 * 2;
        const int s[2] = {row < M ? A_exponents[row] : 0, row + 8 < M ? A_exponents[row + 8] : 0};
#pragma unroll
        for (int i = 0; i < kTileN / 8; ++i) {
            const int c = col + 8 * i;
            const int t[2] = {c < N ? B_exponents[c] : 0, c + 1 < N ? B_exponents[c + 1] : 0};
            for (int h = 0; h < 2; ++h) {
                const int r = row + 8 * h;
                if (r >= M || c >= N) continue;
                float* const to = &C[size_t(r) * N + c];
                const float x = ldexpf(total[i][2 * h], -(s[h] + t[0]));
                const float y = ldexpf(total[i][2 * h + 1], -(s[h] + t[1]));
                if (N % 2 == 0) *(float2*)to = {x, y};
                else {
                    to[0] = x;
                    if (c + 1 < N) to[1] = y;
                }
            }
        }
    }
}

template <int kTileN>
void launch(int M, int N, int K, const float* A, const float* B, float* C) {
    const Halves A_halves(A, M, K, true), B_halves(B, K, N, false);
    const auto A_map = [&](const half* matrix) {
        return tensor_map(matrix, M, K, kTileM, kTileK, 128, A_halves.stride);
    };
    const auto B_map = [&](const half* matrix) {
        return tensor_map(matrix, K, N, kTileK, 64, 128, B_halves.stride);
    };
    const TileScheduler scheduler(ceil_div(M, kTileM), ceil_div(N, kTileN), kGroup);
    const int blocks = std::min(sm_count(), scheduler.tiles);
    const auto kernel = matmul<kTileN>;
    constexpr int kSharedBytes = sizeof(Shared<kTileN>);
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, kConsumers + kProducers, kSharedBytes>>>(
        M, N, K, scheduler, A_map(A_halves.hi), A_map(A_halves.lo), B_map(B_halves.hi),
        B_map(B_halves.lo), A_halves.exponents, B_halves.exponents, C);
}

struct Config {  // on an H100 a k-tile takes `step` ns, the rest of a tile `rest`
    int n, step, rest;
    void (*launch)(int M, int N, int K, const float* A, const float* B, float* C);
    std::string name() const { return format("%dx%d", kTileM, n); }
};
constexpr Config kConfigs[] = {{192, 1570, 3000, launch<192>}, {128, 1080, 2000, launch<128>}};

const Config& best_config(int M, int N, int K) {
    return fastest(kConfigs, [=](const Config& config) {
        const int tiles = ceil_div(M, kTileM) * ceil_div(N, config.n);
        return ceil_div(tiles, sm_count()) *
               (1.0 * ceil_div(K, kTileK) * config.step + config.rest);
    });
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    best_config(M, N, K).launch(M, N, K, A, B, C);
}

// In floats, of which hi and lo together are one: the passes load A and B twice, and the largest of
// a column once for kRows rows. The product loads A once per column of tiles, B once per row of
// them, and exponents: four lanes that of a row, 64 that of a column.
double loaded_elements(double M, double N, double K) {
    const double tiles_m = std::ceil(M / kTileM), tiles_n = std::ceil(N / best_config(M, N, K).n);
    return M * K * (2 + tiles_n) + K * N * (2 + tiles_m) + aligned(int(N)) * std::ceil(K / kRows) +
           4 * M * tiles_n + 64 * N * tiles_m;
}
double stored_elements(double M, double N, double K) {
    const double lda = aligned(int(K)), ldb = aligned(int(N));
    return M * N + M * lda + K * ldb + M + ldb;
}

// Each thread that splits a row of A reads its largest element.
double shared_loaded_bytes(double M, double, double K) {
    return row_threads(aligned(int(K))) * sizeof(unsigned) * M;
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, scaled_split_arithmetic(kTileK)};
    facts.stored_elements = stored_elements;
    for (const Config& config : kConfigs)
        facts.configs.push_back({config.name(), kTileM, config.n, kTileK});
    facts.chosen = [](int M, int N, int K) { return best_config(M, N, K).name(); };
    return run_stage(launch_matmul, facts, argc, argv);
}
