// A tile's second half waits. At the end of a tile the tensor cores stand still until its sums have
// left the registers. Half of them are stored then; the other half moves to registers of its own,
// and is stored while the next tile is multiplied.
//
//    sums      columns 0 .. 127      columns 128 .. 255
//    tile 0    multiply  store       multiply  copy
//    tile 1    multiply  ...         store the copy | multiply  copy
//
// Changed:  half of a tile's sums are stored during the next tile.
#include "common/harness.h"
#include "common/hopper.cuh"
#include "common/tensor_map.h"

constexpr int kTileM = 128;  // rows of C per block, 64 for each warpgroup
constexpr int kTileN = 256;  // columns of C per block
constexpr int kThreads = 2 * 128;  // that multiply: two warpgroups
constexpr int kProducers = 128;  // a warpgroup, though one thread does it all
constexpr int kStepK = 64;  // depth of the tiles: a row of As is 128 bytes
constexpr int kGroup = 16;  // rows of tiles that are computed together
constexpr int kBuffers = 3;  // one is read while two are being filled
constexpr int kBoxes = 4;  // of C, for each warpgroup

struct Shared {  // TMA wants tiles of 128-byte rows, on multiples of 1024 bytes
    half As[kBuffers][kTileM][kStepK];
    half Bs[kBuffers][kTileN / 64][kStepK][64];
    float Cs[2][kBoxes][64][32];
    uint64_t full[kBuffers], empty[kBuffers];
};
static_assert(kStepK == 64 && kTileN % 64 == 0, "64 elements are 128 bytes");

// Tile number `tile` of C: its first row and column.
struct Place {
    __device__ Place(int M, int N, int tile) {
        const int tiles_n = ceil_div(N, kTileN), group = tile / (kGroup * tiles_n);
        const int rows = min(kGroup, ceil_div(M, kTileM) - group * kGroup);  // of this group
        tile %= kGroup * tiles_n;
        row = (group * kGroup + tile % rows) * kTileM, col = tile / rows * kTileN;
    }
    int row, col;
};

__device__ void store2(float* to, float x, float y, int valid) {
    if (valid > 0) to[0] = x;
    if (valid > 1) to[1] = y;
}

