// What kernels allocate by malloc() or new, and free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emulator::kernel_heap {

// What kernels may have allocated at once, in bytes. More is noted, and not refused. Source: CUDA
// programming guide, "Dynamic Global Memory Allocation and Operations".
constexpr size_t kUsualLimit = 8 << 20;
extern size_t limit;  // cudaDeviceSetLimit(cudaLimitMallocHeapSize) sets it

// Whether these bytes lie in one block that a kernel has allocated, and that is not freed.
bool holds(uintptr_t address, size_t bytes);

struct Block {
    uintptr_t begin, end;
    bool freed;
    uintptr_t freed_by;  // return address of free()

    std::string state() const;  // "freed at mine.cu:31"; "" if it is not
};
// The block, freed or not, that the address lies in or just beside, or null. Of the freed ones only
// the last hundred are remembered.
const Block* find(uintptr_t address);

}  // namespace emulator::kernel_heap
