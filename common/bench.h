// What the measuring programs of 00, 06 and 07 share: their options, and which builds only verify.
// A CUDA program includes cuda_runtime.h first. A program that times the CPU does not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/command_line.h"

// What this program is built for.
enum Build { kTimesCpu, kTimesGpu, kVerifiesOnCpu };
#ifdef CUDA_EMULATOR
constexpr Build kBuild = kVerifiesOnCpu;
#include "common/gpu.h"
#elif defined(__CUDACC__)
constexpr Build kBuild = kTimesGpu;
#include "common/gpu.h"
#else
constexpr Build kBuild = kTimesCpu;
#endif

struct BenchOptions : RunOptions {  // verify_only: always so in a CPU build
    BenchOptions() { repeat = 10; }
    int arch = 80;  // the emulator's fragment layout: sm_80
    bool rows_without_times = false;  // also write rows that were only verified to the CSV
    Columns columns;  // of the table
};

inline Option arch_option(int& sm) {  // --arch sm_75
    const std::string help = format("fragments of sm_70, sm_75 or sm_80 (default sm_%d)", sm);
    const auto set = [&sm](const std::string& option, const std::string& value) {
        sm = std::stoi(parse_choice(option, value, {"sm_70", "sm_75", "sm_80"}).substr(3));
    };
    return cpu_only({"arch", "ARCH", help, set}, kBuild == kVerifiesOnCpu);
}

// Runs a measuring program: reads the common options and `more`, calls `measure`. Returns the exit
// code (see failure.h).
inline int run_bench(const std::string& name, const std::string& about, const std::string& examples,
                     BenchOptions& o, const std::vector<Option>& more, int argc, char** argv,
                     const std::function<void(Report&)>& measure) {
    std::vector<Option> options = run_options(o, 1000);
    for (Option& each : options)
        if (kBuild != kTimesCpu &&
            (each.name == "repeat" || (each.name == "csv" && !o.rows_without_times)))
            each = gpu_only(each, kBuild == kTimesGpu);
    if (kBuild != kTimesCpu) options.push_back(device_option(o.device));
    options.insert(options.end(), more.begin(), more.end());
    return run_program(name, about, options, examples, argc, argv, [&] {
        if (o.verify_only && !o.csv.empty() && !o.rows_without_times)
            throw Failure(kBadCommandLine, "--csv: there are no times with --verify-only");
        Report report(o.csv, o.columns, o.wide);
        o.verify_only |= kBuild == kVerifiesOnCpu;
        measure(report);
        if (kBuild == kVerifiesOnCpu) std::printf("Nothing was timed: the GPU build times.\n");
    });
}
