// A GPU's side of machine.h and bench.h: launches are timed by events, each after a rest and with a
// cold L2, beside cuBLAS's product of the same matrices.
#include <chrono>
#include <cmath>
#include <thread>

#include "common/lab/clock.h"
#include "common/lab/cublas.h"
#include "common/lab/nvml.h"
#include "common/machine.h"

void in_each_order(const std::function<void()>& verify, const Traffic&, unsigned) { verify(); }

void run_checked(const std::string& what, const Traffic&, const std::function<void()>& launch) {
    launch();
    finish_launch(what);
}

// ---- Bench ----

// Flushes L2 by reading zeros. Dirty lines would be written back during the timed launch.
static __global__ void flush_by_reading(float* zeros) {
    if (zeros[blockIdx.x * size_t(blockDim.x) + threadIdx.x] != 0) *zeros = 1;
}

static void launch_times(const Launch& launch, int times) {
    for (int i = 0; i < times; ++i) launch();
}

static Nvml nvml_of(int device) {
    char bus[32];
    check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "cudaDeviceGetPCIBusId");
    return Nvml(bus);
}

struct Bench::Timing {
    explicit Timing(const Bench& bench)
        : nvml(nvml_of(bench.device)), blocks(2 * bench.l2_bytes / (256 * sizeof(float)) + 1),
          zeros(blocks * 256) {
        check_cuda(cudaMemset(zeros.data(), 0, zeros.size() * sizeof(float)), "cudaMemset");
    }
    // Rests, because tensor cores that work without a break exceed the power limit, which lowers
    // the clock. Then flushes L2 if cold. One flush is enough for the cache. Sixteen also keep the
    // device busy until the host has queued the timed launch.
    void rest(bool cold) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (int i = 0; i < (cold ? 16 : 0); ++i) flush_by_reading<<<blocks, 256>>>(zeros.data());
        check_cuda(cudaGetLastError(), "launching the flush of L2");
    }
    // Launches for two milliseconds, in rounds of at least a tenth of a millisecond.
    void beside_probe(const Launch& launch, double ms) {
        const int times = std::ceil(0.1 / ms);
        for (double done = 0; done < 2; done += times * ms)
            probe.beside([&] { launch_times(launch, times); }, times * ms);
    }
    Nvml nvml;
    size_t blocks;  // of the flush
    DeviceArray<float> zeros;  // twice as long as L2
    ClockProbe probe;
};

Bench::Timing& Bench::timing() {
    if (!timing_) timing_ = std::make_shared<Timing>(*this);
    return *timing_;
}

static int attribute(cudaDeviceAttr which, int device) {
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

static Gpu gpu_of(const Bench& bench) {  // whose gpu is not known yet
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, bench.device), "cudaGetDeviceProperties");
    if (const auto known = find_gpu(properties.name)) return *known;
    const double mhz = attribute(cudaDevAttrClockRate, bench.device) * 1e-3;
    const double memory_ghz = attribute(cudaDevAttrMemoryClockRate, bench.device) * 1e-6;
    const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, bench.device) / 8.0;
    // Shared memory: 32 banks of 4 bytes a clock, on every GPU that CUDA 13 knows.
    const auto peak = [&](Limit which) { return bench.peak_at(mhz, which); };
    const Limits limits = {2 * memory_ghz * bus_bytes,   bench.multiprocessors * mhz * 0.128,
                           peak(&Limits::fp32_gflops),   peak(&Limits::half2_gflops),
                           peak(&Limits::tensor_gflops), peak(&Limits::wgmma_gflops)};
    return {properties.name, limits, {}, "by the device's attributes"};
}

Bench::Bench(int device, int)
    : device(select_device(device)), sm(10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                                        attribute(cudaDevAttrComputeCapabilityMinor, device)),
      multiprocessors(attribute(cudaDevAttrMultiProcessorCount, device)),
      l2_bytes(attribute(cudaDevAttrL2CacheSize, device)), gpu(gpu_of(*this)) {}

Row Bench::where() const {
    int version = 0;
    check_cuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    return {{"gpu", gpu.full_name},
            {"driver", nvml_of(device).driver()},
            {"cuda", format("%d.%d", version / 1000, version % 1000 / 10)},
            {"date", today()}};
}

Clocks Bench::clocks_beside(const Launch& launch, double ms) {
    Timing& with = timing();
    with.beside_probe(launch, ms);
    const unsigned nvml = with.nvml.sm_clock(), memory = with.nvml.memory_clock();
    const double mhz = with.probe.mhz();
    return {mhz > 0 ? mhz : nvml, mhz > 0 ? "probe" : "nvml", nvml, memory};
}

