// The frame of a program that measures: its options, its table, its exit code.
#pragma once

#include "common/options.h"

struct BenchOptions : RunOptions {  // verify_only: always so in a CPU build
    BenchOptions() { repeat = 10; }
    int arch = 80;  // the emulator's fragment layout: sm_80
    bool rows_without_times = false;  // also write rows that were only verified to the CSV
    Columns columns;  // of the table
};

inline Option arch_option(int& sm) {  // --arch sm_75
    const std::string help =
        format("CPU build: fragments of sm_70, sm_75 or sm_80 (default sm_%d)", sm);
    const auto set = [&sm](const std::string& option, const std::string& value) {
        sm = std::stoi(parse_choice(option, value, {"sm_70", "sm_75", "sm_80"}).substr(3));
    };
    return {"arch", "ARCH", help, set, only(kVerifiesOnCpu)};
}

// Reads the common options and `more`, calls `measure`. Returns the exit code (see errors.h).
inline int run_bench(const std::string& name, const std::string& about, const std::string& examples,
                     BenchOptions& o, const OptionTable& more, int argc, char** argv,
                     const std::function<void(Report&)>& measure) {
    OptionTable options = run_options(o, 1000);
    for (Option& each : options)
        if (kBuild != kTimesCpu &&
            (each.name == "repeat" || (each.name == "csv" && !o.rows_without_times))) {
            each.help = "GPU build: " + each.help;
            each.refused = only(kTimesGpu);
        }
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
