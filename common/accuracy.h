// How far a product of floats is from FP64 (--accuracy), for kinds of data in which sums lose bits
// differently.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/operands.h"
#include "common/table.h"
#include "common/verify.h"

// How A and B are filled.
struct DataKind {
    std::string name;  // in the columns of the CSV
    std::string title;  // above them
    std::vector<float> (*values)(size_t count, uint32_t seed);
};

// Both signs, uniform mantissas, and exponents uniform over 24 bits, from 2^-23 to 2^0.
inline std::vector<float> random_of_wide_range(size_t count, uint32_t seed) {
    return random_values<float>(count, seed, [](std::mt19937& random) {
        const float mantissa = 1 + float(random() >> 9) * 0x1p-23f;
        const unsigned bits = random();
        return std::ldexp(bits & 1 ? mantissa : -mantissa, -int((bits >> 1) % 24));
    });
}

inline const DataKind kDataKinds[] = {
    {"zero_mean", "zero-mean",  // in [-1, 1): sums grow with the square root of K
     [](size_t count, uint32_t seed) { return random_reals(count, seed, -1); }},
    {"positive", "positive",  // in [0, 1): sums grow with K, and truncation is a bias
     [](size_t count, uint32_t seed) { return random_reals(count, seed, 0); }},
    {"wide", "wide", random_of_wide_range}};

// A * B in FP64 at the elements that check_accuracy() samples.
class Fp64Sample {
public:
    Fp64Sample(Shape s, const std::vector<float>& A, const std::vector<float>& B)
        : N_(s.N), rows_(sample_indices(s.M, sample_limit(s.K))),
          cols_(sample_indices(s.N, sample_limit(s.K))) {
        std::vector<double> of_b(s.K);
        for (const int col : cols_) {
            for (int k = 0; k < s.K; ++k) of_b[k] = B[size_t(k) * s.N + col];
            for (const int row : rows_) {
                double sum = 0;
                for (int k = 0; k < s.K; ++k) sum += A[size_t(row) * s.K + k] * of_b[k];
                sums_.push_back(sum);
            }
        }
    }
    // ||C - AB|| / ||AB||, Frobenius norms over the sample.
    double error_of(const float* C) const {
        double error = 0, norm = 0;
        auto sum = sums_.begin();
        for (const int col : cols_)
            for (const int row : rows_) {
                const double difference = C[size_t(row) * N_ + col] - *sum;
                error += difference * difference;
                norm += *sum * *sum;
                ++sum;
            }
        return std::sqrt(error / norm);
    }

private:
    int N_;
    std::vector<int> rows_, cols_;
    std::vector<double> sums_;
};

// Appends an error to a row, and its ratio to the error of plain FP32, which is called `fp32`.
inline void add_error(Row& row, const DataKind& kind, double error, const std::string& fp32,
                      double error_of_fp32) {
    const std::string name = "error_" + kind.name;
    const double ratio = error_of_fp32 > 0 ? error / error_of_fp32 : 0;
    add_cells(row, {{name, format("%.3g", error)}, {name + "_of_" + fp32, figure(ratio, "%.3g")}});
}

// The columns of a table with --accuracy, where `title` is that of the ratios.
inline Columns accuracy_columns(const std::string& fp32, const std::string& title) {
    Columns columns = {{"gflops", "TFLOP/s", 8, as_tera}};  // of a GPU
    for (const DataKind& kind : kDataKinds)
        columns.insert(columns.end(), {{"error_" + kind.name, kind.title + "|error", 10},
                                       {"error_" + kind.name + "_of_" + fp32, title, 8}});
    return columns;
}
