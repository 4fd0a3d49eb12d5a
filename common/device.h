// Memory on the device, and what the runtime says when something fails.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/options.h"
#include "common/verify.h"

// Throws Failure(kDeviceFailed) naming the call and what to try; returns on cudaSuccess.
inline void check_cuda(cudaError_t status, const std::string& call) {
    if (status == cudaSuccess) return;
    const char* advice = status == cudaErrorMemoryAllocation      ? "; try a smaller size"
                         : status == cudaErrorNoKernelImageForDevice ? "; build for this GPU: -DCMAKE_CUDA_ARCHITECTURES=native"
                                                                     : "";
    throw Failure(kDeviceFailed, call + " failed: " + cudaGetErrorString(status) + advice);
}

// `count` floats of device memory.
class DeviceArray {
public:
    explicit DeviceArray(size_t count) : count_(count) {
        check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(float)),
                   "cudaMalloc of " + std::to_string(count * sizeof(float) >> 20) + " MiB");
    }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    float* data() { return data_; }
    void upload(const std::vector<float>& values) {
        check_cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    }
    void download(std::vector<float>& values) {
        values.resize(count_);
        check_cuda(cudaMemcpy(values.data(), data_, count_ * sizeof(float), cudaMemcpyDeviceToHost),
                   "cudaMemcpy from the device");
    }

private:
    size_t count_;
    float* data_ = nullptr;
};

// The matrix that a kernel writes, NaN before each run, between two guards. The guards hold a number: adding to a NaN would
// leave it as it was.
class GuardedOutput {
public:
    static constexpr size_t kGuard = 1024;        // floats on each side: 4 KiB, so that C stays aligned
    static constexpr float kGuardValue = 0.1234567f;

    explicit GuardedOutput(size_t count) : count_(count), device_(count + 2 * kGuard), host_(count + 2 * kGuard) {}

    float* device() { return device_.data() + kGuard; }
    const float* host() const { return host_.data() + kGuard; }
    void clear() {
        std::fill(host_.begin(), host_.end(), kGuardValue);
        std::fill(host_.begin() + kGuard, host_.end() - kGuard, unwritten());
        device_.upload(host_);
    }
    // Fetches the matrix; "" if the guards are untouched, else where the kernel wrote outside C.
    std::string fetch() {
        device_.download(host_);
        for (size_t i = 0; i < kGuard; ++i) {
            if (!(host_[kGuard - 1 - i] == kGuardValue))
                return "a write outside C, " + std::to_string(i + 1) + " elements before its start";
            if (!(host_[kGuard + count_ + i] == kGuardValue))
                return "a write outside C, " + std::to_string(i) + " elements past its end";
        }
        return "";
    }

private:
    size_t count_;
    DeviceArray device_;
    std::vector<float> host_;
};
