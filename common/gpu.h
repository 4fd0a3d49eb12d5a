// A GPU, or what the emulator takes for one: its memory and its errors. Then, on a GPU alone: what it
// is, its times, and cuBLAS's product beside a stage's.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/command_line.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#elif !defined(HARNESS_COMPILED_APART)
#include <cublas_v2.h>  // takes as long to compile as all else here
#include <cuda_fp16.h>
#endif

// Throws Failure(kDeviceFailed) naming the call and what to try; returns on cudaSuccess.
void check_cuda(cudaError_t status, const std::string& call);

// Makes `device` the one in use and returns it. Throws Failure(kNoGpu) where there is none,
// kBadCommandLine where it is not one of those there are.
int select_device(int device);

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

template <class In, class Out>
using Operands = OperandsIn<DeviceArray<In>, DeviceArray<Out>>;

// Launches the stage on x once, and waits. Throws Failure.
template <class In, class Out>
void launch_once(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
    stage.launch(x.shape.M, x.shape.N, x.shape.K, x.A_device.data(), x.B_device.data(),
                 x.C.device());
    check_cuda(cudaGetLastError(), "launching the kernel");
    check_cuda(cudaDeviceSynchronize(), "running the kernel");
}

// Flop per byte of the traffic that the stage asks for, with no cache in between. C is written once.
template <class In, class Out>
Intensity intensity_of(const StageOf<In, Out>& stage, Shape s) {
    const double M = s.M, N = s.N, K = s.K, flop = 2 * M * N * K;
    return {flop / (sizeof(In) * stage.loaded_elements(M, N, K) + sizeof(Out) * M * N),
            stage.shared_loaded_bytes ? flop / stage.shared_loaded_bytes(M, N, K) : 0};
}

#ifndef CUDA_EMULATOR

int attribute(cudaDeviceAttr which, int device);

// Where NVML finds `device`.
std::string bus_id(int device);

// The limits of a device: as it was measured or is published, else by the device's attributes.
Gpu gpu_at_hand(int device);

// Where and when something was measured, as cells of a CSV's row.
Row where_measured(const Gpu& gpu, const Nvml& nvml);

// Times functions that launch work on the default stream, taking turns, each launch after a rest and a
// flush of the L2 cache.
class Timer {
public:
    explicit Timer(int device);

    // One summary per function. `while_running` is called once while a launch of the first is under way.
    // cold: L2 is flushed.
    std::vector<Times> run(const std::vector<std::function<void()>>& functions, int repeat,
                           const std::function<void()>& while_running, bool cold = true);

private:
    void flush();

    size_t flush_count_;
    DeviceArray<float> flush_;
    int flush_blocks_;
};

#ifndef HARNESS_COMPILED_APART
// cuBLAS's product of the same data in the same precision: FP32 without TF32, FP16 with FP32
// accumulate, or FP16 throughout. Row-major C = A * B is column-major C' = B' * A'.
class Cublas {
public:
    Cublas() {
        check(cublasCreate(&handle_), "cublasCreate");
        // This mode does not round to TF32.
        check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    }
    ~Cublas() { cublasDestroy(handle_); }
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
        const float one = 1, zero = 0;
        check(cublasSgemm(handle_, kNo, kNo, N, M, K, &one, B, N, A, K, &zero, C, N),
              "cublasSgemm");
    }
    void multiply(int M, int N, int K, const half* A, const half* B, float* C) {
        const float one = 1, zero = 0;
        check(cublasGemmEx(handle_, kNo, kNo, N, M, K, &one, B, CUDA_R_16F, N, A, CUDA_R_16F, K,
                           &zero, C, CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx");
    }
    void multiply(int M, int N, int K, const half* A, const half* B, half* C) {
        const half one = 1.0f, zero = 0.0f;
        check(cublasHgemm(handle_, kNo, kNo, N, M, K, &one, B, N, A, K, &zero, C, N),
              "cublasHgemm");
    }

private:
    static void check(cublasStatus_t status, const std::string& call) {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw Failure(kDeviceFailed, call + " failed: " + cublasGetStatusString(status));
    }
    static constexpr cublasOperation_t kNo = CUBLAS_OP_N;  // as they lie, not transposed
    cublasHandle_t handle_ = nullptr;
};
#endif

#endif  // CUDA_EMULATOR

#ifndef HARNESS_COMPILED_APART

void check_cuda(cudaError_t status, const std::string& call) {
    if (status == cudaSuccess) return;
    const char* advice = status == cudaErrorMemoryAllocation ? "; try a smaller size"
                         : status == cudaErrorNoKernelImageForDevice
                             ? "; build for this GPU: -DCMAKE_CUDA_ARCHITECTURES=native"
                             : "";
    throw Failure(kDeviceFailed, call + " failed: " + cudaGetErrorString(status) + advice);
}

int select_device(int device) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
        throw Failure(kNoGpu,
                      std::string("no usable GPU (cudaGetDeviceCount: ") +
                          (status == cudaSuccess ? "there are none" : cudaGetErrorString(status)) +
                          "); the CPU build, whose name ends in _cpu, verifies without one");
    if (device >= count)
        throw Failure(kBadCommandLine,
                      format("--device '%d': takes a number from 0 to %d", device, count - 1));
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return device;
}

