// The roofline model: what memory bandwidth and peak arithmetic allow at a given arithmetic intensity.
// Source: Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52 (4), 2009; slides 19 to 23 of
// "Theory and practice of performance models" (Fixstars, 2022). Caches are ignored: the chapters say where that shows.
#pragma once

#include <algorithm>
#include <string>

struct Gpu {
    const char* name;       // as --gpu takes it
    const char* full_name;
    double peak_gflops;     // FP32, fused multiply-adds counted as 2 flop
    double bandwidth_gbs;   // device memory, GB/s (10^9 bytes)
    const char* source;     // of the two figures
};

inline const Gpu kGpus[] = {
    {"h200", "NVIDIA H200", 66908, 4282, "132 SMs x 128 lanes x 2 x 1.98 GHz; measured copy, read + write"},
    {"fury-x", "AMD Radeon R9 Fury X", 8601.6, 392, "the slides, 38: 64 CUs x 64 lanes x 2 x 1.05 GHz; measured"},
    {"rtx5060ti", "NVIDIA GeForce RTX 5060 Ti", 23703.6, 448, "4608 lanes x 2 x 2.572 GHz; vendor, 128 bits x 28 Gbit/s"},
    {"titan-v", "NVIDIA TITAN V", 14899.2, 652.8, "5120 lanes x 2 x 1.455 GHz; vendor, 3072 bits x 1.7 Gbit/s"},
};

// The GPU called `name`, or nullptr.
inline const Gpu* find_gpu(const std::string& name) {
    for (const Gpu& gpu : kGpus)
        if (name == gpu.name) return &gpu;
    return nullptr;
}

// "h200, fury-x, ..." for messages.
inline std::string gpu_names() {
    std::string names;
    for (const Gpu& gpu : kGpus) names += (names.empty() ? "" : ", ") + std::string(gpu.name);
    return names;
}

// GFLOP/s that the roofline allows at `intensity` flop per byte of device-memory traffic.
inline double attainable_gflops(const Gpu& gpu, double intensity) {
    return std::min(gpu.peak_gflops, gpu.bandwidth_gbs * intensity);
}
