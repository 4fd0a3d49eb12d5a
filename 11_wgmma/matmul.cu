// Tiles as wide as the matrix wants them. The blocks compute a tile each at the same time, in waves;
// when the last wave is not full, multiprocessors stand still. A narrower tile may fill it.
//
//    5120 x 5120 on 132 multiprocessors:    width 256: 40 x 20 =  800 tiles    6.06 -> 7 waves
//                                           width 224: 40 x 23 =  920          6.97 -> 7
//
//    Seven waves of narrower tiles take less time than seven of wider ones.
//
// Changed:  the tile's width is a template parameter, chosen by the number of waves.
#include <algorithm>

#include "common/aligned_rows.h"
#include "common/harness.h"
#include "common/hopper.cuh"
#include "common/tensor_map.h"

constexpr int kTileM = 128;  // rows of C per block, 64 for each warpgroup
constexpr int kThreads = 2 * 128;  // that multiply: two warpgroups
constexpr int kProducers = 128;  // a warpgroup, though one thread does it all
constexpr int kStepK = 64;  // depth of the tiles: a row of As is 128 bytes
constexpr int kGroup = 16;  // rows of tiles that are computed together

template <int kTileN, int kBuffers, int kBoxes>
struct Shared {  // TMA wants tiles of 128-byte rows, on multiples of 1024 bytes
    half As[kBuffers][kTileM][kStepK];
    half Bs[kBuffers][ceil_div(kTileN, 64)][kStepK][64];
    float Cs[2][kBoxes][64][32];
    uint64_t full[kBuffers], empty[kBuffers];
};
static_assert(kStepK == 64, "64 elements are 128 bytes");

// Tile number `tile` of C: its first row and column.
template <int kTileN>
struct Place {
    __device__ Place(int M, int N, int tile) {
        const int tiles_n = ceil_div(N, kTileN), group = tile / (kGroup * tiles_n);
        const int rows = min(kGroup, ceil_div(M, kTileM) - group * kGroup);  // of this group
        tile %= kGroup * tiles_n;
        row = (group * kGroup + tile % rows) * kTileM, col = tile / rows * kTileN;
    }
    int row, col;
};

template <int kTileN, int kBuffers, int kBoxes, int kLate, bool kTma>
__global__ void __launch_bounds__(kThreads + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map,
           float* C) {
    extern __shared__ __align__(1024) char memory[];
    auto& shared = *reinterpret_cast<Shared<kTileN, kBuffers, kBoxes>*>(memory);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (warp >= kThreads / 32) {
        ptx::setmaxnreg_fewer<24>();
        if (warp > kThreads / 32) return;
        if (lane == 0) {
            for (int buffer = 0; buffer < kBuffers; ++buffer) {
                ptx::mbarrier_init(&shared.full[buffer], 1);  // of the thread that loads; and the bytes
                ptx::mbarrier_init(&shared.empty[buffer], kThreads / 32);  // one of each warp
            }
            ptx::fence_mbarrier_init();
        }
        __syncwarp();
        ptx::named_barrier_arrive(3, kThreads + 32);  // the loads begin at once
        if (lane > 0) return;
        int buffer = 0, phase = 1;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const Place<kTileN> at(M, N, tile);
            for (int k = 0; k < K; k += kStepK) {
                ptx::mbarrier_wait(&shared.empty[buffer],
                                   phase);  // over at once in the first round
                ptx::mbarrier_arrive_expect_tx(&shared.full[buffer],
                                               sizeof(shared.As[0]) + sizeof(shared.Bs[0]));
                ptx::bulk_tensor_load(shared.As[buffer], &A, k, at.row, &shared.full[buffer]);
                for (int j = 0; j < kTileN; j += 64)
                    ptx::bulk_tensor_load(shared.Bs[buffer][j / 64], &B, at.col + j, k,
                                          &shared.full[buffer]);
                buffer = (buffer + 1) % kBuffers, phase ^= buffer == 0;
            }
        }
        return;
    }
    ptx::setmaxnreg_more<240>();
    ptx::named_barrier_sync(3, kThreads + 32);  // the barriers are there

    const int row = warp / 4 * 64;  // a warpgroup owns 64 x kTileN elements
    float acc[kTileN / 8][4];  // of tiles of 16 x 8, a row of them for each warp
    float late[kLate / 8 + 1][4];  // the last columns of the tile before, as long as they are not stored
    int buffer = 0, phase = 0, next_box = 0, tile = blockIdx.x;

    // Stores 64 x 32 sums, which begin at C[c_row][c_col].
    const auto store = [&](const float(*sums)[4], int c_row, int c_col) {
        float(&box)[64][32] = shared.Cs[warp / 4][next_box];
        next_box = (next_box + 1) % kBoxes;
        if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<kBoxes - 1>();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is free
        for (int i = 0; i < 4; ++i)
            for (int r = lane / 4; r < 16; r += 8) {  // the two rows that the lane has sums of
                // In every other row two tiles further on, for the sake of the banks.
                const int t = r % 2 ? i ^ 2 : i, h = r / 8 * 2;
                const float x = r % 2 ? sums[i ^ 2][h] : sums[i][h];
                const float y = r % 2 ? sums[i ^ 2][h + 1] : sums[i][h + 1];
                const int b_row = warp % 4 * 16 + r, b_col = 8 * t + lane % 4 * 2;
                // Pieces of 16 bytes, which are 4 floats, change places as those of As.
                *(float2*)&box[b_row][b_col ^ b_row % 8 * 4] = {x, y};
            }
        if (kTma) ptx::fence_proxy_async();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the box is full
        if (kTma && threadIdx.x % 128 == 0) {
            ptx::bulk_tensor_store(&C_map, c_col, c_row, box);
            ptx::bulk_commit_group();
        }
        for (int r = warp % 4 * 16; !kTma && r < warp % 4 * 16 + 16; ++r)
            if (c_row + r < M && c_col + lane < N)
                C[size_t(c_row + r) * N + c_col + lane] = box[r][lane ^ r % 8 * 4];
    };
    // Of the tile before: those that are to be stored in the steps from k_begin on.
    const auto store_late = [&](int k_begin, int k_end) {
        const Place<kTileN> before(M, N, tile - int(gridDim.x));
#pragma unroll
        for (int j = 0; j < kLate; j += 32)
            if (k_begin <= 2 * j && 2 * j < k_end)
                store(&late[j / 8], before.row + row, before.col + kTileN - kLate + j);
    };

    for (; tile < tiles; tile += gridDim.x) {
        int k = 0;
        for (; k < K; k += kStepK) {
            ptx::mbarrier_wait(&shared.full[buffer], phase);
            ptx::wgmma_fence();
            for (int s = 0; s < kStepK; s += 16) {
                const uint64_t a = ptx::wgmma_descriptor(&shared.As[buffer][row][s], 128, 1024);
                const uint64_t b = ptx::wgmma_descriptor(&shared.Bs[buffer][0][s], 128, 1024,
                                                         sizeof(shared.Bs[0][0]));
                ptx::wgmma_m64k16<half, 0, 1>(acc, a, b, k + s > 0);
            }
            ptx::wgmma_commit_group();
            if (tile >= int(gridDim.x) && k < 2 * kLate) store_late(k, k + kStepK);
            ptx::wgmma_wait_group<0>();
            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[buffer]);
            buffer = (buffer + 1) % kBuffers, phase ^= buffer == 0;
        }
        ptx::wgmma_keep(acc);
        if (tile >= int(gridDim.x) && k < 2 * kLate) store_late(k, 2 * kLate);

        const Place<kTileN> at(M, N, tile);
