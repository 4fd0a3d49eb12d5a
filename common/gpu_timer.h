// Times launches on the GPU in use, and reads its clock while they run. Implemented twice:
// machine_gpu.cu does so, and machine_emulator.cpp throws, because the emulator has no time.
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

// Times of launches, each of which followed a rest of the GPU.
struct Rested : Times {
    Clocks clocks;
};

// Back-to-back launches: the mean milliseconds of one, power and clock. 0: unknown.
struct Sustained {
    double ms, watts, mhz;
};
// Appends its figures to a row. flop: of one launch, or 0. prefix: of the columns' names.
inline void add_sustained(Row& row, const Sustained& sustained, double flop,
                          const std::string& prefix = "") {
    add_cells(row, {{prefix + "sustained_ms", figure(sustained.ms, "%.4f")},
                    {prefix + "sustained_gflops", figure(flop / sustained.ms * 1e-6)},
                    {prefix + "sustained_mhz", figure(sustained.mhz)},
                    {prefix + "power_w", figure(sustained.watts)}});
}

// The GPU in use: its limits, and the times of launches on its default stream. The emulator's GPU
// has one SM, and its timing functions throw Failure(kDeviceFailed).
class GpuTimer {
public:
    // Selects the device. Throws as select_device() does.
    explicit GpuTimer(int device, int emulated_sm = 90);

    // Times each of the launches `repeat` times, alternately and each after a pause. cold: with L2
    // flushed before it.
    std::vector<Rested> time(const std::vector<Launch>& launches, int repeat, bool cold = true);
    // Repeats `launch`, which takes `ms` milliseconds, until the device is hot. After that batches
    // of timed launches alternate with launches whose clock is read, still back to back.
    Sustained sustained(const Launch& launch, double ms);
    // The clocks while `launch` runs.
    Clocks clocks_during(const Launch& launch, double ms);

    Row where() const;  // GPU, driver, CUDA and date: the last cells of a row
    // GFLOP/s of the whole GPU at that clock, or 0 if unknown.
    double peak_at(double mhz, Limit which) const;

    const int device, sm, sm_count;  // sm: 75 is compute capability 7.5
    const size_t l2_bytes;
    const Gpu gpu;  // its limits: measured, else published, else computed from its attributes

private:
    struct Timing;  // what only timing needs
    Timing& timing();  // created at its first use
    std::shared_ptr<Timing> timing_;
};
