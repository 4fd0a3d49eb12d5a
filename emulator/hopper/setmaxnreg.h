// How many registers the threads of a warpgroup have.
#pragma once

namespace emulator::setmaxnreg {

void begin_block();
void end_block();

}  // namespace emulator::setmaxnreg
