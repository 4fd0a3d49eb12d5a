// The matrices of a product, on the host and on a device: what they hold, and guards around C.
#pragma once

#include "common/verify.h"

// The largest |integer| of the exact test. No sum of K products then exceeds `limit`, up to which
// the accumulator holds every integer (float: 2^24).
inline int exact_range(int K, double limit) {
    return std::max(1, std::min(8, int(std::sqrt(limit / K))));
}

// `count` values of `next(random)` that repeat after kPeriod, so that billions take only seconds. The
// period is a prime number, which no row or tile has as its length.
template <class T, class Next>
std::vector<T> random_values(size_t count, uint32_t seed, Next next) {
    constexpr size_t kPeriod = 1048573;
    std::vector<T> values(count);
    std::mt19937 random(seed);
    for (size_t i = 0; i < std::min(count, kPeriod); ++i) values[i] = T(next(random));
    for (size_t done = kPeriod; done < count; done *= 2)
        std::memcpy(static_cast<void*>(&values[done]), values.data(),
                    std::min(done, count - done) * sizeof(T));
    return values;
}

// Integers from -range to range without 0, so that a missing or doubled term always changes the
// sum.
template <class T = float>
std::vector<T> random_integers(size_t count, int range, uint32_t seed) {
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

// A device array needs value_type, upload(), download() and slice(first, count), which gives a
// kernel's argument for a part of it.
template <class InArray, class OutArray>
struct OperandsIn {
    using In = typename InArray::value_type;
    using Out = typename OutArray::value_type;

    // Throws Failure(kDeviceFailed) if there is not enough host memory.
    explicit OperandsIn(Shape s)
        : shape(s), A(count_of(s)), B(size_t(s.K) * s.N), A_device(A.size()), B_device(B.size()),
          C_(size_t(s.M) * s.N + 2 * kGuard), C_device_(C_.size()) {}

    // If even K products of 1 exceed the limit, rows of A keep only so many elements.
    void set_integers(uint32_t seed, double exact_limit) {
        const int range = exact_range(shape.K, exact_limit);
        A = random_integers<In>(A.size(), range, seed);
        B = random_integers<In>(B.size(), range, seed + 1);
        upload(exact_limit, seed);
    }
    // All positive: no sum cancels, so the error bound is a fraction of each element of C, and at
    // most a quarter of it.
    void set_reals(uint32_t seed, double unit_roundoff) {
        A = random_reals<In>(A.size(), seed, 0.25f);
        B = random_reals<In>(B.size(), seed + 1, 0.25f);
        const double most = std::floor(std::log1p(0.25) / std::log1p(unit_roundoff));
        upload(sizeof(Out) == 2 ? std::min(most, kHalfMost) : most, seed);
    }
    // Reals of both signs, for timing. Simpler data would draw less power, which can raise the
    // clock.
    void set_timed(uint32_t seed) {
        A = random_reals<In>(A.size(), seed);
        B = random_reals<In>(B.size(), seed + 1);
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

    // The elements of A, after a look whether all that the host needs is there: new values beside
    // the old, and check_exact()'s sums.
    static size_t count_of(Shape s) {
        const double M = s.M, N = s.N, K = s.K;
        need_memory(sizeof(In) * (M * K + K * N + std::max(M, N) * K) + sizeof(Out) * M * N +
                    sizeof(int64_t) * (2 * N + K));
        return size_t(s.M) * s.K;
    }
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
        std::vector<In> now(host.size());
        device.download(now);
        if (std::memcmp(now.data(), host.data(), now.size() * sizeof(In)) == 0) return "";
        size_t i = 0;
        while (std::memcmp(&now[i], &host[i], sizeof(In)) == 0) ++i;
        return format("%s[%zu][%zu] was changed", name, i / columns, i % columns);
    }

    std::vector<Out> C_;
    OutArray C_device_;
};
