// 00_machine_limits/library_curves: what cuBLAS reaches in FP64, FP32, TF32 and FP16 (FP32 accumulate) against the size of square
// matrices. The four take turns at each size. The CPU build has no cuBLAS: it times OpenBLAS in FP64 and FP32 on the CPU instead.
//
// Alone:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/library_curves.cu -o 00_machine_limits/library_curves -lcublas
// Articles: the Mynavi report on Volta: its figure of cuBLAS in FP64, FP32 and mixed precision (7, 14 and 70 TFLOP/s)
#include <memory>

#include "00_machine_limits/blas.h"
#ifndef CUDA_EMULATOR
#include "common/timing.h"
#endif

// One curve: a product of row-major matrices in one precision. A and B come as floats and are rounded to it.
struct Curve {
    std::string name;
    double peak;  // GFLOP/s, 0 if unknown
    std::function<void(Shape, uint32_t seed)> verify;  // throws Failure(kWrongResult)
    // Gives what multiplies once; it owns its matrices.
    std::function<std::function<void()>(Shape, const std::vector<float>& A,
                                        const std::vector<float>& B)>
        prepare;
};

// `multiply` is a library's: (Shape, const In* A, const In* B, Out* C). Array<T>: T in the memory where it works.
// bits, unit_roundoff: see verify_library().
template <template <class> class Array, class In, class Out, class Multiply>
Curve curve(const std::string& name, double peak, int bits, double unit_roundoff,
            Multiply multiply) {
    const auto verify = [=](Shape s, uint32_t seed) {
        verify_library<In, Out>(name, s, seed, bits, unit_roundoff,
                                [&](const auto& A, const auto& B, auto& C) {
                                    Array<In> A_there(A.size()), B_there(B.size());
                                    Array<Out> C_there(C.size());
                                    A_there.upload(A);
                                    B_there.upload(B);
                                    C_there.upload(C);
                                    multiply(s, A_there.data(), B_there.data(), C_there.data());
                                    C_there.download(C);
                                });
    };
    const auto prepare = [=](Shape s, const std::vector<float>& A,
                             const std::vector<float>& B) -> std::function<void()> {
        const auto A_there = std::make_shared<Array<In>>(A.size()),
                   B_there = std::make_shared<Array<In>>(B.size());
        const auto C_there = std::make_shared<Array<Out>>(size_t(s.M) * s.N);
        A_there->upload({A.begin(), A.end()});
        B_there->upload({B.begin(), B.end()});
        return [=] { multiply(s, A_there->data(), B_there->data(), C_there->data()); };
    };
    return {name, peak, verify, prepare};
}

#ifdef CUDA_EMULATOR
constexpr const char* kDefaultSizes = "256:1024:256";

// Memory of the CPU, as DeviceArray is of the device.
template <class T>
struct HostArray : std::vector<T> {
    using std::vector<T>::vector;
    void upload(const std::vector<T>& values) { std::vector<T>::operator=(values); }
    void download(std::vector<T>& values) const { values = *this; }
};

class Library {
public:
    static constexpr const char* kName = "OpenBLAS";
    explicit Library(int) {
        if (!blas_)
            throw Failure(kNoGpu, std::string(OpenBlas::kMissing) + ", and cuBLAS needs a GPU");
        std::printf("No cuBLAS in this build: these are times of this CPU, %s\n",
                    blas_.describe().c_str());
    }
    std::vector<Curve> curves() const {
        const auto multiply = [this](Shape s, auto* A, auto* B, auto* C) {
            blas_.multiply(s, A, B, C);
        };
        return {curve<HostArray, double, double>("FP64", 0, 23, kFp32.unit_roundoff, multiply),
                curve<HostArray, float, float>("FP32", 0, 23, kFp32.unit_roundoff, multiply)};
    }
    std::vector<Times> time(const std::vector<std::function<void()>>& functions, int repeat) {
        return time_on_cpu(functions, repeat);
    }
    Row clocks(const std::function<void()>&) const {
        return {{"", "sm_mhz", "-"}, {"", "memory_mhz", "-"}};
    }
    Row where() const {
        return {{"", "cpu", cpu_model()},
                {"threads", "threads", std::to_string(blas_.threads())},
                {"", "library", blas_.config()},
                {"", "date", today()}};
    }

private:
    OpenBlas blas_;
};
#else
constexpr const char* kDefaultSizes = "1024:8192:512";

