// What roofline.cu times: a row for each workload, and its clock.
#pragma once

#include <cmath>

#include "00_machine_limits/roofline_data.h"
#include "common/errors.h"
#include "common/gpu_timer.h"
#include "common/table.h"
#include "common/timing.h"

// Times workloads, and reports a row for each.
struct Timing {
    GpuTimer& timer;
    Arrays& x;
    int repeat;
    Report& report;

    // Reports a limit beside the vendor's figure. Returns GB/s or GFLOP/s.
    double limit(const Workload& workload) {
        return add(workload, workload.what, "-", timer.gpu.peak.*workload.limit,
                   workload.of_memory(), !workload.of_memory());
    }
    // Reports a point of the sweep beside the roof there. Returns the fraction of the roof that it
    // reached.
    double point(const Workload& workload, int steps, double roof) {
        return add(workload, "sweep", format("%g", flop_per_byte(steps)), roof, true, true) / roof;
    }

private:
    double add(const Workload& workload, const std::string& what, const std::string& intensity,
               double limit, bool with_gbs, bool with_gflops) {
        progress(workload.what + ": timing");
        const Rested times = timer.time({workload.launch}, repeat)[0];
        Clocks clocks = times.clocks;
        double cycles = 0;
        if (workload.instructions > 0) {
            const Arrays::BlockClock by_kernel = x.block_clock(workload.blocks);
            clocks.sm = by_kernel.mhz;
            clocks.by = "kernel";
            cycles = by_kernel.cycles / workload.instructions;
        }
        progress(workload.what + ": timing back-to-back launches");
        const Sustained sustained = timer.sustained(workload.launch, times.median);
        progress("");
        const double gbs = workload.bytes() / times.median * 1e-6,
                     gflops = workload.flop / times.median * 1e-6;
        const double value = with_gflops ? gflops : gbs;
        const double peak = workload.of_memory() ? 0 : timer.peak_at(clocks.sm, workload.limit);
        Row row = {{"what", what},
                   {"flop_per_byte", intensity},
                   {"gbs", with_gbs ? format("%.1f", gbs) : "-"},
                   {"gflops", with_gflops ? format("%.1f", gflops) : "-"},
                   {"limit", figure(limit, "%.1f")},
                   {"percent_of_limit", percent(value, limit)},
                   {"median_ms", format("%.4f", times.median)},
                   {"min_ms", format("%.4f", times.min)},
                   {"max_ms", format("%.4f", times.max)},
                   {"repeats", std::to_string(repeat)}};
        add_clocks(row, clocks);
        add_cells(row, {{"cycles_per_instruction", figure(cycles, "%.3f")},
                        {"percent_of_peak_at_clock", percent(gflops, peak)},
                        {"sustained_gbs",
                         with_gbs ? figure(workload.bytes() / sustained.ms * 1e-6, "%.1f") : "-"}});
        add_sustained(row, sustained, with_gflops ? workload.flop : 0);
        add_cells(row, timer.where());
        report.add(row);
        return value;
    }
};

// Prints the clock that each kernel reads itself, and the one that the probe reads. SMs differ by
// up to 1% among themselves, and by more while other programs use the GPU.
inline void compare_clocks(GpuTimer& timer, Arrays& x, const std::vector<Workload>& workloads) {
    x.put_real_halves();
    for (const Workload& workload : workloads) {
        progress(workload.what + ": timing");
        const Clocks probed = timer.time({workload.launch}, 3)[0].clocks;
        const double by_kernel = x.block_clock(workload.blocks).mhz;
        std::printf("%s: %.1f MHz by its own clock, %.1f by the %s (%+.2f%%)\n",
                    workload.what.c_str(), by_kernel, probed.sm, probed.by,
                    100 * (probed.sm / by_kernel - 1));
    }
}
