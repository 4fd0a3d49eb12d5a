// Barriers of a block.
#pragma once

namespace emulator::block_barriers {
void begin_block();
bool passes();  // if all threads wait at the same one; otherwise all have returned, or fail() says why not
}  // namespace emulator::block_barriers
