// The kernels that timing needs. They are not in machine_gpu.cu, because nvcc takes three times as
// long as the host's compiler for that code, and the first row of ./run waits for it.
#pragma once

#include <cstddef>

#include "common/clock.h"

// The clock of an SM when launches began, and the sums over all launches so far.
struct Counting {
    Elapsed begin, total;
};

// Reads the clock of each SM into counting[%smid], before launches or after them.
void launch_clocks(Counting* counting, bool before, int sm_count);

// Flushes L2 by reading `count` zeros, a multiple of 256.
void launch_flush(float* zeros, size_t count);
