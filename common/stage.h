// A stage: its launcher, what it claims to move, and its verification.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/device.h"
#include "common/report.h"
#include "common/roofline.h"
#include "common/verify.h"

template <class In, class Out>
struct StageOf {
    const char* name;
    // C = A * B on device memory; row-major A (M x K), B (K x N), C (M x N), each packed and 256-byte aligned.
    void (*launch)(int M, int N, int K, const In* A, const In* B, Out* C);
    // How many elements of A and B all threads together load from global memory: counted by the emulator, which must agree.
    double (*loaded_elements)(double M, double N, double K);
    Arithmetic arithmetic = kFp32;
};
using Stage = StageOf<float, float>;

// "Predicted for the NVIDIA H200: 66908 GFLOP/s (FP32), 4282 GB/s (where the figures are from)"
inline void print_gpu(const Gpu& gpu, const Arithmetic& arithmetic) {
    const double peak = gpu.*arithmetic.peak;
    const std::string compute = peak > 0 ? format("%.0f GFLOP/s", peak) : "no figure";
    std::printf("Predicted for the %s: %s (%s), %.0f GB/s (%s)\n", gpu.full_name, compute.c_str(), arithmetic.name, gpu.bandwidth_gbs,
                gpu.source);
}

// Flop per byte of the traffic that the stage asks for, with no cache in between. C is written once.
template <class In, class Out>
double arithmetic_intensity(const StageOf<In, Out>& stage, Shape s) {
    const double M = s.M, N = s.N, K = s.K;
    return 2 * M * N * K / (sizeof(In) * stage.loaded_elements(M, N, K) + sizeof(Out) * M * N);
}

// What the roofline of `gpu` predicts from that, as the last cells of a row.
template <class In, class Out>
void add_prediction(Row& row, const StageOf<In, Out>& stage, Shape s, const Gpu& gpu) {
    const double intensity = arithmetic_intensity(stage, s);
    row.push_back({"flop/byte", "flop_per_byte", format("%.2f", intensity)});
    const double predicted = attainable_gflops(gpu, stage.arithmetic, intensity);
    row.push_back({"predicted GFLOP/s", "predicted_gflops", predicted > 0 ? format("%.0f", predicted) : "-"});
}

// The operands on both sides, and the guarded output. The host's copies are floats, with values that In has, too.
template <class In, class Out>
struct Operands {
    explicit Operands(Shape s)
        : shape(s), A_device(size_t(s.M) * s.K), B_device(size_t(s.K) * s.N), C(size_t(s.M) * s.N) {}

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
    DeviceArray<In> A_device, B_device;
    GuardedOutput<Out> C;

private:
    void upload() {
        for (auto [host, device] : {std::pair(&A, &A_device), std::pair(&B, &B_device)}) {
            const std::vector<In> rounded(host->begin(), host->end());
            device->upload(rounded);
            std::copy(rounded.begin(), rounded.end(), host->begin());
        }
    }
};

// Launches the stage once into a cleared C and fetches C. Throws on an error or a write outside C.
template <class In, class Out>
void run_once(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
    const Shape s = x.shape;
    x.C.clear();
    stage.launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C.device());
    check_cuda(cudaGetLastError(), "launching the kernel");
    check_cuda(cudaDeviceSynchronize(), "running the kernel");
    const std::string outside = x.C.fetch();
    if (!outside.empty()) throw Failure(kWrongResult, outside);
}

// Sets integers: C must equal A * B.
template <class In, class Out>
void verify_exact(const StageOf<In, Out>& stage, Operands<In, Out>& x, uint32_t seed) {
    x.set_integers(seed, stage.arithmetic.exact_limit);
    run_once(stage, x);
    const std::string wrong = check_exact(x.shape, x.A, x.B, x.C.host());
    if (!wrong.empty()) throw Failure(kWrongResult, wrong);
}

// Sets reals: returns the largest error as a fraction of its bound.
template <class In, class Out>
double verify_accuracy(const StageOf<In, Out>& stage, Operands<In, Out>& x, uint32_t seed) {
    x.set_reals(seed);
    run_once(stage, x);
    const Accuracy accuracy = check_accuracy(x.shape, x.A, x.B, x.C.host(), stage.arithmetic.unit_roundoff);
    if (!accuracy.wrong.empty()) throw Failure(kWrongResult, accuracy.wrong);
    return accuracy.worst;
}

inline std::string to_string(Shape s) { return format("%d x %d x %d", s.M, s.N, s.K); }
