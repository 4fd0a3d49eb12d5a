// The GPU build: verifies a stage, then times it beside cuBLAS and the roofline's prediction.
#pragma once

#include <ctime>

#include "common/roofline.h"
#include "common/stage.h"
#include "common/timing.h"

class Machine {
public:
    static constexpr bool kEmulated = false;
    static constexpr int kDefaultSize = 4096;

    explicit Machine(const Options& options) : options_(options), device_(select_device(options.device)), nvml_(device_) {
        gpu_ = options.gpu ? *options.gpu : gpu_at_hand(device_);
        peak_ = gpu_at_hand(device_).peak_gflops;
        cudaDeviceProp properties;
        check_cuda(cudaGetDeviceProperties(&properties, device_), "cudaGetDeviceProperties");
        name_ = properties.name;
        int version = 0;
        check_cuda(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
        cuda_ = format("%d.%d", version / 1000, version % 1000 / 10);
    }

    void print_header(const Stage&) {
        std::printf("%s, driver %s, CUDA %s, clocks up to %.0f MHz (SM) and %.0f MHz (memory)\n", name_.c_str(),
                    nvml_.driver().c_str(), cuda_.c_str(), attribute(cudaDevAttrClockRate, device_) * 1e-3,
                    attribute(cudaDevAttrMemoryClockRate, device_) * 1e-3);
        std::printf("predicted: %s%.0f GFLOP/s, %.0f GB/s (%s)\n", options_.gpu ? gpu_.full_name : "", gpu_.peak_gflops,
                    gpu_.bandwidth_gbs, gpu_.source);
        std::printf("%-22s %-20s %9s %9s", "stage", "M x N x K", "verified", "error");
        if (!options_.verify_only)
            std::printf(" %10s %10s %10s %9s %7s %9s", "median ms", "min", "max", "GFLOP/s", "of peak", "of cuBLAS");
        std::printf(" %9s\n", "predicted");
        std::printf("%-22s %-20s %9s %9s", "", "", "", "of bound");
        if (!options_.verify_only) std::printf(" %10s %10s %10s %9s %7s %9s", "", "", "", "", "", "");
        std::printf(" %9s\n", "GFLOP/s");
    }

    CsvFile::Row run(const Stage& stage, Shape s) {
        const std::string what = std::string(stage.name) + " " + to_string(s);
        try {
            progress(what + ": verifying on integers");
            Operands x(s);
            x.set_integers(options_.seed);
            verify_exact(stage, x);
            progress(what + ": verifying on reals");
            x.set_reals(options_.seed);
            const double error = verify_accuracy(stage, x);
            progress("");
            const double intensity = arithmetic_intensity(stage, s), predicted = attainable_gflops(gpu_, intensity);
            std::printf("%-22s %-20s %9s %8.2f%%", stage.name, to_string(s).c_str(), "exact", 100 * error);
            CsvFile::Row row = {{"stage", stage.name}, {"m", std::to_string(s.M)}, {"n", std::to_string(s.N)},
                                {"k", std::to_string(s.K)}, {"error_of_bound", format("%.6f", error)}};
            if (!options_.verify_only) time(stage, x, row, what);
            std::printf(" %9.0f\n", predicted);
            row.insert(row.end(), {{"flop_per_byte", format("%.4f", intensity)},
                                   {"predicted_gflops", format("%.1f", predicted)},
                                   {"gpu", name_},
                                   {"driver", nvml_.driver()},
                                   {"cuda", cuda_},
                                   {"date", today()}});
            return row;
        } catch (const Failure& failure) {
            throw Failure(failure.code, to_string(s) + ": " + failure.what());
        }
    }

private:
    // Throws Failure(kNoGpu) where there is none, kBadCommandLine where `device` is not one of those there are.
    static int select_device(int device) {
        int count = 0;
        const cudaError_t status = cudaGetDeviceCount(&count);
        if (status != cudaSuccess || count == 0)
            throw Failure(kNoGpu, std::string("no usable GPU (cudaGetDeviceCount: ") +
                                      (status == cudaSuccess ? "there are none" : cudaGetErrorString(status)) +
                                      "); the CPU build, whose name ends in _cpu, verifies without one");
        if (device >= count)
            throw Failure(kBadCommandLine, format("--device '%d': takes a number from 0 to %d", device, count - 1));
        check_cuda(cudaSetDevice(device), "cudaSetDevice");
        return device;
    }

    void time(const Stage& stage, Operands& x, CsvFile::Row& row, const std::string& what) {
        progress(what + ": timing");
        const Shape s = x.shape;
        Timer timer(device_);
        unsigned sm_clock = 0, memory_clock = 0;
        const std::vector<Times> times = timer.run(
            {[&] { stage.launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C.device()); },
             [&] { cublas_.multiply(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C.device()); }},
            options_.repeat,
            [&] {
                sm_clock = nvml_.sm_clock();
                memory_clock = nvml_.memory_clock();
            });
        progress("");
        const double gflop = 2e-9 * s.M * s.N * s.K;
        const Times mine = times[0], theirs = times[1];
        const double gflops = gflop / mine.median * 1e3, cublas_gflops = gflop / theirs.median * 1e3;
        std::printf(" %10.4f %10.4f %10.4f %9.0f %6.1f%% %8.1f%%", mine.median, mine.least, mine.most, gflops,
                    100 * gflops / peak_, 100 * gflops / cublas_gflops);
        row.insert(row.end(), {{"median_ms", format("%.5f", mine.median)},
                               {"min_ms", format("%.5f", mine.least)},
                               {"max_ms", format("%.5f", mine.most)},
                               {"repeats", std::to_string(options_.repeat)},
                               {"gflops", format("%.1f", gflops)},
                               {"peak_gflops", format("%.1f", peak_)},
                               {"cublas_median_ms", format("%.5f", theirs.median)},
                               {"cublas_gflops", format("%.1f", cublas_gflops)},
                               {"sm_mhz", std::to_string(sm_clock)},
                               {"memory_mhz", std::to_string(memory_clock)}});
    }

    static std::string today() {
        char text[16];
        const std::time_t now = std::time(nullptr);
        std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
        return text;
    }

    Options options_;
    int device_;
    Nvml nvml_;
    Cublas cublas_;
    Gpu gpu_;
    double peak_;
    std::string name_, cuda_;
};
