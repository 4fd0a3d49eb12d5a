// Which kernels the program has, and which of them it has launched.
#pragma once

namespace emulator {

namespace kernels_launched {
void end_launch();
}  // namespace kernels_launched

}  // namespace emulator
