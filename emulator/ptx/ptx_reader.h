// Reads the text of an asm statement.
#pragma once

#include "emulator/ptx/ptx_instruction.h"

namespace emulator {

PtxProgram read_ptx(const char* constraints, const char* text);

}  // namespace emulator
