// CUDA's runtime API: how the host waits for the device.

#include "emulator/api/synchronize.h"

#include "emulator/api/errors.h"
#include "emulator/api/graphs.h"
#include "emulator/api/streams.h"

namespace emulator {

// As on a GPU, the host sees a failed kernel only when it next waits for the device. Unlike on a
// GPU, cudaGetLastError() clears the failure, so that tests can go on.
cudaError_t launch_error() {
    const bool of_kernel =
        last_error() == cudaErrorLaunchFailure || last_error() == cudaErrorAssert ||
        last_error() == cudaErrorIllegalAddress || last_error() == cudaErrorMisalignedAddress;
    return of_kernel ? last_error() : cudaSuccess;
}

}  // namespace emulator

using namespace emulator;

cudaError_t cudaDeviceSynchronize() {
    if (const cudaError_t error = captures::host_waits_for_all()) return error;
    streams::host_waits_for_all();
    return launch_error();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (const cudaError_t error = captures::host_waits_for(stream)) return error;
    streams::host_waits_for(stream);
    return launch_error();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (const cudaError_t error = captures::host_waits_for(event)) return error;
    streams::host_waits_for(event);
    return launch_error();
}
