// The operands of a product and its guarded output, on the host and in the memory of any device, and what verifies the product.
// An array of a device has a value_type, upload(), download() and slice(first, count): what a kernel takes for a part of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "common/report.h"
#include "common/roofline.h"
#include "common/verify.h"

// The matrix that a kernel writes, NaN before each run, between two guards. The guards hold a number: adding to a NaN would
// leave it as it was. Array is a device's array of float or half; the host sees floats.
template <class Array>
class GuardedOutput {
    using T = typename Array::value_type;

public:
    static constexpr size_t kGuard = 1024;  // elements on each side: at least 2 KiB, so that C stays aligned
    static constexpr float kGuardValue = 0.1234567f;

    explicit GuardedOutput(size_t count) : count_(count), device_(count + 2 * kGuard), raw_(count + 2 * kGuard), host_(count) {}

    auto device() { return device_.slice(kGuard, count_); }
    const float* host() const { return host_.data(); }
    void clear() {
        std::fill(raw_.begin(), raw_.end(), T(kGuardValue));
        std::memset(static_cast<void*>(&raw_[kGuard]), 0xff, count_ * sizeof(T));
        device_.upload(raw_);
    }
    // Fetches the matrix; "" if the guards are untouched, else where the kernel wrote outside C.
    std::string fetch() {
        device_.download(raw_);
        const float guard = float(T(kGuardValue));
        for (size_t i = 0; i < kGuard; ++i) {
            if (!(float(raw_[kGuard - 1 - i]) == guard))
                return "a write outside C, " + std::to_string(i + 1) + " elements before its start";
            if (!(float(raw_[kGuard + count_ + i]) == guard))
                return "a write outside C, " + std::to_string(i) + " elements past its end";
        }
        const uint32_t all_bits = 0xffffffff;
        for (size_t i = 0; i < count_; ++i) {
            const T& element = raw_[kGuard + i];
            host_[i] = std::memcmp(&element, &all_bits, sizeof element) == 0 ? unwritten() : float(element);
        }
        return "";
    }

private:
    size_t count_;
    Array device_;
    std::vector<T> raw_;
    std::vector<float> host_;
};

// The operands on both sides, and the guarded output. The host's copies are floats, with values that the device's arrays have, too.
template <class InArray, class OutArray>
struct OperandsIn {
    using In = typename InArray::value_type;

    explicit OperandsIn(Shape s) : shape(s), A_device(size_t(s.M) * s.K), B_device(size_t(s.K) * s.N), C(size_t(s.M) * s.N) {}

    void set_integers(uint32_t seed, double exact_limit) {
        const int range = exact_range(shape.K, exact_limit);
        A = random_integers(size_t(shape.M) * shape.K, range, seed);
        // Where K products of 1 exceed the limit, each row of A keeps only so many elements, others in every row.
        const int keep_one_in = int(std::ceil(shape.K / exact_limit));
        for (size_t i = 0; keep_one_in > 1 && i < A.size(); ++i)
            if ((i / shape.K + i % shape.K) % keep_one_in != 0) A[i] = 0;
        B = random_integers(size_t(shape.K) * shape.N, range, seed + 1);
        upload();
    }
    void set_reals(uint32_t seed) {
        A = random_reals(size_t(shape.M) * shape.K, seed);
        B = random_reals(size_t(shape.K) * shape.N, seed + 1);
        upload();
    }

    Shape shape;
    std::vector<float> A, B;
    InArray A_device, B_device;
    GuardedOutput<OutArray> C;

private:
    void upload() {
        for (auto [host, device] : {std::pair(&A, &A_device), std::pair(&B, &B_device)}) {
            const std::vector<In> rounded(host->begin(), host->end());
            device->upload(rounded);
            std::copy(rounded.begin(), rounded.end(), host->begin());
        }
    }
};

// Clears C, calls `launch`, which must have finished when it returns, and fetches C. Throws Failure on a write outside C.
template <class X>
void run_once(X& x, const std::function<void()>& launch) {
    x.C.clear();
    launch();
    const std::string outside = x.C.fetch();
    if (!outside.empty()) throw Failure(kWrongResult, outside);
}

// Sets integers: C must equal A * B.
template <class X>
void verify_exact(X& x, const Arithmetic& arithmetic, uint32_t seed, const std::function<void()>& launch) {
    x.set_integers(seed, arithmetic.exact_limit);
    run_once(x, launch);
    const std::string wrong = check_exact(x.shape, x.A, x.B, x.C.host());
    if (!wrong.empty()) throw Failure(kWrongResult, wrong);
}

// Sets reals: returns the largest error as a fraction of its bound.
template <class X>
double verify_accuracy(X& x, const Arithmetic& arithmetic, uint32_t seed, const std::function<void()>& launch) {
    x.set_reals(seed);
    run_once(x, launch);
    const Accuracy accuracy = check_accuracy(x.shape, x.A, x.B, x.C.host(), arithmetic.unit_roundoff);
    if (!accuracy.wrong.empty()) throw Failure(kWrongResult, accuracy.wrong);
    return accuracy.worst;
}

inline std::string to_string(Shape s) { return format("%d x %d x %d", s.M, s.N, s.K); }

// The first cells of a row.
inline Row row_of(const std::string& stage, Shape s) {
    return {{"stage", "stage", stage},
            {"M", "m", std::to_string(s.M)},
            {"N", "n", std::to_string(s.N)},
            {"K", "k", std::to_string(s.K)}};
}

// The cells of a stage that verify_exact() has passed and verify_accuracy() has given `error`.
inline Row verified_cells(double error) {
    return {{"verified", "verified", "exact"}, {"", "error_of_bound", format("%.6f", error)}};
}
