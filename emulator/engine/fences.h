// Order by an atomic after __threadfence(), between threads of one block or of different blocks.
#pragma once

#include <cstdint>

namespace emulator::fences {

extern bool any;  // whether this launch has had a fence; without one atomics order nothing
void begin_launch();
void begin_block();
void fence(unsigned thread);
void before_atomic(unsigned thread);
void atomic(unsigned thread, const void* address);  // acquires, then releases
void block_barrier();
void warp_barrier(unsigned first_thread, uint32_t lanes);
// Whether `thread` comes after what `other`, of an earlier block, did at that clock.
bool knows(unsigned thread, unsigned other, uint32_t clock);

}  // namespace emulator::fences
