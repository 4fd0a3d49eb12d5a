// Device memory, errors, limits.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "emulator/include/cuda_runtime.h"

namespace emulator {

struct Cell;  // who touched two bytes of memory last; see races.cpp

struct Allocation {
    uintptr_t begin = 0, end = 0;
    Cell* cells = nullptr;  // null until a traced kernel touches it
    bool of_host = false;  // the host may touch it, too
    bool borrowed = false;  // the program's own memory, which is not to be freed
};
extern std::vector<Allocation> allocations;  // live cudaMalloc ranges, by address
Allocation* find_allocation(uintptr_t address);
struct Freed {
    uintptr_t begin, end;
    uintptr_t by;  // return address of the cudaFree()
};
// What was there, or close to there, until it was freed, if that is not too long ago: then nothing else is there yet.
const Freed* find_freed(uintptr_t address);
std::string freed_by(const Freed& memory);  // "freed (cudaFree at mine.cu:31)"
// " at mine.cu:31", the caller of a function of the runtime; "" if there is no debug info.
std::string place_of_call(uintptr_t return_address);
// Host code that touches device memory crashes, as with a GPU, but for the emulator's own, in such a scope.
// The build under AddressSanitizer takes it from the heap and lets it pass.
struct DeviceMemoryOpen {
    DeviceMemoryOpen();
    ~DeviceMemoryOpen();
};
void* allocate_aligned(size_t alignment, size_t bytes);
double available_memory();  // of the machine, at this moment
cudaError_t set_last_error(cudaError_t error);  // returns it
size_t static_shared(const void* kernel);  // bytes of its own __shared__ arrays
bool launch_fits(const Launch& launch);  // within the limits; otherwise it is reported
void forget_limits();  // that cudaFuncSetAttribute has set

}  // namespace emulator
