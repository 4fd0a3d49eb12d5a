// Which kernels the program has, and which of them it has launched.
#pragma once

namespace emulator::kernels_launched {

void end_launch();

}  // namespace emulator::kernels_launched
