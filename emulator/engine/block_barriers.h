// Barriers of a block.
#pragma once

#include <string>

namespace emulator::block_barriers {
void begin_block();
// Lets the threads pass if all of them that have not returned wait at the same barrier. If their
// barriers differ, it calls fail(). Returns false then, and when all have returned.
bool passes();
// "thread 4 has returned at mine.cu:9, and the barrier at mine.cu:12 does not wait for it", if that
// was so in this block; else "".
std::string left_out();
// The place of the last barrier that this block has passed; "" before the first.
std::string last_passed();
}  // namespace emulator::block_barriers
