// B by TMA, without a copy, where its rows do not start on multiples of 16 bytes. Of a row-major
// matrix of halves every `period`-th row does, and so TMA may take `period` rows for one:
//
//    N = 6, period 4     row 0  row 1  row 2  row 3  | row 4 ...      K x N elements
//                        0      12     24     36     | 48             where they start, in bytes
//
//    TMA's matrix:       K / 4 rows of 4 x 6 elements, which start on multiples of 16 bytes
//
// Row r of each period is then columns r x N and following of that matrix. A box begins on a
// multiple of 16 bytes, so that it is loaded from up to 7 elements further left, and has 8 columns
// more than the tile. All of its rows have to be shifted equally far, which the consumers do: they
// realign the tile, from the box to the place where wgmma reads it.
#pragma once

#include "common/ptx/ptx.cuh"
#include "common/stage.h"

constexpr int kRealignedColumns = 64;  // of a swizzled tile of B, whose rows have 128 bytes

// How many rows of `columns` halves there are from one that starts on a multiple of 16 bytes to the
// next: 1, 2, 4 or 8.
__host__ __device__ constexpr int rows_period(int columns) {
    return columns % 8 == 0 ? 1 : columns % 4 == 0 ? 2 : columns % 2 == 0 ? 4 : 8;
}

// How many elements row r starts behind a multiple of 16 bytes.
__host__ __device__ constexpr int row_shift(int r, int columns) { return r * (columns % 8) % 8; }

// What the producer loads for a k-tile: kRows rows of kColumns columns, and 8 more. The rows of a
// box, every period-th row of the k-tile, lie one below the other.
template <int kRows, int kColumns>
struct UnalignedTile {
    half rows[kRows][kColumns + 8];
};

// kRows / rows_period(columns), without a division.
template <int kRows>
__device__ int box_rows_of(int columns) {
    return columns % 4 == 0 ? kRows / 2 : columns % 2 == 0 ? kRows / 4 : kRows / 8;
}

// Issues TMA's loads of the tile that begins at row k, a multiple of kRows, and at that column of a
// matrix whose rows have `columns` elements. map: of TMA's matrix above, with boxes of kRows /
// period rows and kColumns + 8 columns.
template <int kRows, int kColumns>
__device__ void load_unaligned(UnalignedTile<kRows, kColumns>& tile, const CUtensorMap& map,
                               int columns, int k, int column, uint64_t* full) {
    const int period = rows_period(columns), box_rows = box_rows_of<kRows>(columns);
    for (int r = 0; r < period; ++r)
        ptx::cp_async_bulk_tensor(tile.rows[box_rows * r], &map,
                                  r * columns - row_shift(r, columns) + column,
                                  k / kRows * box_rows, full);
}

// How many elements of a row are loaded for that many tiles side by side, averaged over all rows.
inline double columns_loaded(int columns, int tile, int tiles) {
    const int period = rows_period(columns);
    double loaded = 0;
    for (int r = 0; r < period; ++r)
        for (int i = 0; i < tiles; ++i) {
            const int begin = r * columns - row_shift(r, columns) + i * tile;
            loaded += std::clamp(period * columns - begin, 0, tile + 8);
        }
    return loaded / period;
}

// Moves tiles of B, where TMA has put them, to where wgmma reads them. One thread of the four warps
// of a warpgroup, which share the rows; a lane moves two columns.
template <int kRows>
class Realigner {
public:
    // columns: of B.
    __device__ explicit Realigner(int columns) {
        const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
        const int period = rows_period(columns), box_rows = box_rows_of<kRows>(columns);
        first_ = warp * (kRows / 4);
#pragma unroll
        for (int i = 0; i < kRows / 4; i += kAtOnce) {
            const int r = (first_ + i) * period / kRows, shift = row_shift(r, columns);
            from_[i / kAtOnce] = shift / 2 + lane;
            selector_[i / kAtOnce] = shift % 2 ? 0x5432 : 0x3210;
#pragma unroll
            for (int j = i; j < i + kAtOnce; ++j) {
                const int row = ((first_ + j) & (box_rows - 1)) * period + r;
                to_[j] = row * 32 + (lane ^ row % 8 * 4);  // the swizzle exchanges four words
            }
        }
    }
    // Stores 64 columns of the tile, from `first` on, with the swizzle of 128 bytes. Threads of the
    // warpgroup that have executed fence_proxy_async() and then a barrier may multiply.
    template <int kColumns>
    __device__ __forceinline__ void realign(half (&to)[kRows][kRealignedColumns],
                                            const UnalignedTile<kRows, kColumns>& tile, int first) {
        const auto to_words = reinterpret_cast<unsigned*>(to[0]);
#pragma unroll
        for (int i = 0; i < kRows / 4; i += kAtOnce) {
            // Two columns come from two words if the shift is odd.
            unsigned words[kAtOnce][2];
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j) {
                const auto from = reinterpret_cast<const unsigned*>(tile.rows[first_ + i + j]);
                words[j][0] = from[first / 2 + from_[i / kAtOnce]];
                words[j][1] = from[first / 2 + from_[i / kAtOnce] + 1];
            }
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j)
                to_words[to_[i + j]] =
                    __byte_perm(words[j][0], words[j][1], selector_[i / kAtOnce]);
        }
    }

private:
    static constexpr int kAtOnce =
        8;  // rows; a box has at least as many, so that one shift is theirs
    int first_;  // row of the tile that this warp moves
    int from_[kRows / 4 / kAtOnce], to_[kRows / 4];  // words
    unsigned selector_[kRows / 4 / kAtOnce];  // of two words, for __byte_perm()
};
