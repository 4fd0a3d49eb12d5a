// The frame of the measuring programs of 00, 06 and 07: their options, and where they verify
// without timing. A CUDA program includes cuda_runtime.h first; a program that times the CPU does
// not.
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
    int arch = 80;  // on the emulator: whose fragments, sm_80's
    bool rows_without_times = false;  // else only what was timed is written to a CSV
    Columns columns;  // of the table
};

// An option that a CPU build refuses, and one that only a CPU build takes.
Option gpu_only(Option option, Build build = kBuild);
Option cpu_only(Option option, Build build = kBuild);
Option arch_option(int& sm, Build build = kBuild);  // --arch sm_75

// Runs a measuring program: reads the common options and `more`, calls `measure`. Returns the exit
// code (see failure.h).
int run_bench(const std::string& name, const std::string& about, const std::string& examples,
              BenchOptions& o, const std::vector<Option>& more, int argc, char** argv,
              const std::function<void(Report&)>& measure, Build build = kBuild);

#ifndef HARNESS_COMPILED_APART

Option gpu_only(Option option, Build build) {
    option.help = "GPU build: " + option.help;
    return only_for(build == kTimesGpu, option, "GPU build takes it; the CPU build times nothing");
}
Option cpu_only(Option option, Build build) {
    option.help = "CPU build: " + option.help;
    return only_for(build == kVerifiesOnCpu, option, kCpuBuilds);
}
Option arch_option(int& sm, Build build) {
    const std::string help = format("fragments of sm_70, sm_75 or sm_80 (default sm_%d)", sm);
    return cpu_only({"arch", "ARCH", help,
                     [&sm](const std::string& value) {
                         const std::vector<std::string> all = {"sm_70", "sm_75", "sm_80"};
                         sm = std::stoi(parse_choice("--arch", value, all).substr(3));
                     }},
                    build);
}

int run_bench(const std::string& name, const std::string& about, const std::string& examples,
              BenchOptions& o, const std::vector<Option>& more, int argc, char** argv,
              const std::function<void(Report&)>& measure, Build build) {
    std::vector<Option> options = run_options(o, 1000);
    for (Option& each : options)
        if (build != kTimesCpu &&
            (each.name == "repeat" || (each.name == "csv" && !o.rows_without_times)))
            each = gpu_only(each, build);
    if (build != kTimesCpu) options.push_back(device_option(o.device));
    options.insert(options.end(), more.begin(), more.end());
    return run_program(name, about, options, examples, argc, argv, [&] {
        if (o.verify_only && !o.csv.empty() && !o.rows_without_times)
            throw Failure(kBadCommandLine, "--csv: there are no times with --verify-only");
        Report report(o.csv, o.columns, o.wide);
        o.verify_only |= build == kVerifiesOnCpu;
        measure(report);
        if (build == kVerifiesOnCpu) std::printf("Nothing was timed: the GPU build times.\n");
    });
}

#endif  // HARNESS_COMPILED_APART
