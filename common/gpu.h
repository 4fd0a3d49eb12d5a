// A GPU, or the emulator in its place: memory, errors and launches; then its limits, the time of
// launches, and its clock while they run.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/command_line.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#endif
constexpr bool kEmulated = kBuild == kVerifiesOnCpu;

// ---- Memory, errors, launches ----

// Throws Failure(kDeviceFailed), with the call and some advice, unless status is cudaSuccess.
void check_cuda(cudaError_t status, const std::string& call);

// Selects `device` and returns it. Throws Failure: kNoGpu if there is no GPU, kBadCommandLine if
// there is none of that number.
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
    // Host memory that an array of this size takes: some on the emulator, none on a GPU.
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
inline void finish_launch(const std::string& what = "the kernel") {
    check_cuda(cudaGetLastError(), "launching " + what);
    check_cuda(cudaDeviceSynchronize(), "running " + what);
}

// Calls `verify`, on the emulator once for each order of threads. Returns what that proves beyond
// the result: ", in three orders of threads", or "" on a GPU.
std::string in_each_order(const std::function<void()>& verify);

// Bytes that all threads of a launch load from device memory, store to it, and load from shared
// memory. Negative: not stated.
struct Traffic {
    double loaded = -1, stored = -1, shared = -1;
};

// On the emulator, where it is traced: throws Failure(kWrongResult) unless the last launch moved as
// many bytes as stated.
void check_traffic(const Traffic& stated);

// Launches and waits. On the emulator nothing may race, the traffic must be as stated, and shared
// memory whose traffic is stated must be read without bank conflicts. Throws Failure.
void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch);

template <class In, class Out>
using Operands = OperandsIn<DeviceArray<In>, DeviceArray<Out>>;

// Launches the stage on x once, and waits. Throws Failure.
template <class In, class Out>
void launch_once(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
    stage.launch(x.shape.M, x.shape.N, x.shape.K, x.A_device.data(), x.B_device.data(),
                 x.C_device());
    finish_launch();
}

// Throws Failure(kNoGpu) if a block of the stage takes more than `most` bytes of shared memory.
template <class In, class Out>
void check_shared_memory(const StageOf<In, Out>& stage, int most) {
    if (stage.shared_bytes > most)
        throw Failure(kNoGpu,
                      format("a block takes %d KiB of shared memory, this GPU gives it %d KiB; "
                             "%s takes less",
                             (stage.shared_bytes + 1023) / 1024, most / 1024, stage.smaller_step));
}

// What the stage states.
template <class In, class Out>
Traffic traffic_of(const StageOf<In, Out>& stage, Shape s) {
    const auto [M, N, K] = s;
    const double more = stage.stored_elements ? stage.stored_elements(M, N, K) - double(M) * N : 0;
    return {sizeof(In) * stage.loaded_elements(M, N, K),
            sizeof(Out) * double(M) * N + sizeof(float) * more,
            stage.shared_loaded_bytes ? stage.shared_loaded_bytes(M, N, K) : 0};
}

// Flop per byte of that traffic, without caches.
template <class In, class Out>
Intensity intensity_of(const StageOf<In, Out>& stage, Shape s) {
    const double flop = 2.0 * s.M * s.N * s.K;
    const Traffic all = traffic_of(stage, s);
    return {flop / (all.loaded + all.stored), all.shared > 0 ? flop / all.shared : 0};
}

// ---- Clocks ----
// A GPU lowers its clock within microseconds when its tensor cores start to work, and raises it as
// fast. The driver, or a kernel before or after, would therefore report the wrong clock. So either
// the kernel reads its own clock, or one thread in a second stream counts the cycles of its
// multiprocessor while the launches run.

// Cycles of a multiprocessor, and nanoseconds. 0 on the emulator.
struct Elapsed {
    unsigned long long cycles, nanoseconds;
};

#ifdef CUDA_EMULATOR
inline Elapsed clock_now() { return {0, 0}; }
#else
__device__ inline unsigned long long nanoseconds_now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

__device__ inline Elapsed clock_now() {
    return {static_cast<unsigned long long>(clock64()), nanoseconds_now()};
}
#endif

