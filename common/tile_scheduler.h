// The tile scheduler that 10_async_mma and 11_wgmma teach: tiles of C are numbered so that those
// which run at the same time share rows of A and columns of B in L2. Here the host divides.
#pragma once

#include "common/stage.h"

// n / divisor for n >= 0, by a multiplication: a GPU divides integers by some twenty instructions.
// Source: D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation", 2019.
struct Divisor {
    explicit Divisor(int divisor = 1) : value(divisor), inverse(~0ull / divisor + 1) {}
    __host__ __device__ int quotient(int n) const {
        return value == 1 ? n : int(static_cast<unsigned __int128>(inverse) * unsigned(n) >> 64);
    }
    int value;
    unsigned long long inverse;  // 2^64 / value, rounded up
};

// The order of tiles_m x tiles_n tiles: groups of `group_rows` rows, each of them column by column.
class TileScheduler {
public:
    struct Position {
        int m, n;  // how many tiles lie above and to the left
    };
    TileScheduler(int tiles_m, int tiles_n, int group_rows)
        : tiles(tiles_m * tiles_n), last_group_(ceil_div(tiles_m, group_rows) - 1),
          rows_(group_rows), last_rows_(tiles_m - last_group_ * group_rows),
          tiles_of_group_(group_rows * tiles_n) {}
    // tile: its number, from 0.
    __host__ __device__ Position position(int tile) const {
        const int group = tiles_of_group_.quotient(tile);
        const int in_group = tile - group * tiles_of_group_.value;
        const Divisor& rows = group == last_group_ ? last_rows_ : rows_;
        const int n = rows.quotient(in_group);
        return {group * rows_.value + in_group - n * rows.value, n};
    }
    int tiles;  // how many there are

private:
    int last_group_;
    Divisor rows_, last_rows_, tiles_of_group_;  // rows of a group, of the last group; tiles
};
