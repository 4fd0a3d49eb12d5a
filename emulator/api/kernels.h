// Which kernels the program has, and which of them it has launched.
#pragma once

namespace emulator {

struct Launch;

namespace kernels_launched {
// Writes a launch to the file that EMULATOR_LAUNCHES names in the environment: a line with the
// kernel's mangled name, the threads of a block, the place and the kernel's name. The first is empty
// if the call deduces the kernel's template arguments.
void note(const Launch& launch);
void end_launch();
}  // namespace kernels_launched

}  // namespace emulator
