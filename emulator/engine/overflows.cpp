// Integers that overflow.

#include "emulator/engine/overflows.h"

#include <algorithm>

#include "emulator/engine/run.h"
#include "emulator/trace/lines.h"

namespace emulator {

static Overflow noted[kMaxThreads];

std::string Overflow::place() const { return short_place(file, line); }

std::string Overflow::described() const {
    return std::to_string(left) + " " + sign + " " + std::to_string(right) + " does not fit in " +
           type;
}

int64_t Overflow::lost() const {
    const __int128 a = left, b = right;
    const __int128 result = sign == '*' ? a * b : sign == '+' ? a + b : sign == '-' ? a - b : a / b;
    const int unused = 64 - bits;
    return int64_t(result - (int64_t(uint64_t(result) << unused) >> unused));
}

namespace overflows {

void begin_launch() { std::fill_n(noted, run.threads, Overflow()); }
void note(const Overflow& overflow) { noted[current_thread] = overflow; }
const Overflow* last() { return noted[current_thread].file ? &noted[current_thread] : nullptr; }

}  // namespace overflows
}  // namespace emulator
