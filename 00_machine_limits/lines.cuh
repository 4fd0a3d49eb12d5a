// The cache lines that a chase through global memory visits, each with the address of the next.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// One element fills a cache line of 128 bytes. So no load brings data that another one needs, and a
// set takes exactly its own size in the cache.
struct alignas(128) Line {
    const Line* next;  // an address, not an index: nothing has to be computed between two loads
};
static_assert(sizeof(Line) == 128, "a cache line");

// Loads *from, which is in global memory, by a plain load, which L1 caches. The compiler does not
// know the memory space of a pointer that was itself loaded, and would take the generic LD, which
// has to find out. `volatile` keeps the load between two readings of the clock.
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

__global__ void lay_out(const uint32_t* next, int count, Line* lines) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) lines[i].next = &lines[next[i]];
}
