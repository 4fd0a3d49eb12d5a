// Integers that overflow.
#pragma once

#include <cstdint>
#include <string>

namespace emulator {

struct Overflow {
    const char* file = nullptr;
    uint32_t line = 0;
    int64_t left = 0, right = 0;  // the operands of
    char sign = 0;
    const char* type = nullptr;  // "'int'"
    int bits = 0;

    std::string place() const;
    std::string described() const;  // "4 * 640000000 does not fit in 'int'"
    int64_t lost() const;  // how much larger the result should be
};

namespace overflows {
void begin_launch();
void note(const Overflow& overflow);  // in a program that may rely on it
const Overflow* last();  // the running thread's last one that was noted in this launch, or null
}  // namespace overflows

}  // namespace emulator
