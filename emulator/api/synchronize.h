// How the host waits for the device.
#pragma once

#include "emulator/include/cuda_errors.h"

namespace emulator {

cudaError_t launch_error();  // of an earlier launch; the host sees it when it waits

}  // namespace emulator