template <class T>
constexpr cudaDataType_t kTypeOf = CUDA_R_32F;
template <>
constexpr cudaDataType_t kTypeOf<double> = CUDA_R_64F;
template <>
constexpr cudaDataType_t kTypeOf<half> = CUDA_R_16F;

class Library {
public:
    static constexpr const char* kName = "cuBLAS";
    explicit Library(int device)
        : device_(select_device(device)), gpu_(gpu_at_hand(device_)), nvml_(bus_id(device_)),
          timer_(device_) {
        check(cublasCreate(&handle_), "cublasCreate");
        check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH),
              "cublasSetMathMode");  // CUBLAS_COMPUTE_32F is then without TF32
    }
    ~Library() { cublasDestroy(handle_); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    std::vector<Curve> curves() const {
        // Source: NVIDIA's H100 whitepaper, H100 SXM5, whose multiprocessors and clocks the H200 has: FP64 on tensor cores, and
        // TF32 without sparsity at 1.83 GHz.
        const bool h200 = gpu_.full_name == "NVIDIA H200";
        const double fp64_peak = h200 ? 66900 : 0, tf32_peak = h200 ? 494700 : 0;
        std::vector<Curve> all = {
            cublas<double, double>("FP64", fp64_peak, 23, kFp32.unit_roundoff, CUBLAS_COMPUTE_64F),
            cublas<float, float>("FP32", gpu_.peak.fp32_gflops, 23, kFp32.unit_roundoff,
                                 CUBLAS_COMPUTE_32F),
            cublas<half, float>("FP16", gpu_.peak.tensor_gflops, 10, kTensor.unit_roundoff,
                                CUBLAS_COMPUTE_32F)};
        if (attribute(cudaDevAttrComputeCapabilityMajor, device_) >=
            8)  // else it would be FP32 under another name
            all.insert(all.begin() + 2,
                       cublas<float, float>("TF32", tf32_peak, 10, kTensor.unit_roundoff,
                                            CUBLAS_COMPUTE_32F_FAST_TF32));
        return all;
    }
    std::vector<Times> time(const std::vector<std::function<void()>>& functions, int repeat) {
        return timer_.run(functions, repeat, [] {});
    }
    // The clocks during one launch more: each precision has its own, tensor cores may lower them.
    Row clocks(const std::function<void()>& multiply) const {
        multiply();
        const Row row = {{"SM MHz", "sm_mhz", std::to_string(nvml_.sm_clock())},
                         {"", "memory_mhz", std::to_string(nvml_.memory_clock())}};
        check_cuda(cudaDeviceSynchronize(), "cuBLAS's product");
        return row;
    }
    Row where() const { return where_measured(gpu_, nvml_); }

private:
    static void check(cublasStatus_t status, const std::string& call) {
        if (status != CUBLAS_STATUS_SUCCESS)
            throw Failure(kDeviceFailed, call + " failed: " + cublasGetStatusString(status));
    }
    template <class In, class Out>
    Curve cublas(const std::string& name, double peak, int bits, double unit_roundoff,
                 cublasComputeType_t compute) const {
        return curve<DeviceArray, In, Out>(
            name, peak, bits, unit_roundoff, [=](Shape s, const In* A, const In* B, Out* C) {
                using Scalar = std::conditional_t<std::is_same_v<In, double>, double, float>;
                const Scalar one = 1, zero = 0;
                // Row-major C = A * B is column-major C' = B' * A'.
                check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, s.N, s.M, s.K, &one, B,
                                   kTypeOf<In>, s.N, A, kTypeOf<In>, s.K, &zero, C, kTypeOf<Out>,
                                   s.N, compute, CUBLAS_GEMM_DEFAULT),
                      "cublasGemmEx in " + name);
            });
    }
    int device_;
    Gpu gpu_;
    Nvml nvml_;
    Timer timer_;
    cublasHandle_t handle_ = nullptr;
};
#endif

