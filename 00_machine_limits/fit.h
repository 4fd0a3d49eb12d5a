// The model of the Zenn article, section 2.3, T = 3 N^2 T_x + 2 N^3 T_gpu, fitted to what transfer.cu measures. Pure C++.
#pragma once

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "common/csv.h"

// One product of two N x N matrices of floats.
struct FitPoint {
    double n;
    double transfer_ms;  // A and B to the device and C back: 3 N^2 elements
    double kernel_ms;  // 2 N^3 flop
};

struct Fit {
    double t_x_ns;  // T_x, for one element
    double t_gpu_ns;  // T_gpu, for one flop
    double worst_error;  // model / measured - 1 of the whole time, where that is furthest from 0
    double worst_n;  // and there N

    double model_ms(double n) const {
        return (3 * n * n * t_x_ns + 2 * n * n * n * t_gpu_ns) * 1e-6;
    }
    double crossover_n() const {
        return 1.5 * t_x_ns / t_gpu_ns;
    }  // here transfer and computation take the same time
    double gbs() const { return sizeof(float) / t_x_ns; }  // GB/s
    double tflops() const { return 1e-3 / t_gpu_ns; }  // TFLOP/s
};

// The a that makes the sum of (a x / y - 1)^2 least: the errors are relative, so that a small N counts as much as a large one.
class RelativeSlope {
public:
    void add(double x, double y) {
        sum_ += x / y;
        squares_ += x / y * (x / y);
    }
    double slope() const { return sum_ / squares_; }

private:
    double sum_ = 0, squares_ = 0;
};

// Fits T_x to the transfers and T_gpu to the kernels, each on its own. Throws Failure(kWrongResult) without a point, or where a
// number is not finite and above 0.
inline Fit fit(const std::vector<FitPoint>& points) {
    if (points.empty()) throw Failure(kWrongResult, "the fit: there are no points");
    RelativeSlope transfer, kernel;
    for (const FitPoint& p : points) {
        for (const double value : {p.n, p.transfer_ms, p.kernel_ms})
            if (!(value > 0 && std::isfinite(value)))
                throw Failure(kWrongResult, "the fit: a point is not a number above 0");
        transfer.add(3 * p.n * p.n, p.transfer_ms * 1e6);
        kernel.add(2 * p.n * p.n * p.n, p.kernel_ms * 1e6);
    }
    Fit result = {transfer.slope(), kernel.slope(), 0, points[0].n};
    for (const FitPoint& p : points) {
        const double error = result.model_ms(p.n) / (p.transfer_ms + p.kernel_ms) - 1;
        if (std::fabs(error) <= std::fabs(result.worst_error)) continue;
        result.worst_error = error;
        result.worst_n = p.n;
    }
    return result;
}

// The article's table: 0.857 s in all, 0.787 s of them the kernel's, on a GeForce RTX 5060 Ti.
constexpr FitPoint kArticle = {8192, 857 - 787, 787};

using FitPoints = std::map<std::string, std::vector<FitPoint>>;  // by the kind of host memory

// The points of a CSV that transfer wrote. `option` is named in messages. Throws Failure(kBadCommandLine).
inline FitPoints read_points(const std::string& option, const std::string& path) {
    FitPoints points;
    for (const CsvRow& row :
         read_csv(option, path, {"n", "memory", "h2d_ms", "kernel_ms", "d2h_ms"})) {
        const auto cell = [&](const char* column) { return positive(option, path, row, column); };
        points[row.at("memory")].push_back(
            {cell("n"), cell("h2d_ms") + cell("d2h_ms"), cell("kernel_ms")});
    }
    return points;
}

inline void print_fits(const FitPoints& all) {
    std::printf(
        "T = 3 N^2 T_x + 2 N^3 T_gpu, fitted with relative errors: small N count, too. The model has no constant term:\n"
        "what it takes to start each copy and launch is missing from it.\n");
    for (const auto& [memory, points] : all) {
        const Fit f = fit(points);
        std::printf(
            "%s: T_x %.4g ns per element (%.4g GB/s), T_gpu %.4g ns per flop (%.4g TFLOP/s)\n"
            "    transfer and computation take the same time at N = %.0f; the model is furthest off at N = %.0f: %+.1f%%\n",
            memory.c_str(), f.t_x_ns, f.gbs(), f.t_gpu_ns, f.tflops(), f.crossover_n(), f.worst_n,
            100 * f.worst_error);
    }
    const Fit f = fit({kArticle});
    std::printf("The article's rates: %.3g GB/s, %.2g TFLOP/s: the same time at N = %.0f\n",
                f.gbs(), f.tflops(), f.crossover_n());
}
