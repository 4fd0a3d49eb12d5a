// 00_machine_limits/library_curves: what cuBLAS reaches in FP64, FP32, TF32 and FP16 (FP32
// accumulate) against the size of square matrices. The four take turns at each size. blas_host does
// the same with OpenBLAS on the CPU.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/library_curves.cu common/*.cu common/*.cpp -o 00_machine_limits/library_curves -lcublas -lcublasLt
// Articles: the Mynavi report on Volta: its figure of cuBLAS in FP64, FP32 and mixed precision (7, 14
//           and 70 TFLOP/s)
#include <cublas_v2.h>

#include <memory>

#include "00_machine_limits/verify_library.h"
#include "common/benchmark.h"
#include "common/cublas.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/verify.h"

// A product of row-major matrices in one precision. A and B come as floats and are rounded to it.
template <class T>
constexpr cudaDataType_t kType = sizeof(T) == 8   ? CUDA_R_64F
                                 : sizeof(T) == 4 ? CUDA_R_32F
                                                  : CUDA_R_16F;

struct Curve {
    std::string name;
    double peak;  // GFLOP/s, 0 if unknown
    std::function<void(Shape, uint32_t seed)> verify;  // throws Failure(kWrongResult)
    // Returns a function that multiplies once, and owns its matrices.
    std::function<std::function<void()>(Shape, const std::vector<float>& A,
                                        const std::vector<float>& B)>
        prepare;
};

// bits, arithmetic: see verify_library().
template <class In, class Out>
Curve curve(Cublas& cublas, const std::string& name, double peak, int bits,
            const Arithmetic& arithmetic, cublasComputeType_t compute) {
    const auto verify = [=, &cublas](Shape s, uint32_t seed) {
        verify_library<In, Out>(
            name, s, seed, bits, arithmetic, [&](const auto& A, const auto& B, auto& C) {
                DeviceArray<In> A_device(A.size()), B_device(B.size());
                DeviceArray<Out> C_device(C.size());
                A_device.upload(A);
                B_device.upload(B);
                C_device.upload(C);
                cublas.multiply(s.M, s.N, s.K, A_device.data(), B_device.data(), C_device.data(),
                                kType<In>, kType<Out>, compute);
                C_device.download(C);
            });
    };
    const auto prepare = [=, &cublas](Shape s, const std::vector<float>& A,
                                      const std::vector<float>& B) -> std::function<void()> {
        const auto A_device = std::make_shared<DeviceArray<In>>(A.size());
        const auto B_device = std::make_shared<DeviceArray<In>>(B.size());
        const auto C_device = std::make_shared<DeviceArray<Out>>(size_t(s.M) * s.N);
        A_device->upload({A.begin(), A.end()});
        B_device->upload({B.begin(), B.end()});
        return [=, &cublas] {
            cublas.multiply(s.M, s.N, s.K, A_device->data(), B_device->data(), C_device->data(),
                            kType<In>, kType<Out>, compute);
        };
    };
    return {name, peak, verify, prepare};
}

std::vector<Curve> curves(Cublas& cublas, const GpuTimer& timer) {
    // Source: NVIDIA's H100 whitepaper, H100 SXM5, whose SMs and clocks the H200 has: FP64 on
    // tensor cores, and TF32 without sparsity at 1.83 GHz.
    const bool h200 = timer.gpu.full_name == "NVIDIA H200";
    const double fp64_peak = h200 ? 66900 : 0, tf32_peak = h200 ? 494700 : 0;
    const Limits& peak = timer.gpu.peak;
    std::vector<Curve> all = {
        curve<double, double>(cublas, "FP64", fp64_peak, 23, kFp32, CUBLAS_COMPUTE_64F),
        curve<float, float>(cublas, "FP32", peak.fp32_gflops, 23, kFp32, CUBLAS_COMPUTE_32F),
        curve<half, float>(cublas, "FP16", peak.tensor_gflops, 10, kTensor, CUBLAS_COMPUTE_32F)};
    if (timer.sm >= 80)  // else it would be FP32 under another name
        all.insert(all.begin() + 2, curve<float, float>(cublas, "TF32", tf32_peak, 10, kTensor,
                                                        CUBLAS_COMPUTE_32F_FAST_TF32));
    return all;
}

// Times the curves at n x n, and adds a row for each.
void measure(int n, GpuTimer& timer, const std::vector<Curve>& curves, uint32_t seed, int repeat,
             Report& report) {
    progress(format("timing %d x %d x %d", n, n, n));
    std::vector<std::function<void()>> launches;
    {
        const std::vector<float> A = random_reals(size_t(n) * n, seed);
        const std::vector<float> B = random_reals(size_t(n) * n, seed + 1);
        for (const Curve& each : curves) launches.push_back(each.prepare({n, n, n}, A, B));
    }
    const std::vector<Rested> times = timer.time(launches, repeat);
    progress("");
    for (size_t i = 0; i < curves.size(); ++i) {
        const double peak = curves[i].peak;
        Row row = {{"precision", curves[i].name}, {"n", std::to_string(n)}};
        add_times(row, times[i], 2.0 * n * n * n, peak);
        row.insert(row.end() - 1, {"peak_gflops", peak > 0 ? format("%.0f", peak) : "-"});
        add_cells(row, {{"repeats", std::to_string(repeat)}});
        add_clocks(row, times[i].clocks);
        add_cells(row, timer.where());
        report.add(row);
    }
}

int main(int argc, char** argv) {
    std::vector<Shape> sizes = {square(256), square(512)};
    for (int n = 1024; n <= 8192; n += 512) sizes.push_back(square(n));
    BenchmarkOptions o;
    o.columns = {{"precision", "precision", -10},
                 {"n", "N", 7},
                 {"median_ms", "time", 10, as_time},
                 {"gflops", "TFLOP/s", 9, as_tera},
                 {"percent_of_peak", "of|peak", 7, as_percent},
                 {"sm_mhz", "MHz", 6}};
    o.repeat = 20;
    uint32_t seed = 1;
    const std::vector<Option> more = {
        square_sizes(sizes, "256, 512 and 1024:8192:512"),
        {"--seed", "S", "another set of random inputs (default 1)", number(seed, 0, UINT32_MAX)}};
    return run_benchmark(
        "library_curves",
        "times cuBLAS's product of square matrices, in each precision, against their size",
        "Example:\n  library_curves --csv library_curves.csv", o, more, argc, argv,
        [&](Report& report) {
            GpuTimer timer(o.device);
            Cublas cublas;
            const std::vector<Curve> all = curves(cublas, timer);
            const std::vector<Shape> shapes = verified_shapes(sizes);
            for (const Shape& shape : shapes)
                for (const Curve& each : all) each.verify(shape, seed);
            progress("");
            std::printf("cuBLAS is exact on integers, and within the error bound on reals, at%s\n",
                        listed(shapes).c_str());
            if (o.verify_only) return;
            for (const Shape& s : sizes) measure(s.M, timer, all, seed, o.repeat, report);
            report.save();
        });
}
