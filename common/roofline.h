// The roofline model: what memory bandwidth and peak arithmetic allow at a given arithmetic intensity.
// Source: Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52 (4), 2009; slides 19 to 23 of
// "Theory and practice of performance models" (Fixstars, 2022). Caches are ignored: the chapters say where that shows.
#pragma once

#include <algorithm>
#include <string>

#include "common/report.h"
#include "common/stage.h"

struct Gpu {
    std::string name;  // as --gpu takes it
    std::string full_name;
    Limits peak;  // by the vendor's figures
    Limits measured;  // by 00_machine_limits; 0 where nothing was measured
    std::string source;

    // What a prediction is made from: what was measured or, where nothing was, what the vendor's figures give.
    double limit(Limit which) const { return measured.*which > 0 ? measured.*which : peak.*which; }
};

// By figures that others publish. What was measured here is in docs/results (see limits.h).
inline const Gpu kGpus[] = {
    // Peaks: 3201 MHz x 2 x 6144 bits; 132 SMs x 128 bytes x 1.98 GHz; 132 x 128 lanes x 2 x 1.98 GHz; twice that; NVIDIA's H100
    // whitepaper, at 1.83 GHz.
    {"h200", "NVIDIA H200", {4916.7, 33454.1, 66908.2, 133816.3, 989400}, {}, "vendor"},
    {"fury-x",
     "AMD Radeon R9 Fury X",
     {512, 8601.6, 8601.6, 0, 0},
     {392, 0, 0, 0, 0},
     "the slides, 38: bandwidth measured, read:write 2:1; 64 CUs x 64 lanes x 2 x 1.05 GHz; 36: 64 x 128 bytes x 1.05 GHz"},
    {"rtx5060ti",
     "NVIDIA GeForce RTX 5060 Ti",
     {448, 11851.8, 23703.6, 0, 0},
     {},
     "vendor: 128 bits x 28 Gbit/s; 36 SMs x 128 bytes x 2.572 GHz; 4608 lanes x 2 x 2.572 GHz"},
    {"titan-v",
     "NVIDIA TITAN V",
     {652.8, 14899.2, 14899.2, 29798.4, 119193.6},
     {},
     "vendor: 3072 bits x 1.7 Gbit/s; 80 SMs x 128 bytes x 1.455 GHz; 5120 lanes x 2 x 1.455 GHz; 640 tensor cores x 128 x 1.455 GHz"},
};

// Flop per byte that the threads ask for; 0: nothing is asked for there.
struct Intensity {
    double device;  // of device memory, loads and stores
    double shared;  // of shared memory, loads
};

// GFLOP/s that the roofline allows: the least of what arithmetic, device memory and shared memory do. 0: there is no figure for
// this arithmetic on this GPU.
inline double attainable_gflops(const Gpu& gpu, const Arithmetic& arithmetic, Intensity intensity) {
    const double by_device = gpu.limit(&Limits::bandwidth_gbs) * intensity.device;
    const double by_shared = gpu.limit(&Limits::shared_gbs) * intensity.shared;
    const double attainable = std::min(gpu.limit(arithmetic.peak), by_device);
    return intensity.shared > 0 ? std::min(attainable, by_shared) : attainable;
}

// "Predicted for the NVIDIA H200: 65800 GFLOP/s (FP32), 4282 GB/s, shared memory 33000 GB/s (where the figures are from)"
inline void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic) {
    const double compute = gpu.limit(arithmetic.peak);
    std::printf("Predicted for the %s: %s (%s), %.0f GB/s, shared memory %.0f GB/s (%s)\n",
                gpu.full_name.c_str(),
                compute > 0 ? format("%.0f GFLOP/s", compute).c_str() : "no figure",
                arithmetic.name, gpu.limit(&Limits::bandwidth_gbs), gpu.limit(&Limits::shared_gbs),
                gpu.source.c_str());
}

// "31.75", "-" where there is none.
inline std::string intensity_text(double flop_per_byte) {
    return flop_per_byte > 0 ? format("%.2f", flop_per_byte) : "-";
}

// What the roofline of `gpu` predicts, as the last cells of a row. measured_gflops: 0 where nothing was timed.
inline void add_prediction(Row& row, Intensity intensity, const Arithmetic& arithmetic,
                           const Gpu& gpu, double measured_gflops) {
    const double predicted = attainable_gflops(gpu, arithmetic, intensity);
    const bool both = predicted > 0 && measured_gflops > 0;
    row.push_back({"flop/byte", "flop_per_byte", intensity_text(intensity.device)});
    row.push_back({"at shared", "shared_flop_per_byte", intensity_text(intensity.shared)});
    row.push_back(
        {"predicted GFLOP/s", "predicted_gflops", predicted > 0 ? format("%.0f", predicted) : "-"});
    row.push_back({both ? "measured/predicted" : "", "measured_of_predicted",
                   both ? format("%.2f", measured_gflops / predicted) : "-"});
}
