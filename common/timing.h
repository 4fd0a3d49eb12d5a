// Timing on a GPU: events, a flushed L2 cache, medians, cuBLAS beside it, and the clocks while it ran.
#pragma once

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/device.h"
#include "common/limits.h"
#include "common/nvml.h"
#include "common/roofline.h"
#include "common/times.h"

inline int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

// Where NVML finds `device`.
inline std::string bus_id(int device) {
    char bus[32];
    check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "cudaDeviceGetPCIBusId");
    return bus;
}

// The limits of a device: as it was measured or is published, else by the device's attributes.
inline Gpu gpu_at_hand(int device) {
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (const auto known = find_gpu(properties.name)) return *known;
    const int major = attribute(cudaDevAttrComputeCapabilityMajor, device);
    const int minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
    // FP32 lanes per multiprocessor: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions".
    const int lanes = major < 8 || (major == 8 && minor == 0) ? 64 : 128;
    const double clock_ghz = attribute(cudaDevAttrClockRate, device) * 1e-6;
    const double memory_ghz = attribute(cudaDevAttrMemoryClockRate, device) * 1e-6;
    const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
    const double sm_ghz = attribute(cudaDevAttrMultiProcessorCount, device) * clock_ghz;
    // Shared memory: 32 banks of 4 bytes a clock, on every GPU that CUDA 13 knows.
    return {"",
            properties.name,
            {2 * memory_ghz * bus_bytes, sm_ghz * 128, sm_ghz * lanes * 2, 0, 0},
            {},
            "by the device's attributes"};
}

// Where and when something was measured, as cells of a CSV's row.
inline Row where_measured(const Gpu& gpu, const Nvml& nvml) {
    int version = 0;
    check_cuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    return {{"", "gpu", gpu.full_name},
            {"", "driver", nvml.driver()},
            {"", "cuda", format("%d.%d", version / 1000, version % 1000 / 10)},
            {"", "date", today()}};
}

// Reads zeros, and so writes nothing: what has to make room for them is written back before the timed launch, not during it.
static __global__ void flush_by_reading(const float* zeros, size_t count, float* nowhere) {
    float sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        sum += zeros[i];
    if (sum != 0) *nowhere = sum;
}

// Times functions that launch work on the default stream, taking turns, each launch after a rest and a flush of the L2 cache.
class Timer {
public:
    explicit Timer(int device)
        : flush_count_(2 * size_t(attribute(cudaDevAttrL2CacheSize, device)) / sizeof(float) + 1),
          flush_(flush_count_),
          flush_blocks_(8 * attribute(cudaDevAttrMultiProcessorCount, device)) {
        check_cuda(cudaMemset(flush_.data(), 0, flush_count_ * sizeof(float)), "cudaMemset");
    }

    // One summary per function. `while_running` is called once while a launch of the first is under way.
    std::vector<Times> run(const std::vector<std::function<void()>>& functions, int repeat,
                           const std::function<void()>& while_running) {
        cudaEvent_t begin, end;
        check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
        check_cuda(cudaEventCreate(&end), "cudaEventCreate");
        for (const auto& function : functions) function();  // warm up: module loading, clocks
        check_cuda(cudaDeviceSynchronize(), "the warm-up launch");
        std::vector<std::vector<float>> ms(functions.size(), std::vector<float>(repeat));
        for (int r = 0; r < repeat; ++r)
            for (size_t f = 0; f < functions.size(); ++f) {
                std::this_thread::sleep_for(kRest);
                for (int i = 0; i < kFlushes; ++i)
                    flush_by_reading<<<flush_blocks_, 256>>>(flush_.data(), flush_count_,
                                                             flush_.data());
                check_cuda(cudaGetLastError(), "launching the flush of L2");
                check_cuda(cudaEventRecord(begin), "cudaEventRecord");
                functions[f]();
                check_cuda(cudaEventRecord(end), "cudaEventRecord");
                if (r == 0 && f == 0) while_running();
                check_cuda(cudaEventSynchronize(end), "a timed launch");
                check_cuda(cudaEventElapsedTime(&ms[f][r], begin, end), "cudaEventElapsedTime");
            }
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
        std::vector<Times> times;
        for (const auto& list : ms) times.push_back(summarize(list));
        return times;
    }

private:
    // Tensor cores that work without a break can exceed the device's power limit, and then its clock falls.
    static constexpr std::chrono::milliseconds kRest{10};
    // One would do for the cache. So many keep the device busy until the host has queued what follows: it is not waited for then.
    static constexpr int kFlushes = 16;
    size_t flush_count_;
    DeviceArray<float> flush_;
    int flush_blocks_;
};

// cuBLAS's product of the same data in the same precision: FP32 without TF32, FP16 with FP32 accumulate, or FP16 throughout.
class Cublas {
public:
    Cublas() {
        check(cublasCreate(&handle_), "cublasCreate");
        check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH),
              "cublasSetMathMode");  // this mode does not round to TF32
    }
    ~Cublas() { cublasDestroy(handle_); }
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    // Row-major C = A * B is column-major C' = B' * A'.
    void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
        const float one = 1.0f, zero = 0.0f;
        check(
            cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, N, A, K, &zero, C, N),
            "cublasSgemm");
    }
    void multiply(int M, int N, int K, const half* A, const half* B, float* C) {
        const float one = 1.0f, zero = 0.0f;
        check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, CUDA_R_16F, N, A,
                           CUDA_R_16F, K, &zero, C, CUDA_R_32F, N, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx");
    }
    void multiply(int M, int N, int K, const half* A, const half* B, half* C) {
        const half one = 1.0f, zero = 0.0f;
        check(
            cublasHgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, N, A, K, &zero, C, N),
            "cublasHgemm");
    }

private:
    static void check(cublasStatus_t status, const std::string& call) {
        if (status != CUBLAS_STATUS_SUCCESS)
            throw Failure(kDeviceFailed, call + " failed: " + cublasGetStatusString(status));
    }
    cublasHandle_t handle_ = nullptr;
};