inline double mhz_of(const Elapsed& elapsed) {
    const double ns = double(elapsed.nanoseconds);
    return ns > 0 ? 1e3 * double(elapsed.cycles) / ns : 0;
}

// ---- Times ----

using Launch = std::function<void()>;

// Times of launches that each came after a rest.
struct Rested : Times {
    Clocks clocks;
};

// Launches without a rest: the mean milliseconds of one, the power, and the clock; 0: unknown.
struct Sustained {
    double ms, watts, mhz;
};
// Appends them to a row. flop: of one launch, or 0. whose: prefix of the columns' names.
void add_sustained(Row& row, const Sustained& sustained, double flop,
                   const std::string& whose = "");

// The GPU in use: its limits, and the times of launches on its default stream. On the emulator it
// has one multiprocessor and times nothing.
class Bench {
public:
    // Takes the device into use. Throws as select_device() does.
    explicit Bench(int device, int emulated_sm = 80);

    // The launches take turns, each after a rest. cold: L2 is flushed, too.
    std::vector<Rested> time(const std::vector<Launch>& launches, int repeat, bool cold = true);
    // The same for one, which progress() names.
    Rested time(const std::string& what, const Launch& launch, int repeat, bool cold = true);
    // Repeats `launch`, which takes `ms` milliseconds, until the device is hot. Then portions of
    // timed launches alternate with launches beside the clock probe, still without a rest.
    Sustained sustained(const Launch& launch, double ms);
    // The clocks while `launch` runs.
    Clocks clocks_beside(const Launch& launch, double ms);

    Row where() const;  // GPU, driver, CUDA and date: the last cells of a row
    // GFLOP/s of the whole GPU at that clock, or 0 if unknown.
    double peak_at(double mhz, Limit which) const;

    const int device, sm, multiprocessors;  // sm: 75 is compute capability 7.5
    const size_t l2_bytes;
    const Gpu gpu;  // its limits: measured, else published, else computed from its attributes

#ifndef CUDA_EMULATOR
    int attribute(cudaDeviceAttr which) const;

private:
    Gpu at_hand() const;
    Nvml nvml_;
    struct Timing;  // what only timing needs: made when first asked for
    Timing& timing();
    std::shared_ptr<Timing> timing_;
#endif
};

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
        throw refused("--device", std::to_string(device),
                      format("takes a number from 0 to %d", count - 1));
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return device;
}

void add_sustained(Row& row, const Sustained& sustained, double flop, const std::string& whose) {
    row += {{whose + "sustained_ms", figure(sustained.ms, "%.4f")},
            {whose + "sustained_gflops", figure(flop / sustained.ms * 1e-6)},
            {whose + "sustained_mhz", figure(sustained.mhz)},
            {whose + "power_w", figure(sustained.watts)}};
}

#ifdef CUDA_EMULATOR

#include <tuple>

std::string in_each_order(const std::function<void()>& verify) {
    for (const auto& [name, order] : emulator::kOrders) {
        emulator::set_order(order);
        doing(format("threads in %s order", name), verify);
    }
    return std::string(", in three orders of threads") +
           (emulator::tracing() ? ", and the bytes moved are those stated" : "");
}

void check_traffic(const Traffic& stated) {
    if (!emulator::tracing()) return;
    const emulator::Counts& c = emulator::counts();
    const std::tuple<const char*, uint64_t, double> all[] = {
        {"loaded from device memory", c.global_load_bytes, stated.loaded},
        {"stored to device memory", c.global_store_bytes, stated.stored},
        {"loaded from shared memory", c.shared_load_bytes, stated.shared}};
    for (const auto& [moved, counted, expected] : all)
        if (expected >= 0 && double(counted) != expected)
            throw Failure(kWrongResult, format("%.0f bytes %s, stated are %.0f", double(counted),
                                               moved, expected));
}

void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch) {
    emulator::reset_counts();
    launch();
    finish_launch(what);
    const emulator::Counts& c = emulator::counts();
    if (!c.problems.empty()) throw Failure(kWrongResult, what + ": " + c.problems[0]);
    doing(what, [&] { check_traffic(stated); });
    if (stated.shared >= 0 && c.shared_load_wavefronts != c.shared_load_ideal)
        throw Failure(kWrongResult, what + ": loads from shared memory have bank conflicts");
}

