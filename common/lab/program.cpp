#include "common/lab/program.h"

#include <algorithm>
#include <ctime>

Times summarize(std::vector<float> ms) {
    std::sort(ms.begin(), ms.end());
    const size_t n = ms.size();
    return {(ms[(n - 1) / 2] + ms[n / 2]) / 2.0, ms.front(), ms.back()};
}

void add_times(Row& row, const Times& times, double flop, double peak) {
    const double gflops = flop / times.median * 1e-6;
    row += {{"median_ms", format("%.4f", times.median)},
            {"min_ms", format("%.4f", times.least)},
            {"max_ms", format("%.4f", times.most)},
            {"gflops", format("%.0f", gflops)},
            {"percent_of_peak", percent(gflops, peak)}};
}

void add_library(Row& row, const std::string& name, double flop, const Times& ours,
                 const Times& theirs) {
    const double its = theirs.median;
    row += {{"percent_of_" + name, percent(its, its > 0 ? ours.median : 0)},
            {name + "_gflops", figure(its > 0 ? flop / its * 1e-6 : 0)}};
}

void add_clocks(Row& row, const Clocks& clocks) {
    row += {{"sm_mhz", figure(clocks.sm)},
            {"clock_by", clocks.by},
            {"nvml_mhz", figure(clocks.nvml)},
            {"memory_mhz", figure(clocks.memory)}};
}

std::string today() {
    char text[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}