std::vector<Rested> Bench::time(const std::vector<Launch>& launches, int repeat, bool cold) {
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
        rested.push_back({times, clocks_beside(launches[i], times.median)});
    }
    return rested;
}

Sustained Bench::sustained(const Launch& launch, double ms) {
    constexpr double kHeating = 200, kPortion = 40, kTimed = 400;  // milliseconds
    Timing& with = timing();
    Event begin, end;
    const int heating = std::ceil(kHeating / ms);
    begin.record();
    launch_times(launch, heating);
    end.record();
    ms = end.ms_since(begin) / heating;
    const int launches = std::ceil(kPortion / ms);
    double total = 0, watts = 0;
    int portions = 0;
    for (; total < kTimed; ++portions) {
        begin.record();
        launch_times(launch, launches);
        end.record();
        with.beside_probe(launch, ms);  // while this runs, the host queues the next portion
        watts += with.nvml.power();
        total += end.ms_since(begin);
    }
    return {total / (portions * launches), watts / portions, with.probe.mhz()};
}

// ---- Machine ----

const int Machine::kDefaultSize = 4096;
const std::vector<Shape> Machine::kBeforeDefault = {};
OptionTable Machine::options(Options& o) {
    return {{"--rested", "", "time launches after a rest alone, in half the time", flag(o.rested)}};
}

Machine::Machine(const Options& options, const Facts& facts)
    : options_(options), bench_(options.device), gpu_(options.gpu.value_or(bench_.gpu)) {
    const Row at = bench_.where();
    std::printf("%s, driver %s, CUDA %s, clocks up to %d MHz (SM) and %d MHz (memory)\n",
                at[0].value.c_str(), at[1].value.c_str(), at[2].value.c_str(),
                attribute(cudaDevAttrClockRate, options.device) / 1000,
                attribute(cudaDevAttrMemoryClockRate, options.device) / 1000);
    print_gpu(gpu_, facts.arithmetic);
    const int most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, options.device);
    if (facts.shared_bytes > most)
        throw Failure(
            kNoGpu, format("a block takes %d KiB of shared memory, this GPU has %d; %s takes less",
                           (facts.shared_bytes + 1023) / 1024, most / 1024, facts.smaller_step));
}

Columns Machine::columns() const {
    if (options_.verify_only) return kVerifiedColumns;
    return {{"median_ms", "time", 10, as_time},
            {"gflops", "TFLOP/s", 9, as_tera},
            {"percent_of_peak", "of|peak", 7, as_percent},
            {"percent_of_cublas", "of|cuBLAS", 8, as_percent},
            {"sm_mhz", "MHz", 6},
            {"predicted_gflops", "predicted|TFLOP/s", 11, as_tera},
            {"measured_of_predicted", "ratio", 7}};
}

void Machine::verify_in_each_order(const Product&, const Verify& verify) { verify(); }
void Machine::end(const Product&) const {}
void verify_large_indices(const Product&) {}  // nobody can ask for it

void Machine::measure(const Product& p, Row& row) {
    const Limit peak = p.facts.arithmetic.peak;
    const Launch launch = [&] { p.multiply(p.shape, p.at); };
    double gflops = 0;
    if (!options_.verify_only) {
        progress(p.name() + ": timing");
        Cublas cublas;
        const auto in = p.in_bytes == 4 ? CUDA_R_32F : p.bf16 ? CUDA_R_16BF : CUDA_R_16F;
        const auto out = p.out_bytes == 4 ? CUDA_R_32F : CUDA_R_16F;
        const auto sums = peak == kHalf2.peak ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F;
        const Launch beside = [&] {
            cublas.multiply(p.shape.M, p.shape.N, p.shape.K, p.at.A, p.at.B, p.at.C, in, out, sums);
        };
        const std::vector<Rested> times = bench_.time({launch, beside}, options_.repeat);
        const Rested &mine = times[0], &its = times[1];
        gflops = p.flop() / mine.median * 1e-6;
        add_times(row, mine, p.flop(), bench_.gpu.peak.*peak);
        add_library(row, "cublas", p.flop(), mine, its);
        row += {{"repeats", std::to_string(options_.repeat)}};
        add_clocks(row, mine.clocks);
        row += {{"percent_of_peak_at_clock", percent(gflops, bench_.peak_at(mine.clocks.sm, peak))},
                {"cublas_mhz", figure(its.clocks.sm)}};
        if (!options_.rested) {
            progress(p.name() + ": timing without a rest");
            add_sustained(row, bench_.sustained(launch, mine.median), p.flop());
            add_sustained(row, bench_.sustained(beside, its.median), p.flop(), "cublas_");
        }
    }
    add_prediction(row, p.flop(), p.traffic(), p.facts.arithmetic, gpu_, gflops);
    row += bench_.where();
}
