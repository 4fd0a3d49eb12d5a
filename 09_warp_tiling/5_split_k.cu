// Split-K for the last wave: whole tiles of C are assigned as long as there is one for each SM. The
// rest of them are split along K into slices, whose products atomics add up in C, in any order: its
// last bits may differ from run to run.
//
//    8192: 2048 tiles, 132 SMs
//    |   0 ..  131 | 132 ..  263 | ... | 1848 .. 1979 |    15 waves of whole tiles
//    | 1980 ... 2047, each split into 9 slices |           5 waves of a ninth of a tile, where 68
//                                                          whole tiles would leave 64 SMs idle
//
// Changed:  work() assigns tiles and slices; a block computes its slice; zeros, then atomicAdd.
#include "common/ptx/ptx.cuh"
#include "common/stage.h"

constexpr int kThreadM = 16;  // rows of C per thread
constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileM = 8 * kThreadM;  // rows of C per block
constexpr int kTileN = 32 * kThreadN;  // columns of C per block
constexpr int kThreads = 8 * 32;
constexpr int kTileK = 8;  // extent of the tiles along k
constexpr int kSliceOverhead = 16;  // cost of a slice (prologue, additions to C), in k-tiles
constexpr int kPad = 8;  // a warp's copies of 8 rows by 4 k go to 32 different banks
constexpr int kPitchA = kTileM + kPad;  // from one k of A's tile to the next

static_assert(kTileM * kTileK == 4 * kThreads && kTileN * kTileK == 8 * kThreads,
              "per k-tile a thread copies 4 elements of A and 8 of B");

template <bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    matmul(int M, int N, int K, const float* A, const float* B, float* C, int first, int slices) {
    struct Tiles {
        float As[kTileK][kPitchA], Bs[kTileK][kTileN];
    };
    __shared__ alignas(32) Tiles tiles[2];  // copies of 128 bytes fill 4 sectors, not parts of 5
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile = first + blockIdx.x / slices, slice = blockIdx.x % slices;
    const int tile_row = tile / tiles_n * kTileM;
    const int tile_col = tile % tiles_n * kTileN;
    const int slice_k = ceil_div(ceil_div(K, kTileK), slices) * kTileK;  // whole k-tiles
    const int k_begin = slice * slice_k, k_end = min(k_begin + slice_k, K);
    // The warp tile is 64 x 64; a lane owns eight 4 x 4 sub-tiles, 16 rows and 32 columns apart.
    // Two lanes read the same words of As if they differ only in bit 0, of Bs if only in bit 1: a
    // 16-byte read then serves half a warp per wavefront, not a quarter, and takes 2, not 4.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 4 * 64 + lane / 2 % 4 * 4;
    const int col = warp % 4 * 64 + (lane / 8 * 2 + lane % 2) * 4;

    // For each k-tile this thread copies every fourth k of two rows of A, and kCopied consecutive
    // elements of a row of B and those 32 * kCopied columns further right.
    constexpr int kCopied = kWide ? 4 : 1;
    const int a_row = threadIdx.x / 4, a_k = threadIdx.x % 4;
    const int b_k = threadIdx.x / 32, b_col = threadIdx.x % 32 * kCopied;
    const float* a_from[2];  // below A's last row it is copied again, for sums that are not stored
    for (int i = 0; i < 2; ++i)
        a_from[i] = A + size_t(min(tile_row + a_row + i * 64, M - 1)) * K + k_begin + a_k;
    const float* b_from = B + size_t(k_begin + b_k) * N + tile_col + b_col;
    const int b_valid = N - tile_col - b_col;

    // Where this thread copies to and where it reads. The other buffer lies `other` floats away,
    // after this one or before it.
    float *a_to = &tiles[0].As[a_k][a_row], *b_to = &tiles[0].Bs[b_k][b_col];
    const float *a_at = &tiles[0].As[0][row], *b_at = &tiles[0].Bs[0][col];
    int other = sizeof(Tiles) / sizeof(float);

    auto copy_tiles = [&](int k) {
        const int a_left = k_end - k - a_k, b_left = k + b_k < k_end ? b_valid : 0;
        for (int j = 0; j < kTileN; j += 32 * kCopied)
            ptx::cp_async<4 * kCopied>(b_to + j, b_from + j, j < b_left ? 4 * kCopied : 0);
        b_from += size_t(kTileK) * N;
        for (int i = 0; i < 2; ++i) {
            for (int e = 0; e < kTileK; e += 4)
                ptx::cp_async<4>(a_to + e * kPitchA + i * 64, a_from[i] + e, e < a_left ? 4 : 0);
            a_from[i] += kTileK;
        }
    };

    alignas(16) float a[2][kThreadM], b[2][kThreadN];
    auto load_fragments = [&](int s) {
        for (int i = 0; i < kThreadM; i += 4)
            *(float4*)&a[s % 2][i] = *(const float4*)(a_at + s * kPitchA + i / 4 * 16);
        for (int j = 0; j < kThreadN; j += 4)
            *(float4*)&b[s % 2][j] = *(const float4*)(b_at + s * kTileN + j / 4 * 32);
    };

    copy_tiles(k_begin);
    ptx::cp_async_wait_all();
    __syncthreads();  // the first tiles are complete
    load_fragments(0);
    a_to += other;
    b_to += other;

    float acc[kThreadM][kThreadN] = {};
#pragma unroll 1  // two k-tiles per iteration, 35 KB of code, would stall warps on instruction fetch
    for (int k = k_begin; k < k_end; k += kTileK) {
#pragma unroll
        for (int s = 0; s < kTileK; ++s) {
            if (s == 0) copy_tiles(k + kTileK);
            if (s == kTileK - 1) {
                ptx::cp_async_wait_all();
                __syncthreads();  // the next tiles are complete, and all warps have read these
                a_at += other;
                b_at += other;
                other = -other;
                a_to += other;
                b_to += other;
            }
            load_fragments((s + 1) % kTileK);
            // In serpentine order consecutive multiply-adds share an operand, so that the reuse
            // cache delivers one operand and the register file only two.
            for (int i = 0; i < kThreadM; ++i)
                for (int at = 0; at < kThreadN; ++at) {
                    const int j = i % 2 ? kThreadN - 1 - at : at;
                    acc[i][j] += a[s % 2][i] * b[s % 2][j];
                }
        }
    }

    auto for_each_element = [&](auto write) {
        for (int i = 0; i < kThreadM; ++i)
            for (int j = 0; j < kThreadN; ++j) {
                const int c_row = tile_row + row + i / 4 * 16 + i % 4;
                const int c_col = tile_col + col + j / 4 * 32 + j % 4;
                if (c_row < M && c_col < N) write(C[size_t(c_row) * N + c_col], acc[i][j]);
            }
    };
    if (slices == 1) for_each_element([](float& c, float sum) { c = sum; });
    else for_each_element([](float& c, float sum) { atomicAdd(&c, sum); });
}

