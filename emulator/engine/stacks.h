// The stacks of a block's threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

// All stacks lie in one range. The unmapped gap below each is larger than any local array.
void* reserve_stack(unsigned thread, size_t& bytes);  // its end
constexpr unsigned kNoThread = ~0u;
unsigned stack_owner(uintptr_t address, bool* overflow = nullptr);  // or kNoThread
extern uintptr_t stacks_begin, stacks_bytes;
// Those of the block that runs begin with this one: in a cooperative launch each block has its own.
extern unsigned first_stack;
constexpr unsigned kMostStacks = 8192;

}  // namespace emulator
