// The last error of the runtime API, and calls that fail.
#pragma once

#include <string>

#include "emulator/include/cuda_errors.h"

namespace emulator {

cudaError_t set_last_error(cudaError_t error);  // returns it
cudaError_t last_error();

// A call of the host fails. Both return the error, which becomes the last one, and both say which
// call it is, where it stands, and why it fails. refuse(): it is a mistake. decline(): a program may
// try it and do something else if it fails (to allocate as much as there is, to select a device),
// so that it is only noted.
cudaError_t refuse(const std::string& call, cudaError_t error, const std::string& why);
cudaError_t decline(const std::string& call, cudaError_t error, const std::string& why);

std::string place_of_runtime_call();  // " at mine.cu:31"; "" if there is no debug info

namespace errors {
void end_launch();  // the error of a launch becomes the last one
}  // namespace errors

}  // namespace emulator
