// What atomics tell the emulator of the values that they get. Included by intrinsics.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace emulator {

// One was added to a counter that was `old`.
void note_count(const void* address, uint32_t old, const void* pc);
// A whole number was added to a float, which is too large to change by it.
void note_lost_count(float sum, float value, const void* pc);
// atomicMax() (or, if not `max`, atomicMin()) gets the bits of a float, as an int or as an unsigned.
void note_float_bits(bool max, bool is_signed, uint32_t old, uint32_t value, const void* pc);
extern uint32_t last_float_bits;  // what __float_as_int() or __float_as_uint() last returned

template <class T>
constexpr bool is_word = std::is_integral_v<T> && sizeof(T) == 4;

// Each of these is called by one kind of atomic, with its operands.
struct NoValue {
    template <class T>
    static void note(const T*, T, T, const void*) {}
};
struct Sum {
    template <class T>
    __attribute__((no_sanitize("thread"))) static void note(const T* address, T old, T value,
                                                            const void* pc) {
        if constexpr (is_word<T>) {
            if (value == 1) note_count(address, uint32_t(old), pc);
        } else if constexpr (std::is_same_v<T, float>) {
            if (old + value == old && value != 0 && std::trunc(value) == value &&
                std::isfinite(old))
                note_lost_count(old, value, pc);
        }
    }
};
struct Increment {
    template <class T>
    static void note(const T* address, T old, T, const void* pc) {
        if constexpr (is_word<T>) note_count(address, uint32_t(old), pc);
    }
};
template <bool max>
struct Extreme {
    template <class T>
    __attribute__((no_sanitize("thread"))) static void note(const T*, T old, T value,
                                                            const void* pc) {
        if constexpr (is_word<T>)
            if (uint32_t(value) == last_float_bits)
                note_float_bits(max, std::is_signed_v<T>, uint32_t(old), uint32_t(value), pc);
    }
};

}  // namespace emulator
