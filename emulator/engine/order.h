// Whether one access happens before another: by the clocks of a block, and between blocks by
// fences.
#pragma once

#include "emulator/engine/clocks.h"
#include "emulator/engine/fences.h"

namespace emulator {

// Whether what `other` did at that clock happens before what `thread` does now. Threads of two
// blocks have no order without fences.
inline bool happens_before(uint32_t clock, unsigned other, unsigned thread) {
    if (clock <= clocks::state.base)
        return clock > clocks::state.block_start ||
               (fences::any_fence && fences::happens_before(clock, other, thread));
    return other == thread || clock <= clocks::state.known[thread][other];
}

// Orders these lanes of a warp, as __syncwarp() does.
inline void order_warp(unsigned first_thread, uint32_t lanes) {
    if (!traced) return;
    clocks::warp_barrier(first_thread, lanes);
    fences::warp_barrier(first_thread, lanes);
}

}  // namespace emulator
