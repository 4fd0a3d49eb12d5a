// Tiles as the matrix wants them. The blocks compute a tile each at the same time, in waves; when the
// last wave is not full, multiprocessors stand still. Another tile may fill it.
//
//    5120 x 5120 on 132 multiprocessors:    128 x 256: 40 x 20 =  800 tiles    6.06 -> 7 waves
//                                           128 x 224: 40 x 23 =  920          6.97 -> 7
//
//    Seven waves of narrower tiles take less time than seven of wider ones.
//
// Changed:  the tile is a template parameter, chosen by the time its waves take; as many buffers as
//           shared memory has room for; blocks begin to load before their barrier.
#include <algorithm>

#include "common/aligned_rows.h"
#include "common/harness.h"
#include "common/hopper.cuh"
#include "common/tensor_map.h"

constexpr int kProducers = 128;  // a warpgroup, though one thread does it all
constexpr int kStepK = 64;  // depth of the tiles: a row of As is 128 bytes
constexpr int kGroup = 16;  // rows of tiles that are computed together

constexpr int kBoxes = 4;  // of C, for each warpgroup: two pairs

// A tile of C, of 64 rows for each warpgroup.
template <int tile_m, int tile_n>
struct Tile {
    static constexpr int kTileM = tile_m, kTileN = tile_n;
    static constexpr int kThreads = 2 * kTileM;  // that multiply
    static constexpr bool kAlone = kThreads == 128;  // one warpgroup
    static constexpr int kEarly = kAlone ? kTileN : kTileN > 192 ? 128 : 64;  // columns; the others
    static constexpr int kLate = kTileN - kEarly;  // are stored during the next tile
    static constexpr int kBuffers = (226 - kThreads / 128 * kBoxes * 8) * 1024 /
                                    (kStepK * 2 * (kTileM + ceil_div(kTileN, 64) * 64));
};

template <class T, class Tile>  // half or __nv_bfloat16
struct Shared {  // TMA wants tiles of 128-byte rows, on multiples of 1024 bytes
    T As[Tile::kBuffers][Tile::kTileM][kStepK];
    T Bs[Tile::kBuffers][ceil_div(Tile::kTileN, 64)][kStepK][64];
    float Cs[Tile::kThreads / 128][kBoxes / 2][2][64][32];
    uint64_t full[Tile::kBuffers], empty[Tile::kBuffers];
};
static_assert(kStepK == 64, "64 elements are 128 bytes");

// Tile number `tile` of C: its first row and column.
template <class Tile>
struct Place {
    __device__ Place(int M, int N, int tile) {
        const int tiles_n = ceil_div(N, Tile::kTileN), group = tile / (kGroup * tiles_n);
        const int rows = min(kGroup, ceil_div(M, Tile::kTileM) - group * kGroup);  // of this group
        tile %= kGroup * tiles_n;
        row = (group * kGroup + tile % rows) * Tile::kTileM, col = tile / rows * Tile::kTileN;
    }
    int row, col;
};

