// Any range. A half ends at 65504, and below 2^-14 it loses bits, so floats are brought into its
// range first, by powers of two, which change no bit of a significand:
//
//    row of A       times 2^s, so that its largest element is at least 2^14 and less than 2^15
//    column of B    times 2^t, likewise
//    C[i][j]        the sum of the scaled products, times 2^-(s + t)
//
// With such scales lo needs no factor of its own: only elements that are 2^16 times as small as the
// largest of their row or column lose more than the last bit. So no product has to be divided, and
// all three go to one accumulator: first the small ones.
//
// Changed:  scales; lo is as large as it is; one accumulator for the three products of a k-tile.
#include "14_fp32_accuracy/split.cuh"
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tile_scheduler.h"

constexpr int kTileM = 128;  // rows of C per block, 64 for each warpgroup
constexpr int kTileN = 128;  // columns of C per block
constexpr int kConsumers = 2 * 128;  // threads of two consumer warpgroups
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kStages = 3;  // one is read while two are being filled
constexpr int kHi = 0, kLo = 1;

// Each thread finds the largest of four columns, in kRows rows.
constexpr int kRows = 64;
__global__ void largest_of_columns(int rows, int columns, const float* from, unsigned* largest) {
    const int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (col >= columns) return;
    const int first = blockIdx.y * kRows, last = min(first + kRows, rows);
    unsigned mine[4] = {};
    for (int row = first; row < last; ++row) {
        const float4 x = load4(from + size_t(row) * columns, col, columns);
        mine[0] = max(mine[0], magnitude(x.x));
        mine[1] = max(mine[1], magnitude(x.y));
        mine[2] = max(mine[2], magnitude(x.z));
        mine[3] = max(mine[3], magnitude(x.w));
    }
    for (int i = 0; i < 4 && col + i < columns; ++i) atomicMax(&largest[col + i], mine[i]);
}
// Scales and splits them, and pads them with zeros up to `stride`, as `largest` is.
__global__ void split_columns(int rows, int columns, int stride, const float* from,
                              const unsigned* largest, half* hi, half* lo, int* exponents) {
    const int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (col >= stride) return;
    float scales[4];
    for (int i = 0; i < 4; ++i) {
        const int exponent = exponent_of(largest[col + i]);
        if (blockIdx.y == 0) exponents[col + i] = exponent;
        scales[i] = ldexpf(1, exponent);
    }
    const int first = blockIdx.y * kRows, last = min(first + kRows, rows);
    for (int row = first; row < last; ++row) {
        const size_t to = size_t(row) * stride + col;
        split4(load4(from + size_t(row) * columns, col, columns), scales, &hi[to], &lo[to]);
    }
}

// B, with a scale for each column.
struct HalvesOfColumns : Halves {
    HalvesOfColumns(const float* matrix, int rows, int columns)
        : Halves(rows, aligned(columns), 2 * aligned(columns)) {
        if (!exponents) return;
        auto* const largest = reinterpret_cast<unsigned*>(exponents + stride);
        cudaMemsetAsync(largest, 0, stride * sizeof *largest);
        const dim3 grid(ceil_div(stride, 4 * 128), ceil_div(rows, kRows));
        largest_of_columns<<<grid, 128>>>(rows, columns, matrix, largest);
        split_columns<<<grid, 128>>>(rows, columns, stride, matrix, largest, hi, lo, exponents);
    }
};

struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    half As[kStages][2][kTileM][kTileK];  // kHi, kLo
    half Bs[kStages][2][kTileN / 64][kTileK][64];
    uint64_t full[kStages], empty[kStages];
};
constexpr int kSharedBytes = sizeof(Shared);  // > 48 KiB: needs an opt-in

__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ TileScheduler scheduler,
           const __grid_constant__ CUtensorMap A_hi, const __grid_constant__ CUtensorMap A_lo,
           const __grid_constant__ CUtensorMap B_hi, const __grid_constant__ CUtensorMap B_lo,
           const int* A_exponents, const int* B_exponents, float* C) {
    extern __shared__ __align__(1024) char memory[];
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
        int stage = 0, parity = 1;  // 1: that of the phase before the first, which is complete
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
    int stage = 0, parity = 0;
    // Adds the product of hi or lo of A and hi or lo of B of the stage, or begins a sum with it.
    const auto multiply = [&](auto& acc, int a_half, int b_half, bool adds) {
        for (int s = 0; s < kTileK; s += 16) {
            // In units of 16 bytes: 64 to the next eight rows, 512 to B's next 64 columns.
            const uint64_t a =
                ptx::wgmma_descriptor(&shared.As[stage][a_half][first_row][s], 128, 64);
            const uint64_t b = ptx::wgmma_descriptor(&shared.Bs[stage][b_half][0][s], 128, 64, 512);
            ptx::wgmma_m64k16<half, 0, 1>(acc, a, b, adds || s > 0);
        }
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
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
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

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const HalvesOfRows A_halves(A, M, K);
    const HalvesOfColumns B_halves(B, K, N);
    const auto A_map = [&](const half* matrix) {
        return tensor_map(matrix, M, K, kTileM, kTileK, 128, A_halves.stride);
    };
    const auto B_map = [&](const half* matrix) {
        return tensor_map(matrix, K, N, kTileK, 64, 128, B_halves.stride);
    };
    const TileScheduler scheduler(ceil_div(M, kTileM), ceil_div(N, kTileN), kGroup);
    const int blocks = std::min(sm_count(), scheduler.tiles);
    allow_shared_memory(matmul, kSharedBytes);
    matmul<<<blocks, kConsumers + kProducers, kSharedBytes>>>(
        M, N, K, scheduler, A_map(A_halves.hi), A_map(A_halves.lo), B_map(B_halves.hi),
        B_map(B_halves.lo), A_halves.exponents, B_halves.exponents, C);
}

// In floats, of which hi and lo together are one: the passes load A and B twice, and the largest of
// a column once for kRows rows. The product loads A once per column of tiles, B once per row of
// them, and exponents: four lanes that of a row, 64 that of a column.
double loaded_elements(double M, double N, double K) {
    const double tiles_m = std::ceil(M / kTileM), tiles_n = std::ceil(N / kTileN);
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
    return run_stage(launch_matmul, facts, argc, argv);
}
