// 00_machine_limits/transfer: what a product on the GPU costs when its matrices are on the host:
// copies to the device, the kernel, the copy back; and the CPU's BLAS for comparison. The article's
// model of these times, T = 3 N^2 T_x + 2 N^3 T_gpu, stands beside them; fit.py says how well it
// fits.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/transfer.cu common/*.cu common/*.cpp -o 00_machine_limits/transfer -lcublas -lcublasLt
// Articles: "CUDA Python 3: matrix product" (Zenn), section 2.3 (the model), 4.2 (the program) and 4.3
//           (0.857 s, kernel 0.787 s)
#include <cuda_runtime.h>

#include <array>

#include "00_machine_limits/blas.h"
#include "00_machine_limits/transfer_kernel.cuh"
#include "common/benchmark.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/device_operands.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/options.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/verify.h"

constexpr Shape kRagged[] = {{1, 1, 1}, {7, 5, 3}, {16, 16, 16}, {37, 129, 65}, {130, 31, 20}};

template <class Index = size_t>
void launch_matmul(Shape s, const float* A, const float* B, float* C) {
    const dim3 blocks((s.N - 1) / kBlock + 1, (s.M - 1) / kBlock + 1);
    matmul<Index><<<blocks, dim3(kBlock, kBlock)>>>(s.M, s.N, s.K, A, B, C);
    check_cuda(cudaGetLastError(), "launching the kernel");
}

// C must be A * B, with nothing written outside it. The kernel reuses nothing, so it must load
// 2 M N K floats. Throws Failure.
template <class Index>
void verify(Shape s) {
    Operands<float, float> x(s);
    const double loaded = 2.0 * s.M * s.N * s.K * sizeof(float);
    const double stored = double(s.M) * s.N * sizeof(float);
    const auto launch = [&] {
        run_checked("matmul", {loaded, stored, 0}, [&] {
            launch_matmul<Index>(s, x.A_device.data(), x.B_device.data(), x.C_device());
        });
    };
    with_context(to_string(s), [&] {
        verify_exact(x, kFp32, 1, launch);
        verify_reals(x, kFp32, 1, launch);
    });
}

// Returns the milliseconds of the first launch of this process, in which CUDA loads the kernel. The
// article times that one.
double first_launch_ms(int n) {
    const size_t count = size_t(n) * n;
    DeviceArray<float> A(count), B(count), C(count);
    A.upload(random_reals(count, 1));
    B.upload(random_reals(count, 2));
    check_cuda(cudaDeviceSynchronize(), "cudaMemcpy to the device");
    const auto begin = std::chrono::steady_clock::now();
    launch_matmul({n, n, n}, A.data(), B.data(), C.data());
    check_cuda(cudaDeviceSynchronize(), "running the kernel");
    return ms_between(begin, std::chrono::steady_clock::now());
}

#ifndef CUDA_EMULATOR
// Floats that the GPU's copy engine reaches without the driver's staging buffer in between.
class PinnedArray {
public:
    explicit PinnedArray(size_t count) {
        check_cuda(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(float)),
                   "cudaMallocHost");
    }
    ~PinnedArray() { cudaFreeHost(data_); }
    PinnedArray(const PinnedArray&) = delete;
    PinnedArray& operator=(const PinnedArray&) = delete;
    float* data() { return data_; }

private:
    float* data_ = nullptr;
};

struct HostMatrices {
    const float *A, *B;
    float* C;
};
using DeviceMatrices = DeviceArray<float>[3];

enum Part { kToDevice, kKernel, kToHost, kTotal, kParts };
using Parts = std::array<double, kParts>;  // milliseconds

// One product of n x n matrices from host memory to host memory, by the host's clock, as the
// article has it: a pageable copy is partly the CPU's work, and the parts add up to what the caller
// waits for. The kernel's part has its launch and the wait for its end.
Parts multiply_once(int n, const HostMatrices& host, DeviceMatrices& device) {
    const auto now = [] {
        check_cuda(cudaDeviceSynchronize(), "a copy or the kernel");
        return std::chrono::steady_clock::now();
    };
    const size_t bytes = sizeof(float) * n * n;
    const auto begin = now();
    check_cuda(cudaMemcpy(device[0].data(), host.A, bytes, cudaMemcpyHostToDevice),
               "cudaMemcpy to the device");
    check_cuda(cudaMemcpy(device[1].data(), host.B, bytes, cudaMemcpyHostToDevice),
               "cudaMemcpy to the device");
    const auto there = now();
    launch_matmul({n, n, n}, device[0].data(), device[1].data(), device[2].data());
    const auto multiplied = now();
    check_cuda(cudaMemcpy(host.C, device[2].data(), bytes, cudaMemcpyDeviceToHost),
               "cudaMemcpy from the device");
    const auto back = now();
    return {ms_between(begin, there), ms_between(there, multiplied), ms_between(multiplied, back),
            ms_between(begin, back)};
}

