// What roofline.cu times: a row for each work, and its clock.
#pragma once

#include <cmath>

#include "00_machine_limits/roofline_data.h"
#include "common/errors.h"
#include "common/gpu_timer.h"
#include "common/table.h"
#include "common/timing.h"

// Times works, and reports a row for each.
struct Timing {
    GpuTimer& timer;
    Arrays& x;
    int repeat;
    Report& report;

    // Reports a limit beside the vendor's figure. Returns GB/s or GFLOP/s.
    double limit(const Work& work) {
        return add(work, work.what, "-", timer.gpu.peak.*work.limit, work.of_memory(),
                   !work.of_memory());
    }
    // Reports a point of the sweep beside the roof there. Returns the fraction of the roof that it
    // reached.
    double point(const Work& work, int steps, double roof) {
        return add(work, "sweep", format("%g", flop_per_byte(steps)), roof, true, true) / roof;
    }

private:
    double add(const Work& work, const std::string& what, const std::string& intensity,
               double limit, bool with_gbs, bool with_gflops) {
        progress(work.what + ": timing");
        const Rested times = timer.time({work.launch}, repeat)[0];
        Clocks clocks = times.clocks;
        double cycles = 0;
        if (work.instructions > 0) {
            const Arrays::Own own = x.own_clock(work.blocks);
            clocks.sm = own.mhz;
            clocks.by = "kernel";
            cycles = own.cycles / work.instructions;
        }
        progress(work.what + ": timing back-to-back launches");
        const Sustained sustained = timer.sustained(work.launch, times.median);
        progress("");
        const double gbs = work.bytes() / times.median * 1e-6,
                     gflops = work.flop / times.median * 1e-6;
        const double value = with_gflops ? gflops : gbs;
        const double peak = work.of_memory() ? 0 : timer.peak_at(clocks.sm, work.limit);
        Row row = {{"what", what},
                   {"flop_per_byte", intensity},
                   {"gbs", with_gbs ? format("%.1f", gbs) : "-"},
                   {"gflops", with_gflops ? format("%.1f", gflops) : "-"},
                   {"limit", figure(limit, "%.1f")},
                   {"percent_of_limit", percent(value, limit)},
                   {"median_ms", format("%.4f", times.median)},
                   {"min_ms", format("%.4f", times.least)},
                   {"max_ms", format("%.4f", times.most)},
                   {"repeats", std::to_string(repeat)}};
        add_clocks(row, clocks);
        add_cells(row, {{"cycles_per_instruction", figure(cycles, "%.3f")},
                        {"percent_of_peak_at_clock", percent(gflops, peak)},
                        {"sustained_gbs",
                         with_gbs ? figure(work.bytes() / sustained.ms * 1e-6, "%.1f") : "-"}});
        add_sustained(row, sustained, with_gflops ? work.flop : 0);
        add_cells(row, timer.where());
        report.add(row);
        return value;
    }
};

// Prints what each kernel reads of its own clock and what the probe beside it reads. SMs differ by
// up to 1% among themselves, and more beside other programs.
inline void compare_clocks(GpuTimer& timer, Arrays& x, const std::vector<Work>& works) {
    x.put_real_halves();
    for (const Work& work : works) {
        progress(work.what + ": timing");
        const Clocks beside = timer.time({work.launch}, 3)[0].clocks;
        const double own = x.own_clock(work.blocks).mhz;
        std::printf("%s: %.1f MHz by its own clock, %.1f by the %s (%+.2f%%)\n", work.what.c_str(),
                    own, beside.sm, beside.by, 100 * (beside.sm / own - 1));
    }
}
