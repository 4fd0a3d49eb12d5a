// A GPU, or what the emulator takes for one: its memory and its errors. Then, on a GPU alone: what
// it is, its times, and cuBLAS's product beside a stage's.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/command_line.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#elif !defined(HARNESS_COMPILED_APART) || defined(RUN_STAGE_IS_HERE)
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

// Waits for the kernel that was just launched. Throws Failure(kDeviceFailed), which names `what`.
void finish_launch(const std::string& what = "the kernel");

template <class In, class Out>
using Operands = OperandsIn<DeviceArray<In>, DeviceArray<Out>>;

// Launches the stage on x once, and waits. Throws Failure.
template <class In, class Out>
void launch_once(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
    stage.launch(x.shape.M, x.shape.N, x.shape.K, x.A_device.data(), x.B_device.data(),
                 x.C.device());
    finish_launch();
}

// Throws Failure(kNoGpu) where a block of the stage takes more than the `most` bytes of shared memory
// that a GPU gives it.
template <class In, class Out>
void check_shared_memory(const StageOf<In, Out>& stage, int most) {
    if (stage.shared_bytes > most)
        throw Failure(kNoGpu,
                      format("a block takes %d KiB of shared memory, this GPU gives it %d KiB; "
                             "%s takes less",
                             (stage.shared_bytes + 1023) / 1024, most / 1024, stage.smaller_step));
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

// GFLOP/s of all multiprocessors at that clock; 0: no figure here.
double peak_at(double mhz, Limit which, int device);

// Times functions that launch work on the default stream.
class Timer {
public:
    explicit Timer(int device);

    // The functions take turns, each launch after a rest. cold: L2 is flushed, too.
    std::vector<Rested> run(const std::vector<std::function<void()>>& functions, int repeat,
                            bool cold = true);

    // Launches `function`, which takes `ms` milliseconds, over and over until the device is hot.
    // Then timed launches and launches beside the clock's probe take turns, still without a rest.
    Sustained sustained(const std::function<void()>& function, double ms);

    Clocks clocks() const;  // now, by NVML

private:
    void rest(bool cold);
    void beside_probe(const std::function<void()>& function, double ms);
    void add_probed(Clocks& clocks);

    Nvml nvml_;
    size_t flush_count_;
    DeviceArray<float> flush_;
    int flush_blocks_;
    ClockProbe probe_;
};

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

void finish_launch(const std::string& what) {
    check_cuda(cudaGetLastError(), "launching " + what);
    check_cuda(cudaDeviceSynchronize(), "running " + what);
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

#include <chrono>
#include <cmath>
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

// Lanes: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions". Tensor cores,
// FP16 with FP32 sums: NVIDIA's whitepapers on V100, A100 and H100; of other architectures a
// GeForce has half of what the other cards have.
double peak_at(double mhz, Limit which, int device) {
    const int sm = 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                   attribute(cudaDevAttrComputeCapabilityMinor, device);
    double flop = 0;  // a clock, of a multiprocessor
    if (which == &Limits::fp32_gflops) flop = sm <= 80 ? 128 : 256;
    if (which == &Limits::half2_gflops) flop = sm == 80 || sm == 90 ? 512 : sm < 90 ? 256 : 0;
    if (which == &Limits::tensor_gflops)
        flop = sm == 70 ? 1024 : sm == 80 ? 2048 : sm == 90 ? 4096 : 0;
    return flop * attribute(cudaDevAttrMultiProcessorCount, device) * mhz * 1e-3;
}

Gpu gpu_at_hand(int device) {
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (const auto known = find_gpu(properties.name)) return *known;
    const double mhz = attribute(cudaDevAttrClockRate, device) * 1e-3;
    const double memory_ghz = attribute(cudaDevAttrMemoryClockRate, device) * 1e-6;
    const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
    // Shared memory: 32 banks of 4 bytes a clock, on every GPU that CUDA 13 knows.
    const double shared = attribute(cudaDevAttrMultiProcessorCount, device) * mhz * 0.128;
    const auto peak = [&](Limit which) { return peak_at(mhz, which, device); };
    const Limits limits = {2 * memory_ghz * bus_bytes, shared, peak(&Limits::fp32_gflops),
                           peak(&Limits::half2_gflops), peak(&Limits::tensor_gflops)};
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

class Event {
public:
    Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() { check_cuda(cudaEventRecord(event_), "cudaEventRecord"); }
    void wait() const { check_cuda(cudaEventSynchronize(event_), "a timed launch"); }
    bool reached() const {
        const cudaError_t status = cudaEventQuery(event_);
        if (status != cudaErrorNotReady) check_cuda(status, "a timed launch");
        return status == cudaSuccess;
    }
    float ms_since(const Event& begin) const {
        float ms = 0;
        check_cuda(cudaEventElapsedTime(&ms, begin.event_, event_), "cudaEventElapsedTime");
        return ms;
    }

private:
    cudaEvent_t event_;
};

Timer::Timer(int device)
    : nvml_(bus_id(device)),
      flush_count_(2 * size_t(attribute(cudaDevAttrL2CacheSize, device)) / sizeof(float) + 1),
      flush_(flush_count_), flush_blocks_(8 * attribute(cudaDevAttrMultiProcessorCount, device)) {
    check_cuda(cudaMemset(flush_.data(), 0, flush_count_ * sizeof(float)), "cudaMemset");
}

// Reads zeros, and so writes nothing: what has to make room for them is written back before the
// timed launch, not during it.
static __global__ void flush_by_reading(const float* zeros, size_t count, float* nowhere) {
    float sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        sum += zeros[i];
    if (sum != 0) *nowhere = sum;
}

// Tensor cores that work without a break can exceed the device's power limit, and then its clock
// falls. One flush would do for the cache. So many keep the device busy until the host has queued
// what follows: it is not waited for then.
void Timer::rest(bool cold) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (int i = 0; i < (cold ? 16 : 0); ++i)
        flush_by_reading<<<flush_blocks_, 256>>>(flush_.data(), flush_count_, flush_.data());
    check_cuda(cudaGetLastError(), "launching the flush of L2");
}

static void launch_times(const std::function<void()>& function, int times) {
    for (int i = 0; i < times; ++i) function();
}

// Launches for two milliseconds, in rounds of a tenth or more.
void Timer::beside_probe(const std::function<void()>& function, double ms) {
    const int times = std::ceil(0.1 / ms);
    for (double done = 0; done < 2; done += times * ms)
        probe_.beside([&] { launch_times(function, times); }, times * ms);
}

Clocks Timer::clocks() const {
    const unsigned sm = nvml_.sm_clock();
    return {double(sm), "nvml", sm, nvml_.memory_clock()};
}

void Timer::add_probed(Clocks& clocks) {
    const double mhz = probe_.mhz();
    if (mhz > 0) clocks.sm = mhz, clocks.by = "probe";
}

std::vector<Rested> Timer::run(const std::vector<std::function<void()>>& functions, int repeat,
                               bool cold) {
    Event begin, end;
    for (const auto& function : functions) function();  // warm up: module loading, clocks
    check_cuda(cudaDeviceSynchronize(), "the warm-up launch");
    std::vector<std::vector<float>> ms(functions.size(), std::vector<float>(repeat));
    std::vector<Rested> rested(functions.size());
    for (int r = 0; r < repeat; ++r)
        for (size_t f = 0; f < functions.size(); ++f) {
            rest(cold);
            begin.record();
            functions[f]();
            end.record();
            if (r == 0) rested[f].clocks = clocks();
            end.wait();
            ms[f][r] = end.ms_since(begin);
        }
    for (size_t f = 0; f < functions.size(); ++f) {
        rested[f].times = summarize(ms[f]);
        rest(cold);
        beside_probe(functions[f], rested[f].times.median);
        add_probed(rested[f].clocks);
    }
    return rested;
}

Sustained Timer::sustained(const std::function<void()>& function, double ms) {
    constexpr double kHeating = 200, kPortion = 20, kTimed = 400;  // milliseconds
    struct {
        Event begin, end, next;
    } portions[2];
    Event cold, hot;
    const int heating = std::ceil(kHeating / ms);
    cold.record();
    launch_times(function, heating);
    hot.record();
    hot.wait();
    ms = hot.ms_since(cold) / heating;
    const int launches = std::ceil(kPortion / ms);
    double total = 0, watts = 0;
    int readings = 0, done = 0;
    Clocks meanwhile;
    // One portion runs while the next is queued, and while the host asks for the power.
    for (int queued = 0; total < kTimed; ++done) {
        for (; queued < done + 2; ++queued) {
            auto& portion = portions[queued % 2];
            portion.begin.record();
            launch_times(function, launches);
            portion.end.record();
            beside_probe(function, ms);
            portion.next.record();
        }
        const auto& portion = portions[done % 2];
        do {
            watts += nvml_.power();
            ++readings;
            meanwhile = clocks();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } while (!portion.next.reached());
        total += portion.end.ms_since(portion.begin);
    }
    add_probed(meanwhile);
    return {total / (done * launches), watts / readings, meanwhile};
}

#endif  // CUDA_EMULATOR
#endif  // HARNESS_COMPILED_APART

#ifndef CUDA_EMULATOR
#if !defined(HARNESS_COMPILED_APART) || defined(RUN_STAGE_IS_HERE)

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
                                  "sm_mhz",
                                  "predicted_gflops",
                                  "measured_of_predicted",
                                  {"percent_of_peak", "", 0, as_bar}});
    }

    GpuMachine(const Options& options, const Arithmetic& arithmetic)
        : options_(options), device_(select_device(options.device)), nvml_(bus_id(device_)),
          here_(gpu_at_hand(device_)), gpu_(options.gpu.value_or(here_)), work_(cost(options)) {
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
        done_ += std::exchange(now_, cost(x.shape));
        doing_ = std::string(stage.name) + " " + to_string(x.shape);
        check_shared_memory(stage, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_));
        work_.show(doing_ + ": verifying", done_);
        return verify_stage(x, stage.arithmetic, options_.seed, [&] { launch_once(stage, x); });
    }

    // Adds the times to the row; returns GFLOP/s, 0 where nothing is to be timed.
    template <class In, class Out>
    double measure(const StageOf<In, Out>& stage, Operands<In, Out>& x, Row& row) {
        return measure(std::vector{stage}, x, &row)[0];
    }

    // The same of several stages, each with a row: they and cuBLAS take turns.
    template <class In, class Out>
    std::vector<double> measure(const std::vector<StageOf<In, Out>>& stages, Operands<In, Out>& x,
                                Row* rows) {
        std::vector<double> gflops(stages.size());
        if (options_.verify_only) return gflops;
        work_.show(doing_ + ": timing", done_);
        x.set_timed(options_.seed);
        const auto [M, N, K] = x.shape;
        const In *A = x.A_device.data(), *B = x.B_device.data();
        Out* C = x.C.device();
        Cublas cublas;
        std::vector<std::function<void()>> functions;
        for (const StageOf<In, Out>& stage : stages)
            functions.push_back([&, M = M, N = N, K = K] { stage.launch(M, N, K, A, B, C); });
        functions.push_back([&, M = M, N = N, K = K] { cublas.multiply(M, N, K, A, B, C); });
        Timer timer(device_);
        const std::vector<Rested> rested = timer.run(functions, options_.repeat);
        work_.show(doing_ + ": timing without a rest", done_);
        std::vector<Sustained> sustained;
        for (size_t f = 0; f < functions.size(); ++f)
            sustained.push_back(timer.sustained(functions[f], rested[f].times.median));
        const double flop = 2.0 * M * N * K;
        const Rested& its = rested.back();
        for (size_t i = 0; i < stages.size(); ++i) {
            const Arithmetic& arithmetic = stages[i].arithmetic;
            const Times& mine = rested[i].times;
            const double at_clock = peak_at(rested[i].clocks.sm, arithmetic.peak, device_);
            Row& row = rows[i];
            gflops[i] = flop / mine.median * 1e-6;
            add_times(row, mine, flop, here_.peak.*arithmetic.peak);
            add_library(row, "cublas", flop, mine, its.times);
            row.push_back({"repeats", std::to_string(options_.repeat)});
            add_clocks(row, rested[i].clocks);
            row.push_back({"percent_of_peak_at_clock",
                           figure(at_clock > 0 ? 100 * gflops[i] / at_clock : 0, "%.1f")});
            row.push_back({"cublas_mhz", figure(its.clocks.sm)});
            add_sustained(row, sustained[i], flop);
            add_sustained(row, sustained.back(), flop, "cublas_");
        }
        return gflops;
    }

    static std::vector<Shape> ragged() { return {}; }
    const Gpu& predicted() const { return gpu_; }
    Row where() const { return where_measured(here_, nvml_); }
    template <class AnyStage>
    void verify_large_indices(const AnyStage&) const {}  // the command line refuses it
    void explain() const {}

private:
    // About so many seconds: most of the time goes into verifying on the host, and into resting.
    static double cost(Shape s) {
        return 2.5 + 2e-8 * (double(s.M) * s.K + double(s.K) * s.N + double(s.M) * s.N);
    }
    static double cost(const Options& options) {
        double all = 0;
        for (const Shape& shape : shapes_of(options)) all += cost(shape);
        return all;
    }

    Options options_;
    int device_;
    Nvml nvml_;
    Gpu here_, gpu_;
    std::string doing_;
    LongWork work_;
    double done_ = 0, now_ = 0;  // as cost() says
};

#endif  // RUN_STAGE_IS_HERE
#endif  // CUDA_EMULATOR
