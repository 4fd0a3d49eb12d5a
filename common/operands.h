// The operands of a product and its guarded output, on the host and in the memory of any device, and what verifies the product.
// An array of a device has a value_type, upload(), download(), read(first, count, to), slice(first, count), what a kernel takes for
// a part of it, and host_bytes(bytes), what so many bytes take of the host's memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "common/memory.h"
#include "common/report.h"
#include "common/roofline.h"
#include "common/verify.h"

// The matrix that a kernel writes, NaN before each run, between two guards. The guards hold a number: adding to a NaN would
// leave it as it was. Array is a device's array of float or half.
template <class Array>
class GuardedOutput {
    using T = typename Array::value_type;

public:
    static constexpr size_t kGuard =
        1024;  // elements on each side: at least 2 KiB, so that C stays aligned
    static constexpr float kGuardValue = 0.1234567f;

    explicit GuardedOutput(size_t count)
        : count_(count), device_(count + 2 * kGuard), host_(count + 2 * kGuard) {}

    auto device() { return device_.slice(kGuard, count_); }
    const T* host() const { return &host_[kGuard]; }
    void clear() {
        std::fill(host_.begin(), host_.begin() + kGuard, T(kGuardValue));
        std::fill(host_.end() - kGuard, host_.end(), T(kGuardValue));
        std::memset(static_cast<void*>(&host_[kGuard]), 0xff, count_ * sizeof(T));
        device_.upload(host_);
    }
    // Fetches the matrix; "" if the guards are untouched, else where the kernel wrote outside C.
    std::string fetch() {
        device_.download(host_);
        const float guard = float(T(kGuardValue));
        for (size_t i = 0; i < kGuard; ++i) {
            if (!(float(host_[kGuard - 1 - i]) == guard))
                return "a write outside C, " + std::to_string(i + 1) + " elements before its start";
            if (!(float(host_[kGuard + count_ + i]) == guard))
                return "a write outside C, " + std::to_string(i) + " elements past its end";
        }
        return "";
    }

private:
    size_t count_;
    Array device_;
    std::vector<T> host_;
};

// The operands on both sides, and the guarded output.
template <class InArray, class OutArray>
struct OperandsIn {
    using In = typename InArray::value_type;
    using Out = typename OutArray::value_type;

    // Throws Failure(kDeviceFailed) where the host's memory won't do.
    explicit OperandsIn(Shape s)
        : shape((need_memory(host_bytes(s)), s)), A(size_t(s.M) * s.K), B(size_t(s.K) * s.N),
          A_device(A.size()), B_device(B.size()), C(size_t(s.M) * s.N) {}

    // What they take of the host's memory, with what check_exact() needs and, where that is the host's, too, the device's.
    static double host_bytes(Shape s) {
        const double M = s.M, N = s.N, K = s.K,
                     matrices = sizeof(In) * (M * K + K * N) + sizeof(Out) * M * N;
        return matrices + InArray::host_bytes(matrices) + sizeof(int64_t) * (2 * N + K);
    }

    // Where K products of 1 exceed the limit, rows of A keep only so many elements.
    void set_integers(uint32_t seed, double exact_limit) {
        const int range = exact_range(shape.K, exact_limit);
        fill_integers(A, range, seed);
        thin_rows(shape, A, int(std::ceil(shape.K / exact_limit)), seed);
        fill_integers(B, range, seed + 1);
        upload();
    }
    // All positive: no sum cancels, so the error bound is a fraction of each element of C, and at most a quarter of it.
    void set_reals(uint32_t seed, double unit_roundoff) {
        fill_reals(A, 0.25f, seed);
        thin_rows(shape, A, int(std::ceil(shape.K / most_terms(unit_roundoff))), seed);
        fill_reals(B, 0.25f, seed + 1);
        upload();
    }
    // Reals of both signs, to be timed: how much power, and so time, a product takes depends on them.
    void set_timed(uint32_t seed) {
        fill_reals(A, -1, seed);
        fill_reals(B, -1, seed + 1);
        upload();
    }

    // The first element of A or B that is not on the device as it was uploaded: "A[3][5] was changed"; "" if there is none.
    std::string changed() {
        std::vector<In> chunk(size_t(1) << 20);
        std::string what;
        const auto compare = [&](const char* name, InArray& device, const std::vector<In>& host,
                                 int columns) {
            for (size_t first = 0; what.empty() && first < host.size(); first += chunk.size()) {
                const size_t count = std::min(chunk.size(), host.size() - first);
                device.read(first, count, chunk.data());
                for (size_t i = 0; what.empty() && std::memcmp(&chunk[i], &host[first + i],
                                                               (count - i) * sizeof(In)) != 0;
                     ++i)
                    if (std::memcmp(&chunk[i], &host[first + i], sizeof(In)) != 0)
                        what = format("%s[%zu][%zu] was changed", name, (first + i) / columns,
                                      (first + i) % columns);
            }
        };
        compare("A", A_device, A, shape.K);
        compare("B", B_device, B, shape.N);
        return what;
    }

    Shape shape;
    std::vector<In> A, B;
    InArray A_device, B_device;
    GuardedOutput<OutArray> C;

private:
    void upload() {
        A_device.upload(A);
        B_device.upload(B);
    }
};

// Clears C, calls `launch`, which must have finished when it returns, and fetches C. Throws Failure where it wrote beside C.
template <class X>
void run_once(X& x, const std::function<void()>& launch) {
    x.C.clear();
    launch();
    for (const std::string& wrong : {x.C.fetch(), x.changed()})
        if (!wrong.empty()) throw Failure(kWrongResult, wrong);
}

// Sets integers: C must equal A * B.
template <class X>
void verify_exact(X& x, const Arithmetic& arithmetic, uint32_t seed,
                  const std::function<void()>& launch) {
    x.set_integers(seed, arithmetic.exact_limit);
    run_once(x, launch);
    const std::string wrong = check_exact(x.shape, x.A, x.B, x.C.host());
    if (!wrong.empty()) throw Failure(kWrongResult, wrong);
}

// Sets reals: returns the largest error as a fraction of its bound.
template <class X>
double verify_accuracy(X& x, const Arithmetic& arithmetic, uint32_t seed,
                       const std::function<void()>& launch) {
    x.set_reals(seed, arithmetic.unit_roundoff);
    run_once(x, launch);
    const Accuracy accuracy =
        check_accuracy(x.shape, x.A, x.B, x.C.host(), arithmetic.unit_roundoff);
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
