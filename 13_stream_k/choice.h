// How 13's kernel divides a product, and which of its configurations computes it fastest: the
// heuristic predicts the time of each of them before the launch. A k-tile takes as long as the
// slowest of three things:
//
//    the products       a figure of each configuration               0.63 us for 128 x 256
//    requests to L2     those of all CTAs for a k-tile               two for a row across two lines
//    bytes from L2      those of all CTAs for a k-tile               128 for a row of a tile
//
//    time = start + waves x (k-tiles x k-tile + rest) + storing the last wave + adding slices
//         + copies to aligned rows
//
// Source of all figures: times of an H100, to which they are fitted.
#pragma once

#include <array>

#include "common/aligned_rows.h"
#include "common/cluster_occupancy.h"
#include "common/cluster_pipeline.cuh"
#include "common/stage.h"
#include "common/tile_scheduler.h"

constexpr int kGroup = 8;  // rows of tiles in a group of the tile scheduler
// With fewer waves, only as many blocks start as give each the same number of tiles. From here on
// all SMs get one, because that would leave at most 4 of 132 idle.
constexpr int kManyWaves = 32;

// A CTA computes a tile of m x n, or a slice of its k-tiles.
struct Tiling {
    int m, n;
    bool transposed;
    int cluster_m, cluster_n;  // tiles of a cluster, one below the other and side by side
    int split_k;  // CTAs of a cluster for each tile, a slice of its k-tiles each
    bool sliced = false;  // several clusters for each tile, a slice of its k-tiles each
    bool realigned = false;  // consumers realign B
    constexpr int ctas() const { return cluster_m * cluster_n * split_k; }
};

// Consecutive k-tiles of one tile, which a cluster computes. Its sums lie `rows_above` rows further
// down than the tile in C.
struct Unit {
    int tile, first, k_tiles, rows_above;
};

// How a launch's k-tiles are divided among clusters: computed by the host, read by host and device.
struct Work {
    Work(int M, int N, int K, Tiling tiling)
        : M(M), N(N), k_tiles(ceil_div(K, kTileK)),
          scheduler(ceil_div(M, tiling.m * tiling.cluster_m),
                    ceil_div(N, tiling.n * tiling.cluster_n), kGroup / tiling.cluster_m),
          slice_rows(ceil_div(M, tiling.m * tiling.cluster_m) * tiling.m * tiling.cluster_m) {
        const int at_once = clusters_at_once(tiling.ctas());
        if (tiling.sliced)
            slices = Divisor(std::max(1, std::min(at_once / scheduler.tiles, k_tiles)));
        const int waves = ceil_div(units(), at_once);
        clusters = waves < kManyWaves ? ceil_div(units(), waves) : at_once;
    }
    __host__ __device__ int units() const { return scheduler.tiles * slices.value; }
    __device__ Unit unit(int i) const {
        const int tile = slices.quotient(i), slice = i - tile * slices.value;
        const int first = slices.quotient(slice * k_tiles);
        return {tile, first, slices.quotient((slice + 1) * k_tiles) - first, slice * slice_rows};
    }
    int M, N;
    int k_tiles;  // of a tile
    TileScheduler scheduler;  // of the tiles that a cluster computes together
    Divisor slices;  // of each tile, a unit each
    int slice_rows;  // rows of the workspace for the sums of one slice of all tiles
    int clusters;  // each computes every clusters-th unit
};