#ifndef CUDA_EMULATOR

#include <thread>

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

std::string bus_id(int device) {
    char bus[32];
    check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "cudaDeviceGetPCIBusId");
    return bus;
}

Gpu gpu_at_hand(int device) {
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (const auto known = find_gpu(properties.name)) return *known;
    const int major = attribute(cudaDevAttrComputeCapabilityMajor, device);
    const int minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
    // FP32 lanes per multiprocessor: CUDA C++ Programming Guide, "Throughput of Native Arithmetic
    // Instructions". Shared memory: 32 banks of 4 bytes a clock, on every GPU that CUDA 13 knows.
    const int lanes = major < 8 || (major == 8 && minor == 0) ? 64 : 128;
    const double clock_ghz = attribute(cudaDevAttrClockRate, device) * 1e-6;
    const double memory_ghz = attribute(cudaDevAttrMemoryClockRate, device) * 1e-6;
    const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
    const double sm_ghz = attribute(cudaDevAttrMultiProcessorCount, device) * clock_ghz;
    const Limits limits = {2 * memory_ghz * bus_bytes, sm_ghz * 128, sm_ghz * lanes * 2, 0, 0};
    return {"", properties.name, limits, {}, "by the device's attributes"};
}

Row where_measured(const Gpu& gpu, const Nvml& nvml) {
    int version = 0;
    check_cuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    return {{"gpu", gpu.full_name},
            {"driver", nvml.driver()},
            {"cuda", format("%d.%d", version / 1000, version % 1000 / 10)},
            {"date", today()}};
}

Timer::Timer(int device)
    : flush_count_(2 * size_t(attribute(cudaDevAttrL2CacheSize, device)) / sizeof(float) + 1),
      flush_(flush_count_), flush_blocks_(8 * attribute(cudaDevAttrMultiProcessorCount, device)) {
    check_cuda(cudaMemset(flush_.data(), 0, flush_count_ * sizeof(float)), "cudaMemset");
}

// Reads zeros, and so writes nothing: what has to make room for them is written back before the timed
// launch, not during it.
static __global__ void flush_by_reading(const float* zeros, size_t count, float* nowhere) {
    float sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        sum += zeros[i];
    if (sum != 0) *nowhere = sum;
}

// One would do for the cache. So many keep the device busy until the host has queued what follows: it
// is not waited for then.
void Timer::flush() {
    for (int i = 0; i < 16; ++i)
        flush_by_reading<<<flush_blocks_, 256>>>(flush_.data(), flush_count_, flush_.data());
    check_cuda(cudaGetLastError(), "launching the flush of L2");
}

