// Operands of wgmma in shared memory, and their elements.
#pragma once

#include <cstdint>
#include <cstring>

#include "emulator/include/cuda_fp16.h"

namespace emulator {

constexpr int kDepth = 16;  // k of one wgmma

// An operand in shared memory, as its descriptor describes it.
struct Operand {  // r: the row of A, or the column of B
    uintptr_t start, base;  // start: the number of its address; base: what makes an address of it
    unsigned leading, stride, row;  // bytes; row: 16 without a swizzle
    bool transposed;

    Operand(uint64_t descriptor, bool transposed);
    // The address of the 16 bytes that hold an element and its neighbours along the row.
    char* chunk(unsigned r, unsigned k) const;
    char* place(uintptr_t at) const { return reinterpret_cast<char*>(base + at); }
    // Visits the chunks of r below `size` and all k: visit(chunk, r, k of its first element).
    template <class Visit>
    void each(unsigned size, const Visit& visit) const {
        for (unsigned r = 0; r < size; r += transposed ? 8 : 1)
            for (unsigned k = 0; k < kDepth; k += transposed ? 1 : 8) visit(chunk(r, k), r, k);
    }
};

inline float element_of(uint16_t bits, bool is_half) {
    return is_half ? half_to_float(bits) : __builtin_bit_cast(float, uint32_t(bits) << 16);
}

// Reads an operand's elements into a matrix with k down and r across.
template <unsigned width>
void read(const Operand& from, unsigned size, unsigned first, bool is_half,
          float (&to)[kDepth][width]) {
    from.each(size, [&](const char* chunk, unsigned r, unsigned k) {
        if (r / 8 < first / 8 || r < (from.transposed ? r : first)) return;
        uint16_t bits[8];
        std::memcpy(bits, chunk, 16);
        for (unsigned i = 0; i < 8; ++i) {
            const unsigned row = (from.transposed ? r + i : r) - first;
            if (row < width) to[from.transposed ? k : k + i][row] = element_of(bits[i], is_half);
        }
    });
}

}  // namespace emulator
