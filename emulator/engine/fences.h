// What a thread tells others by an atomic behind __threadfence(): those of its block and of blocks that run later.
#pragma once

#include <cstdint>

namespace emulator::fences {

extern bool any;  // in this launch; without one nobody is told of anything
void begin_launch();
void begin_block();
void fence(unsigned thread);
void before_atomic(unsigned thread);
void atomic(unsigned thread, const void* address);  // it is told, and tells
void block_barrier();
void warp_barrier(unsigned first_thread, uint32_t lanes);
bool knows(unsigned thread, unsigned other,
           uint32_t clock);  // of what a thread of an earlier block did

}  // namespace emulator::fences
