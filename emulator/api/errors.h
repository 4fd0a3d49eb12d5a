// The last error of a call of the runtime.
#pragma once

#include "emulator/include/cuda_errors.h"

namespace emulator {

cudaError_t set_last_error(cudaError_t error);  // returns it
cudaError_t last_error();

namespace errors {
void end_launch();  // that of a launch is the last one, too
}  // namespace errors

}  // namespace emulator
