// 00_machine_limits/transfer: what a product on the GPU costs when its matrices are on the host: copies there, kernel, copy back,
// beside the CPU's BLAS. Then the article's model, T = 3 N^2 T_x + 2 N^3 T_gpu, is fitted to these times (fit.h).
//
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/transfer.cu -o 00_machine_limits/transfer -lcublas
// Articles: "CUDA Python 3: matrix product" (Zenn), section 2.3 (the model), 4.2 (the program) and 4.3 (0.857 s, kernel 0.787 s)
#include <array>

#include "00_machine_limits/blas.h"
#include "00_machine_limits/fit.h"
#include "common/device.h"
#include "common/operands.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#else
#include "common/timing.h"
#endif

constexpr int kBlock = 16;  // the article's block: 16 x 16 threads, one an element of C
constexpr Shape kRagged[] = {{1, 1, 1}, {7, 5, 3}, {16, 16, 16}, {37, 129, 65}, {130, 31, 20}};

__global__ void __launch_bounds__(kBlock* kBlock)
    matmul(int M, int N, int K, const float* A, const float* B, float* C) {
    const int row = blockIdx.y * kBlock + threadIdx.y;
    const int col = blockIdx.x * kBlock + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[size_t(row) * K + k] * B[size_t(k) * N + col];
    C[size_t(row) * N + col] = acc;
}

void launch_matmul(Shape s, const float* A, const float* B, float* C) {
    const dim3 blocks((s.N - 1) / kBlock + 1, (s.M - 1) / kBlock + 1);
    matmul<<<blocks, dim3(kBlock, kBlock)>>>(s.M, s.N, s.K, A, B, C);
    check_cuda(cudaGetLastError(), "launching the kernel");
}

// C must equal A * B on integers, with nothing written beside it. Throws Failure.
void verify(Shape s) {
    OperandsIn<DeviceArray<float>, DeviceArray<float>> x(s);
    try {
        verify_exact(x, kFp32, 1, [&] {
            launch_matmul(s, x.A_device.data(), x.B_device.data(), x.C.device());
            check_cuda(cudaDeviceSynchronize(), "running the kernel");
        });
    } catch (const Failure& failure) {
        throw Failure(failure.code, to_string(s) + ": " + failure.what());
    }
}

struct Request {
    std::vector<long long> sizes;
    int repeat = 5, device = 0;
    bool verify_only = false;
};

#ifdef CUDA_EMULATOR
const std::vector<long long> kDefaultSizes = {256};

// In three orders of threads; traced, the kernel must load and store what it claims: nothing is reused.
void verify_all() {
    using emulator::Order;
    for (const Shape& s : kRagged)
        for (const Order order : {Order::forward, Order::reverse, Order::random}) {
            emulator::set_order(order, 1);
            emulator::reset_counts();
            verify(s);
            const emulator::Counts& c = emulator::counts();
            if (!c.problems.empty())
                throw Failure(kWrongResult, to_string(s) + ": " + c.problems[0]);
            const double loaded = 2.0 * s.M * s.N * s.K * sizeof(float),
                         stored = double(s.M) * s.N * sizeof(float);
            if (emulator::tracing() &&
                (double(c.global_load_bytes) != loaded || double(c.global_store_bytes) != stored))
                throw Failure(
                    kWrongResult,
                    to_string(s) +
                        format(": %.0f bytes loaded and %.0f stored, expected %.0f and %.0f",
                               double(c.global_load_bytes), double(c.global_store_bytes), loaded,
                               stored));
        }
    std::printf("The kernel is exact at %zu shapes, in three orders of threads%s.\n",
                std::size(kRagged), emulator::tracing() ? ", and loads 2 M N K floats" : "");
}

void run(const Request& request, Report&) {
    verify_all();
    if (request.verify_only) return;
    std::printf("Nothing was timed on a GPU: the GPU build times.\n");
    const OpenBlas blas;
    if (!blas) {
        std::printf("Nor was the CPU's BLAS: %s.\n", OpenBlas::kMissing);
        return;
    }
    std::printf("%s\n", blas.describe().c_str());
    for (const long long n : request.sizes) {
        const std::vector<float> A = random_reals(size_t(n) * n, 1),
                                 B = random_reals(size_t(n) * n, 2);
        const double ms = time_sgemm(blas, int(n), A, B, request.repeat).median;
        std::printf("sgemm on this CPU, N = %lld: %.3f ms, %.0f GFLOP/s\n", n, ms,
                    2.0 * n * n * n / ms * 1e-6);
    }
}
#else
const std::vector<long long> kDefaultSizes = {512, 1024, 2048, 4096, 8192};

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