// How C's tiles are assigned to blocks, of which an SM has registers for one: whole tiles as long
// as there is one for each SM, and then, where that is faster, the rest in slices along K.
struct Work {
    int whole, rest, slices;  // whole tiles, tiles that are split, slices of each
};

Work work(int M, int N, int K) {
    const int tiles = ceil_div(M, kTileM) * ceil_div(N, kTileN), k_tiles = ceil_div(K, kTileK);
    const int at_once = sm_count(), rest = tiles % at_once;
    Work best = {tiles, 0, 1};
    for (int slices = 2, least = k_tiles; rest && slices <= min(k_tiles, at_once); ++slices) {
        const int slice_k_tiles = ceil_div(k_tiles, slices);
        const int time = ceil_div(rest * slices, at_once) * (slice_k_tiles + kSliceOverhead);
        if (time < least) {
            least = time;
            best = {tiles - rest, rest, ceil_div(k_tiles, slice_k_tiles)};
        }
    }
    return best;
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const auto [whole, rest, slices] = work(M, N, K);
    // 16-byte accesses need every row of N elements to start on a multiple of 16 bytes.
    const auto kernel = N % 4 == 0 ? matmul<true> : matmul<false>;
    if (rest) {  // the slices are added to zeros
        const size_t from = size_t(whole / ceil_div(N, kTileN)) * kTileM * N;
        cudaMemset(C + from, 0, (size_t(M) * N - from) * sizeof(float));
    }
    if (whole) kernel<<<whole, kThreads>>>(M, N, K, A, B, C, 0, 1);
    if (rest) kernel<<<rest * slices, kThreads>>>(M, N, K, A, B, C, whole, slices);
}

// A, padded to whole tiles along M, is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    return K * std::ceil(M / kTileM) * (kTileM * std::ceil(N / kTileN) + N);
}

// From shared memory each thread reads its kThreadM + kThreadN operands at every k, and once more
// per block, because fragments are read ahead.
double shared_loaded_bytes(double M, double N, double K) {
    const auto [whole, rest, slices] = work(M, N, K);
    const double padded_k = (whole + rest) * std::ceil(K / kTileK) * kTileK + whole + rest * slices;
    return kThreads * padded_k * (kThreadM + kThreadN) * sizeof(float);
}

// The whole tiles fill rows of tiles and the left part of one more. atomicAdd is not a store here.
double stored_elements(double M, double N, double K) {
    const int whole = work(M, N, K).whole, tiles_n = ceil_div(N, kTileN);
    const double rows = std::min(M, whole / tiles_n * double(kTileM));
    return rows * N + std::min<double>(kTileM, M - rows) * (whole % tiles_n * kTileN);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes};
    facts.stored_elements = stored_elements;
    return run_stage(launch_matmul, facts, argc, argv);
}
