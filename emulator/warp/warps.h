// Operations of a warp.
#pragma once

namespace emulator::warps {

void begin_block();
void end_thread();
bool report_deadlock();  // a thread waits for lanes that never arrive
bool make_progress();  // lets threads go on that wait in __activemask()

}  // namespace emulator::warps
