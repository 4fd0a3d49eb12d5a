// The matrices of a product, on the host and on a device: their contents, and the guards around C.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/causes.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/verify.h"

// The largest |integer| of the exact test. No sum of K products then exceeds `limit`, up to which
// the accumulator holds every integer (float: 2^24).
inline int exact_range(int K, double limit) {
    return std::max(1, std::min(8, int(std::sqrt(limit / K))));
}

// `count` values of `next(random)`. The values repeat, so that billions of them take only seconds.
// The period is a prime number, so that the rows and tiles of usual shapes do not repeat.
template <class T, class Next>
std::vector<T> random_values(size_t count, uint32_t seed, Next next) {
    constexpr size_t kPeriod = 1048573;
    std::vector<T> values(count);
    std::mt19937 random(seed);
    for (size_t i = 0; i < std::min(count, kPeriod); ++i) values[i] = T(next(random));
    for (size_t done = kPeriod; done < count; done *= 2)
        std::copy_n(values.begin(), std::min(done, count - done), values.begin() + done);
    return values;
}

// Integers from -range to range without 0: a missing or doubled term always changes the sum.
template <class T = float>
std::vector<T> random_integers(size_t count, uint32_t seed, int range) {
    return random_values<T>(count, seed, [range](std::mt19937& random) {
        const int magnitude = 1 + int((random() >> 1) % unsigned(range));
        return float(random() & 1 ? magnitude : -magnitude);
    });
}

// Reals from low to 1, uniform in steps of about 2^-23.
template <class T = float>
std::vector<T> random_reals(size_t count, uint32_t seed, float low = -1) {
    return random_values<T>(count, seed, [low](std::mt19937& random) {
        return low + float(random() >> 8) * ((1 - low) * 0x1p-24f);
    });
}

// Guard elements on each side of C, so many that C stays aligned to 2 KiB.
constexpr size_t kGuard = 1024;

// A device array has value_type, upload(), download(), and slice(first, count), which returns an
// argument for a kernel.
template <class InArray, class OutArray>
struct OperandsIn {
    using In = typename InArray::value_type;
    using Out = typename OutArray::value_type;

    // Allocates device memory first, because cudaMalloc() fails where memory is short, while the
    // host may overcommit. guard: elements on each side of C, in which a write is noticed.
    explicit OperandsIn(Shape s, size_t guard = kGuard)
        : shape(s), A_device(size_t(s.M) * s.K), B_device(size_t(s.K) * s.N), guard_(guard),
          C_device_(size_t(s.M) * s.N + 2 * guard), C_(size_t(s.M) * s.N + 2 * guard) {}

    // Integers whose sums are exact. If even K products of 1 exceed what an accumulator or an
    // element of C can hold exactly, rows of A keep only as many elements as fit, and the others
    // become 0.
    void set_integers(uint32_t seed, const Arithmetic& arithmetic) {
        const double limit = sizeof(Out) == 2 ? kHalf2.exact_limit : arithmetic.exact_limit;
        if (arithmetic.operand_limit == 0) {
            fill(seed, limit, random_integers<In>, exact_range(shape.K, limit));
        } else {
            const double range =
                std::min(std::max(4096.0, limit / shape.K), arithmetic.operand_limit);
            fill(seed, limit / range, random_integers<In>, int(range));
            keep_one_factor_wide();
        }
        upload();
    }
    // Positive reals. No sum cancels, so that the error bound is a fraction of each element of C,
    // at most a quarter of it; and no sum exceeds the largest half, where C is of half.
    void set_reals(uint32_t seed, const Arithmetic& arithmetic) {
        const double most = most_terms(arithmetic, shape.K, 0.25);
        fill(seed, sizeof(Out) == 2 ? std::min(most, 65504.0) : most, random_reals<In>, 0.25f);
        if (arithmetic.any_range) scale();
        upload();
    }
    // Reals of both signs, for timing. Simpler data draws less power, which can raise the clock.
    void set_timed(uint32_t seed) {
        set(seed, [](size_t count, uint32_t s) { return random_reals<In>(count, s); });
    }
    // What `values(count, seed)` returns.
    template <class Values>
    void set(uint32_t seed, Values values) {
        A = values(size_t(shape.M) * shape.K, seed);
        B = values(size_t(shape.K) * shape.N, seed + 1);
        upload();
    }

    auto C_device() { return C_device_.slice(guard_, C_.size() - 2 * guard_); }
    const Out* C() const { return &C_[guard_]; }
    // Fills C with NaN and the guards with a number, because adding to a NaN would not change it.
    void clear(Out c = unwritten<Out>()) {
        std::fill(C_.begin(), C_.end(), Out(kGuardValue));
        std::fill(C_.begin() + guard_, C_.end() - guard_, c);
        C_device_.upload(C_);
    }
    // Downloads C. Throws Failure(kWrongResult) if the kernel wrote outside C or changed A or B.
    void fetch() {
        if (const std::string wrong = damage(); !wrong.empty()) throw Failure(kWrongResult, wrong);
    }

    Shape shape;
    InArray A_device, B_device;
    std::vector<In> A, B;

private:
    static constexpr float kGuardValue = 0.1234567f;

