// The frame of the measuring programs of 00, 06 and 07: their options, the checks of a launch in
// each order of threads and, on a GPU, its timing and where it was measured. A CPU build verifies
// and times nothing. A CUDA program includes cuda_runtime.h first; a program that times the CPU
// does not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/command_line.h"
#if defined(__CUDACC__) || defined(CUDA_EMULATOR)
#define BENCH_OF_DEVICE
#include "common/gpu.h"
#endif

#ifdef CUDA_EMULATOR
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif

struct BenchOptions {
    int repeat = 10;  // timed runs of each
    int device = 0;
    bool verify_only = false;  // always so in a CPU build
    int arch = 80;  // on the emulator: whose fragments, sm_80's
    bool rows_without_times = false;  // else only what was timed is written to a CSV
    std::string csv;  // empty: no CSV
    bool wide = false;  // show all columns
    Columns columns;  // what else is shown of the rows
};

// An option that a CPU build refuses, and one that only a CPU build takes.
Option gpu_only(Option option);
Option cpu_only(Option option);
Option arch_option(BenchOptions& o);  // --arch sm_75

// Runs a measuring program: reads the common options and `more`, selects the device, calls
// `measure`. Returns the exit code (see command_line.h).
int run_bench(const std::string& name, const std::string& about, const std::string& examples,
              BenchOptions& o, const std::vector<Option>& more, int argc, char** argv,
              const std::function<void(Report&)>& measure);

#ifdef BENCH_OF_DEVICE
// Calls `verify`: on the emulator for each order of threads, which its failure then names. Returns
// what was so seen besides the results: ", in three orders of threads", and "" on a GPU.
std::string in_each_order(const std::function<void()>& verify);

// Bytes that the threads of a launch load from and store to device memory, and load from shared
// memory. Below 0: not stated.
struct Traffic {
    double loaded = -1, stored = -1, shared = -1;
};

// Launches and waits. On the emulator nothing may race and, where it counts, the traffic must be as
// stated and shared memory read without bank conflicts. Throws Failure.
void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch);

// The GPU at hand: times launches on it, and says where that was.
class Bench {
public:
    explicit Bench(const BenchOptions& o);
    ~Bench();

    // Times launches that take turns, as Timer does (gpu.h). cold: L2 is flushed before each.
    std::vector<Times> time(const std::vector<std::function<void()>>& launches, int repeat,
                            bool cold = true);
    // The same for one, which progress() names.
    Times time(const std::string& what, const std::function<void()>& launch, int repeat,
               bool cold = true);
    Clocks timed_at(size_t i = 0) const { return timed_at_.at(i); }  // launches[i], the last time
    // Without a rest in between. ms: as time() has found.
    Sustained sustained(const std::function<void()>& launch, double ms);
    Clocks clocks() const;  // now, by NVML
    Row where() const;  // the last cells of a row
    // GFLOP/s of all multiprocessors at that clock; 0: no figure here.
    double peak_at(double mhz, Limit which) const;

    const Gpu gpu;
    const int sm, multiprocessors;  // sm: 75 is compute capability 7.5
    const size_t l2_bytes;

private:
    struct Parts;
    Parts* parts_ = nullptr;
    std::vector<Clocks> timed_at_;
};
#endif

#ifndef HARNESS_COMPILED_APART

#include <tuple>

Option gpu_only(Option option) {
    option.help = "GPU build: " + option.help;
    return only_for(!kEmulated, option, "GPU build takes it; the CPU build times nothing");
}
Option cpu_only(Option option) {
    option.help = "CPU build: " + option.help;
    return only_for(kEmulated, option, kCpuBuilds);
}
Option arch_option(BenchOptions& o) {
    const auto set = [&o](const std::string& value) {
        o.arch = std::stoi(parse_choice("--arch", value, {"sm_70", "sm_75", "sm_80"}).substr(3));
    };
    return cpu_only({"arch", "ARCH", "fragments of sm_70, sm_75 or sm_80 (default sm_80)", set});
}

int run_bench(const std::string& name, const std::string& about, const std::string& examples,
              BenchOptions& o, const std::vector<Option>& more, int argc, char** argv,
              const std::function<void(Report&)>& measure) {
    using Text = const std::string&;
    Option csv = {"csv", "FILE", "also write the rows to FILE",
                  [&o](Text value) { o.csv = parse_csv(value); }};
    Option repeat = {"repeat", "R", format("timed runs of each (default %d)", o.repeat),
                     number(o.repeat, "--repeat", 1, 1000)};
    std::vector<Option> options;
#ifdef BENCH_OF_DEVICE
    if (!o.rows_without_times) csv = gpu_only(csv);
    repeat = gpu_only(repeat);
    options = {
        {"device", "D", "use CUDA device D (default 0)", number(o.device, "--device", 0, 1023)}};
#endif
    options.insert(options.begin(),
                   {csv,
                    wide_option(o.wide),
                    repeat,
                    {"verify-only", "", "check the results and stop", flag(o.verify_only)}});
    options.insert(options.end(), more.begin(), more.end());
    return run_program(name, about, options, examples, argc, argv, [&] {
        if (o.verify_only && !o.csv.empty() && !o.rows_without_times)
            throw Failure(kBadCommandLine, "--csv: there are no times with --verify-only");
        Report report(o.csv, o.columns, o.wide);
#ifdef BENCH_OF_DEVICE
        select_device(o.device);
#endif
        o.verify_only |= kEmulated;
        measure(report);
        if (kEmulated) std::printf("Nothing was timed: the GPU build times.\n");
    });
}

