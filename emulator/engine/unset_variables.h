// Values of variables that a kernel has used before it set them.
#pragma once

#include <string>

#include "emulator/engine/device_memory.h"

namespace emulator {

// Reports the instructions that have stored such a value in these bytes of an array, which are
// copied to the host.
void find_unset_variables(const Allocation& array, const void* begin, size_t bytes);
// Reports that the current thread adds products to accumulators, if all their bytes hold such values.
void check_accumulators(const std::string& instruction, const void* accumulators, size_t bytes,
                        const char* file, int line);

}  // namespace emulator
