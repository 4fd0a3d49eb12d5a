// machine.h and gpu_timer.h for a GPU: launches are timed by events, each after a pause and with a
// cold L2, alternately with cuBLAS's product of the same matrices.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/checked_launch.h"
#include "common/clock.h"
#include "common/cublas.h"
#include "common/cublas_lt.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/machine.h"
#include "common/nvml.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/roofline.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/timing_kernels.h"
#include "common/verify.h"

int thread_orders(bool) { return 1; }
void begin_order(int, unsigned) {}
void end_order(const Traffic&) {}
Failure explained(const Failure& failure) { return failure; }

void run_checked(const std::string& what, const Traffic&, const std::function<void()>& launch) {
    launch();
    finish_launch(what);
}

// ---- GpuTimer ----

// A CUDA event.
class Event {
public:
    Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
    ~Event() { cudaEventDestroy(event_); }
    Event& operator=(Event&&) = delete;  // neither moved nor copied
    operator cudaEvent_t() const { return event_; }
    void record() { check_cuda(cudaEventRecord(event_), "cudaEventRecord"); }
    float ms_since(const Event& begin) const {  // waits
        float ms = 0;
        check_cuda(cudaEventSynchronize(event_), "a timed launch");
        check_cuda(cudaEventElapsedTime(&ms, begin, event_), "cudaEventElapsedTime");
        return ms;
    }

private:
    cudaEvent_t event_;
};

static Nvml nvml_of(int device) {
    char bus[32];
    check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "cudaDeviceGetPCIBusId");
    return Nvml(bus);
}

struct GpuTimer::Timing {
    explicit Timing(const GpuTimer& timer)
        : nvml(nvml_of(timer.device)), zeros((timer.l2_bytes * 2 / sizeof(float) / 256 + 1) * 256),
          sm_count(timer.sm_count) {
        check_cuda(cudaMemset(zeros.data(), 0, zeros.size() * sizeof(float)), "cudaMemset");
        counting.upload(std::vector<Counting>(counting.size()));
    }
    // Rests, because tensor cores that work without a break exceed the power limit, which lowers
    // the clock. Then flushes L2 if cold. One flush is enough for the cache; sixteen of them also
    // keep the device busy until the host has queued the timed launch.
    void rest(bool cold) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (int i = 0; i < (cold ? 16 : 0); ++i) launch_flush(zeros.data(), zeros.size());
        check_cuda(cudaGetLastError(), "launching the flush of L2");
    }
    // Queues about two milliseconds of launches that take `ms` each, and counts their cycles.
    void count(const Launch& launch, double ms) {
        launch_clocks(counting.data(), true, sm_count);
        for (int i = 0; i < std::ceil(2 / ms); ++i) launch();
        launch_clocks(counting.data(), false, sm_count);
        check_cuda(cudaGetLastError(), "launching the kernel that reads the clocks");
    }
    // Waits for the launches. Returns the clock of the slowest SM since the last call in MHz, or 0
    // if none was read. The slowest one counts, because an SM without work has a higher clock than
    // those whose tensor cores are busy.
    double mhz() {
        std::vector<Counting> all;
        counting.download(all);
        counting.upload(std::vector<Counting>(all.size()));
        double least = 0;
        for (const Counting& each : all)
            if (const double mhz = mhz_of(each.total); least == 0 || (0 < mhz && mhz < least))
                least = mhz;
        return least;
    }
    Nvml nvml;
    DeviceArray<float> zeros;  // twice as long as L2
    DeviceArray<Counting> counting{1024};  // more than any GPU has SMs
    int sm_count;
};

GpuTimer::Timing& GpuTimer::timing() {
    if (!timing_) timing_ = std::make_shared<Timing>(*this);
    return *timing_;
}

static int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

// Sources: for CUDA cores the CUDA C++ Programming Guide, "Throughput of Native Arithmetic
// Instructions"; for tensor cores (FP16 with FP32 accumulate) NVIDIA's whitepapers on V100, A100
// and H100. Other architectures get 0, because there a GeForce has half the rate of the
// professional cards.
double GpuTimer::peak_at(double mhz, Limit which) const {
    Limits flop = {};  // per clock and SM
    flop.fp32_gflops = sm <= 80 ? 128 : 256;
    flop.half2_gflops = sm == 80 || sm == 90 ? 512 : sm < 90 ? 256 : 0;
    flop.tensor_gflops = sm == 70 ? 1024 : sm == 80 ? 2048 : sm == 90 ? 4096 : 0;
    flop.wgmma_gflops = sm == 90 ? 4096 : 0;
    return flop.*which * sm_count * mhz * 1e-3;
}

