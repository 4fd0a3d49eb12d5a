// Memory on the device, and what the runtime says when something fails.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/command_line.h"
#include "common/verify.h"

// Throws Failure(kDeviceFailed) naming the call and what to try; returns on cudaSuccess.
inline void check_cuda(cudaError_t status, const std::string& call) {
    if (status == cudaSuccess) return;
    const char* advice = status == cudaErrorMemoryAllocation      ? "; try a smaller size"
                         : status == cudaErrorNoKernelImageForDevice ? "; build for this GPU: -DCMAKE_CUDA_ARCHITECTURES=native"
                                                                     : "";
    throw Failure(kDeviceFailed, call + " failed: " + cudaGetErrorString(status) + advice);
}

// Makes `device` the one in use and returns it. Throws Failure(kNoGpu) where there is none, kBadCommandLine where it is not one
// of those there are.
inline int select_device(int device) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
        throw Failure(kNoGpu, std::string("no usable GPU (cudaGetDeviceCount: ") +
                                  (status == cudaSuccess ? "there are none" : cudaGetErrorString(status)) +
                                  "); the CPU build, whose name ends in _cpu, verifies without one");
    if (device >= count)
        throw Failure(kBadCommandLine, "--device '" + std::to_string(device) + "': takes a number from 0 to " + std::to_string(count - 1));
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return device;
}

// `count` elements of device memory.
template <class T>
class DeviceArray {
public:
    explicit DeviceArray(size_t count) : count_(count) {
        check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)),
                   "cudaMalloc of " + std::to_string(count * sizeof(T) >> 20) + " MiB");
    }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    T* data() { return data_; }
    void upload(const std::vector<T>& values) {
        check_cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    }
    void download(std::vector<T>& values) {
        values.resize(count_);
        check_cuda(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
    }

private:
    size_t count_;
    T* data_ = nullptr;
};

// The matrix that a kernel writes, NaN before each run, between two guards. The guards hold a number: adding to a NaN would
// leave it as it was. T is float or half; the host sees floats.
template <class T>
class GuardedOutput {
public:
    static constexpr size_t kGuard = 1024;  // elements on each side: at least 2 KiB, so that C stays aligned
    static constexpr float kGuardValue = 0.1234567f;

    explicit GuardedOutput(size_t count)
        : count_(count), device_(count + 2 * kGuard), raw_(count + 2 * kGuard), host_(count) {}

    T* device() { return device_.data() + kGuard; }
    const float* host() const { return host_.data(); }
    void clear() {
        std::fill(raw_.begin(), raw_.end(), T(kGuardValue));
        std::memset(static_cast<void*>(&raw_[kGuard]), 0xff, count_ * sizeof(T));
        device_.upload(raw_);
    }
    // Fetches the matrix; "" if the guards are untouched, else where the kernel wrote outside C.
    std::string fetch() {
        device_.download(raw_);
        const float guard = float(T(kGuardValue));
        for (size_t i = 0; i < kGuard; ++i) {
            if (!(float(raw_[kGuard - 1 - i]) == guard))
                return "a write outside C, " + std::to_string(i + 1) + " elements before its start";
            if (!(float(raw_[kGuard + count_ + i]) == guard))
                return "a write outside C, " + std::to_string(i) + " elements past its end";
        }
        const uint32_t all_bits = 0xffffffff;
        for (size_t i = 0; i < count_; ++i) {
            const T& element = raw_[kGuard + i];
            host_[i] = std::memcmp(&element, &all_bits, sizeof element) == 0 ? unwritten() : float(element);
        }
        return "";
    }

private:
    size_t count_;
    DeviceArray<T> device_;
    std::vector<T> raw_;
    std::vector<float> host_;
};
