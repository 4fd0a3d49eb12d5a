// The last error of the runtime API.
#pragma once

#include "emulator/include/cuda_errors.h"

namespace emulator {

cudaError_t set_last_error(cudaError_t error);  // returns it
cudaError_t last_error();

namespace errors {
void end_launch();  // the error of a launch becomes the last one
}  // namespace errors

}  // namespace emulator