// Times the curves at N x N, and adds a row for each.
void measure(int n, Library& library, const std::vector<Curve>& curves, uint32_t seed, int repeat,
             Report& report) {
    const Shape s = {n, n, n};
    std::vector<std::function<void()>> functions;
    {
        const std::vector<float> A = random_reals(size_t(n) * n, seed),
                                 B = random_reals(size_t(n) * n, seed + 1);
        for (const Curve& each : curves) functions.push_back(each.prepare(s, A, B));
    }
    const std::vector<Times> times = library.time(functions, repeat);
    progress("");
    for (size_t i = 0; i < curves.size(); ++i) {
        const double peak = curves[i].peak;
        Row row = {{"precision", "precision", curves[i].name}, {"N", "n", std::to_string(n)}};
        add_times(row, times[i], 2.0 * n * n * n, peak);
        row.insert(row.end() - 1, {"", "peak_gflops", peak > 0 ? format("%.0f", peak) : "-"});
        row.push_back({"", "repeats", std::to_string(repeat)});
        for (const Row& cells : {library.clocks(functions[i]), library.where()})
            row.insert(row.end(), cells.begin(), cells.end());
        report.add(row);
    }
}

int main(int argc, char** argv) {
    using Text = const std::string&;
    std::vector<long long> sizes = parse_sizes(kDefaultSizes);
#ifndef CUDA_EMULATOR
    sizes.insert(sizes.begin(), {256, 512});
#endif
    int repeat = 20, device = 0;
    uint32_t seed = 1;
    bool verify_only = false;
    std::string csv;
    const std::vector<Option> options = {
        {"sizes", "F:L:STEP",
         "each size from F to L (default 256, 512 and 1024:8192:512; CPU build 256:1024:256)",
         [&](Text value) { sizes = parse_sizes(value); }},
        {"verify-only", "", "check the products and stop", [&](Text) { verify_only = true; }},
        {"seed", "S", "another set of random inputs (default 1)",
         number(seed, "--seed", 0, UINT32_MAX)},
        {"repeat", "R", "timed products of each size and precision (default 20)",
         number(repeat, "--repeat", 1, 10000)},
        {"csv", "FILE", "also write the rows to FILE", [&](Text value) { csv = parse_csv(value); }},
        {"device", "D", "GPU build: use CUDA device D (default 0)",
         [&](Text value) {
#ifdef CUDA_EMULATOR
             throw Failure(kBadCommandLine,
                           "--device '" + value +
                               "': only the GPU build takes it; the CPU build times the CPU");
#else
             device = int(parse_number("--device", value, 0, 1023));
#endif
         }},
    };
    const std::string about =
        "times a library's product of square matrices, in each precision, against their size";
    return run_program(
        "library_curves", about, options, "Example:\n  library_curves --csv library_curves.csv",
        argc, argv, [&] {
            if (verify_only && !csv.empty())
                throw Failure(kBadCommandLine, "--csv: there are no times with --verify-only");
            Report report(csv);
            Library library(device);
            const std::vector<Curve> curves = library.curves();
            std::vector<Shape> shapes = {kRectangular};  // and the squares that are not too large
            for (const long long n : sizes)
                if (n <= kVerifiedUpTo) shapes.push_back({int(n), int(n), int(n)});
            for (const Shape& shape : shapes)
                for (const Curve& each : curves) {
                    progress(format("verifying %s, %d x %d x %d", each.name.c_str(), shape.M,
                                    shape.N, shape.K));
                    each.verify(shape, seed);
                }
            progress("");
            std::string where;
            for (const Shape& s : shapes) where += format(" %dx%dx%d", s.M, s.N, s.K);
            std::printf("%s is exact on integers, and within the error bound on reals, at%s\n",
                        Library::kName, where.c_str());
            if (verify_only) return;
            for (const long long n : sizes) {
                progress(format("timing %lld x %lld x %lld", n, n, n));
                measure(int(n), library, curves, seed, repeat, report);
            }
            report.save();
        });
}