struct Config {
    Tiling tiling;
    int step, rest;  // nanoseconds of a k-tile, and of the rest of a tile
    std::string name() const {
        return format("%dx%d%s-%dx%dx%d%s%s", tiling.m, tiling.n,
                      tiling.transposed ? "-transposed" : "", tiling.cluster_m, tiling.cluster_n,
                      tiling.split_k, tiling.sliced ? "-sliced" : "",
                      tiling.realigned ? "-unaligned" : "");
    }
};
constexpr bool kSliced = true;
constexpr Tiling normal(int m, int n, int cluster_m, int cluster_n, bool sliced = false) {
    return {m, n, false, cluster_m, cluster_n, 1, sliced};
}
constexpr Tiling transposed(int m, int n, int cluster_m, int cluster_n, int split_k,
                            bool sliced = false) {
    return {m, n, true, cluster_m, cluster_n, split_k, sliced};
}
constexpr Tiling unaligned(int m, int n, int split_k, bool sliced = false) {
    return {m, n, true, 1, 1, split_k, sliced, true};
}
constexpr Config kConfigs[] = {  // tiling, step, rest
    {normal(128, 64, 1, 4), 208, 733},
    {normal(128, 128, 1, 1), 317, 1340},
    {normal(128, 192, 2, 1), 483, 1889},
    {normal(128, 192, 4, 2), 476, 1612},
    {normal(128, 256, 1, 1), 631, 2213},
    {normal(128, 256, 2, 1), 630, 2548},
    {transposed(16, 64, 1, 1, 1), 112, 131},
    {transposed(16, 64, 1, 1, 8), 88, 625},
    {transposed(32, 64, 1, 1, 1), 121, 187},
    {transposed(32, 64, 1, 1, 4), 96, 726},
    {transposed(48, 64, 1, 1, 8), 79, 955},
    {transposed(64, 64, 1, 1, 1), 137, 640},
    {transposed(64, 64, 1, 1, 4), 156, 1211},
    {transposed(80, 64, 1, 1, 1), 143, 700},
    {transposed(96, 64, 1, 1, 4), 171, 1431},
    {transposed(96, 64, 1, 1, 8), 157, 1613},
    {transposed(96, 64, 1, 4, 1), 160, 1300},
    {transposed(96, 64, 4, 2, 1), 171, 831},
    {transposed(64, 128, 1, 1, 1), 196, 699},
    {transposed(128, 64, 4, 2, 1), 190, 1078},
    {transposed(160, 64, 1, 4, 1), 222, 1208},
    {transposed(96, 128, 2, 4, 1), 253, 1427},
    {transposed(208, 64, 1, 2, 1), 355, 1387},
    {transposed(112, 128, 4, 2, 1), 289, 1474},
    {transposed(160, 128, 2, 4, 1), 403, 2054},
    {transposed(192, 128, 1, 2, 1), 498, 2728},
    {transposed(224, 128, 1, 2, 1), 564, 3420},
    {transposed(240, 128, 1, 2, 1), 603, 3411},
    {transposed(192, 192, 1, 2, 1), 704, 4595},
    {normal(128, 64, 1, 4, kSliced), 152, 1205},
    {transposed(96, 64, 4, 2, 1, kSliced), 183, 1700},
    {transposed(160, 64, 1, 4, 1, kSliced), 199, 1309},
    {transposed(96, 128, 2, 4, 1, kSliced), 288, 1900},
    {transposed(128, 128, 4, 2, 1, kSliced), 320, 1595},
    {transposed(160, 128, 2, 1, 1, kSliced), 389, 1253},
    {transposed(160, 128, 4, 2, 1, kSliced), 426, 1874},
    {transposed(224, 128, 1, 2, 1, kSliced), 646, 2103},
    {unaligned(16, 192, 1), 597, 810},
    {unaligned(48, 128, 1), 501, 914},
    {unaligned(64, 128, 1), 535, 1030},
    {unaligned(128, 64, 4), 396, 1478},
    {unaligned(96, 128, 1), 549, 2201},
    {unaligned(128, 128, 1), 622, 3106},
    {unaligned(160, 128, 1), 630, 3606},
    {unaligned(128, 192, 1), 783, 5733},
    {unaligned(192, 128, 1), 635, 5092},
    {unaligned(48, 128, 1, kSliced), 501, 914}};

