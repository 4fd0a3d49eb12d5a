// A product of floats on tensor cores, the simple way: each float is rounded to a half, and the
// kernel of 11 multiplies the halves. A half keeps 11 of the 24 bits of a float's significand.
//
//    to_halves    reads 4 bytes of each float and writes 2, a pass over A and one over B
//    matmul       11/1_wgmma.cu, but the tile scheduler comes from common/
//
// Changed:  (after 11) A and B are floats, which a kernel of its own rounds to halves; groups of the
//           tile scheduler have 8 rows; the kernel itself asks whether N is even.
#include "14_fp32_accuracy/load_row.cuh"
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"
#include "common/tile_scheduler.h"

constexpr int kTileM = 128;  // rows of C per block, 64 for each warpgroup
constexpr int kTileN = 256;  // columns of C per block
constexpr int kConsumers = 2 * 128;  // threads of two consumer warpgroups
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
constexpr int kStages = 4;  // one is read while three are being filled

struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    half As[kStages][kTileM][kTileK];
    half Bs[kStages][kTileN / 64][kTileK][64];
    uint64_t full[kStages], empty[kStages];
};
constexpr int kSharedBytes = sizeof(Shared);  // > 48 KiB: needs an opt-in

__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ TileScheduler scheduler,
           const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, float* C) {
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
                ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, at.m * kTileM,
                                          &shared.full[stage]);
                for (int j = 0; j < kTileN / 64; ++j)
                    ptx::cp_async_bulk_tensor(shared.Bs[stage][j], &B, at.n * kTileN + j * 64, k,
                                              &shared.full[stage]);
                stage = (stage + 1) % kStages;
                parity ^= stage == 0;
            }
        }
        return;
    }
    ptx::warpgroup_reg_alloc<240>();

    const int first_row = warp / 4 * 64;  // a warpgroup owns 64 x kTileN elements
    int stage = 0, parity = 0;
    for (int tile = blockIdx.x; tile < scheduler.tiles; tile += gridDim.x) {
        float acc[kTileN / 8][4];  // fragments of 16 x 8, side by side in the warp's 16 rows
        for (int k = 0; k < K; k += kTileK) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16) {
                // In units of 16 bytes: 64 to the next eight rows, 512 to B's next 64 columns.
                const uint64_t a = ptx::wgmma_descriptor(&shared.As[stage][first_row][s], 128, 64);
                const uint64_t b = ptx::wgmma_descriptor(&shared.Bs[stage][0][s], 128, 64, 512);
                ptx::wgmma_m64k16<half, 0, 1>(acc, a, b, k + s > 0);
            }
            ptx::wgmma_commit_group();
            ptx::wgmma_wait_group<0>();
            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
        }
        ptx::warpgroup_fence_operand(acc);  // keeps the compiler from reading acc earlier

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
                const float x = acc[i][2 * h], y = acc[i][2 * h + 1];
                if (N % 2 == 0) *(float2*)to = {x, y};
                else {
                    to[0] = x;
                    if (c + 1 < N) to[1] = y;
                }
            }
    }
}

// Each block rounds a row to halves, and pads it with zeros up to `stride`.
__global__ void to_halves(int columns, int stride, const float* from, half* to) {
    from += size_t(blockIdx.x) * columns;
    to += size_t(blockIdx.x) * stride;
    for (int col = threadIdx.x * 4; col < stride; col += blockDim.x * 4) {
        const float4 x = load4(from, col, columns);
        alignas(8) const half halves[4] = {x.x, x.y, x.z, x.w};
        *(uint2*)&to[col] = *(const uint2*)halves;
    }
}

// A matrix as halves in device memory, whose rows start on multiples of 16 bytes, as TMA needs them.
struct Halves {
    Halves(const float* matrix, int rows, int columns) : stride(aligned(columns)) {
        keep_freed_memory();
        // finish_launch() reports the error.
        if (cudaMallocAsync(&data, size_t(rows) * stride * sizeof(half), 0)) return;
        to_halves<<<rows, 256>>>(columns, stride, matrix, data);
    }
    ~Halves() {
        if (data) cudaFreeAsync(data, 0);
    }

    int stride;
    half* data = nullptr;
};

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const Halves A_halves(A, M, K), B_halves(B, K, N);
    const auto A_map = tensor_map(A_halves.data, M, K, kTileM, kTileK, 128, A_halves.stride);
    const auto B_map = tensor_map(B_halves.data, K, N, kTileK, 64, 128, B_halves.stride);
    const TileScheduler scheduler(ceil_div(M, kTileM), ceil_div(N, kTileN), kGroup);
    const int blocks = std::min(sm_count(), scheduler.tiles);
    allow_shared_memory(matmul, kSharedBytes);
    matmul<<<blocks, kConsumers + kProducers, kSharedBytes>>>(M, N, K, scheduler, A_map, B_map, C);
}

// In floats, of which two halves are one: the pass loads A and B. The product loads halves of A
// once per column of tiles, and of B once per row of them.
double loaded_elements(double M, double N, double K) {
    const double halves = M * K * std::ceil(N / kTileN) + K * N * std::ceil(M / kTileM);
    return M * K + K * N + halves / 2;
}
double stored_elements(double M, double N, double K) {
    return M * N + (M * aligned(int(K)) + K * aligned(int(N))) / 2;
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, nullptr, kRoundedToHalves};
    facts.stored_elements = stored_elements;
    return run_stage(launch_matmul, facts, argc, argv);
}
