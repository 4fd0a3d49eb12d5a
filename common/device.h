// Arrays in device memory, and CUDA's errors as a Failure, on a GPU as on the emulator.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

// Throws Failure(kDeviceFailed), with the call and some advice, unless status is cudaSuccess.
void check_cuda(cudaError_t status, const std::string& call);

// Selects `device` and returns it. Throws Failure(kNoGpu) if there is no GPU at all, and
// Failure(kBadCommandLine) if there is none with that number.
int select_device(int device);

// Waits for the kernel that was just launched. Throws Failure(kDeviceFailed), whose message has
// `what`, if the launch or the kernel failed.
void finish_launch(const std::string& what = "the kernel");

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
    DeviceArray& operator=(DeviceArray&&) = delete;  // neither moved nor copied

    size_t size() const { return count_; }
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

private:
    size_t count_;
    T* data_ = nullptr;
};