template <bool kTma>
__global__ void __launch_bounds__(kThreads + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map,
           float* C) {
    extern __shared__ __align__(1024) char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        for (int buffer = 0; buffer < kBuffers; ++buffer) {
            ptx::mbarrier_init(&shared.full[buffer], 1);  // of the thread that loads; and the bytes
            ptx::mbarrier_init(&shared.empty[buffer], kThreads / 32);  // one of each warp
        }
        ptx::fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are there

    if (warp >= kThreads / 32) {
        ptx::setmaxnreg_fewer<24>();
        if (threadIdx.x > kThreads) return;
        int buffer = 0, phase = 1;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const Place at(M, N, tile);
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

    const int row = warp / 4 * 64;  // a warpgroup owns 64 x 256 elements
    // Stores 64 x 128 of them.
    const auto store = [&](const float(&sums)[kTileN / 16][4], int c_row, int c_col) {
        float(&boxes)[kBoxes][64][32] = shared.Cs[warp / 4];
        if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<0>();
        if (kTma) ptx::named_barrier_sync(1 + warp / 4, 128);  // the boxes are free
#pragma unroll
        for (int j = 0; j < kTileN / 16; ++j)
            for (int r = lane / 4; r < 16; r += 8) {  // the two rows that the lane has sums of
                // In every other row two tiles further on, for the sake of the banks.
                const int t = r % 2 ? j ^ 2 : j, h = r / 8 * 2;
                const float x = r % 2 ? sums[j ^ 2][h] : sums[j][h];
                const float y = r % 2 ? sums[j ^ 2][h + 1] : sums[j][h + 1];
                const int b_row = warp % 4 * 16 + r, b_col = 8 * t + lane % 4 * 2;
                if (kTma)  // pieces of 16 bytes, which are 4 floats, change places as those of As
                    *(float2*)&boxes[b_col / 32][b_row][(b_col ^ b_row % 8 * 4) % 32] = {x, y};
                else if (c_row + b_row < M)
                    store2(&C[size_t(c_row + b_row) * N + c_col + b_col], x, y,
                           N - (c_col + b_col));
            }
        if (!kTma) return;
        ptx::fence_proxy_async();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the boxes are full
        if (threadIdx.x % 128 == 0) {
            for (int box = 0; box < kBoxes; ++box)
                ptx::bulk_tensor_store(&C_map, c_col + box * 32, c_row, boxes[box]);
            ptx::bulk_commit_group();
        }
    };

    int buffer = 0, phase = 0, tile = blockIdx.x;
    float late[kTileN / 16][4];  // the second half of the tile before
    const auto store_late = [&] {
        const Place before(M, N, tile - int(gridDim.x));
        store(late, before.row + row, before.col + kTileN / 2);
    };
    for (; tile < tiles; tile += gridDim.x) {
        float acc[2][kTileN / 16][4];  // of tiles of 16 x 8, a row of them for each warp
        for (int k = 0; k < K; k += kStepK) {
            ptx::mbarrier_wait(&shared.full[buffer], phase);
            ptx::wgmma_fence();
            for (int s = 0; s < kStepK; s += 16) {
                const uint64_t a = ptx::wgmma_descriptor(&shared.As[buffer][row][s], 128, 1024);
                const uint64_t b = ptx::wgmma_descriptor(&shared.Bs[buffer][0][s], 128, 1024,
                                                         sizeof(shared.Bs[0][0]));
                ptx::wgmma_m64k16<half, 0, 1>(acc, a, b, k + s > 0);
            }
            ptx::wgmma_commit_group();
            if (k == 0 && tile >= int(gridDim.x))
                store_late();  // while the tensor cores are at work
            ptx::wgmma_wait_group<0>();
            if (lane == 0) ptx::mbarrier_arrive(&shared.empty[buffer]);
            buffer = (buffer + 1) % kBuffers, phase ^= buffer == 0;
        }
        ptx::wgmma_keep(acc);

        const Place at(M, N, tile);
        store(acc[0], at.row + row, at.col);
        memcpy(late, acc[1], sizeof(late));
    }
    store_late();
    if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory must outlive it
}

// Copies a row of `columns` elements, and adds zeros up to `stride`.
__global__ void copy_rows(int columns, int stride, const half* from, half* to) {
    for (int i = threadIdx.x; i < stride; i += blockDim.x)
        to[size_t(blockIdx.x) * stride + i] =
            i < columns ? from[size_t(blockIdx.x) * columns + i] : __float2half(0);
}

// Rows that start on multiples of 16 bytes: the matrix's own, else those of a copy.
struct AlignedRows {
    AlignedRows(const half* matrix, int rows, int columns)
        : data(matrix), stride(ceil_div(columns, 8) * 8) {
        if (stride == columns) return;
        if (cudaMallocAsync(&copy, size_t(rows) * stride * sizeof(half), 0)) return;  // reported
        copy_rows<<<rows, 256>>>(columns, stride, matrix, copy);
        data = copy;
    }
    ~AlignedRows() {
        if (copy) cudaFreeAsync(copy, 0);
    }

    const half* data;
    int stride;
    half* copy = nullptr;
};

void launch_matmul(int M, int N, int K, const half* A, const half* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, kTileM, kStepK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kStepK, 64, 128, B_rows.stride);
    int device, blocks;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device);
    blocks = std::min(blocks, ceil_div(M, kTileM) * ceil_div(N, kTileN));
    const bool tma = N % 4 == 0;  // it stores rows that start on multiples of 16 bytes
    const auto C_map = tma ? tensor_map(C, M, N, 64, 32, 128) : CUtensorMap();
    const auto kernel = tma ? matmul<true> : matmul<false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
    kernel<<<blocks, kThreads + kProducers, sizeof(Shared)>>>(M, N, K, A_map, B_map, C_map, C);
}

// A is loaded once for every column of tiles, B once for every row of tiles; and once for a copy.
double loaded_elements(double M, double N, double K) {
    const double lda = std::ceil(K / 8) * 8, ldb = std::ceil(N / 8) * 8;
    return M * K * std::ceil(N / kTileN) + K * N * std::ceil(M / kTileM) + (lda > K ? M * K : 0) +
           (ldb > N ? K * N : 0);
}

// C, and the copies: a half is half an element of C.
double stored_elements(double M, double N, double K) {
    const double lda = std::ceil(K / 8) * 8, ldb = std::ceil(N / 8) * 8;
    return M * N + (lda > K ? M * lda / 2 : 0) + (ldb > N ? K * ldb / 2 : 0);
}

int main(int argc, char** argv) {
    StageOf<half, float> stage = {launch_matmul, loaded_elements, nullptr, kWgmma};
    stage.stored_elements = stored_elements;
    stage.shared_bytes = sizeof(Shared);
    stage.smaller_step = "06_wmma/3_async";
    return run_stage(stage, argc, argv);
}
