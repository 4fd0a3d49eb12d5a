// Device memory for a library's functions, and what becomes of it when the device is reset.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emulator/api/streams.h"
#include "emulator/include/cuda_errors.h"

namespace emulator {

// Carries out a function of a library, such as cublasSgemm, as the next operation of the current
// stream. Reports a region that is not within one array, and then does nothing.
cudaError_t call_library(const char* name, const std::vector<Region>& regions,
                         const std::function<void()>& work);
// Called with what a copy has brought to the host, and with "cudaMemcpy at mine.cu:31", if not null.
extern void (*copied_to_host)(const void* bytes, size_t count, const std::string& copy);
void free_all_memory();
struct Allocation;
bool is_freed_with_graph(const Allocation& memory);  // by a captured cudaFreeAsync()

}  // namespace emulator
