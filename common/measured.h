// A stage on a GPU: verified, then timed beside cuBLAS's product of the same matrices.
#pragma once

#include <cublas_v2.h>  // takes as long to compile as the rest of the harness
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "common/gpu.h"

// cuBLAS's product of the same data in the same precision: FP32 without TF32, FP16 or bfloat16 with
// FP32 accumulate, or FP16 pairs throughout. Row-major C = A * B is column-major C' = B' * A'.
class Cublas {
public:
    Cublas() {
        check(cublasCreate(&handle_), "cublasCreate");
        // This mode does not round to TF32.
        check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    }
    ~Cublas() { cublasDestroy(handle_); }
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    // sums: the type in which it adds up.
    template <class In, class Out>
    void multiply(int M, int N, int K, const In* A, const In* B, Out* C, cublasComputeType_t sums) {
        const auto multiply = [&](auto one, auto zero) {
            check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, kType<In>, N, A,
                               kType<In>, K, &zero, C, kType<Out>, N, sums, CUBLAS_GEMM_DEFAULT),
                  "cublasGemmEx");
        };
        if (sums == CUBLAS_COMPUTE_16F) multiply(half(1.0f), half(0.0f));
        else if (sums == CUBLAS_COMPUTE_64F) multiply(1.0, 0.0);
        else multiply(1.0f, 0.0f);
    }

private:
    template <class T>
    static constexpr cudaDataType_t kType = std::is_same_v<T, double>  ? CUDA_R_64F
                                            : std::is_same_v<T, float> ? CUDA_R_32F
                                            : std::is_same_v<T, half>  ? CUDA_R_16F
                                                                       : CUDA_R_16BF;
    static void check(cublasStatus_t status, const std::string& call) {
        if (status == CUBLAS_STATUS_SUCCESS) return;
        throw Failure(kDeviceFailed, call + " failed: " + cublasGetStatusString(status));
    }
    cublasHandle_t handle_ = nullptr;
};

// Verifies a stage, then times it beside cuBLAS.
class Machine {
public:
    static constexpr int kDefaultSize = 4096;
    static bool traces() { return false; }
    static Columns table(const Options& options) {
        if (options.verify_only)
            return table_of(options, {"verified", "flop_per_byte", "predicted_gflops"});
        return table_of(options, {"median_ms",
                                  "gflops",
                                  "percent_of_peak",
                                  "percent_of_cublas",
                                  "sm_mhz",
                                  "predicted_gflops",
                                  "measured_of_predicted",
                                  {"percent_of_peak", "", 0, as_bar}});
    }

    Machine(const Options& options, const Arithmetic& arithmetic)
        : options_(options), bench_(options.device), work_(options, cost),
          gpu(options.gpu.value_or(bench_.gpu)) {
        const Row at = where();
        std::printf("%s, driver %s, CUDA %s, clocks up to %d MHz (SM) and %d MHz (memory)\n",
                    at[0].value.c_str(), at[1].value.c_str(), at[2].value.c_str(),
                    bench_.attribute(cudaDevAttrClockRate) / 1000,
                    bench_.attribute(cudaDevAttrMemoryClockRate) / 1000);
        print_gpu(gpu, arithmetic);
        print_shape(options);
    }

    // Returns the largest error as a fraction of its bound. Throws Failure.
    template <class In, class Out>
    double verify(const StageOf<In, Out>& stage, Operands<In, Out>& x) {
        work_.begin(x.shape);
        doing_ = std::string(stage.name) + " " + to_string(x.shape);
        check_shared_memory(stage, bench_.attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
        work_.show(doing_ + ": verifying");
        return verify_stage(x, stage.arithmetic, options_.seed, [&] { launch_once(stage, x); });
    }

    // Adds the times of the stages, which take turns with each other and with cuBLAS, to their rows.
    // Returns GFLOP/s, 0 where nothing is to be timed.
    template <class In, class Out>
    std::vector<double> measure(const std::vector<StageOf<In, Out>>& stages, Operands<In, Out>& x,
                                std::vector<Row>& rows) {
        std::vector<double> gflops(stages.size());
        if (options_.verify_only) return gflops;
        work_.show(doing_ + ": timing");
        x.set_timed(options_.seed);
        const int M = x.shape.M, N = x.shape.N, K = x.shape.K;
        const In *A = x.A_device.data(), *B = x.B_device.data();
        Out* C = x.C_device();
        Cublas cublas;
        std::vector<Launch> launches;
        for (const StageOf<In, Out>& stage : stages)
            launches.push_back([=] { stage.launch(M, N, K, A, B, C); });
        const auto sums =
            stages[0].arithmetic.peak == kHalf2.peak ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F;
        launches.push_back([=, &cublas] { cublas.multiply(M, N, K, A, B, C, sums); });
        const std::vector<Rested> rested = bench_.time(launches, options_.repeat);
        work_.show(doing_ + ": timing without a rest");
        std::vector<Sustained> sustained;
        for (size_t i = 0; i < launches.size(); ++i)
            sustained.push_back(bench_.sustained(launches[i], rested[i].median));
        const double flop = 2.0 * M * N * K;
        const Rested& its = rested.back();
        for (size_t i = 0; i < stages.size(); ++i) {
            const Limit peak = stages[i].arithmetic.peak;
            const Rested& mine = rested[i];
            const double at_clock = bench_.peak_at(mine.clocks.sm, peak);
            Row& row = rows[i];
            gflops[i] = flop / mine.median * 1e-6;
            add_times(row, mine, flop, bench_.gpu.peak.*peak);
            add_library(row, "cublas", flop, mine, its);
            row += {{"repeats", std::to_string(options_.repeat)}};
            add_clocks(row, mine.clocks);
            row += {{"percent_of_peak_at_clock", percent(gflops[i], at_clock)},
                    {"cublas_mhz", figure(its.clocks.sm)}};
            add_sustained(row, sustained[i], flop);
            add_sustained(row, sustained.back(), flop, "cublas_");
        }
        return gflops;
    }

    Row where() const { return bench_.where(); }
    // Only the emulator has work before the shapes asked for and after a row.
    template <class AnyStage>
    bool begin(const AnyStage&) const {
        return true;
    }
    void explain() const {}

private:
    // Estimated seconds. Most of them are verification on the host, and rests.
    static double cost(Shape s) {
        return 2.5 + 2e-8 * (double(s.M) * s.K + double(s.K) * s.N + double(s.M) * s.N);
    }

    Options options_;
    Bench bench_;
    std::string doing_;
    LongWork work_;

public:
    const Gpu gpu;  // to predict for
};
