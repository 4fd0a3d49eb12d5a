// CUDA's runtime API: errors.

#include "emulator/api/errors.h"

#include <utility>

#include "emulator/api/streams.h"
#include "emulator/engine/device_memory.h"
#include "emulator/engine/run.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator {

static cudaError_t last = cudaSuccess;

cudaError_t set_last_error(cudaError_t error) { return last = error; }
cudaError_t last_error() { return last; }

std::string place_of_runtime_call() {
    const std::string place = streams::place_in_stream();
    return place.empty() ? place_of_host() : " at " + place;
}
static std::string failure(const std::string& call, cudaError_t error) {
    return call + place_of_runtime_call() + " fails, " + cudaGetErrorString(error);
}
cudaError_t refuse(const std::string& call, cudaError_t error, const std::string& why) {
    report_and_print(failure(call, error) + ": " + why);
    return set_last_error(error);
}
cudaError_t decline(const std::string& call, cudaError_t error, const std::string& why) {
    const std::string what = failure(call, error);
    report_note(what, why);
    if (error == cudaErrorMemoryAllocation) note_failed_allocation(what);
    return set_last_error(error);
}

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
