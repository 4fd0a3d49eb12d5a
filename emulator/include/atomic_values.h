// What atomics tell the emulator of the values that they get. Included by intrinsics.h.
#pragma once

#include <cstdint>
#include <type_traits>

namespace emulator {

// One was added to a counter that was `old`.
void note_count(const void* address, uint32_t old, const void* pc);

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
        }
    }
};
struct Increment {
    template <class T>
    static void note(const T* address, T old, T, const void* pc) {
        if constexpr (is_word<T>) note_count(address, uint32_t(old), pc);
    }
};

}  // namespace emulator
