// What benchmarks share: options, a table and an exit code. A benchmark is a program that measures
// something other than a stage.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "common/build.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/table.h"

struct BenchmarkOptions : RunOptions {
    BenchmarkOptions() { repeat = 10; }  // a benchmark of the CPU sets device = -1
    int arch = 90;  // which the emulator emulates: sm_90
    Columns columns;  // of the table
};

inline OptionTable arch_option(int& sm) {  // --arch sm_75, in a CPU build
    const std::string help = format("emulated: sm_70, sm_75, sm_80 or sm_90 (default sm_%d)", sm);
    const auto set = [&sm](const std::string& value) {
        sm = std::stoi(parse_choice(value, {"sm_70", "sm_75", "sm_80", "sm_90"}).substr(3));
    };
    return kEmulated ? OptionTable{{"--arch", "ARCH", help, set}} : OptionTable{};
}

// Parses the common options and `more`, then calls `measure`. Returns the exit code (see errors.h).
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
