// Barriers of a block.
#pragma once

namespace emulator::block_barriers {
void begin_block();
// Lets the threads pass if all of them wait at the same barrier. If their barriers differ, it calls
// fail(). Returns false then, and when all have returned.
bool passes();
}  // namespace emulator::block_barriers
