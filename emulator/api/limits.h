// What a launch may ask for.
#pragma once

#include "emulator/include/cuda_runtime.h"

namespace emulator {

size_t static_shared(const void* kernel);  // bytes of its own __shared__ arrays
bool launch_fits(const Launch& launch);  // within the limits; otherwise it is reported
void forget_limits();  // that cudaFuncSetAttribute has set

}  // namespace emulator