// Microseconds, fitted to times of an H100: from the launch to the first k-tile; until a second
// kernel has added slices, and for each slice; for a copy to aligned rows.
constexpr double kStart = 4.75, kSecondKernel = 1.86, kSlice = 0.21, kCopy = 2.75;
constexpr double kRequests = 98e3;  // to L2, in a microsecond
// Megabytes in a microsecond: from L2, where CTAs load the same data at the same time, and where
// slices of K do not; to and from device memory; of C by TMA, and from registers; through the second
// kernel; of copies.
constexpr double kL2 = 12.6, kL2Slices = 6.72, kDevice = 2.78, kStored = 7.0, kScattered = 23,
                 kAdded = 10.4, kCopied = 2.82;

// The predicted microseconds of a configuration with aligned rows, if device memory does not take
// longer; infinity: the configuration does not take that shape.
inline double time_of(const Config& config, int M, int N, int K) {
    const auto [m, n, transposed, cluster_m, cluster_n, split_k, sliced, realigned] = config.tiling;
    const Work work(M, N, K, config.tiling);
    const int slices = work.slices.value;
    // TMA stores rows of multiples of 16 bytes; if it is to take several rows of B for one, they must
    // be whole periods, and an int must hold their columns.
    const bool stored = transposed || N % 4 == 0;
    const bool loaded = !realigned || (N % 8 && K % rows_period(N) == 0 && N < 1 << 28);
    if (!stored || !loaded || (sliced && slices == 1))
        return std::numeric_limits<double>::infinity();
    // What all CTAs load for a k-tile: rows of 128 bytes, each with two requests if it lies across
    // two lines of L2. A longer row of a box that is realigned has one more.
    const double A_rows = double(m) / cluster_n, B_rows = double(n) / cluster_m;
    const double B_requests = realigned ? n + 64 : B_rows * (aligned(N) % 64 ? 2 : 1);
    const double requests = A_rows * (aligned(K) % 64 ? 2 : 1) + B_requests;
    const double ctas = work.clusters * config.tiling.ctas();
    const double l2 = split_k * slices > 1 ? kL2Slices : kL2;
    const double step = std::max(
        {config.step * 1e-3, requests * ctas / kRequests, (A_rows + B_rows) * 128e-6 * ctas / l2});
    const int waves = ceil_div(work.units(), work.clusters);
    const int k_tiles = ceil_div(ceil_div(work.k_tiles, slices), split_k);
    double time = kStart + waves * (k_tiles * step + config.rest * 1e-3);
    // Only the stores of the last wave are counted. What others cost is in the fitted `rest`.
    const double MB_of_C = 4e-6 * M * N;
    const double MB_of_wave = std::min(MB_of_C * slices, 4e-6 * ctas / split_k * m * n);
    time += MB_of_wave / (transposed ? kScattered : kStored);
    if (slices > 1) time += kSecondKernel + slices * kSlice + MB_of_C * (slices + 1) / kAdded;
    return time;
}

// The microseconds of the copies to aligned rows.
inline double copies_time(const Config& config, int M, int N, int K) {
    const bool copies_B = aligned(N) > N && !config.tiling.realigned;
    return (aligned(K) > K ? kCopy + 4e-6 * M * K / kCopied : 0) +
           (copies_B ? kCopy + 4e-6 * K * N / kCopied : 0);
}

// The predicted microseconds of a launch, and of them those of time_of(). A launch takes at least as
// long as device memory, and that time is the same for all configurations. Where it is the limit,
// several are predicted to be equally fast, and the second number decides among them.
inline std::array<double, 2> predicted_times(const Config& config, int M, int N, int K) {
    const double device = 1e-6 * (2.0 * K * (double(M) + N) + 4.0 * M * N) / kDevice;
    const double own = time_of(config, M, N, K);
    return {std::max(own, kStart + device) + copies_time(config, M, N, K), own};
}

inline const Config& best_config(int M, int N, int K) {
    return fastest(kConfigs,
                   [=](const Config& config) { return predicted_times(config, M, N, K); });
}
