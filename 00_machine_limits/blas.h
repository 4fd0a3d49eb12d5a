// OpenBLAS's product on the CPU, its check and its times. The library is loaded at run time, so
// that a program starts without it.
#pragma once

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>

#include "00_machine_limits/cpu.h"
#include "00_machine_limits/verify_library.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/timing.h"
#include "common/verify.h"

class OpenBlas {
public:
    static constexpr const char* kMissing =
        "libopenblas.so.0 is not here (the package libopenblas0 of Debian and Ubuntu has it)";

    OpenBlas() {
        load();
#ifdef __x86_64__
        // An OpenBLAS older than the CPU falls back to its kernels for Prescott (2004), which leave
        // most lanes idle.
        if (!*this || config().find(" Prescott ") == std::string::npos ||
            !__builtin_cpu_supports("avx2"))
            return;
        const char* newer = __builtin_cpu_supports("avx512bw") ? "SkylakeX" : "Haswell";
        setenv("OPENBLAS_CORETYPE", newer, 0);  // 0: keeps the user's choice
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

    // The variable OPENBLAS_NUM_THREADS sets their number, which is otherwise one for each core.
    int threads() const { return threads_(); }
    // The version of the library, and the kind of core that it chose.
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

// Throws Failure(kWrongResult) where the product of floats or doubles is wrong at one of the
// shapes.
template <class T>
void verify_blas(const OpenBlas& blas, const std::vector<Shape>& shapes, uint32_t seed) {
    for (const Shape& s : shapes)
        verify_library<T, T>("OpenBLAS", s, seed, 23, kFp32,
                             [&](const auto& A, const auto& B, auto& C) {
                                 blas.multiply(s, A.data(), B.data(), C.data());
                             });
}

// Times the product of n x n matrices, after one that is not counted. What was timed must be correct
// within the error bound, at 128 x 128 elements. Throws Failure(kWrongResult).
template <class T>
Times time_blas(const OpenBlas& blas, int n, const std::vector<float>& A,
                const std::vector<float>& B, int repeat) {
    const std::vector<T> a(A.begin(), A.end()), b(B.begin(), B.end());
    std::vector<T> c(size_t(n) * n, std::numeric_limits<T>::quiet_NaN());
    const auto multiply = [&] { blas.multiply({n, n, n}, a.data(), b.data(), c.data()); };
    multiply();
    std::vector<float> ms(repeat);
    for (float& each : ms) {
        const auto begin = std::chrono::steady_clock::now();
        multiply();
        each = float(ms_between(begin, std::chrono::steady_clock::now()));
    }
    const std::vector<float> C(c.begin(), c.end());
    with_context(format("OpenBLAS, N = %d", n), [&] {
        check_accuracy({n, n, n}, A, B, C.data(), kFp32);
    });
    return summarize(ms);
}