static Gpu gpu_of(const GpuTimer& timer) {  // timer.gpu is not set yet
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, timer.device), "cudaGetDeviceProperties");
    if (const auto known = find_gpu(properties.name)) return *known;
    const double mhz = attribute(cudaDevAttrClockRate, timer.device) * 1e-3;
    const double memory_ghz = attribute(cudaDevAttrMemoryClockRate, timer.device) * 1e-6;
    const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, timer.device) / 8.0;
    // Shared memory: 32 banks of 4 bytes per clock, on every GPU that CUDA 13 supports.
    const auto peak = [&](Limit which) { return timer.peak_at(mhz, which); };
    const Limits limits = {2 * memory_ghz * bus_bytes,   timer.sm_count * mhz * 0.128,
                           peak(&Limits::fp32_gflops),   peak(&Limits::half2_gflops),
                           peak(&Limits::tensor_gflops), peak(&Limits::wgmma_gflops)};
    return {properties.name, limits, {}, "by the device's attributes"};
}

GpuTimer::GpuTimer(int device, int)
    : device(select_device(device)), sm(10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                                        attribute(cudaDevAttrComputeCapabilityMinor, device)),
      sm_count(attribute(cudaDevAttrMultiProcessorCount, device)),
      l2_bytes(attribute(cudaDevAttrL2CacheSize, device)), gpu(gpu_of(*this)) {}

Row GpuTimer::where() const {
    int version = 0;
    check_cuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    return {{"gpu", gpu.full_name},
            {"driver", nvml_of(device).driver()},
            {"cuda", format("%d.%d", version / 1000, version % 1000 / 10)},
            {"date", today()}};
}

Clocks GpuTimer::clocks_during(const Launch& launch, double ms) {
    timing().count(launch, ms);
    return {timing().nvml.sm_clock(), timing().nvml.memory_clock(), timing().mhz(), "probe"};
}

std::vector<Rested> GpuTimer::time(const std::vector<Launch>& launches, int repeat, bool cold) {
    for (const Launch& launch : launches) launch();  // warm up: module loading, clocks
    finish_launch("the warm-up launch");
    Event begin, end;
    std::vector<std::vector<float>> ms(launches.size());
    for (int r = 0; r < repeat; ++r)
        for (size_t i = 0; i < launches.size(); ++i) {
            timing().rest(cold);
            begin.record();
            launches[i]();
            end.record();
            ms[i].push_back(end.ms_since(begin));
        }
    std::vector<Rested> rested;
    for (size_t i = 0; i < launches.size(); ++i) {
        const Times times = summarize(ms[i]);
        timing().rest(cold);
        rested.push_back({times, clocks_during(launches[i], times.median)});
    }
    return rested;
}

Sustained GpuTimer::sustained(const Launch& launch, double ms) {
    Event begin, end;
    const auto queue = [&](double length) {  // launches for `length` milliseconds in all
        const int launches = std::ceil(length / ms);
        begin.record();
        for (int i = 0; i < launches; ++i) launch();
        end.record();
        return launches;
    };
    const int heating = queue(200);
    ms = end.ms_since(begin) / heating;
    double total = 0, watts = 0;
    int launches = 0, batches = 0;
    for (; total < 400; ++batches) {
        launches += queue(40);
        timing().count(launch, ms);  // while these run, the host queues the next batch
        watts += timing().nvml.power();
        total += end.ms_since(begin);
    }
    return {total / launches, watts / batches, timing().mhz()};
}

// ---- Machine ----

const int Machine::kDefaultSize = 4096;
const std::vector<Shape> Machine::kBeforeDefault = {};
std::vector<Shape> Machine::shapes_for(const ConfigFacts&) { return {}; }
OptionTable Machine::options(Options& o) {
    return {{"--rested", "", "time launches after a pause alone, in half the time", flag(o.rested)},
            {"--best-lt", "", "also time the fastest algorithm of cuBLASLt", flag(o.best_lt)}};
}

Machine::Machine(const Options& options, const Facts& facts)
    : options_(options), timer_(options.device), gpu_(options.gpu.value_or(timer_.gpu)) {
    const Row at = timer_.where();
    std::printf("%s, driver %s, CUDA %s, clocks up to %d MHz (SM) and %d MHz (memory)\n",
                at[0].value.c_str(), at[1].value.c_str(), at[2].value.c_str(),
                attribute(cudaDevAttrClockRate, options.device) / 1000,
                attribute(cudaDevAttrMemoryClockRate, options.device) / 1000);
    print_gpu(gpu_, facts.arithmetic);
}

