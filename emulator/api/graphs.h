// Streams that are captured into a graph, and what a program must not do meanwhile.
#pragma once

#include <string>

#include "emulator/include/cuda_runtime_api.h"

namespace emulator {

bool captured(cudaEvent_t event);  // it was last recorded in a captured stream

namespace captures {

// Each of these returns the error of a call that captures rule out, which invalidates them, or
// cudaSuccess.
cudaError_t permitted(const char* call);  // or made by a function that a stream calls
cudaError_t host_waits_for(cudaStream_t stream);
cudaError_t host_waits_for(cudaEvent_t event);
cudaError_t host_waits_for_all();
cudaError_t record(cudaEvent_t event, cudaStream_t stream);
// A call that is not put into a stream and that a graph would not repeat, such as cudaMalloc().
cudaError_t unsafe_call(const char* call);
cudaError_t wait(cudaStream_t stream, cudaEvent_t event);  // one of the two is captured

void note_launch(const std::string& place);  // one that is carried out, and so not captured

void forget(cudaEvent_t event);
void forget();  // all captures

}  // namespace captures
}  // namespace emulator
