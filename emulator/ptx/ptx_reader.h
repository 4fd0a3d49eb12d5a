// Reads the text of an asm statement. letters: of its operands' constraints, such as "rfl".
#pragma once

#include "emulator/ptx/ptx_instruction.h"

namespace emulator {

PtxProgram read_ptx(const char* letters, const char* text);

}  // namespace emulator
