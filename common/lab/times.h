// Times of launches and the clocks beside them, as cells of a row.
#pragma once

#include "common/report.h"

struct Times {
    double median, least, most;  // milliseconds
};
Times summarize(std::vector<float> ms);

// The clocks while something ran, in MHz. 0: unknown.
struct Clocks {
    double sm = 0;  // of the multiprocessors
    const char* by = "-";  // who read it: "kernel" itself, "probe" (lab/clock.h) or "nvml"
    unsigned nvml = 0, memory = 0;  // what NVML says: of the multiprocessors, of the memory
};

// Append to a row: times and speed, where `flop` is of one launch and `peak` is in GFLOP/s or 0; a
// library's speed for the same product, with a median of 0 if it is missing; clocks.
void add_times(Row& row, const Times& times, double flop, double peak);
void add_library(Row& row, const std::string& name, double flop, const Times& ours,
                 const Times& theirs);
void add_clocks(Row& row, const Clocks& clocks);

std::string today();  // "2026-01-31", in UTC
