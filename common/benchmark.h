// What benchmarks have in common, the programs that measure something other than a stage: their options,
// their table and their exit code; and times and clocks as cells of a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "common/errors.h"
#include "common/options.h"
#include "common/table.h"

#ifdef CUDA_EMULATOR
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif
constexpr const char* kBuild = kEmulated ? "emulator" : "gpu";  // see Program

struct BenchmarkOptions : RunOptions {
    BenchmarkOptions() { repeat = 10; }  // device: -1 if it times the CPU
    int arch = 80;  // the emulator's fragment layout: sm_80
    Columns columns;  // of the table
};

inline OptionTable arch_option(int& sm) {  // --arch sm_75, in a CPU build
    const std::string help = format("fragments of sm_70, sm_75 or sm_80 (default sm_%d)", sm);
    const auto set = [&sm](const std::string& value) {
        sm = std::stoi(parse_choice(value, {"sm_70", "sm_75", "sm_80"}).substr(3));
    };
    return kEmulated ? OptionTable{{"--arch", "ARCH", help, set}} : OptionTable{};
}

// Reads the common options and `more`, calls `measure`. Returns the exit code (see errors.h).
inline int run_benchmark(const std::string& name, const std::string& about,
                         const std::string& examples, BenchmarkOptions& o, const OptionTable& more,
                         int argc, char** argv, const std::function<void(Report&)>& measure) {
    OptionTable options = run_options(o, 1000);
    if (o.device >= 0) options.push_back(device_option(o.device));
    add_options(options, more);
    const Program program = {name,     about,       options,
                             examples, "benchmark", o.device < 0 ? "host" : kBuild};
    return run_program(program, argc, argv, [&] {
        o.verify_only |= kEmulated;
        Report report(o.csv, o.columns, o.wide);
        measure(report);
        if (kEmulated) std::printf("Nothing was timed: the GPU build times.\n");
    });
}

struct Times {
    double median, least, most;  // milliseconds
};
inline Times summarize(std::vector<float> ms) {
    std::sort(ms.begin(), ms.end());
    const size_t n = ms.size();
    return {(ms[(n - 1) / 2] + ms[n / 2]) / 2.0, ms.front(), ms.back()};
}

// Times and speed as cells of a row. flop: of one launch. peak: GFLOP/s, or 0.
inline void add_times(Row& row, const Times& times, double flop, double peak) {
    const double gflops = flop / times.median * 1e-6;
    add_cells(row, {{"median_ms", format("%.4f", times.median)},
                    {"min_ms", format("%.4f", times.least)},
                    {"max_ms", format("%.4f", times.most)},
                    {"gflops", format("%.0f", gflops)},
                    {"percent_of_peak", percent(gflops, peak)}});
}

// A library's speed for the same product; a median of 0: it is missing.
inline void add_library(Row& row, const std::string& name, double flop, const Times& ours,
                        const Times& theirs) {
    const double its = theirs.median;
    add_cells(row, {{"percent_of_" + name, percent(its, its > 0 ? ours.median : 0)},
                    {name + "_gflops", figure(its > 0 ? flop / its * 1e-6 : 0)}});
}

// The clocks while something ran, in MHz. 0: unknown.
struct Clocks {
    unsigned nvml = 0, memory = 0;  // what NVML says: of the multiprocessors, of the memory
    double sm = 0;  // of the multiprocessors
    const char* by = "-";  // who read it: "kernel" itself, "probe" (machine_gpu.cu) or "nvml"
};
inline void add_clocks(Row& row, const Clocks& clocks) {
    add_cells(row, {{"sm_mhz", figure(clocks.sm)},
                    {"clock_by", clocks.by},
                    {"nvml_mhz", figure(clocks.nvml)},
                    {"memory_mhz", figure(clocks.memory)}});
}

inline std::string today() {  // "2026-01-31", in UTC
    char text[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}
