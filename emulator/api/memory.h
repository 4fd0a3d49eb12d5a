// Device memory for a library's functions, and what becomes of it when the device is reset.
#pragma once

#include <functional>
#include <vector>

#include "emulator/api/streams.h"
#include "emulator/include/cuda_errors.h"

namespace emulator {

// Carries out a function of a library, such as cublasSgemm, as the next operation of the current
// stream. Reports a region that is not within one array, and then does nothing.
cudaError_t call_library(const char* name, const std::vector<Region>& regions,
                         const std::function<void()>& work);
void free_all_memory();

}  // namespace emulator
