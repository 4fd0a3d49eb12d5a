// Verifies C = A * B: exactly on small integers, then on random reals within a proven error bound.
// Needs neither a GPU nor a BLAS.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/errors.h"
#include "common/facts.h"

struct Shape {
    int M, N, K;
};
inline std::string to_string(Shape s) { return format("%d x %d x %d", s.M, s.N, s.K); }
// Whether there are too many products to compute each of them on the host.
inline bool is_large(Shape s) { return double(s.M) * s.N * s.K > 16777216.0; }

// What C holds before a run: a signaling NaN, which no arithmetic produces, not even from itself.
template <class T = float>
T unwritten() {
    const uint32_t bits = sizeof(T) == 4 ? 0x7fa5a5a5 : 0x7da57da5;
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    return value;
}

// Describes an element of C: "is 3", "is NaN" or "was not written".
template <class T>
std::string found(const T& value) {
    const T never = unwritten<T>();
    if (std::memcmp(&value, &never, sizeof value) == 0) return "was not written";
    if (std::isnan(float(value))) return "is NaN";
    // The value of an unset variable in an emulated program, which the compiler fills with a
    // pattern.
    const bool unset = float(value) == -0x1.fdfdfcp+126f;
    return format("is %.9g%s", float(value), unset ? ", of a variable that was never set" : "");
}

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

// Throws Failure(kWrongResult), "C[17][4000] is 3, expected 5", unless `got` is what C holds there.
template <class T>
void check_element(int row, int col, const T& got, int64_t expected) {
    if (!(float(got) == float(expected)))
        throw Failure(kWrongResult, format("C[%d][%d] %s, expected %lld", row, col,
                                           found(got).c_str(), (long long)expected));
}

// Up to `limit` of the indices 0 .. size - 1, the first and the last among them.
inline std::vector<int> sample_indices(int size, int limit) {
    std::vector<int> indices(std::min(size, limit));
    for (size_t i = 0; i < indices.size(); ++i)
        indices[i] = int(i * (size - 1) / std::max<size_t>(1, indices.size() - 1));
    return indices;
}

// The rows of C that differ from A * B, found in O(n^2) by Freivalds' test: C r = A (B r) for a
// random vector r, modulo 2^64. A single wrong element is always found, because r has no 0. Several
// in one row escape with a probability of at most 2^-31. Source: R. Freivalds, "Probabilistic
// machines can use less running time", 1977.
template <class In, class Out>
std::vector<int> differing_rows(Shape s, const std::vector<In>& A, const std::vector<In>& B,
                                const Out* C) {
    std::mt19937 random(12345);
    std::vector<uint32_t> r(s.N);
    for (uint32_t& value : r) value = 1 + uint32_t(random() >> 1);
    std::vector<uint64_t> Br(s.K, 0);
    for (int k = 0; k < s.K; ++k)
        for (int col = 0; col < s.N; ++col)
            Br[k] += uint64_t(int64_t(float(B[size_t(k) * s.N + col]))) * r[col];
    std::vector<int> rows;
    for (int row = 0; row < s.M; ++row) {
        uint64_t expected = 0, got = 0;
        bool integers = true;
        for (int k = 0; k < s.K; ++k)
            expected += uint64_t(int64_t(float(A[size_t(row) * s.K + k]))) * Br[k];
        for (int col = 0; col < s.N; ++col) {
            const float c = C[size_t(row) * s.N + col];
            const int64_t integer = std::fabs(c) <= 16777216.0f ? int64_t(c) : 0;  // false for NaN
            integers = integers && float(integer) == c;
            got += uint64_t(integer) * r[col];
        }
        if (!integers || got != expected) rows.push_back(row);
    }
    return rows;
}

// Throws Failure(kWrongResult), with what is wrong first, unless C equals A * B exactly. Element by
// element up to 2^24 products, beyond only in the rows that Freivalds' test finds.
template <class In, class Out>
void check_exact(Shape s, const std::vector<In>& A, const std::vector<In>& B, const Out* C) {
    for (const int row : is_large(s) ? differing_rows(s, A, B, C) : sample_indices(s.M, s.M)) {
        const std::vector<int64_t> expected = exact_row(s, A, B, row);
        for (int col = 0; col < s.N; ++col)
            check_element(row, col, C[size_t(row) * s.N + col], expected[col]);
    }
}

