// CUDA's runtime API: errors.

#include "emulator/api/errors.h"

#include <utility>

#include "emulator/engine/run.h"

namespace emulator {

static cudaError_t last = cudaSuccess;

cudaError_t set_last_error(cudaError_t error) { return last = error; }
cudaError_t last_error() { return last; }

void errors::end_launch() {
    if (run.error && run.error != kEndedEarly) set_last_error(run.error);
}

}  // namespace emulator

using namespace emulator;

static const char* describe(cudaError_t error, bool by_name) {
#define EMULATOR_DESCRIBED(name, number, text) \
    if (error == name) return by_name ? #name : text;
    EMULATOR_ERRORS(EMULATOR_DESCRIBED)
    return "unrecognized error code";
}
const char* cudaGetErrorName(cudaError_t error) { return describe(error, true); }
const char* cudaGetErrorString(cudaError_t error) { return describe(error, false); }
cudaError_t cudaGetLastError() { return std::exchange(last, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last; }
