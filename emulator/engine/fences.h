// Tracks the happens-before order that __threadfence() and then an atomic at the same address
// establish between threads, within a block or across blocks.
#pragma once

#include <cstdint>

namespace emulator::fences {

// In this launch, or in an earlier one of its kernel; without a fence atomics order nothing.
extern bool any_fence;
void begin_launch();
void begin_block();
void fence(unsigned thread);
// An atomic is recorded between these two calls. The first gives the access a clock value of its
// own. The second acquires what was released at this address, and then releases what the thread had
// fenced.
void before_atomic(unsigned thread);
void atomic(unsigned thread, const void* address);
void block_barrier();
void warp_barrier(unsigned first_thread, uint32_t lanes);
// Whether the access of `other`, a thread of an earlier block, at that clock happens before what
// `thread` does now. If `thread` is an asynchronous agent, the thread that issued its work counts.
// True for all accesses once the launch has atomics at too many addresses.
bool happens_before(uint32_t clock, unsigned other, unsigned thread);

}  // namespace emulator::fences