Bench::Bench(int device, int emulated_sm)
    : device(select_device(device)), sm(emulated_sm), multiprocessors(1),
      l2_bytes(0), gpu{"", "CPU emulator", {}, {}, ""} {
    emulator::set_architecture(sm);
}
std::vector<Rested> Bench::time(const std::vector<Launch>&, int, bool) { return {}; }
Rested Bench::time(const std::string&, const Launch&, int, bool) { return {}; }
Sustained Bench::sustained(const Launch&, double) { return {}; }
Clocks Bench::clocks_beside(const Launch&, double) { return {}; }
Row Bench::where() const { return {}; }
double Bench::peak_at(double, Limit) const { return 0; }

#else

#include <chrono>
#include <cmath>
#include <thread>

std::string in_each_order(const std::function<void()>& verify) {
    verify();
    return "";
}

void run_checked(const std::string& what, const Traffic&, const std::function<void()>& launch) {
    launch();
    finish_launch(what);
}

// A GPU's event.
class Event {
public:
    explicit Event(unsigned flags = cudaEventDefault) {
        check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
    }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const { return event_; }
    void record() { check_cuda(cudaEventRecord(event_), "cudaEventRecord"); }
    void wait() const { check_cuda(cudaEventSynchronize(event_), "a timed launch"); }
    bool reached() const {
        const cudaError_t status = cudaEventQuery(event_);
        if (status != cudaErrorNotReady) check_cuda(status, "a timed launch");
        return status == cudaSuccess;
    }
    float ms_since(const Event& begin) const {
        float ms = 0;
        check_cuda(cudaEventElapsedTime(&ms, begin, event_), "cudaEventElapsedTime");
        return ms;
    }

private:
    cudaEvent_t event_;
};

// The probe's thread counts from the opening of a round to its close. Rounds are numbered from 1.
struct Counting {
    unsigned running, opened, closed;  // last round that ran, was opened, was closed
    Elapsed all;  // in all rounds
};

// Counts for at most `limit` nanoseconds.
static __global__ void count_cycles(volatile Counting* counting, unsigned round,
                                    unsigned long long limit) {
    const auto pause = [] {  // polling without a pause would cost power
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
        __nanosleep(200);
#endif
    };
    counting->running = round;
    // If kernels can't run side by side, as under a profiler, nobody opens the round: give up.
    const unsigned long long give_up = nanoseconds_now() + 2'000'000;
    while (counting->opened != round && nanoseconds_now() < give_up) pause();
    if (counting->opened != round || counting->closed == round) return;
    const Elapsed begin = clock_now();
    while (counting->closed != round && nanoseconds_now() - begin.nanoseconds < limit) pause();
    const Elapsed end = clock_now();
    counting->all.cycles += end.cycles - begin.cycles;
    counting->all.nanoseconds += end.nanoseconds - begin.nanoseconds;
}

// Waits until the counting thread runs, so that the launches that follow are counted from their
// start. Gives up after a millisecond.
static __global__ void open_round(volatile Counting* counting, unsigned round) {
    const unsigned long long give_up = nanoseconds_now() + 1'000'000;
    while (counting->running != round && nanoseconds_now() < give_up) continue;
    counting->opened = round;
}

static __global__ void close_round(volatile Counting* counting, unsigned round) {
    counting->closed = round;
}

