// Measured times and clocks, and how they become cells of a row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

#include "common/errors.h"
#include "common/table.h"

struct Times {
    double median, min, max;  // milliseconds
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
                    {"min_ms", format("%.4f", times.min)},
                    {"max_ms", format("%.4f", times.max)},
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
    unsigned nvml = 0, memory = 0;  // as NVML reports them: of the SMs, of the memory
    double sm = 0;  // of the SMs, measured
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
