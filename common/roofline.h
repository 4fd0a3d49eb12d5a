// The roofline model: the speed that memory bandwidth and peak arithmetic allow at a given
// arithmetic intensity. And the limits of GPUs, as published or as 00_machine_limits/roofline
// measured them.
// Source: Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52 (4), 2009; slides
// 19 to 23 of "Theory and practice of performance models" (Fixstars, 2022). Caches are ignored,
// except for L2 where tensor cores load from it; the chapters say where that shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/facts.h"
#include "common/table.h"

struct Gpu {
    std::string full_name;
    Limits peak;  // by the vendor's figures
    Limits measured;  // 0 where nothing was measured
    std::string source;

    // The limit to predict from: the measured one, or the vendor's if there is none.
    double limit(Limit which) const { return measured.*which > 0 ? measured.*which : peak.*which; }
    // The memory whose bandwidth limits loads of global memory: L2 for arithmetic that is predicted
    // from it, if its limit is known.
    Limit memory(const Arithmetic& arithmetic) const {
        return limit(arithmetic.memory) > 0 ? arithmetic.memory : &Limits::bandwidth_gbs;
    }
};

// Bytes that all threads of a launch load from device memory, store to it, and load from shared
// memory; negative: not stated.
struct Traffic {
    double loaded = -1, stored = -1, shared = -1;
};

// The traffic that a stage's facts state. in_bytes, out_bytes: of an element of A and B, and of C.
Traffic stated_traffic(const Facts& facts, double M, double N, double K, int in_bytes,
                       int out_bytes);

// GFLOP/s that the roofline allows: the lowest of the limits of arithmetic, global memory (device
// memory or L2) and shared memory. 0: no figure for this arithmetic on this GPU. flop_per_byte: of
// global memory, loads and stores; shared_flop_per_byte: of loads, 0 if there are none.
double attainable_gflops(const Gpu& gpu, const Arithmetic& arithmetic, double flop_per_byte,
                         double shared_flop_per_byte);

// Prints "Predicted for the NVIDIA H200: 65940 GFLOP/s (FP32), 4274 GB/s, ... (the source)"; L2's
// bandwidth as "L2 8700 GB/s".
void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic);

// Appends the prediction for a launch on `gpu` to a row. measured_gflops: 0 if nothing was timed.
void add_prediction(Row& row, double flop, const Traffic& traffic, const Arithmetic& arithmetic,
                    const Gpu& gpu, double measured_gflops);

// The limits in a CSV that 00_machine_limits/roofline wrote, or in one with the columns what, gbs,
// gflops, limit (the vendor's figure) and gpu; a figure that is not known is "-". Throws
// Failure(kBadCommandLine) if it lacks one that every prediction needs.
Gpu read_limits(const std::string& path);

// What --gpu takes: the folders of docs/results, beside this program's sources, with a limits.csv.
std::vector<std::string> gpu_names();
Gpu gpu_named(const std::string& name);
// The GPU that its driver calls `full_name`, if there is one.
std::optional<Gpu> find_gpu(const std::string& full_name);
