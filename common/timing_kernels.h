// The kernels that timing needs. They stand apart from machine_gpu.cu, because nvcc takes three
// times as long as the host's compiler for that code, and the first row of ./run waits for it.
#pragma once

#include <cstddef>

#include "common/clock.h"

// Of a multiprocessor: when launches began, and how long all of them have taken.
struct Counting {
    Elapsed begin, all;
};

// Reads the clock of each multiprocessor into counting[%smid], before launches or after them.
void launch_clocks(Counting* counting, bool before, int sm_count);

// Flushes L2 by reading `count` zeros, a multiple of 256.
void launch_flush(float* zeros, size_t count);
