// Device memory: where it lies, and that the host does not touch it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
// As one more of these; null: there is no memory.
void* allocate_device_memory(size_t bytes, bool of_host);
void add_allocation(const void* begin, size_t bytes, bool of_host, bool borrowed = false);
void remove_allocation(const Allocation& allocation, const void* by);  // by: see Freed
void add_device_variables();  // the __device__ ones, which are there from the start
struct Freed {
    uintptr_t begin, end;
    uintptr_t by;  // return address of the cudaFree()
};
// What was there, or close to there, until it was freed, if that is not too long ago: then nothing else is there yet.
const Freed* find_freed(uintptr_t address);
std::string freed_by(const Freed& memory);  // "freed (cudaFree at mine.cu:31)"
// Host code that touches device memory crashes, as with a GPU, but for the emulator's own, in such a scope.
// The build under AddressSanitizer takes it from the heap and lets it pass.
struct DeviceMemoryOpen {
    DeviceMemoryOpen();
    ~DeviceMemoryOpen();
};
void* allocate_aligned(size_t alignment, size_t bytes);
double available_memory();  // of the machine, at this moment

}  // namespace emulator