struct Measured {
    int n;
    std::string memory;
    Parts median;
    Clocks clocks;  // of launches without copies, after those that are timed
    double cpu_ms;  // 0: there is no BLAS
};

// Medians over `repeat` products, after one that is not counted. Checks the last; A and B are what
// `host` holds.
Measured measure(int n, const std::string& memory, const HostMatrices& host,
                 const std::vector<float>& A, const std::vector<float>& B, int repeat,
                 GpuTimer& timer) {
    progress(format("N = %d: timing with %s memory", n, memory.c_str()));
    const size_t count = size_t(n) * n;
    DeviceMatrices device = {DeviceArray<float>(count), DeviceArray<float>(count),
                             DeviceArray<float>(count)};
    std::fill(host.C, host.C + count, unwritten());
    check_cuda(cudaMemset(device[2].data(), 0xff, count * sizeof(float)), "cudaMemset");
    multiply_once(n, host, device);
    std::vector<float> ms[kParts];
    for (int r = 0; r < repeat; ++r) {
        const Parts parts = multiply_once(n, host, device);
        for (int part = 0; part < kParts; ++part) ms[part].push_back(float(parts[part]));
    }
    with_context(format("N = %d, %s memory", n, memory.c_str()), [&] {
        check_accuracy({n, n, n}, A, B, host.C, kFp32);
    });
    Parts median;
    for (int part = 0; part < kParts; ++part) median[part] = summarize(ms[part]).median;
    const auto launch = [&] {
        launch_matmul({n, n, n}, device[0].data(), device[1].data(), device[2].data());
    };
    return {n, memory, median, timer.clocks_during(launch, median[kKernel]), 0};
}

// The article's model, T = 3 N^2 T_x + 2 N^3 T_gpu, for one kind of memory.
struct Model {
    double t_x_ns, t_gpu_ns;  // for one element, for one flop

    double ms(double n) const { return (3 * n * n * t_x_ns + 2 * n * n * n * t_gpu_ns) * 1e-6; }
};

// Each rate minimizes the sum of squared relative errors, (model / measured - 1)^2, so that a small
// N counts as much as a large one.
Model fit(const std::vector<Measured>& all, const std::string& memory) {
    double sum_x = 0, squares_x = 0, sum_gpu = 0, squares_gpu = 0;
    for (const Measured& each : all) {
        if (each.memory != memory) continue;
        const double n = each.n;
        const double x = 3 * n * n / (each.median[kToDevice] + each.median[kToHost]) * 1e-6;
        const double gpu = 2 * n * n * n / each.median[kKernel] * 1e-6;
        sum_x += x;
        squares_x += x * x;
        sum_gpu += gpu;
        squares_gpu += gpu * gpu;
    }
    return {sum_x / squares_x, sum_gpu / squares_gpu};
}

Row row_of(const Measured& each, const Model& model, const std::string& cpu_threads, int repeat) {
    const double n = each.n;
    const Parts& ms = each.median;
    return {{"n", std::to_string(each.n)},
            {"memory", each.memory},
            {"h2d_ms", format("%.6f", ms[kToDevice])},
            {"kernel_ms", format("%.6f", ms[kKernel])},
            {"d2h_ms", format("%.6f", ms[kToHost])},
            {"total_ms", format("%.6f", ms[kTotal])},
            {"model_ms", format("%.4f", model.ms(n))},
            {"cpu_blas_ms", each.cpu_ms > 0 ? format("%.4f", each.cpu_ms) : "-"},
            {"cpu_threads", cpu_threads},
            {"cpu_over_gpu", each.cpu_ms > 0 ? format("%.2f", each.cpu_ms / ms[kTotal]) : "-"},
            {"kernel_gflops", format("%.0f", 2 * n * n * n / ms[kKernel] * 1e-6)},
            {"t_x_ns", format("%.6g", model.t_x_ns)},
            {"t_gpu_ns", format("%.6g", model.t_gpu_ns)},
            {"crossover_n", format("%.0f", 1.5 * model.t_x_ns / model.t_gpu_ns)},
            {"repeats", std::to_string(repeat)},
            {"sm_mhz", figure(each.clocks.sm)},
            {"clock_by", each.clocks.by}};
}