// One product of n x n matrices from host memory to host memory, by the host's clock, as the article's: a pageable copy is partly
// the CPU's work, and the parts add up to what the caller waits for. A launch and the wait for its end are in the kernel's part.
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
    unsigned sm_mhz;
    double cpu_ms;  // 0: there is no BLAS
};

// Medians over `repeat` products, after one that is not counted. Checks the last; A and B are what `host` holds.
Measured measure(int n, const std::string& memory, const HostMatrices& host,
                 const std::vector<float>& A, const std::vector<float>& B, int repeat,
                 const Nvml& nvml) {
    progress(format("N = %d: timing with %s memory", n, memory.c_str()));
    const size_t count = size_t(n) * n;
    DeviceMatrices device = {DeviceArray<float>(count), DeviceArray<float>(count),
                             DeviceArray<float>(count)};
    std::fill(host.C, host.C + count, unwritten());
    check_cuda(cudaMemset(device[2].data(), 0xff, count * sizeof(float)), "cudaMemset");
    multiply_once(n, host, device);
    launch_matmul({n, n, n}, device[0].data(), device[1].data(), device[2].data());
    const unsigned sm_mhz =
        nvml.sm_clock();  // while a launch runs that is not timed: asking takes time, too
    std::vector<float> ms[kParts];
    for (int r = 0; r < repeat; ++r) {
        const Parts parts = multiply_once(n, host, device);
        for (int part = 0; part < kParts; ++part) ms[part].push_back(float(parts[part]));
    }
    const std::string wrong = check_accuracy({n, n, n}, A, B, host.C, kFp32.unit_roundoff).wrong;
    if (!wrong.empty())
        throw Failure(kWrongResult,
                      format("N = %d, %s memory: %s", n, memory.c_str(), wrong.c_str()));
    Parts median;
    for (int part = 0; part < kParts; ++part) median[part] = summarize(ms[part]).median;
    return {n, memory, median, sm_mhz, 0};
}

// Milliseconds of the first launch of this process, in which CUDA loads the kernel: what the article's one call measures, too.
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

Row row_of(const Measured& each, const Fit& f, const std::string& cpu_threads, int repeat) {
    const double n = each.n;
    const Parts& ms = each.median;
    return {{"N", "n", std::to_string(each.n)},
            {"memory  ", "memory", each.memory},
            {"to device ms", "h2d_ms", format("%.6f", ms[kToDevice])},
            {"kernel ms  ", "kernel_ms", format("%.6f", ms[kKernel])},
            {"to host ms", "d2h_ms", format("%.6f", ms[kToHost])},
            {"total ms   ", "total_ms", format("%.6f", ms[kTotal])},
            {"model ms", "model_ms", format("%.4f", f.model_ms(n))},
            {"CPU BLAS ms", "cpu_blas_ms", each.cpu_ms > 0 ? format("%.4f", each.cpu_ms) : "-"},
            {"", "cpu_threads", cpu_threads},
            {"CPU/GPU", "cpu_over_gpu",
             each.cpu_ms > 0 ? format("%.2f", each.cpu_ms / ms[kTotal]) : "-"},
            {"kernel GFLOP/s", "kernel_gflops", format("%.0f", 2 * n * n * n / ms[kKernel] * 1e-6)},
            {"", "t_x_ns", format("%.6g", f.t_x_ns)},
            {"", "t_gpu_ns", format("%.6g", f.t_gpu_ns)},
            {"", "crossover_n", format("%.0f", f.crossover_n())},
            {"", "repeats", std::to_string(repeat)},
            {"", "sm_mhz", std::to_string(each.sm_mhz)}};
}

