// What mma.h and ptx.cuh share: which lane holds which element of a matrix, and how ldmatrix reads.
#pragma once

#include "warp_calls.h"

namespace emulator {

// ---- Which lane holds what ----------------------------------------------------------------------

struct Place {
    int row, col;
};

// Where x[i] of each lane belongs in an operand: A (m x k), B (k x n) or C (m x n). In every layout
// that is known, each bit of the lane's number and of i adds one number to one coordinate. So a
// layout is a rule of two lists: what lanes 1, 2, 4, 8, 16 add, and what x[1], x[2], x[4], x[8]
// add. "k2" adds 2 to k; "-" adds nothing: the element is held twice.
struct ElementMap {
    ElementMap(char operand, const char* lanes, const char* elements);
    Place at[32][16];
    Place turned[32][16];  // each 8x8 block with its rows and columns exchanged (16-bit elements)
};

// A kind of WMMA fragment. Rows, columns and x[] count storage elements, words of several s4 or b1.
struct FragmentKind {
    char operand;
    const char* type;
    int since;  // sm_70, ...: which has the type at all
    int m, n, k;
    const char* layout;
    int packed, bytes;  // elements in one of x[], and its size
    int elements, distinct;  // x[] of a lane; those that are no copies on sm_75 and later
    bool is_float;  // x[]: tf32 and double
    const ElementMap* known[3] = {};  // on sm_70, sm_75 and sm_80, once looked up

    // By the table in fragments.cpp, on the chosen architecture. Ends the launch where it has none.
    const ElementMap& map(const WarpCall& call);
};

struct MemoryCall {  // a load or a store, of a lane
    void *x, *matrix;
    unsigned ldm;  // in elements
    bool row_major;

    EMULATOR_UNTRACED void* address(const FragmentKind& kind, Place p) const {
        const int line = row_major ? p.row : p.col, in_line = row_major ? p.col : p.row;
        return static_cast<char*>(matrix) +
               (line * size_t(ldm / kind.packed) + in_line) * kind.bytes;
    }
};
// Checks a load or a store, and tells the trace of it.
const ElementMap& begin_move(const WarpCall& call, FragmentKind& kind, bool store);

// ---- ldmatrix -----------------------------------------------------------------------------------

// Tells the trace of one ldmatrix: lane 8j + r reads 16 bytes, row r of matrix j. registers: lane 0's.
void trace_ldmatrix(const void* const (&rows)[32], int matrices, const void* registers,
                    const void* pc);

// Tells the record of a product: lane 0's registers that hold A and B, and how many bytes they are.
void note_product(const void* a, int a_bytes, const void* b, int b_bytes);

}  // namespace emulator
