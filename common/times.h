// The times of launches, and their cells in a report.
#pragma once

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "common/report.h"

struct Times {
    double median, least, most;  // milliseconds
};

inline Times summarize(std::vector<float> ms) {
    std::sort(ms.begin(), ms.end());
    const size_t n = ms.size();
    return {(ms[(n - 1) / 2] + ms[n / 2]) / 2.0, ms.front(), ms.back()};
}

// Appends times and speed to a row. `flop`: of one launch. `peak`: GFLOP/s, 0 if unknown.
inline void add_times(Row& row, const Times& times, double flop, double peak) {
    const double gflops = flop / times.median * 1e-6;
    row.push_back({"median ms", "median_ms", format("%.4f", times.median)});
    row.push_back({"min ms", "min_ms", format("%.4f", times.least)});
    row.push_back({"max ms", "max_ms", format("%.4f", times.most)});
    row.push_back({"GFLOP/s", "gflops", format("%.0f", gflops)});
    row.push_back(
        {"% of peak", "percent_of_peak", peak > 0 ? format("%.1f", 100 * gflops / peak) : "-"});
}

// Appends what a library, `name` and in the CSV `column`, takes for the same product. A median of 0: it is not here.
inline void add_library(Row& row, const std::string& name, const std::string& column, double flop,
                        const Times& ours, const Times& theirs) {
    const bool here = theirs.median > 0;
    row.push_back({"% of " + name, "percent_of_" + column,
                   here ? format("%.1f", 100 * theirs.median / ours.median) : "-"});
    row.push_back(
        {"", column + "_gflops", here ? format("%.0f", flop / theirs.median * 1e-6) : "-"});
}

// "2026-01-31", in UTC.
inline std::string today() {
    char text[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}
