// A stage: its launcher, what it claims to move, and its verification.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/device.h"
#include "common/report.h"
#include "common/roofline.h"
#include "common/verify.h"

struct Stage {
    const char* name;
    // C = A * B on device memory; row-major A (M x K), B (K x N), C (M x N), each packed and 256-byte aligned.
    void (*launch)(int M, int N, int K, const float* A, const float* B, float* C);
    // How many floats of A and B all threads together load from global memory: counted by the emulator, which must agree.
    double (*loaded_floats)(double M, double N, double K);
};

// Flop per byte of the traffic that the stage asks for, with no cache in between. C is written once.
inline double arithmetic_intensity(const Stage& stage, Shape s) {
    const double M = s.M, N = s.N, K = s.K;
    return 2 * M * N * K / (sizeof(float) * (stage.loaded_floats(M, N, K) + M * N));
}

// What the roofline of `gpu` predicts from that, as the last cells of a row.
inline void add_prediction(Row& row, const Stage& stage, Shape s, const Gpu& gpu) {
    const double intensity = arithmetic_intensity(stage, s);
    row.push_back({"flop/byte", "flop_per_byte", format("%.2f", intensity)});
    row.push_back({"predicted GFLOP/s", "predicted_gflops", format("%.0f", attainable_gflops(gpu, intensity))});
}

// The operands on both sides, and the guarded output.
struct Operands {
    explicit Operands(Shape s)
        : shape(s), A_device(size_t(s.M) * s.K), B_device(size_t(s.K) * s.N), C(size_t(s.M) * s.N) {}

    void set(std::vector<float> a, std::vector<float> b) {
        A = std::move(a);
        B = std::move(b);
        A_device.upload(A);
        B_device.upload(B);
    }
    void set_integers(uint32_t seed) {
        const int range = exact_range(shape.K);
        set(random_integers(size_t(shape.M) * shape.K, range, seed),
            random_integers(size_t(shape.K) * shape.N, range, seed + 1));
    }
    void set_reals(uint32_t seed) {
        set(random_reals(size_t(shape.M) * shape.K, seed), random_reals(size_t(shape.K) * shape.N, seed + 1));
    }

    Shape shape;
    std::vector<float> A, B;
    DeviceArray A_device, B_device;
    GuardedOutput C;
};

// Launches the stage once into a cleared C and fetches C. Throws on an error or a write outside C.
inline void run_once(const Stage& stage, Operands& x) {
    const Shape s = x.shape;
    x.C.clear();
    stage.launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C.device());
    check_cuda(cudaGetLastError(), "launching the kernel");
    check_cuda(cudaDeviceSynchronize(), "running the kernel");
    const std::string outside = x.C.fetch();
    if (!outside.empty()) throw Failure(kWrongResult, outside);
}

// x holds integers: C must equal A * B.
inline void verify_exact(const Stage& stage, Operands& x) {
    run_once(stage, x);
    const std::string wrong = check_exact(x.shape, x.A, x.B, x.C.host());
    if (!wrong.empty()) throw Failure(kWrongResult, wrong);
}

// x holds reals: returns the largest error as a fraction of its bound.
inline double verify_accuracy(const Stage& stage, Operands& x) {
    run_once(stage, x);
    const Accuracy accuracy = check_accuracy(x.shape, x.A, x.B, x.C.host());
    if (!accuracy.wrong.empty()) throw Failure(kWrongResult, accuracy.wrong);
    return accuracy.worst;
}

inline std::string to_string(Shape s) { return format("%d x %d x %d", s.M, s.N, s.K); }
