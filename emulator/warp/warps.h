// Operations of a warp.
#pragma once

namespace emulator {

// Completes the one at which `thread` waits, if all lanes that it takes have come to it. pc: of the
// running thread's call.
bool complete_warp(unsigned thread, const void* pc = nullptr);

namespace warps {
void begin_block();
bool any_waits(unsigned thread);  // a lane of its warp
void report_missing(unsigned thread);  // it waits for lanes that never come
bool goes_on();  // lets those go on that ask who is active
}  // namespace warps

}  // namespace emulator
