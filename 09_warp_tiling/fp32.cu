// The kernel of matmul.cu for any shape. Where M or N is small its tile of 128 x 256 is half empty,
// and a small C has fewer such tiles than the GPU has SMs. So the tile's size becomes a template
// parameter, and a heuristic predicts the time of each of three kernel configurations:
//
//    128 x 256   8 warps of 64 x 64,   1 block an SM
//     32 x 128   2 warps of 32 x 64,   8 blocks per SM
//     32 x  64   1 warp of  32 x 64,  16 blocks per SM
//
// FP32 multiply-adds are slow enough that L2 and the start of a block hardly matter. A k-tile takes
// as long as the SM's sub-partition with the most warps needs for their multiply-adds, but no less
// than the latency of its copies:
//
//    time of a k-tile = max(latency of the copies, warps of a sub-partition x time of a warp)
//
// Changed:  (from matmul.cu) Tile, a template parameter; Config and heuristic() for work().
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
    // Blocks that an SM holds. A thread has 16 * kThreadM registers then.
    static constexpr int kBlocks = 128 / kThreadM / kWarps;
};

template <bool kWide, bool kSplitK, int kThreadM, int kWarpsM, int kWarpsN>
__global__ void __launch_bounds__(Tile<kThreadM, kWarpsM, kWarpsN>::kThreads,
                                  Tile<kThreadM, kWarpsM, kWarpsN>::kBlocks)
    matmul(int M, int N, int K, const float* A, const float* B, float* C, int first, int slices) {
    using Tile = ::Tile<kThreadM, kWarpsM, kWarpsN>;
    constexpr int kTileM = Tile::kM, kTileN = Tile::kN, kThreads = Tile::kThreads;
    constexpr int kPitchA = kTileM + kPad;  // from one k of A's tile to the next
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
    // A warp tile is 64 columns wide; a lane owns 4 x 4 sub-tiles, 16 rows and 32 columns apart.
    // Two lanes read the same words of As if they differ only in bit 0, of Bs if only in bit 1: a
    // 16-byte read then serves half a warp per wavefront, not a quarter, and takes 2, not 4.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / kWarpsN * 4 * kThreadM + lane / 2 % 4 * 4;
    const int col = warp % kWarpsN * 64 + (lane / 8 * 2 + lane % 2) * 4;

    // For each k-tile this thread copies every fourth k of every kRowsA-th row of A. Of every
    // kRowsB-th row of B it copies kCopied consecutive elements, and those kAcross * kCopied
    // columns further right.
    constexpr int kCopied = kWide ? 4 : 1;
    constexpr int kAcross = kTileN / kCopied < 32 ? kTileN / kCopied : 32;  // threads along a row
    constexpr int kRowsA = kThreads / 4, kRowsB = kThreads / kAcross;
    static_assert(kTileM % kRowsA == 0 && kTileK % kRowsB == 0,
                  "all threads copy equally many elements");
    const int a_row = threadIdx.x / 4, a_k = threadIdx.x % 4;
    const int b_k = threadIdx.x / kAcross, b_col = threadIdx.x % kAcross * kCopied;
    const float* a_from[kTileM / kRowsA];  // rows below A's last are that row, and are not stored
    for (int i = 0; i < kTileM / kRowsA; ++i)
        a_from[i] = A + size_t(min(tile_row + a_row + i * kRowsA, M - 1)) * K + k_begin + a_k;
    const float* b_from = B + size_t(k_begin + b_k) * N + tile_col + b_col;
    const int b_valid = N - tile_col - b_col;

    // Where this thread copies to and where it reads. The other buffer lies `other` floats away,
    // after this one or before it.
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
#pragma unroll 1  // two k-tiles per iteration would stall the large tile on instruction fetch
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

    constexpr int kAtOnce = kWide && kSplitK ? 4 : 1;
    for (int i = 0; i < kThreadM; ++i)
        for (int j = 0; j < kThreadN; j += kAtOnce) {
            const int c_row = tile_row + row + i / 4 * 16 + i % 4;
            const int c_col = tile_col + col + j / 4 * 32 + j % 4;
            if (c_row >= M || c_col >= N) continue;
            float* const to = &C[size_t(c_row) * N + c_col];
            if constexpr (!kSplitK) *to = acc[i][j];
            else if constexpr (!kWide) atomicAdd(to, acc[i][j]);
            else ptx::red_add(to, *(const float4*)&acc[i][j]);
        }
}

using Kernel = void(int M, int N, int K, const float* A, const float* B, float* C, int first,
                    int slices);

