// B is split in registers, by the warps that multiply it. In a transposed tile (C^T = B^T A^T) B's
// columns are the rows of wgmma's first operand, which may lie in registers. So TMA loads B as
// floats, and the consumers scale and split them. No pass over B is left, and each column of a
// k-tile has its own scale:
//
//    column of a k-tile    is scaled by 2^t (t: `exponents`), so that its largest element is at
//                          least 2^14 and less than 2^15
//    column of C           is summed scaled by 2^u (u: `unit`), where u is the smallest t so far.
//                          If a k-tile has a smaller t, the sum is first multiplied by 2^(t - u),
//                          and u becomes t. The product of each k-tile is multiplied by 2^(u - t)
//                          and added
//
// The tile of A comes in chunks of 64 rows, which are multiplied one after the other. Each needs few
// accumulators, so that a tile of 256 x 128 fits, and while one is multiplied the one before is
// promoted. The warpgroups take turns: one splits its columns of B while the other multiplies.
//
// Changed:  (after 14/4) transposed tiles of 256 x 128, B from registers, a scale for each column of
//           a k-tile; chunks of A; the warpgroups take turns; tiles of 64 x 128 for small products;
//           fewer blocks in launches of few waves; scales are undone by factors instead of ldexpf;
//           B's rows are copied where they are not aligned.
#include <string>

#include "14_fp32_accuracy/split.cuh"
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tile_scheduler.h"

constexpr int kTileN = 128;  // columns of C per block, 64 for each warpgroup
constexpr int kConsumers = 2 * 128;  // threads of two consumer warpgroups
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kChunk = 64;  // rows of A that are loaded and multiplied together
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
// A launch of fewer waves starts only as many blocks as it needs for that number of waves, because
// idle SMs save power. From 32 waves on at most 4 of 132 SMs would be idle, so each gets a block.
constexpr int kManyWaves = 32;
constexpr int kHi = 0, kLo = 1;

constexpr int kStagesB = 2;
constexpr int kStagesA = (226 * 1024 - kStagesB * kTileK * kTileN * 4) / (2 * kChunk * kTileK * 2);
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    half As[kStagesA][2][kChunk][kTileK];  // kHi, kLo
    float Bs[kStagesB][kTileN / 32][kTileK][32];
    uint64_t A_full[kStagesA], A_empty[kStagesA], B_full[kStagesB], B_empty[kStagesB];
};
constexpr int kSharedBytes = sizeof(Shared);  // > 48 KiB: needs an opt-in

template <int stages>
struct Stage {  // of a circular buffer
    int index = 0, parity;
    __device__ explicit Stage(int parity) : parity(parity) {}
    __device__ void advance() {
        index = (index + 1) % stages;
        parity ^= index == 0;
    }
};

// 2^exponent, or 0 where that is not a normal float.
inline __device__ float power_of_two(int exponent) {
    return __int_as_float(max(127 + exponent, 0) << 23);
}

// 2^-exponent as two factors of about equal size. The scales of A's row and B's column together may
// need a factor that is no float. So a sum is multiplied by the product of both first factors, then
// by the product of both second ones. exponent: from -114 to 127.
inline __device__ float2 inverse_scale(int exponent) {
    const int half = -exponent >> 1;
    return {power_of_two(half), power_of_two(-exponent - half)};
}

// The floats of a k-tile that a lane splits: of two adjacent columns of B, those of the rows
// 16 s + 8 h + 2 (lane % 4) + e, at [s][h][e].
using Floats = float2[4][2][2];

// Loads them, and finds the exponent of each column's scale: the largest of the k-tile then is at
// least 2^14 and less than 2^15. The exponent is at most 127, so that a column below 2^-113 stays
// smaller. It is 127 for zeros and -114 for an infinity. A NaN does not change it, because fmaxf
// ignores NaN.
inline __device__ void load_columns(const float (&rows)[kTileK][32], int col, Floats& x,
                                    int (&exponents)[2]) {
    const int t = threadIdx.x % 4;
    float largest[2] = {};
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int e = i % 2, h = i / 2 % 2, s = i / 4;
        const int row = 2 * t + e, chunk = col / 4 ^ row;  // the swizzle, for four floats
        const float2 two = *(const float2*)&rows[16 * s + 8 * h + row][4 * chunk + col % 4];
        largest[0] = fmaxf(largest[0], fabsf(two.x));
        largest[1] = fmaxf(largest[1], fabsf(two.y));
        x[s][h][e] = two;
    }
    for (int c = 0; c < 2; ++c) {
        for (int mask = 1; mask < 4; mask *= 2)  // the four lanes that share the columns
            largest[c] = fmaxf(largest[c], __shfl_xor_sync(~0u, largest[c], mask));
        exponents[c] = min(kLargest + 127 - int(magnitude(largest[c]) >> 23), 127);
    }
}

