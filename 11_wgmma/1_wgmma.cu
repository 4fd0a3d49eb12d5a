// wgmma, Hopper's matrix multiply for a warpgroup of four warps. It reads both operands from shared
// memory, where TMA has put them, so there are no fragments and no ldmatrix. It runs asynchronously
// at the full rate of the tensor cores, of which mma.sync reaches two thirds.
//
//    warpgroup 0    rows  0 to  63 of the tile of A  x  the whole tile of B    64 x 256 of C
//    warpgroup 1    rows 64 to 127                                             64 x 256
//
//    A descriptor, 64 bits, says where an operand begins and how far apart its groups of rows lie.
//
// Changed:  (from 10) wgmma reads both operands from shared memory: no ldmatrix, no proxy fence.
#include "common/aligned_rows.h"
#include "common/ptx/hopper.cuh"
#include "common/stage.h"
#include "common/tensor_map.h"

constexpr int kTileM = 128;  // rows of C per block, 64 for each warpgroup
constexpr int kTileN = 256;  // columns of C per block
constexpr int kConsumers = 2 * 128;  // threads of two consumer warpgroups
constexpr int kProducers = 128;  // a warpgroup, for the sake of setmaxnreg; one thread loads
constexpr int kTileK = 64;  // extent of the tiles along k: a row of As is 128 bytes
constexpr int kGroup = 16;  // rows of tiles in a group of the tile scheduler
constexpr int kStages = 4;  // one is read while three are being filled

template <class T>  // half or __nv_bfloat16
struct Shared {  // a tile begins at a multiple of 1024 bytes, after which the swizzle repeats
    T As[kStages][kTileM][kTileK];
    T Bs[kStages][kTileN / 64][kTileK][64];
    uint64_t full[kStages], empty[kStages];
};
constexpr int kSharedBytes = sizeof(Shared<half>);  // > 48 KiB: needs an opt-in
static_assert(kTileK == 64 && kTileN % 64 == 0, "64 elements are 128 bytes");

struct TileScheduler {  // the first row and column of tile number `tile` of C
    __device__ TileScheduler(int M, int N, int tile) {
        const int tiles_n = ceil_div(N, kTileN), group = tile / (kGroup * tiles_n);
        const int rows = min(kGroup, ceil_div(M, kTileM) - group * kGroup);  // of this group
        tile %= kGroup * tiles_n;
        row = (group * kGroup + tile % rows) * kTileM;
        col = tile / rows * kTileN;
    }
    int row, col;
};

template <bool kWide>
__device__ void store2(float* to, const float* values, int valid) {
    if (kWide && valid > 0) *(float2*)to = {values[0], values[1]};
    for (int e = 0; !kWide && e < 2; ++e)
        if (e < valid) to[e] = values[e];
}

template <class T, bool kWide>
__global__ void __launch_bounds__(kConsumers + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, float* C) {
    extern __shared__ __align__(1024) char memory[];
    auto& shared = *reinterpret_cast<Shared<T>*>(memory);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
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
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const TileScheduler at(M, N, tile);
            for (int k = 0; k < K; k += kTileK) {
                ptx::mbarrier_wait_parity(&shared.empty[stage], parity);
                ptx::mbarrier_arrive_expect_tx(&shared.full[stage],
                                               sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
                ptx::cp_async_bulk_tensor(shared.As[stage], &A, k, at.row, &shared.full[stage]);
                for (int j = 0; j < kTileN; j += 64)
                    ptx::cp_async_bulk_tensor(shared.Bs[stage][j / 64], &B, at.col + j, k,
                                              &shared.full[stage]);
                stage = (stage + 1) % kStages;
                parity ^= stage == 0;
            }
        }
        return;
    }
    ptx::warpgroup_reg_alloc<240>();

    const int row = warp / 4 * 64;  // a warpgroup owns 64 x 256 elements
    int stage = 0, parity = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float acc[kTileN / 8][4];  // tiles of 16 x 8, side by side in the warp's 16 rows
        for (int k = 0; k < K; k += kTileK) {
            ptx::mbarrier_wait_parity(&shared.full[stage], parity);
            ptx::wgmma_fence();
            for (int s = 0; s < kTileK; s += 16) {
                // In units of 16 bytes: 64 to the next eight rows, 512 to B's next 64 columns.
                const uint64_t a = ptx::wgmma_descriptor(&shared.As[stage][row][s], 128, 64);
                const uint64_t b = ptx::wgmma_descriptor(&shared.Bs[stage][0][s], 128, 64, 512);
                // A is K-major (0), B MN-major (1). The tile's first product overwrites acc.
                ptx::wgmma_m64k16<T, 0, 1>(acc, a, b, k + s > 0);
            }
            ptx::wgmma_commit_group();
            ptx::wgmma_wait_group<0>();
            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
            stage = (stage + 1) % kStages;
            parity ^= stage == 0;
        }
        ptx::warpgroup_fence_operand(acc);  // keeps the compiler from reading acc earlier

        const TileScheduler at(M, N, tile);
        for (int j = 0; j < kTileN / 8; ++j)
            for (int r = 0; r < 16; r += 8) {  // a lane holds elements of two rows
                const int c_row = at.row + 16 * warp + r + lane / 4;
                const int c_col = at.col + 8 * j + lane % 4 * 2;
                if (c_row < M)
                    store2<kWide>(&C[size_t(c_row) * N + c_col], &acc[j][r / 4], N - c_col);
            }
    }
}

template <class T>
void launch_matmul(int M, int N, int K, const T* A, const T* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kTileK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kTileK, 64, 128, B_rows.stride);
    const int blocks = std::min(sm_count(), ceil_div(M, kTileM) * ceil_div(N, kTileN));
    const auto kernel = N % 2 == 0 ? matmul<T, true> : matmul<T, false>;  // stores of 8 bytes
    allow_shared_memory(kernel, kSharedBytes);
    kernel<<<blocks, kConsumers + kProducers, kSharedBytes>>>(M, N, K, A_map, B_map, C);
}

// A is loaded once per column of tiles, B once per row of tiles, plus once for a padded copy.
double loaded_elements(double M, double N, double K) {
    return M * K * std::ceil(N / kTileN) + K * N * std::ceil(M / kTileM) +
           loaded_by_copies(M, N, K);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, nullptr, kWgmma};
    facts.stored_elements = stored_with_copies;
    facts.bf16 = launch_matmul<__nv_bfloat16>;
    return run_stage(launch_matmul<half>, facts, argc, argv);
}
