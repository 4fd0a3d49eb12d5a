// Memory on the device, and what the runtime says when something fails.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/command_line.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#endif

// Throws Failure(kDeviceFailed) naming the call and what to try; returns on cudaSuccess.
inline void check_cuda(cudaError_t status, const std::string& call) {
    if (status == cudaSuccess) return;
    const char* advice = status == cudaErrorMemoryAllocation ? "; try a smaller size"
                         : status == cudaErrorNoKernelImageForDevice
                             ? "; build for this GPU: -DCMAKE_CUDA_ARCHITECTURES=native"
                             : "";
    throw Failure(kDeviceFailed, call + " failed: " + cudaGetErrorString(status) + advice);
}

// Makes `device` the one in use and returns it. Throws Failure(kNoGpu) where there is none, kBadCommandLine where it is not one
// of those there are.
inline int select_device(int device) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
        throw Failure(kNoGpu,
                      std::string("no usable GPU (cudaGetDeviceCount: ") +
                          (status == cudaSuccess ? "there are none" : cudaGetErrorString(status)) +
                          "); the CPU build, whose name ends in _cpu, verifies without one");
    if (device >= count)
        throw Failure(kBadCommandLine, "--device '" + std::to_string(device) +
                                           "': takes a number from 0 to " +
                                           std::to_string(count - 1));
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return device;
}

// `count` elements of device memory.
template <class T>
class DeviceArray {
public:
    using value_type = T;
    explicit DeviceArray(size_t count) : count_(count) {
        check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)),
                   "cudaMalloc of " + std::to_string(count * sizeof(T) >> 20) + " MiB");
    }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    T* data() { return data_; }
    T* slice(size_t first, size_t /*count*/) { return data_ + first; }
    void upload(const std::vector<T>& values) {
        check_cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
                   "cudaMemcpy to the device");
    }
    void download(std::vector<T>& values) {
        values.resize(count_);
        read(0, count_, values.data());
    }
    void read(size_t first, size_t count, T* to) {
        check_cuda(cudaMemcpy(to, data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost),
                   "cudaMemcpy from the device");
    }
    // What so many bytes of the device take of the host's memory.
    static double host_bytes(double bytes) {
#ifdef CUDA_EMULATOR
        return emulator::host_bytes(bytes);
#else
        return 0 * bytes;
#endif
    }

private:
    size_t count_;
    T* data_ = nullptr;
};
