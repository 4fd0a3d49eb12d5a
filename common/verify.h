// Verifies C = A * B: exactly on small integers, then on random reals within a proven error bound.
// Needs neither a GPU nor a BLAS.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/report.h"
#include "common/stage.h"

struct Shape {
    int M, N, K;
};

inline std::string to_string(Shape s) { return format("%d x %d x %d", s.M, s.N, s.K); }

// The first cells of a verified stage's row. error: what verify_stage() returned.
inline Row row_of(const std::string& stage, Shape s, double error) {
    return {{"stage", stage},           {"m", std::to_string(s.M)},
            {"n", std::to_string(s.N)}, {"k", std::to_string(s.K)},
            {"verified", "exact"},      {"error_of_bound", format("%.6f", error)}};
}

// ---- Data ----

// What C holds before a run: every bit set, a NaN that no arithmetic produces.
constexpr uint32_t kUnwrittenBits = 0xffffffffu;

template <class T = float>
T unwritten() {
    T value;
    std::memcpy(static_cast<void*>(&value), &kUnwrittenBits, sizeof value);
    return value;
}
template <class T>
bool is_written(const T& value) {
    return std::memcmp(&value, &kUnwrittenBits, sizeof value) != 0;
}

// Of FP16: every integer up to this, the largest number, the error of rounding.
constexpr double kHalfExact = 2048, kHalfMost = 65504, kHalfRoundoff = 0x1p-11;

// The largest |integer| of the exact test. No sum of K products then exceeds `limit`, up to which
// the accumulator holds every integer (float: 2^24).
inline int exact_range(int K, double limit) {
    return std::max(1, std::min(8, int(std::sqrt(limit / K))));
}

// Fills with values of `next(random)` that repeat after kPeriod, so that billions of elements take
// only seconds. The period is a prime number, which no row or tile has as its length.
template <class T, class Next>
void fill(std::vector<T>& values, uint32_t seed, Next next) {
    constexpr size_t kPeriod = 1048573;
    const size_t count = values.size();
    std::mt19937 random(seed);
    for (size_t i = 0; i < std::min(count, kPeriod); ++i) values[i] = T(next(random));
    for (size_t done = kPeriod; done < count; done *= 2)
        std::memcpy(static_cast<void*>(&values[done]), values.data(),
                    std::min(done, count - done) * sizeof(T));
}

// Integers from -range to range without 0, so that a missing or doubled term always changes the
// sum.
template <class T>
void fill_integers(std::vector<T>& values, int range, uint32_t seed) {
    fill(values, seed, [range](std::mt19937& random) {
        const int magnitude = 1 + int((random() >> 1) % unsigned(range));
        return float(random() & 1 ? magnitude : -magnitude);
    });
}

// Reals from low to 1, uniform in steps of about 2^-23.
template <class T>
void fill_reals(std::vector<T>& values, float low, uint32_t seed) {
    fill(values, seed, [low](std::mt19937& random) {
        return low + float(random() >> 8) * ((1 - low) * 0x1p-24f);
    });
}

inline std::vector<float> random_integers(size_t count, int range, uint32_t seed) {
    std::vector<float> values(count);
    fill_integers(values, range, seed);
    return values;
}
inline std::vector<float> random_reals(size_t count, uint32_t seed) {  // in [-1, 1)
    std::vector<float> values(count);
    fill_reals(values, -1, seed);
    return values;
}

// ---- Exact ----

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

// "" if `got`, an element of C, is `expected`; else "C[17][4000] is 3, expected 5".
template <class T>
std::string wrong_element(int row, int col, const T& got, int64_t expected) {
    if (float(got) == float(expected)) return "";  // false for NaN
    return format("C[%d][%d] ", row, col) +
           (is_written(got) ? format("is %.9g", float(got)) : "was not written") +
           format(", expected %lld", (long long)expected);
}