void run(const Request& request, Report& report) {
    const int device = select_device(request.device), repeat = request.repeat;
    const double first_ms = first_launch_ms(int(request.sizes[0]));
    const Nvml nvml(bus_id(device));
    const Gpu gpu = gpu_at_hand(device);
    for (const Shape& s : kRagged) verify(s);
    for (const long long n : request.sizes)
        if (n <= kVerifiedUpTo) verify({int(n), int(n), int(n)});
    std::printf("The kernel is exact at %zu ragged shapes and at the sizes up to %d.\n",
                std::size(kRagged), kVerifiedUpTo);
    if (request.verify_only) return;
    const OpenBlas blas;
    std::printf("%s\n",
                blas ? blas.describe().c_str()
                     : format("The CPU's BLAS is not timed: %s", OpenBlas::kMissing).c_str());

    std::vector<Measured> all;
    FitPoints points;
    for (const long long size : request.sizes) {
        const int n = int(size);
        const size_t count = size_t(n) * n;
        const std::vector<float> A = random_reals(count, 1), B = random_reals(count, 2);
        std::vector<float> C(count);
        PinnedArray a(count), b(count), c(count);
        std::copy(A.begin(), A.end(), a.data());
        std::copy(B.begin(), B.end(), b.data());
        Measured pageable =
            measure(n, "pageable", {A.data(), B.data(), C.data()}, A, B, repeat, nvml);
        Measured pinned = measure(n, "pinned", {a.data(), b.data(), c.data()}, A, B, repeat, nvml);
        progress(format("N = %d: timing the CPU's BLAS", n));
        // A large one takes the CPU a second: timed once, after one that is not counted.
        if (blas)
            pageable.cpu_ms = pinned.cpu_ms =
                time_sgemm(blas, n, A, B, n > 4096 ? 1 : repeat).median;
        for (const Measured& each : {pageable, pinned}) {
            all.push_back(each);
            points[each.memory].push_back(
                {double(n), each.median[kToDevice] + each.median[kToHost], each.median[kKernel]});
        }
    }
    progress("");
    for (const Measured& each : all) {
        Row row = row_of(each, fit(points[each.memory]),
                         blas ? std::to_string(blas.threads()) : "-", repeat);
        for (const Cell& cell : where_measured(gpu, nvml)) row.push_back(cell);
        report.add(row);
    }
    std::printf(
        "N = %d: the first launch in this process took %.3f ms, the median one %.3f ms; the first also loads the kernel.\n",
        all[0].n, first_ms, all[0].median[kKernel]);
    print_fits(points);
    report.save();
}
#endif

int main(int argc, char** argv) {
    using Text = const std::string&;
    Request request;
    request.sizes = kDefaultSizes;
    std::string csv, fit_file;
    const auto gpu_only = [](const char* option) {
#ifdef CUDA_EMULATOR
        throw Failure(
            kBadCommandLine,
            std::string(option) + ": only the GPU build takes it; the CPU build times no kernel");
#else
        (void)option;
#endif
    };
    const std::vector<Option> options = {
        {"sizes", "F:L:STEP",
         "matrices of each size from F to L (default 512, 1024, 2048, 4096, 8192; CPU build: BLAS at 256)",
         [&](Text value) { request.sizes = parse_sizes(value); }},
        {"verify-only", "", "check the kernel and stop", [&](Text) { request.verify_only = true; }},
        {"repeat", "R", "timed products of each size (default 5)",
         number(request.repeat, "--repeat", 1, 1000)},
        {"csv", "FILE", "GPU build: also write the rows to FILE",
         [&](Text value) {
             gpu_only("--csv");
             csv = parse_csv(value);
         }},
        {"device", "D", "GPU build: use CUDA device D (default 0)",
         [&](Text value) {
             gpu_only("--device");
             request.device = int(parse_number("--device", value, 0, 1023));
         }},
        {"fit", "FILE",
         "fit the model to the times in FILE, a CSV of the GPU build, and stop; needs no GPU",
         [&](Text value) {
             if (value.empty())
                 throw Failure(kBadCommandLine, "--fit '': takes the name of a file");
             fit_file = value;
         }},
    };
    const std::string about =
        "times a product on the GPU with the copies that it needs, and fits a model to the times";
    const std::string examples =
        "Examples:  transfer --csv transfer.csv\n           transfer --fit transfer.csv";
    return run_program("transfer", about, options, examples, argc, argv, [&] {
        if (!csv.empty() && (request.verify_only || !fit_file.empty()))
            throw Failure(kBadCommandLine,
                          "--csv: there are no times with --verify-only and --fit");
        if (!fit_file.empty()) return print_fits(read_points("--fit", fit_file));
        Report report(csv);
        run(request, report);
    });
}