// Splits them into fragments of wgmma's first operand, whose rows g and g + 8 are the columns.
inline __device__ void split_in_registers(const Floats& x, const int (&exponents)[2],
                                          half2 (&hi)[4][4], half2 (&lo)[4][4]) {
    const float scales[2] = {power_of_two(exponents[0]), power_of_two(exponents[1])};
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const int c = i % 2, h = i / 2 % 2, s = i / 4;
        const float2 two = {(c ? x[s][h][0].y : x[s][h][0].x) * scales[c],
                            (c ? x[s][h][1].y : x[s][h][1].x) * scales[c]};
        const half2 high = __float22half2_rn(two);
        const float2 back = __half22float2(high);
        const half2 difference = __float22half2_rn({two.x - back.x, two.y - back.y});
        hi[s][2 * h + c] = high;
        lo[s][2 * h + c] = __hmin2(difference, __float2half2_rn(8));  // NaN becomes 8
    }
}

template <int kTileM>
__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ TileScheduler scheduler,
           const __grid_constant__ CUtensorMap A_hi, const __grid_constant__ CUtensorMap A_lo,
           const __grid_constant__ CUtensorMap B, const int* A_exponents, float* C) {
    extern __shared__ __align__(1024) char memory[];
    auto& shared = *reinterpret_cast<Shared*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        const auto initialize = [](uint64_t* full, uint64_t* empty, int stages) {
            for (int stage = 0; stage < stages; ++stage) {
                ptx::mbarrier_init(&full[stage], 1);  // one arrival, of the thread that loads
                ptx::mbarrier_init(&empty[stage], kConsumers / 32);  // one arrival of each warp
            }
        };
        initialize(shared.A_full, shared.A_empty, kStagesA);
        initialize(shared.B_full, shared.B_empty, kStagesB);
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the mbarriers are initialised

    if (warp >= kConsumers / 32) {
        ptx::warpgroup_reg_dealloc<24>();
        if (threadIdx.x > kConsumers) return;
        Stage<kStagesA> a(1);  // 1: that of the phase before the first, which is complete
        Stage<kStagesB> b(1);
        for (int tile = blockIdx.x; tile < scheduler.tiles; tile += gridDim.x) {
            const auto at = scheduler.position(tile);
            for (int k = 0; k < K; k += kTileK) {
                ptx::mbarrier_wait_parity(&shared.B_empty[b.index], b.parity);
                uint64_t* full = &shared.B_full[b.index];
                ptx::mbarrier_arrive_expect_tx(full, sizeof(shared.Bs[0]));
                for (int j = 0; j < kTileN / 32; ++j)
                    ptx::cp_async_bulk_tensor(shared.Bs[b.index][j], &B, at.n * kTileN + 32 * j, k,
                                              full);
                b.advance();
                for (int row = at.m * kTileM; row < (at.m + 1) * kTileM; row += kChunk) {
                    ptx::mbarrier_wait_parity(&shared.A_empty[a.index], a.parity);
                    full = &shared.A_full[a.index];
                    ptx::mbarrier_arrive_expect_tx(full, sizeof(shared.As[0]));
                    ptx::cp_async_bulk_tensor(shared.As[a.index][kHi], &A_hi, k, row, full);
                    ptx::cp_async_bulk_tensor(shared.As[a.index][kLo], &A_lo, k, row, full);
                    a.advance();
                }
            }
        }
        return;
    }
    ptx::warpgroup_reg_alloc<240>();

    // A warp owns 16 columns, and a lane two adjacent ones.
    const int warpgroup = warp / 4, col = warp * 16 + lane / 4 * 2;
    const auto A_first = ptx::wgmma_descriptor(shared.As[0][kHi], 128, 64);
    Stage<kStagesA> a(0);
    Stage<kStagesB> b(0);
    // Barrier 1 + w lets warpgroup w multiply. The first turn is warpgroup 0's.
    if (warpgroup == 1) ptx::named_barrier_arrive(1, kConsumers);
    for (int tile = blockIdx.x; tile < scheduler.tiles; tile += gridDim.x) {
        // Fragments of 16 x 8 of C's transpose, side by side: the sum of the k-tiles times 2^unit,
        // in [0] and [1] of the lane's first column, in [2] and [3] of the second.
        float total[kTileM / 8][4] = {};
        int unit[2] = {127, 127};
        for (int k = 0; k < K; k += kTileK) {
            Floats x;
            int exponents[2];
            ptx::mbarrier_wait_parity(&shared.B_full[b.index], b.parity);
            load_columns(shared.Bs[b.index][col / 32], col % 32, x, exponents);
            for (int c = 0; c < 2; ++c) {
                if (!__any_sync(~0u, exponents[c] < unit[c])) continue;
                const int smaller = min(unit[c], exponents[c]);
                const float factor = power_of_two(smaller - unit[c]);
#pragma unroll
                for (int i = 0; i < kTileM / 8; ++i)
                    for (int e = 0; e < 2; ++e) total[i][2 * c + e] *= factor;
                unit[c] = smaller;
            }
            const float factors[2] = {power_of_two(unit[0] - exponents[0]),
                                      power_of_two(unit[1] - exponents[1])};
            half2 hi[4][4], lo[4][4];
            split_in_registers(x, exponents, hi, lo);

            ptx::named_barrier_sync(1 + warpgroup, kConsumers);
            float acc[2][kChunk / 8][4];  // of chunk j in acc[j % 2]
            int stage[2] = {a.index, a.index};  // of the chunk that is multiplied into it
            const auto promote = [&](int j) {  // when the products of chunk j are complete
                auto& sums = acc[j % 2];
                if (lane == 0) ptx::mbarrier_arrive(&shared.A_empty[stage[j % 2]]);
                ptx::warpgroup_fence_operand(sums);  // keeps the compiler from reading them earlier
                for (int i = 0; i < kChunk / 8; ++i)
                    for (int e = 0; e < 4; ++e) {
                        float& sum = total[j * kChunk / 8 + i][e];
                        sum = fmaf(sums[i][e], factors[e / 2], sum);
                    }
            };
            constexpr int kChunks = kTileM / kChunk;
#pragma unroll
            for (int j = 0; j < kChunks; ++j) {
                auto& sums = acc[j % 2];
                const uint64_t A_hi = A_first + a.index * (sizeof(shared.As[0]) / 16);
                const uint64_t A_lo = A_hi + sizeof(shared.As[0][0]) / 16;
                ptx::mbarrier_wait_parity(&shared.A_full[a.index], a.parity);
                ptx::wgmma_fence();
                // Small sums first: what is truncated of them is small, too.
                const auto multiply = [&](const half2(&of_B)[4][4], uint64_t of_A, bool adds) {
#pragma unroll
                    for (int s = 0; s < 4; ++s)
                        ptx::wgmma_m64k16<half>(sums, of_B[s], of_A + s * 32 / 16, adds || s > 0);
                };
                multiply(lo, A_hi, false);
                multiply(hi, A_lo, true);
                multiply(hi, A_hi, true);
                ptx::wgmma_commit_group();
                stage[j % 2] = a.index;
                a.advance();
                if (j == kChunks - 1) ptx::named_barrier_arrive(2 - warpgroup, kConsumers);
                if (j > 0) {
                    ptx::wgmma_wait_group<1>();
                    promote(j - 1);
                }
            }
            ptx::wgmma_wait_group<0>();
            promote(kChunks - 1);
            // B's floats have long been in registers, but between wgmmas the fence would delay those
            // that follow.
            ptx::fence_proxy_async();
            __syncwarp();
            if (lane == 0) ptx::mbarrier_arrive(&shared.B_empty[b.index]);
            b.advance();
        }

        // A lane has two adjacent elements in each of two rows of C for a fragment.
        const auto at = scheduler.position(tile);
        const int first_row = at.m * kTileM + lane % 4 * 2, c = at.n * kTileN + col;
        const float2 of_columns[2] = {inverse_scale(unit[0]), inverse_scale(unit[1])};
        const bool both = N % 2 == 0 && c < N;  // elements of a row are stored at once
        constexpr int kAtOnce = kTileM / 16;  // fragments whose exponents are loaded together
#pragma unroll
        for (int first = 0; first < kTileM / 8; first += kAtOnce) {
            int exponents[kAtOnce][2];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i)
                for (int e = 0; e < 2; ++e)
                    exponents[i][e] = A_exponents[min(first_row + 8 * (first + i) + e, M - 1)];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i)
                for (int e = 0; e < 2; ++e) {
                    const float2 of_row = inverse_scale(exponents[i][e]);
                    float y[2];
                    for (int j = 0; j < 2; ++j)
                        y[j] = total[first + i][2 * j + e] * (of_row.x * of_columns[j].x) *
                               (of_row.y * of_columns[j].y);
                    const int r = first_row + 8 * (first + i) + e;
                    float* const to = &C[size_t(r) * N + c];
                    if (r < M && both) *(float2*)to = {y[0], y[1]};
                    if (r < M && !both && c < N) to[0] = y[0];
                    if (r < M && !both && c + 1 < N) to[1] = y[1];
                }
        }
    }
    if (warpgroup == 0) ptx::named_barrier_sync(1, kConsumers);  // the last arrival is waited for
}

