// How the host waits for the device.
#pragma once

#include "emulator/include/cuda_errors.h"

namespace emulator {

cudaError_t launch_error();  // of an earlier launch, which the host sees now that it waits

}  // namespace emulator
