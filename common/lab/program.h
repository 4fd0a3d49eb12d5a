// The frame of a program that measures: its options, its table, its exit code.
#pragma once

#include "common/lab/times.h"
#include "common/options.h"

struct BenchOptions : RunOptions {
    BenchOptions() { repeat = 10; }
    int arch = 80;  // the emulator's fragment layout: sm_80
    bool rows_without_times = false;  // also write rows that were only verified to the CSV
    Columns columns;  // of the table
};

inline OptionTable arch_option(int& sm) {  // --arch sm_75, in a CPU build
    const std::string help = format("fragments of sm_70, sm_75 or sm_80 (default sm_%d)", sm);
    const auto set = [&sm](const std::string& option, const std::string& value) {
        sm = std::stoi(parse_choice(option, value, {"sm_70", "sm_75", "sm_80"}).substr(3));
    };
    return kEmulated ? OptionTable{{"arch", "ARCH", help, set}} : OptionTable{};
}

// Reads the common options and `more`, calls `measure`. Returns the exit code (see errors.h).
inline int run_bench(const std::string& name, const std::string& about, const std::string& examples,
                     BenchOptions& o, const OptionTable& more, int argc, char** argv,
                     const std::function<void(Report&)>& measure) {
    OptionTable options = run_options(o, 1000);
    if (kEmulated || kOnGpu) options.push_back(device_option(o.device));
    return run_program(name, about, options += more, examples, argc, argv, [&] {
        o.verify_only |= kEmulated;
        if (o.verify_only && !o.csv.empty() && !o.rows_without_times)
            throw Failure(kBadCommandLine,
                          "--csv: there are no times in a CPU build, nor with --verify-only");
        Report report(o.csv, o.columns, o.wide);
        measure(report);
        if (kEmulated) std::printf("Nothing was timed: the GPU build times.\n");
    });
}