template <int kTileM>
void launch(int M, int N, int K, const float* A, const float* B, float* C) {
    const HalvesOfRows A_halves(A, M, K);
    const AlignedRows<float> B_rows(B, K, N);
    const auto A_map = [&](const half* matrix) {
        return tensor_map(matrix, M, K, kChunk, kTileK, 128, A_halves.stride);
    };
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 32, 128, B_rows.stride);
    const TileScheduler scheduler(ceil_div(M, kTileM), ceil_div(N, kTileN), kGroup);
    const int waves = ceil_div(scheduler.tiles, sm_count());
    const int blocks = waves < kManyWaves ? ceil_div(scheduler.tiles, waves) : sm_count();
    const auto kernel = matmul<kTileM>;
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, kConsumers + kProducers, kSharedBytes>>>(
        M, N, K, scheduler, A_map(A_halves.hi), A_map(A_halves.lo), B_map, A_halves.exponents, C);
}

struct Config {  // a k-tile of a prototype took `step` ns on an H100, the rest of a tile `rest`
    int m, step, rest;
    void (*launch)(int M, int N, int K, const float* A, const float* B, float* C);
    std::string name() const { return format("%dx%d", m, kTileN); }
};
constexpr Config kConfigs[] = {{256, 2080, 3000, launch<256>}, {64, 600, 1500, launch<64>}};

