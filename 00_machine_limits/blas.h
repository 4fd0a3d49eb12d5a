// OpenBLAS's product on the CPU, where its library is there (it is loaded at run time, so that the program starts without), its
// times, and the check that a library's product passes before it is timed.
#pragma once

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "00_machine_limits/cpu.h"
#include "common/times.h"
#include "common/verify.h"

// A wrong leading dimension shows only where the edges differ.
constexpr Shape kRectangular = {37, 129, 65};
// The exact check of larger products on the host would take longer than all else.
constexpr int kVerifiedUpTo = 1024;

class OpenBlas {
public:
    static constexpr const char* kMissing =
        "libopenblas.so.0 is not here (the package libopenblas0 of Debian and Ubuntu has it)";

    OpenBlas() {
        load();
#ifdef __x86_64__
        // A version that is older than the CPU takes it for a Prescott, of 2004, and leaves most of its lanes idle.
        if (!*this || config().find(" Prescott ") == std::string::npos ||
            !__builtin_cpu_supports("avx2"))
            return;
        setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512bw") ? "SkylakeX" : "Haswell",
               0);  // 0: the user's stays
        dlclose(library_);  // it chooses its kernels when it is loaded
        load();
#endif
    }
    explicit operator bool() const { return sgemm_ && dgemm_ && threads_ && config_; }

    // C = A * B, all row-major and packed.
    void multiply(Shape s, const float* A, const float* B, float* C) const {
        multiply(sgemm_, s, A, B, C);
    }
    void multiply(Shape s, const double* A, const double* B, double* C) const {
        multiply(dgemm_, s, A, B, C);
    }

    // OPENBLAS_NUM_THREADS in the environment sets how many; else one for each core.
    int threads() const { return threads_(); }
    // Version, kind of core.
    std::string config() const { return config_(); }

    // "Intel(R) Xeon(R) Processor, 2 threads, OpenBLAS 0.3.21 ... SkylakeX MAX_THREADS=64"
    std::string describe() const {
        return cpu_model() + ", " + std::to_string(threads()) + " threads, " + config();
    }

private:
    template <class T>
    using Gemm = void(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

    void load() {
        library_ = dlopen("libopenblas.so.0", RTLD_NOW);
        if (!library_) return;
        sgemm_ = reinterpret_cast<Gemm<float>*>(dlsym(library_, "cblas_sgemm"));
        dgemm_ = reinterpret_cast<Gemm<double>*>(dlsym(library_, "cblas_dgemm"));
        threads_ = reinterpret_cast<int (*)()>(dlsym(library_, "openblas_get_num_threads"));
        config_ = reinterpret_cast<char* (*)()>(dlsym(library_, "openblas_get_config"));
    }

    template <class T>
    static void multiply(Gemm<T>* gemm, Shape s, const T* A, const T* B, T* C) {
        constexpr int kRowMajor = 101, kNotTransposed = 111;  // cblas.h
        gemm(kRowMajor, kNotTransposed, kNotTransposed, s.M, s.N, s.K, T(1), A, s.K, B, s.N, T(0),
             C, s.N);
    }

    void* library_ = nullptr;
    Gemm<float>* sgemm_ = nullptr;
    Gemm<double>* dgemm_ = nullptr;
    int (*threads_)() = nullptr;
    char* (*config_)() = nullptr;
};

inline double ms_between(std::chrono::steady_clock::time_point begin,
                         std::chrono::steady_clock::time_point end) {
    return std::chrono::duration<double, std::milli>(end - begin).count();
}

// Times functions on the CPU, taking turns, after a call of each that is not counted.
inline std::vector<Times> time_on_cpu(const std::vector<std::function<void()>>& functions,
                                      int repeat) {
    for (const auto& function : functions) function();
    std::vector<std::vector<float>> ms(functions.size());
    for (int r = 0; r < repeat; ++r)
        for (size_t f = 0; f < functions.size(); ++f) {
            const auto begin = std::chrono::steady_clock::now();
            functions[f]();
            ms[f].push_back(float(ms_between(begin, std::chrono::steady_clock::now())));
        }
    std::vector<Times> times;
    for (const auto& list : ms) times.push_back(summarize(list));
    return times;
}

// `multiply` must give C = A * B: exactly on integers, for which FP16 and TF32 are wide enough, and on reals within the error bound
// of `unit_roundoff`, which tells FP32 from TF32. The reals have `bits` bits of fraction. C is NaN before.
// Throws Failure(kWrongResult).
template <class In, class Out>
void verify_library(const std::string& name, Shape s, uint32_t seed, int bits, double unit_roundoff,
                    const std::function<void(const std::vector<In>& A, const std::vector<In>& B,
                                             std::vector<Out>& C)>& multiply) {
    const auto product = [&](const std::vector<float>& A, const std::vector<float>& B) {
        std::vector<Out> C(size_t(s.M) * s.N);
        std::memset(static_cast<void*>(C.data()), 0xff, C.size() * sizeof(Out));
        multiply({A.begin(), A.end()}, {B.begin(), B.end()}, C);
        return std::vector<float>(C.begin(), C.end());
    };
    const size_t a_count = size_t(s.M) * s.K, b_count = size_t(s.K) * s.N;
    const int range = exact_range(s.K, kFp32.exact_limit);
    std::vector<float> A = random_integers(a_count, range, seed),
                       B = random_integers(b_count, range, seed + 1);
    std::string wrong = check_exact(s, A, B, product(A, B).data());
    A = random_reals(a_count, seed);
    B = random_reals(b_count, seed + 1);
    for (std::vector<float>* matrix : {&A, &B})
        for (float& value : *matrix) value = std::ldexp(std::trunc(std::ldexp(value, bits)), -bits);
    if (wrong.empty()) wrong = check_accuracy(s, A, B, product(A, B).data(), unit_roundoff).wrong;
    if (!wrong.empty())
        throw Failure(kWrongResult,
                      format("%s, %d x %d x %d: %s", name.c_str(), s.M, s.N, s.K, wrong.c_str()));
}

// Times of sgemm for n x n matrices. Verified at a rectangular shape, at n x n up to kVerifiedUpTo, and in what was timed, within
// the error bound at 128 x 128 elements. Throws Failure(kWrongResult).
inline Times time_sgemm(const OpenBlas& blas, int n, const std::vector<float>& A,
                        const std::vector<float>& B, int repeat) {
    const Shape square = {n, n, n};
    for (const Shape& s : {kRectangular, square})
        if (s.M <= kVerifiedUpTo)
            verify_library<float, float>(
                "OpenBLAS", s, 1, 23, kFp32.unit_roundoff,
                [&](auto& a, auto& b, auto& c) { blas.multiply(s, a.data(), b.data(), c.data()); });
    std::vector<float> C(size_t(n) * n, unwritten());
    const Times times =
        time_on_cpu({[&] { blas.multiply(square, A.data(), B.data(), C.data()); }}, repeat)[0];
    const std::string wrong = check_accuracy(square, A, B, C.data(), kFp32.unit_roundoff).wrong;
    if (!wrong.empty())
        throw Failure(kWrongResult, format("OpenBLAS, N = %d: %s", n, wrong.c_str()));
    return times;
}
