// The same question in FP32: 09, with three tiles in the place of one. A multiply-add takes sixteen
// times as long as on tensor cores, so L2 and the start hardly count. What counts is that each
// sub-partition of an SM always has a warp that multiplies:
//
//    a k-tile takes as long as the copies, or as (warps of a sub-partition x step of a warp)
//
// Changed:  (from 09) tiles of three sizes; a heuristic chooses the tile and the slices of K.
#include "common/ptx/ptx.cuh"
#include "common/stage.h"

constexpr int kThreadN = 8;  // columns of C per thread
constexpr int kTileK = 8;  // extent of the tiles along k
constexpr int kPad = 8;  // a warp's copies of 8 rows by 4 k go to 32 different banks

// A tile of kThreadM rows of C per thread, by kWarpsM x kWarpsN warps.
template <int kThreadM, int kWarpsM, int kWarpsN>
struct Tile {
    static constexpr int kM = 4 * kThreadM * kWarpsM, kN = 8 * kThreadN * kWarpsN;
    static constexpr int kWarps = kWarpsM * kWarpsN, kThreads = 32 * kWarps;
    static constexpr int kBlocks = 128 / kThreadM / kWarps;  // whose registers an SM has
};

template <bool kWide, bool kParts, int kThreadM, int kWarpsM, int kWarpsN>
__global__ void __launch_bounds__(Tile<kThreadM, kWarpsM, kWarpsN>::kThreads,
                                  Tile<kThreadM, kWarpsM, kWarpsN>::kBlocks)
    matmul(int M, int N, int K, const float* A, const float* B, float* C, int first, int slices) {
    using Tile = ::Tile<kThreadM, kWarpsM, kWarpsN>;
    constexpr int kTileM = Tile::kM, kTileN = Tile::kN, kThreads = Tile::kThreads;
    constexpr int kPitchA = kTileM + kPad;  // from one k of A's tile to the next
    struct Tiles {
        float As[kTileK][kPitchA], Bs[kTileK][kTileN];
    };
    __shared__ alignas(32) Tiles tiles[2];
    const int tiles_n = ceil_div(N, kTileN);  // 1-D grid, because y and z are limited to 65535
    const int tile = first + blockIdx.x / slices, slice = blockIdx.x % slices;
    const int tile_row = tile / tiles_n * kTileM;
    const int tile_col = tile % tiles_n * kTileN;
    const int depth = ceil_div(ceil_div(K, kTileK), slices) * kTileK;  // of a slice
    const int k_begin = slice * depth, k_end = min(k_begin + depth, K);
    // A warp owns 64 columns, a lane 4 x 4 elements each, 16 rows and 32 columns apart.
    // Lanes differing only in bit 0 read the same words of As, in bit 1 of Bs: 2 wavefronts, not 4.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / kWarpsN * 4 * kThreadM + lane / 2 % 4 * 4;
    const int col = warp % kWarpsN * 64 + (lane / 8 * 2 + lane % 2) * 4;

    // What this thread copies of each k-tile: every fourth k of some rows of A, and of B as many
    // neighbours in a row as one copy takes, again to the right of all copies, and below them.
    constexpr int kCopied = kWide ? 4 : 1, kAcross = kTileN / kCopied < 32 ? kTileN / kCopied : 32;
    constexpr int kRowsA = kThreads / 4,
                  kRowsB = kThreads / kAcross;  // that the block copies at once
    static_assert(kTileM % kRowsA == 0 && kTileK % kRowsB == 0,
                  "no thread copies more than others");
    const int a_row = threadIdx.x / 4, a_k = threadIdx.x % 4;
    const int b_k = threadIdx.x / kAcross, b_col = threadIdx.x % kAcross * kCopied;
    const float* a_from[kTileM / kRowsA];  // below A's last row this one, which is not stored
    for (int i = 0; i < kTileM / kRowsA; ++i)
        a_from[i] = A + size_t(min(tile_row + a_row + i * kRowsA, M - 1)) * K + k_begin + a_k;
    const float* b_from = B + size_t(k_begin + b_k) * N + tile_col + b_col;
    const int b_valid = N - tile_col - b_col;

    // Where this thread copies to and where it reads. `other` floats further is the other buffer,
    // before or behind.
    float *a_to = &tiles[0].As[a_k][a_row], *b_to = &tiles[0].Bs[b_k][b_col];
    const float *a_at = &tiles[0].As[0][row], *b_at = &tiles[0].Bs[0][col];
    int other = sizeof(Tiles) / sizeof(float);

    auto copy_tiles = [&](int k) {
        const int a_left = k_end - k - a_k;
        for (int s = 0; s < kTileK; s += kRowsB) {
            const int b_left = k + s + b_k < k_end ? b_valid : 0;
            for (int j = 0; j < kTileN; j += kAcross * kCopied)
                ptx::cp_async<4 * kCopied>(b_to + s * kTileN + j, b_from + j,
                                           j < b_left ? 4 * kCopied : 0);
            b_from += size_t(kRowsB) * N;
        }
        for (int i = 0; i < kTileM / kRowsA; ++i) {
            for (int e = 0; e < kTileK; e += 4)
                ptx::cp_async<4>(a_to + e * kPitchA + i * kRowsA, a_from[i] + e,
                                 e < a_left ? 4 : 0);
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

    alignas(16) float acc[kThreadM][kThreadN] = {};
#pragma unroll 1  // two steps a turn are too much code: warps wait for instructions
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
            // Serpentine order along the rows: each multiply-add shares an operand with the one
            // before, so that the reuse cache delivers one operand and the register file only two.
            for (int i = 0; i < kThreadM; ++i)
                for (int at = 0; at < kThreadN; ++at) {
                    const int j = i % 2 ? kThreadN - 1 - at : at;
                    acc[i][j] += a[s % 2][i] * b[s % 2][j];
                }
        }
    }

    constexpr int kAtOnce = kWide && kParts ? 4 : 1;
    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += kAtOnce) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4;
            const int c_col = tile_col + col + j / 4 * 32 + j % 4;
            if (c_row >= M || c_col >= N) continue;
            float* const to = &C[size_t(c_row) * N + c_col];
            if constexpr (!kParts) *to = acc[i][j];
            else if constexpr (!kWide) atomicAdd(to, acc[i][j]);
            else ptx::red_add(to, *(const float4*)&acc[i][j]);
        }
}

