// Shared by mma.h and ptx.cuh: which lane holds which element of a matrix, and how ldmatrix reads.
#pragma once

#include "tensor_core.h"
#include "warp_calls.h"

namespace emulator {

// ---- Which lane holds what ----------------------------------------------------------------------

struct Position {
    int row, col;
};

// Which element of an operand each lane's x[i] is, for A (m x k), B (k x n) and C (m x n). In every
// layout that is known, each bit of the lane's index and of i adds one number to one coordinate. So
// a layout is described by two lists: what the lane's bits 1, 2, 4, 8, 16 add, and what those of i,
// x[1], x[2], x[4], x[8], add. "k2" adds 2 to k; "-" adds nothing, so that the element is held twice.
struct ElementMap {
    ElementMap(char operand, const char* lanes, const char* elements);
    Position at[32][16];
    // Each 8x8 block transposed (16-bit elements).
    Position transposed[32][16];
};

// A kind of WMMA fragment. Rows, columns and x[] count storage elements; one of s4 or b1 is a word
// of several elements.
struct FragmentKind {
    char operand;
    const char* type;
    int since;  // the first architecture (sm_70, ...) that has the type
    int m, n, k;
    const char* layout;
    int packed, bytes;  // elements in one of x[], and its size
    int elements, distinct;  // in x[] of a lane; without the copies on sm_75 and later
    bool is_float;  // type of x[]: tf32 and double
    const ElementMap* known[3] = {};  // on sm_70, sm_75 and sm_80, once looked up

    // The map for the chosen architecture, from the table in fragments.cpp. Ends the launch if
    // there is none.
    const ElementMap& map(const WarpCall& call);
};

struct MemoryCall {  // a lane's load or store
    void *x, *matrix;
    unsigned ldm;  // in elements
    bool row_major;

    EMULATOR_UNTRACED void* address(const FragmentKind& kind, Position p) const {
        const int line = row_major ? p.row : p.col, in_line = row_major ? p.col : p.row;
        return static_cast<char*>(matrix) +
               (line * size_t(ldm / kind.packed) + in_line) * kind.bytes;
    }
};
// Checks a load or a store, and traces it.
const ElementMap& begin_move(const WarpCall& call, FragmentKind& kind, bool store);

// ---- ldmatrix -----------------------------------------------------------------------------------

// Traces one ldmatrix: lane 8j + r reads 16 bytes, row r of matrix j. registers: lane 0's.
void trace_ldmatrix(const void* const (&rows)[32], int matrices, const void* registers,
                    const void* pc);

// ---- Products -----------------------------------------------------------------------------------

// D += A * B as a tensor core of the chosen architecture computes it (tensor_core.h). A is m x k, an
// element at a[row * a_row + i * a_k]; B is k x n, at b[i * b_k + col]; D at d[row * d_row + col].
// n is a multiple of 8. in_half: the call if D is of half, or null.
void tensor_core_multiply(tensor_core::Type type, const WarpCall* in_half, int m, int n, int k,
                          const float* a, int a_row, int a_k, const float* b, int b_k, float* d,
                          int d_row);

// A sum with one more product where tensor_core.h has no rule: fused for doubles (PTX ISA, mma), and
// for the floats of m8n8k4, which sm_80 and later compute by FFMA. Integers may wrap.
template <class Sum, class Operand>
EMULATOR_UNTRACED Sum multiply_add(Operand a, Operand b, Sum sum) {
    if constexpr (std::is_floating_point_v<Sum>) return std::fma(a, b, sum);
    else return sum + a * b;
}

// Reports a product that adds to accumulators that were never set: lane 0's.
void check_accumulators(const char* instruction, const void* accumulators, size_t bytes,
                        const WarpCall& call);

// Records a product: lane 0's registers that hold A and B, and their bytes.
void note_product(const void* a, int a_bytes, const void* b, int b_bytes);

}  // namespace emulator
