// The contents of a CUtensorMap on the emulator.
#pragma once

#include <cstdint>

#include "emulator/include/cuda.h"

namespace emulator {

struct TensorMap {
    static constexpr uint64_t kMagic = 0x70616d726f736e65;
    uint64_t magic;
    char* address;
    uint64_t strides[4];  // bytes; strides[0] is that of rows
    uint64_t dims[5];  // elements; dims[0] are columns
    uint32_t box[5];  // 1 beyond the rank, as dims are
    uint8_t rank, element_bytes, swizzle_bytes;  // 0: none

    uint64_t row_bytes() const { return uint64_t(box[0]) * element_bytes; }  // of the box
    uint64_t rows() const { return uint64_t(box[1]) * box[2] * box[3] * box[4]; }  // of the box
    uint64_t box_bytes() const { return row_bytes() * rows(); }
    // In shared memory a row takes the whole width of a swizzle.
    uint64_t pitch() const { return swizzle_bytes ? swizzle_bytes : row_bytes(); }
    uint64_t footprint() const { return pitch() * rows(); }
    // Where the hardware puts the 16 bytes that belong at `address`.
    uintptr_t swizzled(uintptr_t address) const {
        const unsigned chunks = swizzle_bytes / 16;
        return chunks ? address ^ (address >> 7 & (chunks - 1)) << 4 : address;
    }
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

}  // namespace emulator
