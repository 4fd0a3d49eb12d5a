// Operations of a warp.
#pragma once

namespace emulator::warps {

void begin_block();
void end_thread();
bool reports_stuck();  // a thread waits for lanes that never arrive
bool goes_on();  // lets threads go on that wait in __activemask()

}  // namespace emulator::warps
