// Is C = A * B? First exactly, on small integers; then on random reals, against a proven error bound.
// Nothing here needs a GPU or a BLAS.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/options.h"

// What C holds before a run: every bit set, a NaN that no arithmetic produces.
constexpr uint32_t kUnwrittenBits = 0xffffffffu;

inline float unwritten() {
    float value;
    std::memcpy(&value, &kUnwrittenBits, sizeof value);
    return value;
}

inline bool is_unwritten(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits == kUnwrittenBits;
}

// Largest |integer| for the exact test: any sum of K products then stays within `limit`, up to which the accumulator has every
// integer (float: 2^24).
inline int exact_range(int K, double limit) { return std::max(1, std::min(8, int(std::sqrt(limit / K)))); }

// Integers from -range to range without 0: a term left out or added twice always changes the sum.
inline std::vector<float> random_integers(size_t count, int range, uint32_t seed) {
    std::mt19937 bits(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        const int magnitude = 1 + int((bits() >> 1) % unsigned(range));
        value = float(bits() & 1 ? magnitude : -magnitude);
    }
    return values;
}

// Reals in [-1, 1), uniform in steps of 2^-23.
inline std::vector<float> random_reals(size_t count, uint32_t seed) {
    std::mt19937 bits(seed);
    std::vector<float> values(count);
    for (float& value : values) value = float(int32_t(bits() >> 8) - (1 << 23)) * (1.0f / (1 << 23));
    return values;
}

// The row `row` of A * B in 64-bit integers. A and B hold integers.
inline std::vector<int64_t> exact_row(Shape s, const std::vector<float>& A, const std::vector<float>& B, int row) {
    std::vector<int64_t> sums(s.N, 0);
    for (int k = 0; k < s.K; ++k) {
        const int64_t a = int64_t(A[size_t(row) * s.K + k]);
        const float* b = &B[size_t(k) * s.N];
        for (int col = 0; col < s.N; ++col) sums[col] += a * int64_t(b[col]);
    }
    return sums;
}

// "" if row `row` of C equals A * B, else the first wrong element: "C[17][4000] is 3, expected 5".
inline std::string first_wrong_in_row(Shape s, const std::vector<float>& A, const std::vector<float>& B, const float* C, int row) {
    const std::vector<int64_t> expected = exact_row(s, A, B, row);
    for (int col = 0; col < s.N; ++col) {
        const float got = C[size_t(row) * s.N + col];
        if (got == float(expected[col])) continue;  // false for NaN
        const std::string where = "C[" + std::to_string(row) + "][" + std::to_string(col) + "] ";
        char number[64];
        std::snprintf(number, sizeof number, "is %.9g", got);
        return where + (is_unwritten(got) ? "was not written" : number) + ", expected " + std::to_string(expected[col]);
    }
    return "";
}

// The rows of C that differ from A * B, by Freivalds' test: C r = A (B r) for a random vector r, in O(n^2).
// Integers modulo 2^64. A single wrong element is always found (r has no 0), several in one row escape with a
// probability of 2^-31. Source: R. Freivalds, "Probabilistic machines can use less running time", 1977.
inline std::vector<int> wrong_rows(Shape s, const std::vector<float>& A, const std::vector<float>& B, const float* C,
                                   uint32_t seed) {
    std::mt19937 bits(seed);
    std::vector<uint64_t> r(s.N), Br(s.K, 0);
    for (uint64_t& value : r) value = 1 + (bits() >> 1);
    for (int k = 0; k < s.K; ++k)
        for (int col = 0; col < s.N; ++col) Br[k] += uint64_t(int64_t(B[size_t(k) * s.N + col])) * r[col];

    std::vector<int> wrong;
    for (int row = 0; row < s.M; ++row) {
        uint64_t expected = 0, got = 0;
        bool integers = true;
        for (int k = 0; k < s.K; ++k) expected += uint64_t(int64_t(A[size_t(row) * s.K + k])) * Br[k];
        for (int col = 0; col < s.N; ++col) {
            const float c = C[size_t(row) * s.N + col];
            const bool integer = std::fabs(c) <= 16777216.0f && c == std::trunc(c);  // false for NaN
            integers = integers && integer;
            got += uint64_t(integer ? int64_t(c) : 0) * r[col];
        }
        if (!integers || got != expected) wrong.push_back(row);
    }
    return wrong;
}

// "" if C equals A * B exactly, else what is wrong first. Element by element up to 2^24 products, Freivalds beyond.
inline std::string check_exact(Shape s, const std::vector<float>& A, const std::vector<float>& B, const float* C) {
    std::vector<int> rows(s.M);
    for (int row = 0; row < s.M; ++row) rows[row] = row;
    if (double(s.M) * s.N * s.K > 16777216.0) rows = wrong_rows(s, A, B, C, 12345);
    for (const int row : rows) {
        const std::string wrong = first_wrong_in_row(s, A, B, C, row);
        if (!wrong.empty()) return wrong;
    }
    return "";
}

// Up to `limit` of the indices 0 .. size - 1, the first and the last among them.
inline std::vector<int> sample_indices(int size, int limit) {
    std::vector<int> indices;
    const int count = std::min(size, limit);
    for (int i = 0; i < count; ++i) indices.push_back(count == 1 ? 0 : int(int64_t(i) * (size - 1) / (count - 1)));
    return indices;
}

struct Accuracy {
    double worst = 0.0;  // largest error as a fraction of its bound: at most 1 is right, and NaN is not
    std::string wrong;  // "" or the first element beyond its bound
};

// Compares C with a double-precision product, at all elements or at 128 rows x 128 columns of a larger C.
// Bound: |C - AB| <= ((1 + u)^K - 1) |A||B| element by element, u the accumulator's unit roundoff (float: 2^-24), in any order of
// summation. Source: N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, sections 3.1 and 3.5.
inline Accuracy check_accuracy(Shape s, const std::vector<float>& A, const std::vector<float>& B, const float* C, double u) {
    const double gamma = std::expm1(s.K * std::log1p(u));
    const std::vector<int> rows = sample_indices(s.M, 128), cols = sample_indices(s.N, 128);
    Accuracy accuracy;
    std::vector<double> sum(cols.size()), magnitude(cols.size());
    for (const int row : rows) {
        std::fill(sum.begin(), sum.end(), 0.0);
        std::fill(magnitude.begin(), magnitude.end(), 0.0);
        for (int k = 0; k < s.K; ++k) {
            const double a = A[size_t(row) * s.K + k];
            for (size_t j = 0; j < cols.size(); ++j) {
                const double product = a * B[size_t(k) * s.N + cols[j]];
                sum[j] += product;
                magnitude[j] += std::fabs(product);
            }
        }
        for (size_t j = 0; j < cols.size(); ++j) {
            const float got = C[size_t(row) * s.N + cols[j]];
            const double error = std::fabs(got - sum[j]), bound = gamma * magnitude[j];
            if (!(error <= bound) && accuracy.wrong.empty()) {
                char text[160];
                std::snprintf(text, sizeof text, "C[%d][%d] is %.9g, expected %.9g within %.3g", row, cols[j], got, sum[j], bound);
                accuracy.wrong = text;
                accuracy.worst = std::numeric_limits<double>::quiet_NaN();
            }
            if (accuracy.wrong.empty() && bound > 0.0) accuracy.worst = std::max(accuracy.worst, error / bound);
        }
    }
    return accuracy;
}