using Kernel = void(int M, int N, int K, const float* A, const float* B, float* C, int first,
                    int slices);

struct Config {
    int m, n, warps, blocks;  // of a tile; blocks that an SM holds
    double step, tile;  // microseconds, on an H200: 8 of k in a warp; a tile besides its steps
    Kernel *whole[2], *slices[2];  // where N is a multiple of 4: the second
    std::string name() const { return format("%dx%d", m, n); }
};
template <int a, int b, int c>
constexpr Config config(double step, double tile) {
    using Tile = ::Tile<a, b, c>;
    return {Tile::kM,
            Tile::kN,
            Tile::kWarps,
            Tile::kBlocks,
            step,
            tile,
            {matmul<false, false, a, b, c>, matmul<true, false, a, b, c>},
            {matmul<false, true, a, b, c>, matmul<true, true, a, b, c>}};
}
constexpr Config kConfigs[] = {config<16, 2, 4>(0.67, 4.0), config<8, 1, 2>(0.37, 0.6),
                               config<8, 1, 1>(0.37, 0.6)};
// Of an H200, in microseconds: the copies of a step; zeroing C; launching a second kernel.
constexpr double kLatency = 0.65, kZeroing = 2, kSecond = 5;
constexpr int kMost = 16;  // slices for each SM: in several waves, if need be
constexpr double kAdded = 5;  // megabytes that slices add in a microsecond

// As long as blocks take that are spread evenly. Each computes so many steps of a tile.
double time_of(const Config& config, int64_t blocks, int steps) {
    const auto wave = [&](int together) {  // so many on each SM
        return config.tile +
               steps * std::max(kLatency, ceil_div(together * config.warps, 4) * config.step);
    };
    const int64_t all = sm_count(), at_once = all * config.blocks, left = blocks % at_once;
    return blocks / at_once * wave(config.blocks) + (left ? wave((left + all - 1) / all) : 0);
}

