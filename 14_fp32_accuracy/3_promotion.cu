// Promotion. A tensor core truncates each sum that it makes, always toward zero, so that over K =
// 8192 the error of positive data is a bias of hundreds of units in the last place. So the products
// hi hi are accumulated on the tensor core for one k-tile only, and an ordinary addition, which
// rounds to nearest, adds their sum to the total.
//
//    registers of a thread for a tile of 128 x 128    64 acc + 64 correction + 64 total
//    for a tile of 128 x 192                          96 + 96 + 96: more than the 255 it can have
//
// The correction stays in its accumulator: what is truncated there is divided by 2048.
//
// Changed:  acc begins anew in each k-tile, and is added to `total`.
#include "14_fp32_accuracy/load_row.cuh"
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
constexpr float kUp = 2048;  // 2^11: a half has 11 bits
constexpr int kHi = 0, kLo = 1;

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
           float* C) {
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
        // Fragments of 16 x 8, side by side in the warp's 16 rows: hi hi of a k-tile, the two
        // others, and the sum of the k-tiles.
        float acc[kTileN / 8][4], correction[kTileN / 8][4], total[kTileN / 8][4] = {};
        for (int k = 0; k < K; k += kTileK) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            multiply(correction, kLo, kHi, k > 0);
            multiply(correction, kHi, kLo, true);
            multiply(acc, kHi, kHi, false);
            ptx::wgmma_commit_group();
            ptx::wgmma_wait_group<0>();
            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
            ptx::warpgroup_fence_operand(acc);  // keeps the compiler from reading acc earlier
            for (int i = 0; i < kTileN / 8; ++i)
                for (int e = 0; e < 4; ++e) total[i][e] += acc[i][e];
        }
        ptx::warpgroup_fence_operand(correction);
        for (int i = 0; i < kTileN / 8; ++i)
            for (int e = 0; e < 4; ++e) total[i][e] += correction[i][e] / kUp;

        // A lane has two adjacent elements in each of two rows of a fragment.
        const auto at = scheduler.position(tile);
        const int row = at.m * kTileM + first_row + warp % 4 * 16 + lane / 4;
        const int col = at.n * kTileN + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < kTileN / 8; ++i)
            for (int h = 0; h < 2; ++h) {
                const int r = row + 8 * h, c = col + 8 * i;
                if (r >= M || c >= N) continue;
                float* const to = &C[size_t(r) * N + c];
                const float x = total[i][2 * h], y = total[i][2 * h + 1];
                if (N % 2 == 0) *(float2*)to = {x, y};
                else {
                    to[0] = x;
                    if (c + 1 < N) to[1] = y;
                }
            }
    }
}

// A pass over a matrix, before the product: each block splits a row into halves, and pads them with
// zeros up to `stride`.
__global__ void split(int columns, int stride, const float* from, half* hi, half* lo) {
    from += size_t(blockIdx.x) * columns;
    const size_t to = size_t(blockIdx.x) * stride;
    for (int col = threadIdx.x * 4; col < stride; col += blockDim.x * 4) {
        const float4 four = load4(from, col, columns);
        const float x[4] = {four.x, four.y, four.z, four.w};
        alignas(8) half h[4], l[4];
        for (int i = 0; i < 4; ++i) {
            h[i] = x[i];
            l[i] = (x[i] - float(h[i])) * kUp;  // the difference and the product are exact
        }
        *(uint2*)&hi[to + col] = *(const uint2*)h;
        *(uint2*)&lo[to + col] = *(const uint2*)l;
    }
}

// A matrix as two of halves in device memory, whose rows start on multiples of 16 bytes, as TMA
// needs them.
struct Halves {
    Halves(const float* matrix, int rows, int columns) : stride(aligned(columns)) {
        keep_freed_memory();
        // finish_launch() reports the error.
        const size_t size = size_t(rows) * stride;
        if (cudaMallocAsync(&hi, 2 * size * sizeof(half), 0)) return;
        lo = hi + size;
        split<<<rows, 256>>>(columns, stride, matrix, hi, lo);
    }
    ~Halves() {
        if (hi) cudaFreeAsync(hi, 0);
    }

    int stride;
    half *hi = nullptr, *lo = nullptr;
};

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const Halves A_halves(A, M, K), B_halves(B, K, N);
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
        B_map(B_halves.lo), C);
}

// In floats, of which hi and lo together are one: the pass loads A and B. The product loads A once
// per column of tiles, and B once per row of them.
double loaded_elements(double M, double N, double K) {
    return M * K * (1 + std::ceil(N / kTileN)) + K * N * (1 + std::ceil(M / kTileM));
}
double stored_elements(double M, double N, double K) {
    return M * N + M * aligned(int(K)) + K * aligned(int(N));
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, nullptr, split_arithmetic(kTileK)};
    facts.stored_elements = stored_elements;
    return run_stage(launch_matmul, facts, argc, argv);
}