std::vector<Times> Timer::run(const std::vector<std::function<void()>>& functions, int repeat,
                              const std::function<void()>& while_running, bool cold) {
    // Tensor cores that work without a break can exceed the device's power limit, and then its clock
    // falls.
    constexpr std::chrono::milliseconds kRest{10};
    cudaEvent_t begin, end;
    check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end), "cudaEventCreate");
    for (const auto& function : functions) function();  // warm up: module loading, clocks
    check_cuda(cudaDeviceSynchronize(), "the warm-up launch");
    std::vector<std::vector<float>> ms(functions.size(), std::vector<float>(repeat));
    for (int r = 0; r < repeat; ++r)
        for (size_t f = 0; f < functions.size(); ++f) {
            std::this_thread::sleep_for(kRest);
            if (cold) flush();
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

// Verifies a stage, then times it beside cuBLAS.
class GpuMachine {
public:
    static constexpr bool kEmulated = false;
    static constexpr int kDefaultSize = 4096;
    static Columns table(const Options& options) {
        if (options.verify_only)
            return table_of(options, {"verified", "flop_per_byte", "predicted_gflops"});
        return table_of(options, {"median_ms",
                                  "gflops",
                                  "percent_of_peak",
                                  "percent_of_cublas",
                                  "predicted_gflops",
                                  "measured_of_predicted",
                                  {"percent_of_peak", "", 0, as_bar}});
    }

    GpuMachine(const Options& options, const Arithmetic& arithmetic)
        : options_(options), device_(select_device(options.device)), nvml_(bus_id(device_)),
          here_(gpu_at_hand(device_)), gpu_(options.gpu.value_or(here_)), work_(work_of(options)) {
        const Row at = where();
        std::printf("%s, driver %s, CUDA %s, clocks up to %d MHz (SM) and %d MHz (memory)\n",
                    at[0].value.c_str(), at[1].value.c_str(), at[2].value.c_str(),
                    attribute(cudaDevAttrClockRate, device_) / 1000,
                    attribute(cudaDevAttrMemoryClockRate, device_) / 1000);
        print_gpu(gpu_, arithmetic);
        print_shape(options);
    }

    // Returns the largest error as a fraction of its bound. Throws Failure.
    template <class In, class Out>
    double verify(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
        done_ += std::exchange(now_, double(x.shape.M) * x.shape.N * x.shape.K);
        doing_ = std::string(stage.name) + " " + to_string(x.shape);
        work_.show(doing_ + ": verifying", done_);
        return verify_stage(x, stage.arithmetic, options_.seed, [&] { launch_once(stage, x); });
    }

    // Adds the times to the row; returns GFLOP/s, 0 where nothing is to be timed.
    template <class In, class Out>
    double measure(const StageOf<In, Out>& stage, Operands<In, Out>& x, Row& row) {
        if (options_.verify_only) return 0;
        work_.show(doing_ + ": timing", done_);
        x.set_timed(options_.seed);
        const auto [M, N, K] = x.shape;
        const In *A = x.A_device.data(), *B = x.B_device.data();
        Out* C = x.C.device();
        Cublas cublas;
        const auto ours = [&, M = M, N = N, K = K] { stage.launch(M, N, K, A, B, C); };
        const auto theirs = [&, M = M, N = N, K = K] { cublas.multiply(M, N, K, A, B, C); };
        unsigned sm_clock = 0, memory_clock = 0;
        const auto times = Timer(device_).run({ours, theirs}, options_.repeat, [&] {
            sm_clock = nvml_.sm_clock();
            memory_clock = nvml_.memory_clock();
        });
        const double flop = 2 * now_;
        add_times(row, times[0], flop, here_.peak.*stage.arithmetic.peak);
        add_library(row, "cublas", flop, times[0], times[1]);
        row.push_back({"repeats", std::to_string(options_.repeat)});
        row.push_back({"sm_mhz", std::to_string(sm_clock)});
        row.push_back({"memory_mhz", std::to_string(memory_clock)});
        return flop / times[0].median * 1e-6;
    }

    static std::vector<Shape> ragged() { return {}; }
    const Gpu& predicted() const { return gpu_; }
    Row where() const { return where_measured(here_, nvml_); }
    template <class AnyStage>
    void verify_large_indices(const AnyStage&) const {}  // the command line refuses it
    void explain() const {}

private:
    Options options_;
    int device_;
    Nvml nvml_;
    Gpu here_, gpu_;
    std::string doing_;
    LongWork work_;
    double done_ = 0, now_ = 0;  // multiply-adds
};

#endif  // CUDA_EMULATOR
#endif  // HARNESS_COMPILED_APART
