// The clock of a streaming multiprocessor (SM), read by a kernel.
//
// A GPU lowers its clock within microseconds when its tensor cores start to work, and raises it as
// quickly when they stop, so that the clock the driver reports would be the wrong one. Therefore
// either the kernel reads its own clock, or the cycles of each SM are read right before the
// launches and right after them.
#pragma once

#include <cuda_runtime.h>

// Cycles of an SM, and nanoseconds of the GPU's timer. 0 on the emulator.
struct Elapsed {
    unsigned long long cycles, nanoseconds;
};

__device__ inline Elapsed clock_now() {
#ifdef __CUDA_ARCH__
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return {static_cast<unsigned long long>(clock64()), nanoseconds};
#else
    return {0, 0};
#endif
}

inline double mhz_of(const Elapsed& elapsed) {
    return elapsed.nanoseconds > 0 ? 1e3 * elapsed.cycles / elapsed.nanoseconds : 0;
}
