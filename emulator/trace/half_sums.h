// Additions of halves and bfloat16s whose sum stagnates: the addend is lost.
#pragma once

#include <string>
#include <vector>

namespace emulator::half_sums {
// A line for each instruction with many such additions. A correct program may have some.
std::vector<std::string> notes();
void reset();
}  // namespace emulator::half_sums