// Finds the rows of C that differ from A * B in O(n^2), by Freivalds' test: C r = A (B r) for a
// random vector r, modulo 2^64. A single wrong element is always found, because r has no 0. Several
// in one row escape with a probability of 2^-31. Source: R. Freivalds, "Probabilistic machines can
// use less running time", 1977.
class Freivalds {
public:
    template <class In>
    Freivalds(Shape s, const std::vector<In>& B, uint32_t seed) : s_(s), r_(s.N), Br_(s.K, 0) {
        std::mt19937 random(seed);
        for (uint32_t& value : r_) value = 1 + uint32_t(random() >> 1);
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
    std::vector<uint32_t> r_;
    std::vector<uint64_t> Br_;
};

// "" if C equals A * B exactly, else what is wrong first. Element by element up to 2^24 products,
// beyond only in the rows that Freivalds' test finds.
template <class In, class Out>
std::string check_exact(Shape s, const std::vector<In>& A, const std::vector<In>& B, const Out* C) {
    std::optional<Freivalds> quick;
    if (double(s.M) * s.N * s.K > 16777216.0) quick.emplace(s, B, 12345);
    for (int row = 0; row < s.M; ++row) {
        if (quick && !quick->wrong(A, C, row)) continue;
        const std::vector<int64_t> expected = exact_row(s, A, B, row);
        for (int col = 0; col < s.N; ++col) {
            const std::string wrong =
                wrong_element(row, col, C[size_t(row) * s.N + col], expected[col]);
            if (!wrong.empty()) return wrong;
        }
    }
    return "";
}

// ---- Accuracy ----

struct Accuracy {
    double worst = 0.0;  // largest error / bound: at most 1 if right, NaN if wrong
    std::string wrong;  // "" or the first element beyond its bound
};

// Up to `limit` of the indices 0 .. size - 1, the first and the last among them.
inline std::vector<int> sample_indices(int size, int limit) {
    std::vector<int> indices(std::min(size, limit));
    for (size_t i = 0; i < indices.size(); ++i)
        indices[i] = int(i * (size - 1) / std::max<size_t>(1, indices.size() - 1));
    return indices;
}

// Compares C with a double-precision product, at all elements or at 128 rows x 128 columns of a
// larger C; fewer from K = 2^17 on. Bound: |C - AB| <= ((1 + u)^n - 1) |A||B| element by element, u
// the accumulator's unit roundoff (float: 2^-24), n the number of terms that are not 0, in any
// order of summation. Where C is of half and the
// sums are not, it is rounded once more. Source: N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
// edition, sections 3.1 and 3.5.
template <class In, class Out>
Accuracy check_accuracy(Shape s, const std::vector<In>& A, const std::vector<In>& B, const Out* C,
                        double u) {
    const int limit = std::clamp(int(std::sqrt(0x1p31 / s.K)), 16, 128);
    const std::vector<int> rows = sample_indices(s.M, limit), cols = sample_indices(s.N, limit);
    Accuracy accuracy;
    for (const int row : rows) {
        std::vector<double> sum(cols.size(), 0.0), magnitude(cols.size(), 0.0);
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
        const double rounding = sizeof(Out) == 2 && u < kHalfRoundoff ? kHalfRoundoff : 0;
        for (size_t j = 0; j < cols.size(); ++j) {
            const float got = C[size_t(row) * s.N + cols[j]];
            const double error = std::fabs(got - sum[j]);
            const double bound = (gamma + rounding * (1 + gamma)) * magnitude[j];
            if (!(error <= bound))
                return {std::numeric_limits<double>::quiet_NaN(),
                        format("C[%d][%d] is %.9g, expected %.9g within %.3g", row, cols[j], got,
                               sum[j], bound)};
            if (bound > 0.0) accuracy.worst = std::max(accuracy.worst, error / bound);
        }
    }
    return accuracy;
}

// ---- A product on a device ----

// The operands on the host and on a device, and the matrix that a kernel writes, between two guards.
// A device array needs value_type, upload(), download(), read(first, count, to), slice(first,
// count), which gives a kernel's argument for a part of it, and host_bytes(bytes), the host memory
// that it takes.
template <class InArray, class OutArray>
struct OperandsIn {
    using In = typename InArray::value_type;
    using Out = typename OutArray::value_type;

    // Throws Failure(kDeviceFailed) if there is not enough host memory.
    explicit OperandsIn(Shape s)
        : shape((need_memory(host_bytes(s)), s)), A(size_t(s.M) * s.K), B(size_t(s.K) * s.N),
          A_device(A.size()), B_device(B.size()), C_(size_t(s.M) * s.N + 2 * kGuard),
          C_device_(C_.size()) {}

    // The host memory that they take, including that of check_exact(), and of the device's arrays
    // if those are on the host.
    static double host_bytes(Shape s) {
        const double M = s.M, N = s.N, K = s.K;
        const double matrices = sizeof(In) * (M * K + K * N) + sizeof(Out) * M * N;
        return matrices + InArray::host_bytes(matrices) + sizeof(int64_t) * (2 * N + K);
    }

    // If even K products of 1 exceed the limit, rows of A keep only so many elements.
    void set_integers(uint32_t seed, double exact_limit) {
        const int range = exact_range(shape.K, exact_limit);
        fill_integers(A, range, seed);
        fill_integers(B, range, seed + 1);
        upload(exact_limit, seed);
    }
    // All positive: no sum cancels, so the error bound is a fraction of each element of C, and at
    // most a quarter of it.
    void set_reals(uint32_t seed, double unit_roundoff) {
        fill_reals(A, 0.25f, seed);
        fill_reals(B, 0.25f, seed + 1);
        const double most = std::floor(std::log1p(0.25) / std::log1p(unit_roundoff));
        upload(sizeof(Out) == 2 ? std::min(most, kHalfMost) : most, seed);
    }
    // Reals of both signs, for timing. Simpler data would draw less power, which can raise the
    // clock.
    void set_timed(uint32_t seed) {
        fill_reals(A, -1, seed);
        fill_reals(B, -1, seed + 1);
        upload(shape.K, seed);
    }

