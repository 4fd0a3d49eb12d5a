#include "common/timing_kernels.h"

static __global__ void read_clocks(Counting* counting, bool before) {
    unsigned sm;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    auto& [begin, total] = counting[sm];
    const Elapsed now = clock_now();
    if (before) begin = now;
    const unsigned long long cycles = before ? 0 : atomicExch(&begin.cycles, 0);
    if (cycles == 0) return;  // the SM had no block before the launches, or another one has counted
    total.cycles += now.cycles - cycles;
    total.nanoseconds += now.nanoseconds - begin.nanoseconds;
}

void launch_clocks(Counting* counting, bool before, int sm_count) {
    read_clocks<<<sm_count, 1>>>(counting, before);
}

// Reads, because dirty lines would be written back during the timed launch.
static __global__ void flush_by_reading(float* zeros) {
    if (zeros[blockIdx.x * size_t(blockDim.x) + threadIdx.x] != 0) *zeros = 1;
}

void launch_flush(float* zeros, size_t count) { flush_by_reading<<<count / 256, 256>>>(zeros); }
