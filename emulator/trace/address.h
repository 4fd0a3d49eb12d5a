// An address as a number.
#pragma once

#include <cstdint>

namespace emulator {

inline uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace emulator
