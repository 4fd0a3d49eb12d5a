// Instructions that access memory, or order accesses.
#pragma once

#include "emulator/ptx/ptx_thread.h"

namespace emulator::ptx_memory {

using Run = void(PtxThread& thread, const PtxInstruction& instruction);
Run ld, st, atom, red, nothing, zero, cvta, isspacep, fence, membar, griddepcontrol;
Run cp_async, cp_async_commit_group, cp_async_wait_group, cp_async_wait_all;

}  // namespace emulator::ptx_memory