template <class T, class Tile, bool kTma>
__global__ void __launch_bounds__(Tile::kThreads + kProducers, 1)
    matmul(int M, int N, int K, const __grid_constant__ CUtensorMap A,
           const __grid_constant__ CUtensorMap B, const __grid_constant__ CUtensorMap C_map,
           float* C) {
    constexpr int kTileM = Tile::kTileM, kTileN = Tile::kTileN, kThreads = Tile::kThreads;
    constexpr int kBuffers = Tile::kBuffers, kEarly = Tile::kEarly, kLate = Tile::kLate;
    extern __shared__ __align__(1024) char memory[];
    auto& shared = *reinterpret_cast<Shared<T, Tile>*>(memory);
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (warp >= kThreads / 32) {
        ptx::setmaxnreg_fewer<24>();
        if (warp > kThreads / 32) return;
        if (lane == 0) {
            for (int buffer = 0; buffer < kBuffers; ++buffer) {
                ptx::mbarrier_init(&shared.full[buffer], 1);  // of this thread; and the bytes
                ptx::mbarrier_init(&shared.empty[buffer], kThreads / 32);  // one of each warp
            }
            ptx::fence_mbarrier_init();
        }
        __syncwarp();
        ptx::named_barrier_arrive(3, kThreads + 32);  // and goes on: the loads begin at once
        if (lane > 0) return;
        int buffer = 0, phase = 1;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const Place<Tile> at(M, N, tile);
            const bool backwards = tile / gridDim.x % 2;
            for (int i = 0; i < K; i += kStepK) {
                const int k = backwards ? (K - 1) / kStepK * kStepK - i : i;
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
    int next_pair = 0;
    // Stores 64 x 64 of them, from column j of the tile on: the sums of 8 tiles for each warp.
    const auto store = [&](const float(*sums)[4], Place<Tile> at, int j) {
        float(&pair)[2][64][32] = shared.Cs[warp / 4][next_pair];
        next_pair ^= 1;
        if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<kBoxes / 2 - 1>();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is free
#pragma unroll
        for (int i = 0; i < 8; ++i)
            for (int r = lane / 4; r < 16; r += 8) {  // the two rows that the lane has sums of
                if (j + 8 * i >= kTileN) continue;
                // In every other row two tiles further on, for the sake of the banks.
                const int t = r % 2 ? i ^ 2 : i, h = r / 8 * 2;
                const float x = r % 2 ? sums[i ^ 2][h] : sums[i][h];
                const float y = r % 2 ? sums[i ^ 2][h + 1] : sums[i][h + 1];
                const int b_row = warp % 4 * 16 + r, b_col = 8 * t + lane % 4 * 2;
                // Pieces of 16 bytes, which are 4 floats, change places as those of As.
                *(float2*)&pair[b_col / 32][b_row][(b_col ^ b_row % 8 * 4) % 32] = {x, y};
            }
        if (kTma) ptx::fence_proxy_async();
        ptx::named_barrier_sync(1 + warp / 4, 128);  // the pair is full
        const int c_row = at.row + row;
#pragma unroll
        for (int box = 0; box < 2 && j + 32 * box < kTileN; ++box) {
            const int c_col = at.col + j + 32 * box;
            if (kTma && threadIdx.x % 128 == 0)
                ptx::bulk_tensor_store(&C_map, c_col, c_row, pair[box]);
            for (int r = warp % 4; !kTma && r < 64; r += 4)  // a warp stores a row
                if (c_row + r < M && c_col + lane < N)
                    C[size_t(c_row + r) * N + c_col + lane] = pair[box][r][lane ^ r % 8 * 4];
        }
        if (kTma && threadIdx.x % 128 == 0) ptx::bulk_commit_group();
    };
    const auto release = [&](int buffer) {
        if (lane == 0) ptx::mbarrier_arrive(&shared.empty[buffer]);
    };

    const int last_k = (K - 1) / kStepK * kStepK;
    int buffer = 0, phase = 0;
    float late[kLate / 8 + 1][4];  // the last columns of the tile before
    Place<Tile> before(M, N, blockIdx.x), at = before;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float acc[kTileN / 8][4];  // of tiles of 16 x 8, a row of them for each warp
        for (int k = 0; k < K; k += kStepK) {
            ptx::mbarrier_wait(&shared.full[buffer], phase);
            ptx::wgmma_fence();
            for (int s = 0; s < kStepK; s += 16) {
                const uint64_t a = ptx::wgmma_descriptor(&shared.As[buffer][row][s], 128, 1024);
                const uint64_t b = ptx::wgmma_descriptor(&shared.Bs[buffer][0][s], 128, 1024,
                                                         sizeof(shared.Bs[0][0]));
                ptx::wgmma_m64k16<T, 0, 1>(acc, a, b, k + s > 0);
            }
            ptx::wgmma_commit_group();
            // While the tensor cores are at work.
            if (k == 0) at = Place<Tile>(M, N, tile);
#pragma unroll
            for (int j = 0; j < kLate; j += 64)
                if (tile >= int(gridDim.x) && k == min((2 + j / 32) * kStepK, last_k))
                    store(&late[j / 8], before, kEarly + j);
            if (Tile::kAlone) {  // the next step's products follow without a break
                ptx::wgmma_wait_group<1>();
                if (k > 0) release((buffer + kBuffers - 1) % kBuffers);
            } else {
                ptx::wgmma_wait_group<0>();
                release(buffer);
            }
            buffer = (buffer + 1) % kBuffers, phase ^= buffer == 0;
        }
        if (Tile::kAlone) ptx::wgmma_wait_group<0>(), release((buffer + kBuffers - 1) % kBuffers);
        ptx::wgmma_keep(acc);
#pragma unroll
        for (int j = 0; j < kEarly; j += 64) store(&acc[j / 8], at, j);
        if (kLate > 0) memcpy(late, acc[kEarly / 8 % (kTileN / 8)], kLate / 8 * sizeof(acc[0]));
        before = at;
    }
#pragma unroll
    for (int j = 0; j < kLate; j += 64) store(&late[j / 8], before, kEarly + j);
    if (kTma && threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory must outlive it
}

template <class T, class Tile>
void launch(int M, int N, int K, const T* A, const T* B, float* C) {
    const AlignedRows A_rows(A, M, K), B_rows(B, K, N);
    const auto A_map = tensor_map(A_rows.data, M, K, Tile::kTileM, kStepK, 128, A_rows.stride);
    const auto B_map = tensor_map(B_rows.data, K, N, kStepK, 64, 128, B_rows.stride);
    const int tiles = ceil_div(M, Tile::kTileM) * ceil_div(N, Tile::kTileN);
    const int blocks = ceil_div(tiles, ceil_div(tiles, multiprocessors()));  // as many tiles each
    const bool tma = N % 4 == 0;  // it stores rows that start on multiples of 16 bytes
    const auto C_map = tma ? tensor_map(C, M, N, 64, 32, 128) : CUtensorMap();
    const auto kernel = tma ? matmul<T, Tile, true> : matmul<T, Tile, false>;
    constexpr int bytes = sizeof(Shared<T, Tile>);
    static_assert(bytes <= 227 * 1024, "a block has no more");
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    kernel<<<blocks, Tile::kThreads + kProducers, bytes>>>(M, N, K, A_map, B_map, C_map, C);
}

// The tiles, and how long one takes, measured: each of its steps and the rest, in nanoseconds.
template <class T>
struct Form {
    int rows, columns, step, rest;
    void (*launch)(int M, int N, int K, const T* A, const T* B, float* C);
};
template <class T>
constexpr Form<T> kForms[] = {{128, 256, 650, 3200, launch<T, Tile<128, 256>>},
                              {128, 224, 600, 2800, launch<T, Tile<128, 224>>},
                              {128, 192, 530, 2400, launch<T, Tile<128, 192>>},
                              {128, 128, 350, 1700, launch<T, Tile<128, 128>>},
                              {64, 128, 205, 1400, launch<T, Tile<64, 128>>}};

template <class T>
const Form<T>& best_form(int M, int N, int K) {
    const auto time = [&](const Form<T>& form) {
        const int tiles = ceil_div(M, form.rows) * ceil_div(N, form.columns);
        return ceil_div(tiles, multiprocessors()) *
               (double(ceil_div(K, kStepK)) * form.step + form.rest);
    };
    return *std::min_element(std::begin(kForms<T>), std::end(kForms<T>),
                             [&](const auto& a, const auto& b) { return time(a) < time(b); });
}

template <class T>
void launch_matmul(int M, int N, int K, const T* A, const T* B, float* C) {
    best_form<T>(M, N, K).launch(M, N, K, A, B, C);
}

// A is loaded once for every column of tiles, B once for every row of tiles; and once for a copy.
// Where the width is 224, the 32 columns to the right of the tile are loaded, too.
double loaded_elements(double M, double N, double K) {
    const auto& form = best_form<half>(M, N, K);
    double columns = 0;
    for (int col = 0; col < N; col += form.columns)
        columns += std::min(N - col, std::ceil(form.columns / 64.0) * 64);
    return M * K * std::ceil(N / form.columns) + K * columns * std::ceil(M / form.rows) +
           loaded_by_copies(M, N, K);
}

// Of C, where TMA cannot store it.
double shared_loaded_bytes(double M, double N, double) {
    return int(N) % 4 ? M * N * sizeof(float) : 0;
}

int main(int argc, char** argv) {
    StageOf<half, float> stage = {launch_matmul, loaded_elements, shared_loaded_bytes, kWgmma};
    stage.launch_bf16 = launch_matmul;
    stage.stored_elements = stored_with_copies;
    stage.shared_bytes = sizeof(Shared<half, Tile<128, 256>>);
    stage.smaller_step = "06_wmma/3_async";
    return run_stage(stage, argc, argv);
}
