// Operations of a warp.
#pragma once

namespace emulator::warps {

void begin_block();
void end_thread();
bool reports_stuck();  // a thread waits for lanes that never come
bool goes_on();  // lets those go on that ask who is active

}  // namespace emulator::warps
