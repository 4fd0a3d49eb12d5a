// Times launches on the GPU in use, and reads its clock while they run. Implemented twice, as
// machine.h is.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/facts.h"
#include "common/roofline.h"
#include "common/table.h"
#include "common/timing.h"

using Launch = std::function<void()>;

// Times of launches that each came after a rest.
struct Rested : Times {
    Clocks clocks;
};

// Launches without a rest: the mean milliseconds of one, the power, and the clock; 0: unknown.
struct Sustained {
    double ms, watts, mhz;
};
// Appends them to a row. flop: of one launch, or 0. whose: prefix of the columns' names.
inline void add_sustained(Row& row, const Sustained& sustained, double flop,
                          const std::string& whose = "") {
    add_cells(row, {{whose + "sustained_ms", figure(sustained.ms, "%.4f")},
                    {whose + "sustained_gflops", figure(flop / sustained.ms * 1e-6)},
                    {whose + "sustained_mhz", figure(sustained.mhz)},
                    {whose + "power_w", figure(sustained.watts)}});
}

// The GPU in use: its limits, and the times of launches on its default stream. The emulator has one
// multiprocessor, and throws where a time is asked for.
class GpuTimer {
public:
    // Takes the device into use. Throws as select_device() does.
    explicit GpuTimer(int device, int emulated_sm = 80);

    // The launches take turns, each after a rest. cold: L2 is flushed, too.
    std::vector<Rested> time(const std::vector<Launch>& launches, int repeat, bool cold = true);
    // Repeats `launch`, which takes `ms` milliseconds, until the device is hot. Then portions of
    // timed launches alternate with launches whose clock is read, still without a rest.
    Sustained sustained(const Launch& launch, double ms);
    // The clocks while `launch` runs.
    Clocks clocks_beside(const Launch& launch, double ms);

    Row where() const;  // GPU, driver, CUDA and date: the last cells of a row
    // GFLOP/s of the whole GPU at that clock, or 0 if unknown.
    double peak_at(double mhz, Limit which) const;

    const int device, sm, sm_count;  // sm: 75 is compute capability 7.5
    const size_t l2_bytes;
    const Gpu gpu;  // its limits: measured, else published, else computed from its attributes

private:
    struct Timing;  // what only timing needs
    Timing& timing();  // made when first asked for
    std::shared_ptr<Timing> timing_;
};
