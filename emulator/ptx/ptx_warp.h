// Instructions of a warp, and special registers.
#pragma once

#include "emulator/ptx/ptx_thread.h"

namespace emulator::ptx_warp {

using Run = void(PtxThread& thread, const PtxInstruction& instruction);
Run shfl, vote, match, redux, activemask, elect, ldmatrix, stmatrix, mma, bar, trap, bra;

}  // namespace emulator::ptx_warp
