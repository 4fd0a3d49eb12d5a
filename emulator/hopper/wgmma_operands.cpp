// Descriptors of wgmma's operands.

#include "emulator/hopper/wgmma_operands.h"

#include "emulator/engine/shared_window.h"
#include "emulator/include/common/ptx/hopper.cuh"
#include "emulator/trace/tracing.h"

namespace emulator {

Operand::Operand(uint64_t descriptor, bool transposed) : transposed(transposed) {
    const auto field = [&](int first) { return unsigned(descriptor >> first & 0x3fff) << 4; };
    start = field(0);
    base = reinterpret_cast<uintptr_t>(from_shared(start)) - start;
    leading = field(16);
    stride = field(32);
    constexpr unsigned kRowBytes[] = {16, 128, 64, 32};
    row = kRowBytes[descriptor >> 62];
}

char* Operand::chunk(unsigned r, unsigned k) const {
    const unsigned in_row = transposed ? r : k, across = transposed ? k : r, most = row / 2;
    uintptr_t at = start + across % 8 * row + in_row % most / 8 * 16;
    if (row == 16) return place(at + r / 8 * stride + k / 8 * leading);
    at += across / 8 * stride + in_row / most * leading;
    return place(at ^ (at >> 7 & (row / 16 - 1)) << 4);
}

uint64_t wgmma_descriptor(const void* start, int swizzle, int stride, int leading, const char* file,
                          int line) {
    EmulatorsWork work;
    const auto refuse = [&](const std::string& why) {
        misuse("wgmma_descriptor: " + why, file, line);
    };
    const auto address = reinterpret_cast<uintptr_t>(start);
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
        refuse("a swizzle of " + std::to_string(swizzle) + " bytes, not 0, 32, 64 or 128");
    if (address % 16) refuse("the start is not a multiple of 16");
    if (!is_shared(start)) refuse("the start is not in shared memory");
    for (const int units : {stride, leading})
        if (units < 0 || units >= 1 << 14)
            refuse(std::to_string(units) + " units of 16 bytes, and a field has 14 bits");
    const uint32_t number = to_shared(start);
    if (number >= 1 << 18) refuse("the start is not in the first 256 KiB of shared memory");
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return number >> 4 | uint64_t(leading) << 16 | uint64_t(stride) << 32 | mode << 62;
}

}  // namespace emulator