struct Config {
    int m, n, warps, blocks;  // of a tile: rows, columns, warps; blocks that an SM holds
    // Microseconds on an H200: a warp's multiply-adds of a k-tile; a tile besides its k-tiles.
    double warp_us, tile_us;
    Kernel *whole[2], *slices[2];  // the first for any N, the second for multiples of 4
    std::string name() const { return format("%dx%d", m, n); }
};
template <int a, int b, int c>
constexpr Config config(double warp_us, double tile_us) {
    using Tile = ::Tile<a, b, c>;
    return {Tile::kM,
            Tile::kN,
            Tile::kWarps,
            Tile::kBlocks,
            warp_us,
            tile_us,
            {matmul<false, false, a, b, c>, matmul<true, false, a, b, c>},
            {matmul<false, true, a, b, c>, matmul<true, true, a, b, c>}};
}
constexpr Config kConfigs[] = {config<16, 2, 4>(0.67, 4.0), config<8, 1, 2>(0.37, 0.6),
                               config<8, 1, 1>(0.37, 0.6)};

// Fitted, as the times above, to launches on an H200.
constexpr double kCopyUs = 0.65;  // the latency of the copies of a k-tile
constexpr double kMemsetUs = 2;  // cudaMemset
constexpr double kLaunchUs = 5;  // the launch of a second kernel
constexpr double kAddedPerUs = 5;  // megabytes that slices add to C in a microsecond
constexpr int kMostSlices = 16;  // for each SM, in several waves if they do not fit into one

// The predicted microseconds of blocks that compute `k_tiles` k-tiles each. In a wave each SM has as
// many blocks as it holds; in the last one the rest are spread evenly.
double time_of(const Config& config, int64_t blocks, int k_tiles) {
    const auto wave = [&](int resident) {  // blocks on an SM
        return config.tile_us +
               k_tiles * std::max(kCopyUs, ceil_div(resident * config.warps, 4) * config.warp_us);
    };
    const int64_t sms = sm_count(), at_once = sms * config.blocks, left = blocks % at_once;
    return blocks / at_once * wave(config.blocks) + (left ? wave((left + sms - 1) / sms) : 0);
}

// How C's tiles are assigned to blocks: whole ones as long as they fill all SMs, and then, where
// that is faster, the rest in slices along K.
struct HeuristicResult {
    const Config* config;
    int whole, rest, slices;  // whole tiles, tiles that are split, slices of each
    double us;  // predicted
};

// The fastest division of the work into tiles of that configuration.
HeuristicResult heuristic_of(const Config& config, int M, int N, int K) {
    const int tiles = ceil_div(M, config.m) * ceil_div(N, config.n), k_tiles = ceil_div(K, kTileK);
    const int64_t sms = sm_count();
    const int rest = tiles % (sms * config.blocks), whole = tiles - rest;
    HeuristicResult best = {&config, tiles, 0, 1, time_of(config, tiles, k_tiles)};
    for (int each = 1; rest && each <= kMostSlices; ++each) {  // slices for each SM
        const int most = std::min<int64_t>(sms * each / rest, k_tiles);
        if (most < 2) continue;
        const int slice_k_tiles = ceil_div(k_tiles, most),
                  slices = ceil_div(k_tiles, slice_k_tiles);
        const double added = 4e-6 * rest * slices * config.m * config.n / kAddedPerUs;
        const double us = time_of(config, whole, k_tiles) +
                          time_of(config, rest * slices, slice_k_tiles) + added + kMemsetUs +
                          (whole ? kLaunchUs : 0);
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
    if (rest) {  // the slices are added to zeros
        const size_t from = size_t(whole / ceil_div(N, config->n)) * config->m * N;
        cudaMemset(C + from, 0, (size_t(M) * N - from) * sizeof(float));
    }
    if (whole) of_whole<<<whole, threads>>>(M, N, K, A, B, C, 0, 1);
    if (rest) of_slices<<<rest * slices, threads>>>(M, N, K, A, B, C, whole, slices);
}

// A, padded to whole tiles along M, is loaded once per column of tiles, B once per row of tiles.
double loaded_elements(double M, double N, double K) {
    const Config& config = *heuristic(M, N, K).config;
    return K * std::ceil(M / config.m) * (config.m * std::ceil(N / config.n) + N);
}

// From shared memory each thread reads its operands at every k, and at one after the last k-tile.
double shared_loaded_bytes(double M, double N, double K) {
    const auto [config, whole, rest, slices, us] = heuristic(M, N, K);
    const double padded_k = (whole + rest) * std::ceil(K / kTileK) * kTileK + whole + rest * slices;
    const int kThreadM = config->m * config->n / kThreadN / 32 / config->warps;
    return 32 * config->warps * padded_k * (kThreadM + kThreadN) * sizeof(float);
}

// The whole tiles fill rows of tiles and the left part of one more. atomicAdd is not a store here.
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
    for (const Config& config : kConfigs)  // k: enough k-tiles for slices
        facts.configs.push_back({config.name(), config.m, config.n, 8 * kTileK});
    facts.chosen = chosen;
    return run_stage(launch_matmul, facts, argc, argv);
}