#pragma unroll
        for (int j = 0; j < kTileN - kLate; j += 32) store(&acc[j / 8], at.row + row, at.col + j);
#pragma unroll
        for (int j = 0; j < kLate / 8; ++j)
            memcpy(late[j], acc[(kTileN - kLate) / 8 + j], sizeof(late[j]));
    }
    if (tile >= int(gridDim.x)) store_late(0, 2 * kLate);
    if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory must outlive it
}

template <int kTileN, int kBuffers, int kBoxes, int kLate>
void launch(int M, int N, int K, const half* A, const half* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kStepK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kStepK, 64, 128, B_rows.stride);
    const int blocks = std::min(multiprocessors(), ceil_div(M, kTileM) * ceil_div(N, kTileN));
    const bool tma = N % 4 == 0;  // it stores rows that start on multiples of 16 bytes
    const auto C_map = tma ? tensor_map(C, M, N, 64, 32, 128) : CUtensorMap();
    const auto kernel = tma ? matmul<kTileN, kBuffers, kBoxes, kLate, true>
                            : matmul<kTileN, kBuffers, kBoxes, kLate, false>;
    constexpr int bytes = sizeof(Shared<kTileN, kBuffers, kBoxes>);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    kernel<<<blocks, kThreads + kProducers, bytes>>>(M, N, K, A_map, B_map, C_map, C);
}

// The widths of tiles, and how long one takes: measured, a tile of 256 is 256.
constexpr struct {
    int width, time;
    void (*launch)(int M, int N, int K, const half* A, const half* B, float* C);
} kForms[] = {{256, 256, launch<256, 3, 4, 128>},
              {224, 234, launch<224, 3, 4, 96>},
              {192, 197, launch<192, 4, 4, 192>},
              {128, 140, launch<128, 5, 4, 128>},
              {64, 114, launch<64, 8, 2, 0>}};

const auto& best_form(int M, int N) {
    const auto time = [&](const auto& form) {
        return form.time *
               ceil_div(ceil_div(M, kTileM) * ceil_div(N, form.width), multiprocessors());
    };
    return *std::min_element(std::begin(kForms), std::end(kForms),
                             [&](const auto& a, const auto& b) { return time(a) < time(b); });
}

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    best_form(M, N).launch(M, N, K, A, B, C);
}

// A is loaded once for every column of tiles, B once for every row of tiles; and once for a copy.
// Where the width is 224, the 32 columns to the right of the tile are loaded, too.
double loaded_elements(double M, double N, double K) {
    const int width = best_form(M, N).width;
    double columns = 0;
    for (int col = 0; col < N; col += width)
        columns += std::min(N - col, std::ceil(width / 64.0) * 64);
    return M * K * std::ceil(N / width) + K * columns * std::ceil(M / kTileM) +
           loaded_by_copies(M, N, K);
}

// Where TMA can't store them.
double shared_loaded_bytes(double M, double N, double) {
    return int(N) % 4 ? M * N * sizeof(float) : 0;
}

int main(int argc, char** argv) {
    StageOf<half, float> stage = {launch_matmul, loaded_elements, shared_loaded_bytes, kWgmma};
    stage.stored_elements = stored_with_copies;
    stage.shared_bytes = sizeof(Shared<256, 3, 4>);
    stage.smaller_step = "06_wmma/3_async";
    return run_stage(stage, argc, argv);
}