#ifdef CUDA_EMULATOR
std::string in_each_order(const std::function<void()>& verify) {
    for (const auto& [name, order] : emulator::kOrders) {
        emulator::set_order(order);
        doing(format("threads in %s order", name), verify);
    }
    return std::string(", in three orders of threads") +
           (emulator::tracing() ? ", and the bytes moved are those stated" : "");
}

void run_checked(const std::string& what, const Traffic& stated,
                 const std::function<void()>& launch) {
    emulator::reset_counts();
    launch();
    finish_launch(what);
    const emulator::Counts& c = emulator::counts();
    if (!c.problems.empty()) throw Failure(kWrongResult, what + ": " + c.problems[0]);
    if (!emulator::tracing()) return;
    const std::tuple<const char*, uint64_t, double> all[] = {
        {"loaded from device memory", c.global_load_bytes, stated.loaded},
        {"stored to device memory", c.global_store_bytes, stated.stored},
        {"loaded from shared memory", c.shared_load_bytes, stated.shared}};
    for (const auto& [moved, counted, expected] : all)
        if (expected >= 0 && double(counted) != expected)
            throw Failure(kWrongResult, what + format(": %.0f bytes %s, stated are %.0f",
                                                      double(counted), moved, expected));
    if (stated.shared >= 0 && c.shared_load_wavefronts != c.shared_load_ideal)
        throw Failure(kWrongResult, what + ": loads from shared memory have bank conflicts");
}

// One multiprocessor, which times nothing.
Bench::Bench(const BenchOptions& o)
    : gpu{"", "CPU emulator", {}, {}, ""}, sm(o.arch), multiprocessors(1), l2_bytes(0) {
    emulator::set_architecture(o.arch);
}
Bench::~Bench() = default;
using Launches = std::vector<std::function<void()>>;
std::vector<Times> Bench::time(const Launches&, int, bool) { return {}; }
Times Bench::time(const std::string&, const std::function<void()>&, int, bool) { return {}; }
Sustained Bench::sustained(const std::function<void()>&, double) { return {}; }
Clocks Bench::clocks() const { return {}; }
Row Bench::where() const { return {}; }
double Bench::peak_at(double, Limit) const { return 0; }
#elif defined(BENCH_OF_DEVICE)
std::string in_each_order(const std::function<void()>& verify) {
    verify();
    return "";
}

void run_checked(const std::string& what, const Traffic&, const std::function<void()>& launch) {
    launch();
    finish_launch(what);
}

struct Bench::Parts {
    explicit Parts(int device) : device(device), nvml(bus_id(device)), timer(device) {}
    int device;
    Nvml nvml;
    Timer timer;
};
Bench::Bench(const BenchOptions& o)
    : gpu(gpu_at_hand(o.device)), sm(10 * attribute(cudaDevAttrComputeCapabilityMajor, o.device) +
                                     attribute(cudaDevAttrComputeCapabilityMinor, o.device)),
      multiprocessors(attribute(cudaDevAttrMultiProcessorCount, o.device)),
      l2_bytes(attribute(cudaDevAttrL2CacheSize, o.device)), parts_(new Parts(o.device)) {}
Bench::~Bench() { delete parts_; }
std::vector<Times> Bench::time(const std::vector<std::function<void()>>& launches, int repeat,
                               bool cold) {
    std::vector<Times> times;
    const auto rested = parts_->timer.run(launches, repeat, cold);
    timed_at_.clear();
    for (const Rested& each : rested) {
        times.push_back(each.times);
        timed_at_.push_back(each.clocks);
    }
    return times;
}
Times Bench::time(const std::string& what, const std::function<void()>& launch, int repeat,
                  bool cold) {
    progress(what + ": timing");
    const Times times = time({launch}, repeat, cold)[0];
    check_cuda(cudaGetLastError(), "launching " + what);
    progress("");
    return times;
}
Sustained Bench::sustained(const std::function<void()>& launch, double ms) {
    return parts_->timer.sustained(launch, ms);
}
Clocks Bench::clocks() const { return parts_->timer.clocks(); }
Row Bench::where() const { return where_measured(gpu, parts_->nvml); }
double Bench::peak_at(double mhz, Limit which) const {
    return ::peak_at(mhz, which, parts_->device);
}
#endif

#endif  // HARNESS_COMPILED_APART