class ClockProbe {
public:
    ClockProbe() {
        int least = 0, greatest = 0;
        check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                   "cudaDeviceGetStreamPriorityRange");
        // Non-blocking: the default stream does not wait for this one, nor this one for it.
        check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
                   "cudaStreamCreateWithPriority");
        // Give the thread's multiprocessor shared memory: a block that needs some could not join
        // it.
        check_cuda(
            cudaFuncSetAttribute(count_cycles, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared),
            "cudaFuncSetAttribute");
        counting_.upload({Counting{}});
        beside([] {}, 0);  // loads the kernels now: later that might have to wait for a running one
        mhz();
    }
    ~ClockProbe() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    ClockProbe(const ClockProbe&) = delete;
    ClockProbe& operator=(const ClockProbe&) = delete;

    // Queues `launches` on the default stream and lets the thread count beside them, for at most
    // `ms` milliseconds, the time that they take. (A block may have to wait for the thread's
    // multiprocessor and then run alone; that tail must not count.)
    void beside(const Launch& launches, double ms) {
        ++round_;
        before_.record();
        check_cuda(cudaStreamWaitEvent(stream_, before_, 0), "cudaStreamWaitEvent");
        count_cycles<<<1, 1, 0, stream_>>>(counting_.data(), round_, ms * 1e6);
        open_round<<<1, 1>>>(counting_.data(), round_);
        launches();
        close_round<<<1, 1>>>(counting_.data(), round_);
        check_cuda(cudaGetLastError(), "launching the clock's probe");
    }

    // Waits. Returns the mean MHz of all rounds since the last call, or 0 if none was counted.
    double mhz() {
        check_cuda(cudaStreamSynchronize(cudaStreamLegacy), "launches beside the clock's probe");
        check_cuda(cudaStreamSynchronize(stream_), "the clock's probe");
        Counting counting;
        counting_.read(0, 1, &counting);
        counting_.upload({Counting{}});
        return mhz_of(counting.all);
    }

private:
    cudaStream_t stream_;
    Event before_{cudaEventDisableTiming};
    DeviceArray<Counting> counting_{1};
    unsigned round_ = 0;
};

static std::string bus_id(int device) {
    char bus[32];
    check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "cudaDeviceGetPCIBusId");
    return bus;
}

Bench::Bench(int device, int)
    : device(select_device(device)), sm(10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                                        attribute(cudaDevAttrComputeCapabilityMinor)),
      multiprocessors(attribute(cudaDevAttrMultiProcessorCount)),
      l2_bytes(attribute(cudaDevAttrL2CacheSize)), gpu(at_hand()), nvml_(bus_id(device)) {}

int Bench::attribute(cudaDeviceAttr which) const {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

// Sources: for lanes the CUDA C++ Programming Guide, "Throughput of Native Arithmetic
// Instructions"; for tensor cores (FP16, FP32 sums) NVIDIA's whitepapers on V100, A100 and H100.
// Other architectures get 0: there a GeForce has half the rate of the professional cards.
double Bench::peak_at(double mhz, Limit which) const {
    double flop = 0;  // a clock, of a multiprocessor
    if (which == &Limits::fp32_gflops) flop = sm <= 80 ? 128 : 256;
    if (which == &Limits::half2_gflops) flop = sm == 80 || sm == 90 ? 512 : sm < 90 ? 256 : 0;
    if (which == &Limits::tensor_gflops)
        flop = sm == 70 ? 1024 : sm == 80 ? 2048 : sm == 90 ? 4096 : 0;
    if (which == &Limits::wgmma_gflops) flop = sm == 90 ? 4096 : 0;
    return flop * multiprocessors * mhz * 1e-3;
}

Gpu Bench::at_hand() const {
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    if (const auto known = find_gpu(properties.name)) return *known;
    const double mhz = attribute(cudaDevAttrClockRate) * 1e-3;
    const double memory_ghz = attribute(cudaDevAttrMemoryClockRate) * 1e-6;
    const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth) / 8.0;
    // Shared memory: 32 banks of 4 bytes a clock, on every GPU that CUDA 13 knows.
    const double shared = multiprocessors * mhz * 0.128;
    const auto peak = [&](Limit which) { return peak_at(mhz, which); };
    const Limits limits = {2 * memory_ghz * bus_bytes,   shared,
                           peak(&Limits::fp32_gflops),   peak(&Limits::half2_gflops),
                           peak(&Limits::tensor_gflops), peak(&Limits::wgmma_gflops)};
    return {"", properties.name, limits, {}, "by the device's attributes"};
}

Row Bench::where() const {
    int version = 0;
    check_cuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    return {{"gpu", gpu.full_name},
            {"driver", nvml_.driver()},
            {"cuda", format("%d.%d", version / 1000, version % 1000 / 10)},
            {"date", today()}};
}

// Flushes L2 by reading zeros. A flush that writes would leave dirty lines, which would be written
// back during the timed launch.
static __global__ void flush_by_reading(const float* zeros, size_t count, float* nowhere) {
    float sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        sum += zeros[i];
    if (sum != 0) *nowhere = sum;
}

static void launch_times(const Launch& launch, int times) {
    for (int i = 0; i < times; ++i) launch();
}