// How C's tiles are handed out: whole ones as long as each SM is full, and then, where that is
// faster, the rest in slices along K (split-K).
struct HeuristicResult {
    const Config* config;
    int whole, rest, slices;  // tiles that are whole, tiles that are cut, slices of each of these
    double us;
};

// The fastest with tiles of that configuration.
HeuristicResult heuristic_of(const Config& config, int M, int N, int K) {
    const int tiles = ceil_div(M, config.m) * ceil_div(N, config.n), steps = ceil_div(K, kTileK);
    const int64_t all = sm_count();
    const int rest = tiles % (all * config.blocks), whole = tiles - rest;
    HeuristicResult best = {&config, tiles, 0, 1, time_of(config, tiles, steps)};
    for (int each = 1; rest && each <= kMost; ++each) {  // slices for each SM
        const int most = std::min<int64_t>(all * each / rest, steps);
        if (most < 2) continue;
        const int depth = ceil_div(steps, most), slices = ceil_div(steps, depth);
        const double added = 4e-6 * rest * slices * config.m * config.n / kAdded;
        const double us = time_of(config, whole, steps) + time_of(config, rest * slices, depth) +
                          added + kZeroing + (whole ? kSecond : 0);
        if (us < best.us) best = {&config, whole, rest, slices, us};
    }
    return best;
}

HeuristicResult heuristic(int M, int N, int K) {
    const auto time = [=](const Config& config) { return heuristic_of(config, M, N, K).us; };
    return heuristic_of(fastest(kConfigs, time), M, N, K);
}

void launch_matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const auto [config, whole, rest, slices, us] = heuristic(M, N, K);
    // 16-byte accesses need every row of N elements to start on a multiple of 16 bytes.
    const auto of_whole = config->whole[N % 4 == 0], of_slices = config->slices[N % 4 == 0];
    const int threads = 32 * config->warps;
    if (rest) {  // slices are added to C, which begins as zeros
        const size_t from = size_t(whole / ceil_div(N, config->n)) * config->m * N;
        cudaMemset(C + from, 0, (size_t(M) * N - from) * sizeof(float));
    }
    if (whole) of_whole<<<whole, threads>>>(M, N, K, A, B, C, 0, 1);
    if (rest) of_slices<<<rest * slices, threads>>>(M, N, K, A, B, C, whole, slices);
}

// A, filled up to whole tiles, is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    const Config& config = *heuristic(M, N, K).config;
    return K * std::ceil(M / config.m) * (config.m * std::ceil(N / config.n) + N);
}

// From shared memory each thread reads its operands at every k, and once before the loop.
double shared_loaded_bytes(double M, double N, double K) {
    const auto [config, whole, rest, slices, us] = heuristic(M, N, K);
    const double depth = (whole + rest) * std::ceil(K / kTileK) * kTileK + whole + rest * slices;
    const int kThreadM = config->m * config->n / kThreadN / 32 / config->warps;
    return 32 * config->warps * depth * (kThreadM + kThreadN) * sizeof(float);
}

// Whole tiles: rows of tiles, and the first tiles of one more. Atomic additions are no stores.
double stored_elements(double M, double N, double K) {
    const HeuristicResult best = heuristic(M, N, K);
    const int tiles_n = ceil_div(N, best.config->n);
    const double rows = std::min(M, best.whole / tiles_n * double(best.config->m));
    return rows * N +
           std::min<double>(best.config->m, M - rows) * (best.whole % tiles_n * best.config->n);
}

std::string chosen(int M, int N, int K) {
    const auto [config, whole, rest, slices, us] = heuristic(M, N, K);
    return format("%s: %d tiles and %d in %d slices", config->name().c_str(), whole, rest, slices);
}

int main(int argc, char** argv) {
    Facts facts = {loaded_elements, shared_loaded_bytes};
    facts.stored_elements = stored_elements;
    for (const Config& config : kConfigs)  // with k-tiles enough for slices
        facts.configs.push_back({config.name(), config.m, config.n, 8 * kTileK});
    facts.chosen = chosen;
    return run_stage(launch_matmul, facts, argc, argv);
}