// The bound of |C - AB| / |A||B| for an element of C whose sum has `terms` products that are not 0,
// of K, added in any order: (1 + u)^terms - 1, u the accumulator's unit roundoff (float: 2^-24).
// Source: N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, sections 3.1 and
// 3.5.
//
// A tensor core adds m products to an accumulator at once, and loses at most m u + r of the sum of
// all magnitudes (see Arithmetic): the result is the sum of the addends, each times (1 + d), |d| <=
// (1 + u)^m (1 + r) - 1. A stage that computes products of floats from halves has `products` such
// products for each, which are exact, because a product of two halves has 22 bits. So the factors
// of all additions count `products` times. That includes the addition which joins the accumulator
// of lo hi + hi lo, if it is another one, to that of hi hi: each of the two has fewer products.
//
// If the sums are promoted, only the additions of one k-tile precede the promotion, which adds to a
// total that is rounded, once for each k-tile with a product that is not 0. The accumulator of
// lo hi + hi lo alone may remain to the end: its additions are counted besides, for magnitudes of at
// most (magnitude - 1) |A||B|. All other factors apply to at most `magnitude` |A||B|, and the exact
// sum of all products differs from AB by at most `representation` |A||B|.
inline double error_bound(const Arithmetic& arithmetic, double terms, double K) {
    const bool promoted = arithmetic.most_promoted > 0;
    const double tile = promoted ? arithmetic.most_promoted : K;
    const auto log_of_additions = [&](double added, double of) {
        return added * std::log1p(arithmetic.unit_roundoff) +
               std::min(added, std::ceil(of / arithmetic.terms_at_once)) *
                   std::log1p(arithmetic.roundoff_at_once);
    };
    const double promotions =
        promoted ? std::min(terms, std::ceil(K / arithmetic.least_promoted)) : 0;
    const double gamma =
        std::expm1(arithmetic.products * log_of_additions(std::min(terms, tile), tile) +
                   promotions * std::log1p(kFp32.unit_roundoff));
    const double gamma_of_lo =
        promoted ? std::expm1((arithmetic.products - 1) * log_of_additions(terms, K)) : 0;
    return arithmetic.representation + arithmetic.magnitude * gamma +
           (arithmetic.magnitude - 1) * gamma_of_lo;
}

// The most terms, of K, whose error bound is at most `bound`; at least 1.
inline double most_terms(const Arithmetic& arithmetic, double K, double bound) {
    double within = 1, beyond = K + 1;
    while (beyond - within > 1) {
        const double terms = std::floor((within + beyond) / 2);
        (error_bound(arithmetic, terms, K) <= bound ? within : beyond) = terms;
    }
    return within;
}

// The most rows, and columns, of C at which sums of K products are computed in double precision.
inline int sample_limit(int K) { return std::clamp(int(std::sqrt(0x1p31 / K)), 16, 128); }

// Compares C with a double-precision product, at all elements or at 128 rows x 128 columns of a
// larger C; fewer from K = 2^17 on. Each element must lie within error_bound(). Where C is of half
// and the accumulators are not, C is rounded once more. Returns the largest error / bound. Throws
// Failure(kWrongResult) with an element beyond its bound.
template <class In, class Out>
double check_accuracy(Shape s, const std::vector<In>& A, const std::vector<In>& B, const Out* C,
                      const Arithmetic& arithmetic) {
    const int limit = sample_limit(s.K);
    const std::vector<int> rows = sample_indices(s.M, limit), cols = sample_indices(s.N, limit);
    const bool rounded_once = sizeof(Out) == 2 && arithmetic.unit_roundoff < kHalf2.unit_roundoff;
    const double rounding = rounded_once ? kHalf2.unit_roundoff : 0;
    double worst = 0;
    for (const int col : cols)  // a column of B stays in the host's cache
        for (const int row : rows) {
            double sum = 0, magnitude = 0;
            int terms = 0;
            for (int k = 0; k < s.K; ++k) {
                const double a = float(A[size_t(row) * s.K + k]);
                const double product = a * float(B[size_t(k) * s.N + col]);
                sum += product;
                magnitude += std::fabs(product);
                terms += product != 0;
            }
            const Out& got = C[size_t(row) * s.N + col];
            const double of_sum = error_bound(arithmetic, terms, s.K);
            const double bound = (of_sum + rounding * (1 + of_sum)) * magnitude;
            const double error = std::fabs(float(got) - sum);
            if (!(error <= bound))
                throw Failure(kWrongResult, format("C[%d][%d] %s, expected %.9g within %.3g", row,
                                                   col, found(got).c_str(), sum, bound));
            if (bound > 0) worst = std::max(worst, error / bound);
        }
    return worst;
}
