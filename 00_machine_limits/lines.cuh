// The elements of a pointer chase through global memory: cache lines that each hold the address of
// the next.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// One element fills a cache line of 128 bytes, so that no load hits a line that another element's
// load has fetched, and the footprint in the cache is exactly the size of the working set.
struct alignas(128) Line {
    const Line* next;  // an address, not an index: no address arithmetic between dependent loads
};
static_assert(sizeof(Line) == 128, "a cache line");

// Loads *from, which is in global memory, with the default cache operator (.ca), so that L1 caches
// it. The compiler does not know the state space of a pointer that was itself loaded and would emit
// a generic load (LD), which resolves the state space at run time. `volatile` keeps the load in
// order with the two reads of the clock around it.
template <class T>
__device__ T* load_global(T* const* from) {
#ifdef __CUDA_ARCH__
    T* to;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(to) : "l"(__cvta_generic_to_global(from)));
    return to;
#else
    return *from;
#endif
}

__global__ void link_lines(const uint32_t* next, int count, Line* lines) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) lines[i].next = &lines[next[i]];
}