    // Downloads C. Returns what the kernel changed besides C, or "".
    std::string damage() {
        C_device_.download(C_);
        const float guard = float(Out(kGuardValue));
        for (size_t i = 0; i < guard_; ++i) {
            if (!(float(C_[guard_ - 1 - i]) == guard))
                return i ? format("a write outside C, %zu elements before its start", i + 1)
                         : "a write outside C, just before its start";
            if (!(float(C_[C_.size() - guard_ + i]) == guard))
                return format("a write outside C, to C[%zu][%zu], %spast its end",
                              shape.M + i / shape.N, i % shape.N, i ? "" : "just ");
        }
        return changed(A_device, A) ? "A was changed" : changed(B_device, B) ? "B was changed" : "";
    }

    // Fills A and B. If K exceeds `most_terms`, rows of A are thinned to so many terms: of every
    // `step` consecutive elements all but one become zero, another one in the next row. Which one is
    // kept is scattered over a row, so that the pattern repeats with no k-tile.
    template <class Random, class Range>
    void fill(uint32_t seed, double most_terms, Random random, Range range) {
        A = random(size_t(shape.M) * shape.K, seed, range);
        B = random(size_t(shape.K) * shape.N, seed + 1, range);
        const unsigned step = unsigned(std::ceil(shape.K / most_terms));
        for (size_t i = 0; step > 1 && i < A.size(); ++i) {
            const unsigned row = i / shape.K, k = i % shape.K;
            const unsigned kept = k / step * 2654435761u / 65536 + row;
            if (k % step != kept % step) A[i] = In(0.0f);
        }
    }
    // For each k, reduces the elements of either A or B to their signs. Of two wide integers the
    // product of the low halves, which a split leaves out, would be missing. Which matrix stays wide
    // is scattered over k.
    void keep_one_factor_wide() {
        const auto is_wide_in_A = [](size_t k) { return unsigned(k) * 2654435761u >> 31; };
        const auto reduce = [](In& x) { x = In(float(float(x) > 0) - float(float(x) < 0)); };
        for (size_t i = 0; i < A.size(); ++i)
            if (!is_wide_in_A(i % shape.K)) reduce(A[i]);
        for (size_t i = 0; i < B.size(); ++i)
            if (is_wide_in_A(i / shape.N)) reduce(B[i]);
    }
    // Multiplies each row of A and each column of B by a power of two, of which neighbours have others.
    // It reaches far beyond the range of halves, and no sum leaves that of floats.
    void scale() {
        const auto power = [](size_t row_or_column) {
            constexpr int kMax = 50;
            const unsigned scattered = unsigned(row_or_column) * 2654435761u >> 16;
            return std::ldexp(1.0f, int(scattered % (2 * kMax + 1)) - kMax);
        };
        for (size_t i = 0; i < A.size(); ++i) A[i] = In(float(A[i]) * power(i / shape.K));
        for (size_t i = 0; i < B.size(); ++i) B[i] = In(float(B[i]) * power(i % shape.N));
    }
    void upload() {
        A_device.upload(A);
        B_device.upload(B);
    }
    static bool changed(InArray& device, const std::vector<In>& host) {
        std::vector<In> now;
        device.download(now);
        return std::memcmp(now.data(), host.data(), now.size() * sizeof(In)) != 0;
    }

    size_t guard_;
    OutArray C_device_;
    std::vector<Out> C_;
};

// Whether `multiply` adds the product to what C held before.
template <class Operands, class Multiply>
bool adds_to_c(Operands& x, Multiply multiply) {
    using Out = typename Operands::Out;
    constexpr float kBefore = 3;
    const size_t size = size_t(x.shape.M) * x.shape.N;
    if (std::none_of(x.C(), x.C() + size, [](Out c) { return std::isnan(float(c)); })) return false;
    x.clear(Out(kBefore));
    try {
        multiply();
        x.fetch();
        std::vector<float> added;
        std::transform(x.C(), x.C() + size, std::back_inserter(added),
                       [](Out c) { return float(c) - kBefore; });
        check_exact(x.shape, x.A, x.B, added.data());
        return true;
    } catch (const Failure&) {
        return false;
    }
}

// Calls `multiply`, which computes the product of the operands and waits for it, on integers: C
// must equal A * B. Throws Failure, with the cause if one was found for a small product.
template <class Operands, class Multiply>
void verify_exact(
    Operands& x, const Arithmetic& arithmetic, uint32_t seed, Multiply multiply,
    const LinesOf& lines_of = [](char) { return ""; }) {
    x.set_integers(seed, arithmetic);
    x.clear();
    multiply();
    x.fetch();
    with_cause(
        [&] { check_exact(x.shape, x.A, x.B, x.C()); },
        [&](const Failure&) -> std::string {
            if (is_large(x.shape)) return "";
            const std::string cause = cause_of({x.shape, x.A, x.B, x.C()}, lines_of);
            if (!cause.empty() || !adds_to_c(x, multiply)) return cause;
            return "the kernel adds to what C held before: store the sums, or set C to 0 first" +
                   places("C", lines_of);
        });
}

// The same on reals: C must stay within the error bound. Returns the largest error / bound.
template <class Operands, class Multiply>
double verify_reals(Operands& x, const Arithmetic& arithmetic, uint32_t seed, Multiply multiply) {
    x.set_reals(seed, arithmetic);
    x.clear();
    multiply();
    x.fetch();
    return with_cause([&] { return check_accuracy(x.shape, x.A, x.B, x.C(), arithmetic); },
                      [&](const Failure&) -> std::string {
                          if (is_large(x.shape)) return "";
                          return cause_of_error({x.shape, x.A, x.B, x.C()}, arithmetic);
                      });
}