void time_all(const std::vector<Shape>& sizes, double first_ms, const BenchmarkOptions& o,
              GpuTimer& timer, Report& report) {
    const OpenBlas blas;
    std::printf("%s\n",
                blas ? blas.describe().c_str()
                     : format("The CPU's BLAS is not timed: %s", OpenBlas::kMissing).c_str());
    if (blas) verify_blas<float>(blas, verified_shapes(sizes), 1);

    std::vector<Measured> all;
    for (const Shape& s : sizes) {
        const int n = s.M;
        const size_t count = size_t(n) * n;
        const std::vector<float> A = random_reals(count, 1), B = random_reals(count, 2);
        std::vector<float> C(count);
        PinnedArray a(count), b(count), c(count);
        std::copy(A.begin(), A.end(), a.data());
        std::copy(B.begin(), B.end(), b.data());
        all.push_back(
            measure(n, "pageable", {A.data(), B.data(), C.data()}, A, B, o.repeat, timer));
        all.push_back(measure(n, "pinned", {a.data(), b.data(), c.data()}, A, B, o.repeat, timer));
        progress(format("N = %d: timing the CPU's BLAS", n));
        // A large product takes the CPU a second. It is timed once, after one that is not counted.
        if (blas)
            all.end()[-2].cpu_ms = all.end()[-1].cpu_ms =
                time_blas<float>(blas, n, A, B, n > 4096 ? 1 : o.repeat).median;
    }
    progress("");
    for (const Measured& each : all) {
        const std::string threads = blas ? std::to_string(blas.threads()) : "-";
        Row row = row_of(each, fit(all, each.memory), threads, o.repeat);
        add_cells(row, timer.where());
        report.add(row);
    }
    std::printf(
        "N = %d: the first launch in this process took %.3f ms, the median one %.3f ms; the "
        "first also loads the kernel.\n",
        all[0].n, first_ms, all[0].median[kKernel]);
    report.save();
    if (!o.csv.empty())
        std::printf("./run transfer --fit %s prints how well the model fits.\n", o.csv.c_str());
}
#else
void time_all(const std::vector<Shape>&, double, const BenchmarkOptions&, GpuTimer&, Report&) {}
#endif

int main(int argc, char** argv) {
    std::vector<Shape> sizes;
    for (int n = 512; n <= 8192; n *= 2) sizes.push_back(square(n));
    BenchmarkOptions o;
    o.columns = {{"n", "N", -6},
                 {"memory", "memory", -8},
                 {"h2d_ms", "to|device", 10, as_time},
                 {"kernel_ms", "kernel", 10, as_time},
                 {"d2h_ms", "to|host", 10, as_time},
                 {"total_ms", "total", 10, as_time},
                 {"model_ms", "model", 10, as_time},
                 {"cpu_blas_ms", "CPU's|BLAS", 10, as_time},
                 {"cpu_over_gpu", "CPU|/ GPU", 7},
                 {"kernel_gflops", "kernel|TFLOP/s", 8, as_tera}};
    o.repeat = 5;
    const Option of_sizes = square_sizes(sizes, "512, 1024, 2048, 4096, 8192");
    return run_benchmark(
        "transfer", "times a product on the GPU with the copies that it needs",
        "Examples:  transfer --csv transfer.csv\n"
        "           python3 00_machine_limits/fit.py transfer.csv    fits a model to the times",
        o, {of_sizes}, argc, argv, [&](Report& report) {
            GpuTimer timer(o.device);
            const double first_ms = kEmulated ? 0 : first_launch_ms(sizes[0].M);
            in_each_order([&] {
                for (const Shape& s : kRagged) {
                    verify<size_t>(s);
                    verify<int>(s);
                }
            });
            for (const Shape& s : sizes)
                if (s.M <= kVerifiedUpTo && !kEmulated) verify<size_t>(s);
            std::printf("The kernel is exact at %zu ragged shapes%s.\n", std::size(kRagged),
                        kEmulated ? "" : " and at the sizes up to 1024");
            if (!o.verify_only) time_all(sizes, first_ms, o, timer, report);
        });
}
