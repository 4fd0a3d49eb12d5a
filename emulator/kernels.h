// Which kernels the program has, and which of them it has launched.
#pragma once

#include <string>

namespace emulator {

bool is_kernel(const std::string& name);  // ns::matmul<4>: is matmul declared with __global__?

namespace kernels_launched {
void end_launch();
}  // namespace kernels_launched

}  // namespace emulator