    auto C_device() { return C_device_.slice(kGuard, C_.size() - 2 * kGuard); }
    const Out* C() const { return &C_[kGuard]; }
    // C holds NaN before a run. The guards hold a number, because a kernel that adds to a NaN would
    // not change it.
    void clear() {
        std::fill(C_.begin(), C_.end(), Out(kGuardValue));
        std::fill(C_.begin() + kGuard, C_.end() - kGuard, unwritten<Out>());
        C_device_.upload(C_);
    }
    // Downloads C. Returns where the kernel wrote outside C, or what it changed first of A or B:
    // "A[3][5] was changed"; "" if all is well.
    std::string fetch() {
        C_device_.download(C_);
        const float guard = float(Out(kGuardValue));
        for (size_t i = 0; i < kGuard; ++i) {
            if (!(float(C_[kGuard - 1 - i]) == guard))
                return format("a write outside C, %zu elements before its start", i + 1);
            if (!(float(C_[C_.size() - kGuard + i]) == guard))
                return format("a write outside C, %zu elements past its end", i);
        }
        const std::string of_a = first_changed("A", A_device, A, shape.K);
        return of_a.empty() ? first_changed("B", B_device, B, shape.N) : of_a;
    }

    Shape shape;
    std::vector<In> A, B;
    InArray A_device, B_device;

private:
    static constexpr size_t kGuard = 1024;  // elements on each side, so that C stays 2 KiB aligned
    static constexpr float kGuardValue = 0.1234567f;

    // Uploads them, after thinning the rows of A, so that a sum has no more than `most_terms`: of
    // neighbours all but one become zero, another one in the next row.
    void upload(double most_terms, uint32_t seed) {
        const int step = int(std::ceil(shape.K / most_terms));
        std::mt19937 random(seed);
        std::vector<int> first;  // of each `step` neighbours, the one that row 0 keeps
        for (int k = 0; step > 1 && k < shape.K; k += step)
            first.push_back(int(random() % unsigned(step)));
        for (int row = 0; step > 1 && row < shape.M; ++row)
            for (int k = 0; k < shape.K; k += step) {
                const int kept = (first[k / step] + row % step) % step;
                for (int i = 0; i < std::min(step, shape.K - k); ++i)
                    if (i != kept) A[size_t(row) * shape.K + k + i] = In(0.0f);
            }
        A_device.upload(A);
        B_device.upload(B);
    }
    static std::string first_changed(const char* name, InArray& device, const std::vector<In>& host,
                                     int columns) {
        std::vector<In> chunk(size_t(1) << 20);
        for (size_t first = 0; first < host.size(); first += chunk.size()) {
            const size_t count = std::min(chunk.size(), host.size() - first);
            device.read(first, count, chunk.data());
            if (std::memcmp(chunk.data(), &host[first], count * sizeof(In)) == 0) continue;
            size_t i = 0;
            while (std::memcmp(&chunk[i], &host[first + i], sizeof(In)) == 0) ++i;
            return format("%s[%zu][%zu] was changed", name, (first + i) / columns,
                          (first + i) % columns);
        }
        return "";
    }

    std::vector<Out> C_;
    OutArray C_device_;
};

// Verifies the product that `launch` computes on x. launch must wait until it is done. On integers
// C must equal A * B. This is repeated while once_more() returns true: the emulator uses that to
// change the order of threads. On reals C must stay within the error bound. Returns the largest
// error / bound.
template <class X>
double verify_stage(
    X& x, const Arithmetic& arithmetic, uint32_t seed, const std::function<void()>& launch,
    const std::function<bool()>& once_more = [] { return false; }) {
    const auto check = [](const std::string& wrong) {
        if (!wrong.empty()) throw Failure(kWrongResult, wrong);
    };
    const auto run = [&] {
        x.clear();
        launch();
        check(x.fetch());
    };
    constexpr bool half_c = sizeof(*x.C()) == 2;
    x.set_integers(seed, half_c ? kHalfExact : arithmetic.exact_limit);
    do {
        run();
        check(check_exact(x.shape, x.A, x.B, x.C()));
    } while (once_more());
    x.set_reals(seed, arithmetic.unit_roundoff);
    run();
    const Accuracy accuracy = check_accuracy(x.shape, x.A, x.B, x.C(), arithmetic.unit_roundoff);
    check(accuracy.wrong);
    return accuracy.worst;
}
