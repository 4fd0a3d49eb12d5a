// The instructions that the emulator has in inline PTX, and the special registers.
#pragma once

#include "emulator/ptx/ptx_instruction.h"

namespace emulator {

const PtxRow* find_row(const std::string& opcode);  // the one with the longest name that fits
using PtxRegister = uint64_t (*)(const char* name);
PtxRegister find_special(const std::string& name);  // tid.x; null: there is none

}  // namespace emulator