Columns Machine::columns() const {
    if (options_.verify_only) return kVerifiedColumns;
    Columns columns = {{"median_ms", "time", 10, as_time},
                       {"gflops", "TFLOP/s", 9, as_tera},
                       {"percent_of_peak", "of|peak", 7, as_percent},
                       {"percent_of_cublas", "of|cuBLAS", 8, as_percent}};
    if (options_.best_lt) columns.push_back({"percent_of_lt", "of|best Lt", 9, as_percent});
    columns.insert(columns.end(), {{"sm_mhz", "MHz", 6},
                                   {"predicted_gflops", "predicted|TFLOP/s", 11, as_tera},
                                   {"measured_of_predicted", "ratio", 7}});
    return columns;
}

size_t Machine::guard() const { return kGuard; }
void Machine::begin_counting(const Product&) {}
void Machine::end_counting() {}
std::string Machine::lines_of(const Product&, char) const { return ""; }
void Machine::after_row() {}
void Machine::check_launched(const Facts&) const {}

const std::string Machine::kFp32Name = "cublas", Machine::kFp32Title = "of|cuBLAS";
void Machine::multiply_in_fp32(const Product& p) {
    Cublas().multiply(p.shape.M, p.shape.N, p.shape.K, p.A, p.B, p.C, CUDA_R_32F, CUDA_R_32F,
                      CUBLAS_COMPUTE_32F);
    finish_launch("cublasGemmEx");
}

// The fastest of cuBLASLt's algorithms, by three launches of each. Empty if there is none.
static Launch best_of(CublasLt& lt, GpuTimer& timer) {
    std::vector<Launch> launches;
    for (size_t i = 0; i < lt.algorithms(); ++i) launches.push_back([&lt, i] { lt.multiply(i); });
    if (launches.empty()) return {};
    const std::vector<Rested> times = timer.time(launches, 3);
    const auto least = std::min_element(times.begin(), times.end(),
                                        [](auto& a, auto& b) { return a.median < b.median; });
    return launches[least - times.begin()];
}

void Machine::measure(const Product& p, const Launch& launch, Row& row) {
    const Limit peak = p.facts.arithmetic.peak;
    const int products = p.facts.arithmetic.products;
    double gflops = 0;
    if (!options_.verify_only) {
        progress(p.name() + ": timing");
        Cublas cublas;
        const auto in = p.in_bytes == 4 ? CUDA_R_32F : p.bf16 ? CUDA_R_16BF : CUDA_R_16F;
        const auto out = p.out_bytes == 4 ? CUDA_R_32F : CUDA_R_16F;
        const auto compute = peak == kHalf2.peak ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F;
        const Launch cublas_launch = [&] {
            cublas.multiply(p.shape.M, p.shape.N, p.shape.K, p.A, p.B, p.C, in, out, compute);
        };
        std::vector<Launch> launches = {launch, cublas_launch};
        std::optional<CublasLt> lt;
        if (options_.best_lt) {
            lt.emplace(p.shape.M, p.shape.N, p.shape.K, p.A, p.B, p.C, in, out, compute);
            if (const Launch best = best_of(*lt, timer_)) launches.push_back(best);
        }
        const std::vector<Rested> times = timer_.time(launches, options_.repeat);
        const Rested &ours = times[0], &theirs = times[1];
        gflops = p.flop() / ours.median * 1e-6;
        add_times(row, ours, p.flop(), timer_.gpu.peak.*peak / products);
        add_library(row, "cublas", p.flop(), ours, theirs);
        if (lt) add_library(row, "lt", p.flop(), ours, times.size() > 2 ? times[2] : Rested());
        add_cells(row, {{"repeats", std::to_string(options_.repeat)}});
        add_clocks(row, ours.clocks);
        add_cells(row, {{"percent_of_peak_at_clock",
                         percent(gflops, timer_.peak_at(ours.clocks.sm, peak) / products)},
                        {"cublas_mhz", figure(theirs.clocks.sm)}});
        if (!options_.rested) {
            progress(p.name() + ": timing back-to-back launches");
            add_sustained(row, timer_.sustained(launch, ours.median), p.flop());
            add_sustained(row, timer_.sustained(cublas_launch, theirs.median), p.flop(), "cublas_");
        }
    }
    add_prediction(row, p.flop(), p.traffic(), p.facts.arithmetic, gpu_, gflops);
    add_cells(row, timer_.where());
}
