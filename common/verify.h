// Is C = A * B? First exactly, on small integers; then on random reals, against a proven error bound.
// Nothing here needs a GPU or a BLAS.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/options.h"

// What C holds before a run: every bit set, a NaN that no arithmetic produces.
constexpr uint32_t kUnwrittenBits = 0xffffffffu;

template <class T = float>
T unwritten() {
    T value;
    std::memcpy(static_cast<void*>(&value), &kUnwrittenBits, sizeof value);
    return value;
}

template <class T>
bool is_unwritten(const T& value) {
    return std::memcmp(&value, &kUnwrittenBits, sizeof value) == 0;
}

// Largest |integer| for the exact test: any sum of K products then stays within `limit`, up to which the accumulator has every
// integer (float: 2^24).
inline int exact_range(int K, double limit) {
    return std::max(1, std::min(8, int(std::sqrt(limit / K))));
}

// The data repeats itself after so many elements, so that billions of them take seconds. A prime number: no row or tile is that long.
constexpr size_t kPeriod = 1048573;

template <class T, class Next>
void fill_periodic(std::vector<T>& values, Next next) {
    const size_t count = values.size();
    for (size_t i = 0; i < std::min(count, kPeriod); ++i) values[i] = T(next());
    for (size_t done = kPeriod; done < count; done *= 2)
        std::memcpy(static_cast<void*>(&values[done]), values.data(),
                    std::min(done, count - done) * sizeof(T));
}

// Integers from -range to range without 0: a term left out or added twice always changes the sum.
template <class T>
void fill_integers(std::vector<T>& values, int range, uint32_t seed) {
    fill_periodic(values, [range, bits = std::mt19937(seed)]() mutable {
        const int magnitude = 1 + int((bits() >> 1) % unsigned(range));
        return float(bits() & 1 ? magnitude : -magnitude);
    });
}

// Reals from low to 1, uniform in steps of about 2^-23.
template <class T>
void fill_reals(std::vector<T>& values, float low, uint32_t seed) {
    fill_periodic(values, [low, bits = std::mt19937(seed)]() mutable {
        return low + float(bits() >> 8) * ((1 - low) * 0x1p-24f);
    });
}

inline std::vector<float> random_integers(size_t count, int range, uint32_t seed) {
    std::vector<float> values(count);
    fill_integers(values, range, seed);
    return values;
}

// Reals in [-1, 1).
inline std::vector<float> random_reals(size_t count, uint32_t seed) {
    std::vector<float> values(count);
    fill_reals(values, -1, seed);
    return values;
}

// Keeps one of each `step` neighbours in a row of A, and another one in the next row; zeros for the rest.
template <class T>
void thin_rows(Shape s, std::vector<T>& A, int step, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<int> kept(s.K / step + 1);
    for (int& each : kept) each = int(random() % unsigned(step));
    for (int row = 0; step > 1 && row < s.M; ++row)
        for (int k = 0; k < s.K; k += step) {
            const auto begin = A.begin() + size_t(row) * s.K + k;
            const int length = std::min(step, s.K - k), at = (kept[k / step] + row % step) % step;
            const T value = at < length ? begin[at] : T(0.0f);
            std::fill_n(begin, length, T(0.0f));
            if (at < length) begin[at] = value;
        }
}

// The most terms of a sum for which its error bound, as a share of its terms' magnitudes, is at most a quarter (see check_accuracy).
inline double most_terms(double u) { return std::floor(std::log1p(0.25) / std::log1p(u)); }

// The row `row` of A * B in 64-bit integers. A and B hold integers.
template <class In>
std::vector<int64_t> exact_row(Shape s, const std::vector<In>& A, const std::vector<In>& B,
                               int row) {
    std::vector<int64_t> sums(s.N, 0);
    for (int k = 0; k < s.K; ++k) {
        const int64_t a = int64_t(float(A[size_t(row) * s.K + k]));
        const In* b = &B[size_t(k) * s.N];
        for (int col = 0; col < s.N; ++col) sums[col] += a * int64_t(float(b[col]));
    }
    return sums;
}

// "" if `got`, an element of C, is `expected`.
template <class T>
std::string wrong_element(int row, int col, const T& got, int64_t expected) {
    if (float(got) == float(expected)) return "";  // false for NaN
    char text[128], number[64];
    std::snprintf(number, sizeof number, "is %.9g", float(got));
    std::snprintf(text, sizeof text, "C[%d][%d] %s, expected %lld", row, col,
                  is_unwritten(got) ? "was not written" : number, (long long)expected);
    return text;
}

// "" if row `row` of C equals A * B, else the first wrong element: "C[17][4000] is 3, expected 5".
template <class In, class Out>
std::string first_wrong_in_row(Shape s, const std::vector<In>& A, const std::vector<In>& B,
                               const Out* C, int row) {
    const std::vector<int64_t> expected = exact_row(s, A, B, row);
    for (int col = 0; col < s.N; ++col) {
        const std::string wrong =
            wrong_element(row, col, C[size_t(row) * s.N + col], expected[col]);
        if (!wrong.empty()) return wrong;
    }
    return "";
}

