#include "common/device.h"

#include <string>

#include "common/errors.h"

void check_cuda(cudaError_t status, const std::string& call) {
    if (status == cudaSuccess) return;
    const char* advice = status == cudaErrorMemoryAllocation ? "; try a smaller size"
                         : status == cudaErrorNoKernelImageForDevice
                             ? "; build for this GPU: -DCMAKE_CUDA_ARCHITECTURES=native"
                         : status == cudaErrorInvalidValue && call.find("cudaMemcpy") == 0
                             ? "; has the launcher freed A, B or C?"
                             : "";
    throw Failure(kDeviceFailed, call + " failed: " + cudaGetErrorString(status) + advice);
}

int select_device(int device) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess)
        throw Failure(kNoGpu, format("no usable GPU (cudaGetDeviceCount: %s); the program whose "
                                     "name ends in _cpu verifies without a GPU",
                                     cudaGetErrorString(status)));
    if (device >= count)
        throw Failure(kBadCommandLine,
                      format("--device '%d': takes a number from 0 to %d", device, count - 1));
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return device;
}

void finish_launch(const std::string& what) {
    const cudaError_t ran = cudaDeviceSynchronize(), called = cudaGetLastError();
    check_cuda(ran, "running " + what);
    check_cuda(called, "launching " + what + ", or another CUDA call in its launcher,");
}