struct Bench::Timing {
    DeviceArray<float> zeros;  // twice as long as L2
    int blocks;  // of the flush
    ClockProbe probe = {};

    // Rests, because tensor cores that work without a break exceed the power limit, which lowers
    // the clock. Then flushes L2 if cold. One flush is enough for the cache. Sixteen also keep the
    // device busy until the host has queued the timed launch.
    void rest(bool cold) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (int i = 0; i < (cold ? 16 : 0); ++i)
            flush_by_reading<<<blocks, 256>>>(zeros.data(), zeros.size(), zeros.data());
        check_cuda(cudaGetLastError(), "launching the flush of L2");
    }
    // Launches for two milliseconds, in rounds of at least a tenth of a millisecond.
    void beside_probe(const Launch& launch, double ms) {
        const int times = std::ceil(0.1 / ms);
        for (double done = 0; done < 2; done += times * ms)
            probe.beside([&] { launch_times(launch, times); }, times * ms);
    }
};

Bench::Timing& Bench::timing() {
    if (timing_) return *timing_;
    const size_t count = 2 * l2_bytes / sizeof(float) + 1;
    timing_.reset(new Timing{DeviceArray<float>(count), 8 * multiprocessors});
    check_cuda(cudaMemset(timing_->zeros.data(), 0, count * sizeof(float)), "cudaMemset");
    return *timing_;
}

Clocks Bench::clocks_beside(const Launch& launch, double ms) {
    timing().beside_probe(launch, ms);
    const unsigned nvml = nvml_.sm_clock(), memory = nvml_.memory_clock();
    const double mhz = timing().probe.mhz();
    return {mhz > 0 ? mhz : nvml, mhz > 0 ? "probe" : "nvml", nvml, memory};
}

std::vector<Rested> Bench::time(const std::vector<Launch>& launches, int repeat, bool cold) {
    Event begin, end;
    for (const Launch& launch : launches) launch();  // warm up: module loading, clocks
    check_cuda(cudaDeviceSynchronize(), "the warm-up launch");
    std::vector<std::vector<float>> ms(launches.size());
    for (int r = 0; r < repeat; ++r)
        for (size_t i = 0; i < launches.size(); ++i) {
            timing().rest(cold);
            begin.record();
            launches[i]();
            end.record();
            end.wait();
            ms[i].push_back(end.ms_since(begin));
        }
    std::vector<Rested> rested;
    for (size_t i = 0; i < launches.size(); ++i) {
        const Times times = summarize(ms[i]);
        timing().rest(cold);
        rested.push_back({times, clocks_beside(launches[i], times.median)});
    }
    return rested;
}

Rested Bench::time(const std::string& what, const Launch& launch, int repeat, bool cold) {
    progress(what + ": timing");
    const Rested rested = time({launch}, repeat, cold)[0];
    check_cuda(cudaGetLastError(), "launching " + what);
    progress("");
    return rested;
}

Sustained Bench::sustained(const Launch& launch, double ms) {
    constexpr double kHeating = 200, kPortion = 20, kTimed = 400;  // milliseconds
    struct {
        Event begin, end, next;
    } portions[2];
    Event cold, hot;
    const int heating = std::ceil(kHeating / ms);
    cold.record();
    launch_times(launch, heating);
    hot.record();
    hot.wait();
    ms = hot.ms_since(cold) / heating;
    const int launches = std::ceil(kPortion / ms);
    double total = 0, watts = 0;
    int readings = 0, done = 0;
    // One portion runs while the next is queued, and while the host asks for the power.
    for (int queued = 0; total < kTimed; ++done) {
        for (; queued < done + 2; ++queued) {
            auto& portion = portions[queued % 2];
            portion.begin.record();
            launch_times(launch, launches);
            portion.end.record();
            timing().beside_probe(launch, ms);
            portion.next.record();
        }
        const auto& portion = portions[done % 2];
        do {
            watts += nvml_.power();
            ++readings;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } while (!portion.next.reached());
        total += portion.end.ms_since(portion.begin);
    }
    return {total / (done * launches), watts / readings, timing().probe.mhz()};
}

#endif  // CUDA_EMULATOR
#endif  // HARNESS_COMPILED_APART
