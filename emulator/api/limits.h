// The limits of a launch.
#pragma once

#include "emulator/include/cuda_runtime.h"

namespace emulator {

size_t static_shared(const void* kernel);  // bytes of its own __shared__ arrays
bool has_unnamed_shared(const void* kernel);  // some that rewrite_launches.py has left as they were
bool launch_fits(const Launch& launch);  // reports a launch that exceeds the limits
void forget_limits();  // the ones that cudaFuncSetAttribute has set

}  // namespace emulator
