// What cuda_fp16.h and cuda_bf16.h tell the emulator of each addition.
#pragma once

#include <cmath>
#include <cstdint>

namespace emulator {

// sum: its bits. lost: it is equal to one addend, though the other one is not 0.
void note_addition(bool bfloat16, uint16_t sum, bool lost);
void note_overflow();  // a sum of finite halves is infinite

// The same of an instruction of tensor cores with sums in half: how many sums it has added to, and
// how many of these have stayed as they were, though the products are not 0.
void note_additions(const char* file, int line, uint64_t all, uint64_t lost);

// The sum of two numbers, which it passes on.
template <class T>
__attribute__((always_inline)) inline T noted(T sum, float a, float b) {
    const float s = sum;
    const bool lost = (s == a && b != 0) || (s == b && a != 0);
    if (T::kBits == 11 && std::isinf(s) && std::isfinite(a) && std::isfinite(b)) note_overflow();
    note_addition(T::kBits == 8, sum.__x, lost && std::isfinite(s));
    return sum;
}

}  // namespace emulator
