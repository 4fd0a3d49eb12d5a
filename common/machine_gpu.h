// The GPU build: verifies a stage, then times it beside cuBLAS and the roofline's prediction.
#pragma once

#include "common/launch.h"
#include "common/options.h"
#include "common/timing.h"

class Machine {
public:
    static constexpr bool kEmulated = false;
    static constexpr int kDefaultSize = 4096;

    Machine(const Options& options, const Arithmetic& arithmetic)
        : options_(options), device_(select_device(options.device)), nvml_(bus_id(device_)),
          here_(gpu_at_hand(device_)), gpu_(options.gpu.value_or(here_)) {
        const Row where = where_measured(here_, nvml_);
        std::printf("%s, driver %s, CUDA %s, clocks up to %d MHz (SM) and %d MHz (memory)\n",
                    where[0].value.c_str(), where[1].value.c_str(), where[2].value.c_str(),
                    attribute(cudaDevAttrClockRate, device_) / 1000,
                    attribute(cudaDevAttrMemoryClockRate, device_) / 1000);
        print_gpu(gpu_, arithmetic);
    }

    // Verifies `stage` on one shape, then times it. Throws Failure.
    template <class In, class Out>
    Row run(const StageOf<In, Out>& stage, Shape s) {
        const std::string what = std::string(stage.name) + " " + to_string(s);
        progress(what + ": verifying");
        Operands<In, Out> x(s);
        verify_exact(stage, x, options_.seed);
        const double error = verify_accuracy(stage, x, options_.seed);
        Row row = verified_cells(error);
        const double gflops = options_.verify_only ? 0 : time(stage, x, row, what);
        add_prediction(row, intensity_of(stage, s), stage.arithmetic, gpu_, gflops);
        for (const Cell& cell : where_measured(here_, nvml_)) row.push_back(cell);
        return row;
    }

    template <class AnyStage>
    bool verified_large_indices(const AnyStage&) const {
        return false;
    }
    void print_details() const {}

private:
    // Adds the times to the row; returns GFLOP/s.
    template <class In, class Out>
    double time(const StageOf<In, Out>& stage, Operands<In, Out>& x, Row& row,
                const std::string& what) {
        progress(what + ": timing");
        x.set_timed(options_.seed);
        const Shape s = x.shape;
        const In *A = x.A_device.data(), *B = x.B_device.data();
        Out* C = x.C.device();
        Cublas cublas;
        unsigned sm_clock = 0, memory_clock = 0;
        const std::vector<Times> times =
            Timer(device_).run({[&] { stage.launch(s.M, s.N, s.K, A, B, C); },
                                [&] { cublas.multiply(s.M, s.N, s.K, A, B, C); }},
                               options_.repeat, [&] {
                                   sm_clock = nvml_.sm_clock();
                                   memory_clock = nvml_.memory_clock();
                               });
        const double flop = 2.0 * s.M * s.N * s.K;
        add_times(row, times[0], flop, here_.peak.*stage.arithmetic.peak);
        add_library(row, "cuBLAS", "cublas", flop, times[0], times[1]);
        row.push_back({"", "repeats", std::to_string(options_.repeat)});
        row.push_back({"SM MHz", "sm_mhz", std::to_string(sm_clock)});
        row.push_back({"", "memory_mhz", std::to_string(memory_clock)});
        return flop / times[0].median * 1e-6;
    }

    Options options_;
    int device_;
    Nvml nvml_;
    Gpu here_, gpu_;
};
