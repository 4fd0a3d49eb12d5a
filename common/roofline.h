// The roofline model: what memory bandwidth and peak arithmetic allow at a given arithmetic intensity.
// Source: Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52 (4), 2009; slides 19 to 23 of
// "Theory and practice of performance models" (Fixstars, 2022). Caches are ignored: the chapters say where that shows.
#pragma once

#include <algorithm>
#include <string>

#include "common/report.h"

struct Gpu {
    const char* name;       // as --gpu takes it
    const char* full_name;
    double bandwidth_gbs;   // device memory, GB/s (10^9 bytes)
    // GFLOP/s, a multiply-add counted as 2 flop; 0: there is no such unit, or no figure for it here.
    double fp32_gflops;
    double half2_gflops;    // FP16 pairs on the ordinary lanes
    double tensor_gflops;   // tensor cores: FP16 in, FP32 accumulate
    const char* source;     // of the figures
};

inline const Gpu kGpus[] = {
    {"h200", "NVIDIA H200", 4282, 66908, 133816, 989400,
     "measured copy, read + write; 132 SMs x 128 lanes x 2 x 1.98 GHz; twice that; NVIDIA's H100 whitepaper, at 1.83 GHz"},
    {"fury-x", "AMD Radeon R9 Fury X", 392, 8601.6, 0, 0, "the slides, 38: measured; 64 CUs x 64 lanes x 2 x 1.05 GHz"},
    {"rtx5060ti", "NVIDIA GeForce RTX 5060 Ti", 448, 23703.6, 0, 0, "vendor, 128 bits x 28 Gbit/s; 4608 lanes x 2 x 2.572 GHz"},
    {"titan-v", "NVIDIA TITAN V", 652.8, 14899.2, 29798.4, 119193.6,
     "vendor, 3072 bits x 1.7 Gbit/s; 5120 lanes x 2 x 1.455 GHz; twice that; 640 tensor cores x 128 x 1.455 GHz"},
};

using Peak = double Gpu::*;  // which of a GPU's peaks

// The unit that a stage computes with, and what its accumulator can hold.
struct Arithmetic {
    const char* name;
    Peak peak;
    double exact_limit;    // up to here the accumulator has every integer
    double unit_roundoff;  // of one multiply-add
};

constexpr Arithmetic kFp32 = {"FP32", &Gpu::fp32_gflops, 16777216.0, 0x1p-24};
constexpr Arithmetic kHalf2 = {"FP16 pairs", &Gpu::half2_gflops, 2048.0, 0x1p-11};
// A tensor core truncates where a lane rounds (2^-23), and it shifts the addends of a block to the largest one's exponent
// before it adds them: at most as much again. Source: M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of
// NVIDIA tensor cores", PeerJ Computer Science 7, 2021.
constexpr Arithmetic kTensor = {"FP16 tensor cores", &Gpu::tensor_gflops, 16777216.0, 0x1p-22};

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
inline double attainable_gflops(const Gpu& gpu, const Arithmetic& arithmetic, double intensity) {
    return std::min(gpu.*arithmetic.peak, gpu.bandwidth_gbs * intensity);
}

// "Predicted for the NVIDIA H200: 66908 GFLOP/s (FP32), 4282 GB/s (where the figures are from)"
inline void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic) {
    const double peak = gpu.*arithmetic.peak;
    const std::string compute = peak > 0 ? format("%.0f GFLOP/s", peak) : "no figure";
    std::printf("Predicted for the %s: %s (%s), %.0f GB/s (%s)\n", gpu.full_name, compute.c_str(), arithmetic.name, gpu.bandwidth_gbs,
                gpu.source);
}

// What the roofline of `gpu` predicts at `intensity` flop per byte, as the last cells of a row.
inline void add_prediction(Row& row, double intensity, const Arithmetic& arithmetic, const Gpu& gpu) {
    const double predicted = attainable_gflops(gpu, arithmetic, intensity);
    row.push_back({"flop/byte", "flop_per_byte", format("%.2f", intensity)});
    row.push_back({"predicted GFLOP/s", "predicted_gflops", predicted > 0 ? format("%.0f", predicted) : "-"});
}
