// 14_fp32_accuracy/peers: what cuBLAS offers for products of floats, with times and errors: FP32,
// TF32, and three of its products of halves, of which the second and the third are added to the
// first. The time of the last one includes the passes that split A and B.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 14_fp32_accuracy/peers.cu common/*.cu common/*.cpp -o build/peers -lcublas -lcublasLt
#include <cuda_fp16.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/accuracy.h"
#include "common/benchmark.h"
#include "common/checked_launch.h"
#include "common/cublas.h"
#include "common/device_operands.h"
#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/operands.h"

constexpr float kUp = 2048;  // lo is kept 2^11 times as large, because a half has 11 bits

__global__ void split(size_t count, const float* from, half* hi, half* lo) {
    const size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        hi[i] = from[i];
        lo[i] = (from[i] - float(hi[i])) * kUp;  // the difference and the product are exact
    }
}

// A matrix of floats as two of halves, whose space is kept between launches.
struct Halves {
    explicit Halves(DeviceArray<float>& of) : from(of), hi(of.size()), lo(of.size()) {}
    void set() { split<<<4096, 256>>>(from.size(), from.data(), hi.data(), lo.data()); }

    DeviceArray<float>& from;
    DeviceArray<half> hi, lo;
};

struct Peer {
    std::string name;
    Arithmetic arithmetic;
    Launch multiply;
};

// A float has 11 significant bits in TF32, and is truncated at worst: |tf32(a) - a| < 2^-10 |a|.
constexpr Arithmetic tf32_arithmetic() {
    Arithmetic arithmetic = kTensor;
    arithmetic.representation = 0x1p-9 + 0x1p-20;
    arithmetic.magnitude = 1 + arithmetic.representation;
    arithmetic.operand_limit = 2048;
    return arithmetic;
}

// Verifies the peers, then measures their errors and times, and adds a row for each.
void measure(Shape s, GpuTimer& timer, Cublas& cublas, const BenchmarkOptions& o, uint32_t seed,
             Report& report) {
    Operands<float, float> x(s);
    Halves A(x.A_device), B(x.B_device);
    const auto of_floats = [&](cublasComputeType_t compute) {
        cublas.multiply(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C_device(),
                        CUDA_R_32F, CUDA_R_32F, compute);
    };
    const auto add_product = [&](DeviceArray<half>& a, DeviceArray<half>& b, float factor,
                                 float of_c) {
        cublas.multiply(s.M, s.N, s.K, a.data(), b.data(), x.C_device(), CUDA_R_16F, CUDA_R_32F,
                        CUBLAS_COMPUTE_32F, factor, of_c);
    };
    const Peer peers[] = {
        {"cuBLAS FP32", kFp32, [&] { of_floats(CUBLAS_COMPUTE_32F); }},
        {"cuBLAS TF32", tf32_arithmetic(), [&] { of_floats(CUBLAS_COMPUTE_32F_FAST_TF32); }},
        {"3 x cuBLAS FP16", split_arithmetic(), [&] {
             A.set();
             B.set();
             add_product(A.hi, B.hi, 1, 0);
             add_product(A.lo, B.hi, 1 / kUp, 1);
             add_product(A.hi, B.lo, 1 / kUp, 1);
         }}};

    std::vector<Row> rows;
    for (const Peer& peer : peers) {
        progress(to_string(s) + ": verifying " + peer.name);
        const auto multiply = [&] {
            peer.multiply();
            finish_launch(peer.name);
        };
        with_context(peer.name, [&] {
            verify_exact(x, peer.arithmetic, seed, multiply);
            verify_reals(x, peer.arithmetic, seed, multiply);
        });
        rows.push_back({{"peer", peer.name},
                        {"m", std::to_string(s.M)},
                        {"n", std::to_string(s.N)},
                        {"k", std::to_string(s.K)}});
    }
    for (const DataKind& kind : kDataKinds) {
        progress(to_string(s) + ": errors, " + kind.title);
        x.set(seed, kind.values);
        const Fp64Sample exact(s, x.A, x.B);
        double of_fp32 = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
            x.clear();
            peers[i].multiply();
            x.fetch();
            const double error = exact.error_of(x.C());
            if (i == 0) of_fp32 = error;
            add_error(rows[i], kind, error, "cublas", of_fp32);
        }
    }
    if (!o.verify_only) {
        progress(to_string(s) + ": timing");
        x.set_timed(seed);
        std::vector<Launch> launches;
        for (const Peer& peer : peers) launches.push_back(peer.multiply);
        const std::vector<Rested> times = timer.time(launches, o.repeat);
        for (size_t i = 0; i < rows.size(); ++i) {
            const double flop = 2.0 * s.M * s.N * s.K;
            add_times(rows[i], times[i], flop, 0);
            add_library(rows[i], "cublas", flop, times[i], times[0]);
            add_clocks(rows[i], times[i].clocks);
            add_cells(rows[i], {{"repeats", std::to_string(o.repeat)}});
            add_cells(rows[i], timer.where());
        }
    }
    for (const Row& row : rows) report.add(row);
}

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.repeat = 20;
    o.columns = {{"peer", "", -16},
                 {"n", "N", 6},
                 {"median_ms", "time", 10, as_time},
                 {"gflops", "TFLOP/s", 8, as_tera},
                 {"percent_of_cublas", "of cuBLAS|FP32", 10, as_percent}};
    for (const DataKind& kind : kDataKinds)
        o.columns.push_back({"error_" + kind.name, kind.title + "|error", 10});
    std::vector<Shape> sizes = {square(4096), square(8192)};
    if (kEmulated) sizes = {square(128)};
    uint32_t seed = 1;
    const std::vector<Option> more = {
        {"--sizes", "LIST", "shapes S,FIRST:LAST:STEP,MxNxK,... (default: 4096,8192; emulated 128)",
         shape_list(sizes)},
        {"--seed", "S", "another set of random inputs (default 1)", number(seed, 0, UINT32_MAX)}};
    return run_benchmark("peers", "times cuBLAS's ways to multiply floats, and shows their errors",
                         "Example:\n  peers --sizes 512:8192:512 --csv peers.csv", o, more, argc,
                         argv, [&](Report& report) {
                             GpuTimer timer(o.device);
                             Cublas cublas;
                             for (const Shape& s : sizes)
                                 measure(s, timer, cublas, o, seed, report);
                             report.save();
                         });
}