// Tells which rows of C differ from A * B, by Freivalds' test: C r = A (B r) for a random vector r, in O(n^2).
// Integers modulo 2^64. A single wrong element is always found (r has no 0), several in one row escape with a
// probability of 2^-31. Source: R. Freivalds, "Probabilistic machines can use less running time", 1977.
class Freivalds {
public:
    template <class In>
    Freivalds(Shape s, const std::vector<In>& B, uint32_t seed) : s_(s), r_(s.N), Br_(s.K, 0) {
        std::mt19937 bits(seed);
        for (uint64_t& value : r_) value = 1 + (bits() >> 1);
        for (int k = 0; k < s.K; ++k)
            for (int col = 0; col < s.N; ++col)
                Br_[k] += uint64_t(int64_t(float(B[size_t(k) * s.N + col]))) * r_[col];
    }
    template <class In, class Out>
    bool wrong(const std::vector<In>& A, const Out* C, int row) const {
        uint64_t expected = 0, got = 0;
        bool integers = true;
        for (int k = 0; k < s_.K; ++k)
            expected += uint64_t(int64_t(float(A[size_t(row) * s_.K + k]))) * Br_[k];
        for (int col = 0; col < s_.N; ++col) {
            const float c = C[size_t(row) * s_.N + col];
            const int64_t integer = std::fabs(c) <= 16777216.0f ? int64_t(c) : 0;  // false for NaN
            integers = integers && float(integer) == c;
            got += uint64_t(integer) * r_[col];
        }
        return !integers || got != expected;
    }

private:
    Shape s_;
    std::vector<uint64_t> r_, Br_;
};

// "" if C equals A * B exactly, else what is wrong first. Element by element up to 2^24 products, Freivalds beyond.
template <class In, class Out>
std::string check_exact(Shape s, const std::vector<In>& A, const std::vector<In>& B, const Out* C) {
    std::optional<Freivalds> quick;
    if (double(s.M) * s.N * s.K > 16777216.0) quick.emplace(s, B, 12345);
    for (int row = 0; row < s.M; ++row) {
        if (quick && !quick->wrong(A, C, row)) continue;
        const std::string wrong = first_wrong_in_row(s, A, B, C, row);
        if (!wrong.empty()) return wrong;
    }
    return "";
}

// Up to `limit` of the indices 0 .. size - 1, the first and the last among them.
inline std::vector<int> sample_indices(int size, int limit) {
    std::vector<int> indices;
    const int count = std::min(size, limit);
    for (int i = 0; i < count; ++i)
        indices.push_back(count == 1 ? 0 : int(int64_t(i) * (size - 1) / (count - 1)));
    return indices;
}

struct Accuracy {
    double worst =
        0.0;  // largest error as a fraction of its bound: at most 1 is right, and NaN is not
    std::string wrong;  // "" or the first element beyond its bound
};

// Compares C with a double-precision product, at all elements or at 128 rows x 128 columns of a larger C; fewer from K = 2^17 on.
// Bound: |C - AB| <= ((1 + u)^n - 1) |A||B| element by element, u the accumulator's unit roundoff (float: 2^-24), n the number of
// terms that are not 0, in any order of summation. Source: N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
// edition, sections 3.1 and 3.5.
template <class In, class Out>
Accuracy check_accuracy(Shape s, const std::vector<In>& A, const std::vector<In>& B, const Out* C,
                        double u) {
    const int limit = std::clamp(int(std::sqrt(0x1p31 / s.K)), 16, 128);
    const std::vector<int> rows = sample_indices(s.M, limit), cols = sample_indices(s.N, limit);
    Accuracy accuracy;
    std::vector<double> sum(cols.size()), magnitude(cols.size());
    for (const int row : rows) {
        std::fill(sum.begin(), sum.end(), 0.0);
        std::fill(magnitude.begin(), magnitude.end(), 0.0);
        int terms = 0;
        for (int k = 0; k < s.K; ++k) {
            const double a = float(A[size_t(row) * s.K + k]);
            if (a == 0) continue;
            ++terms;
            for (size_t j = 0; j < cols.size(); ++j) {
                const double product = a * float(B[size_t(k) * s.N + cols[j]]);
                sum[j] += product;
                magnitude[j] += std::fabs(product);
            }
        }
        const double gamma = std::expm1(terms * std::log1p(u));
        for (size_t j = 0; j < cols.size(); ++j) {
            const float got = C[size_t(row) * s.N + cols[j]];
            const double error = std::fabs(got - sum[j]), bound = gamma * magnitude[j];
            if (!(error <= bound) && accuracy.wrong.empty()) {
                char text[160];
                std::snprintf(text, sizeof text, "C[%d][%d] is %.9g, expected %.9g within %.3g",
                              row, cols[j], got, sum[j], bound);
                accuracy.wrong = text;
                accuracy.worst = std::numeric_limits<double>::quiet_NaN();
            }
            if (accuracy.wrong.empty() && bound > 0.0)
                accuracy.worst = std::max(accuracy.worst, error / bound);
        }
    }
    return accuracy;
}
