// The limits of a GPU out of the CSV that 00_machine_limits/roofline wrote there.
#pragma once

#include "common/csv.h"
#include "common/roofline.h"

// Throws Failure(kBadCommandLine) with one line that says what is wrong with the file.
inline Gpu read_limits(const std::string& path) {
    const std::string option = "--limits";
    struct Measured {
        const char *what, *column;
        Limit limit;
        bool needed;
    };
    const Measured all[] = {{"copy", "gbs", &Limits::bandwidth_gbs, true},
                            {"shared_memory", "gbs", &Limits::shared_gbs, true},
                            {"fp32_fma", "gflops", &Limits::fp32_gflops, true},
                            {"fp16_pairs", "gflops", &Limits::half2_gflops, false},
                            {"tensor_mma_sync", "gflops", &Limits::tensor_gflops, false}};
    const std::vector<CsvRow> rows = read_csv(option, path, {"what", "gbs", "gflops", "limit", "gpu"});
    Gpu gpu = {"", rows[0].at("gpu"), {}, {}, "measured, " + path};
    for (const Measured& each : all) {
        const CsvRow* found = nullptr;
        for (const CsvRow& row : rows)
            if (row.at("what") == each.what) found = &row;
        if (!found && each.needed) throw Failure(kBadCommandLine, option + " '" + path + "': has no row '" + each.what + "'");
        if (!found) continue;
        gpu.measured.*each.limit = positive(option, path, *found, each.column);
        if (found->at("limit") != "-") gpu.peak.*each.limit = positive(option, path, *found, "limit");
    }
    return gpu;
}
