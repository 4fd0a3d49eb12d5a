// An address as a number.
#pragma once

#include <cstdint>

namespace emulator {

inline uintptr_t address_value(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace emulator