const Config& best_config(int M, int N, int K) {
    return fastest(kConfigs, [=](const Config& config) {
        const int tiles = ceil_div(M, config.m) * ceil_div(N, kTileN);
        return ceil_div(tiles, sm_count()) *
               (1.0 * ceil_div(K, kTileK) * config.step + config.rest);
    });
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    best_config(M, N, K).launch(M, N, K, A, B, C);
}

// In floats, of which hi and lo together are one: the pass loads A twice. The product loads A once
// per column of tiles, B once per row of them, and 64 lanes the exponent of a row of a tile.
double loaded_elements(double M, double N, double K) {
    const int m = best_config(M, N, K).m;
    const double tiles_m = std::ceil(M / m), tiles_n = std::ceil(N / kTileN);
    const double copied = aligned(int(N)) > N ? K * N : 0;
    return M * K * (2 + tiles_n) + K * N * tiles_m + copied + 64 * m * tiles_m * tiles_n;
}
double stored_elements(double M, double N, double K) {
    const double lda = aligned(int(K)), ldb = aligned(int(N));
    return M * N + M * lda + M + (ldb > N ? K * ldb : 0);
}

// Each thread that splits a row of A reads its largest element, and the consumers read B.
double shared_loaded_bytes(double M, double N, double K) {
    const double tiles_m = std::ceil(M / best_config(M, N, K).m), tiles_n = std::ceil(N / kTileN);
    return row_threads(aligned(int(K))) * sizeof(unsigned) * M +
           tiles_m * tiles_n * std::ceil(K / kTileK) * kTileK * kTileN * sizeof(float);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes, scaled_split_arithmetic(kTileK)};
    facts.stored_elements = stored_elements;
    for (const Config& config : kConfigs)
        facts.configs.push_back({config.name(), config.m, kTileN, kTileK});
    facts.chosen = [](int M, int N, int K) { return best_config(M, N, K).name(); };
    return run_stage(launch_matmul, facts, argc, argv);
}
