// 13_stream_k/configs: times each configuration of 13_stream_k/matmul.cu at some shapes, beside the
// time that its model predicts, cuBLAS's time, and that of the fastest algorithm of cuBLASLt. At the
// end it says how good the model is: how much longer the chosen configurations take than the fastest
// ones, and how far predictions are from measured times.
//
// Build:    nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -I. 13_stream_k/configs.cu common/*.cu common/*.cpp -o build/configs -lcublas -lcublasLt
#define main main_of_stage  // the stage's file has the configurations and the model
#include "13_stream_k/matmul.cu"
#undef main

#include <vector>

#include "common/benchmark.h"
#include "common/checked_launch.h"
#include "common/cublas.h"
#include "common/cublas_lt.h"
#include "common/device_operands.h"
#include "common/gpu_timer.h"
#include "common/operands.h"

// Counts elements of C that are not within `bound` of what cuBLAS has.
__global__ void count_differences(const float* C, const float* expected, size_t count, float bound,
                                  unsigned* differences) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
        if (!(fabsf(C[i] - expected[i]) <= bound)) atomicAdd(differences, 1);
}

// Throws Failure(kWrongResult) unless C is cuBLAS's product, `expected`. The stage itself verifies
// its configurations, against integers; here each shape is only compared before it is timed.
void compare(const std::string& name, Shape s, const float* C, const float* expected) {
    DeviceArray<unsigned> differences(1);
    differences.upload({0});
    // Both round: sums of K products of at most 1, in another order.
    const float bound = 2e-4f * std::sqrt(float(s.K)) + 1e-3f;
    count_differences<<<256, 256>>>(C, expected, size_t(s.M) * s.N, bound, differences.data());
    std::vector<unsigned> count;
    differences.download(count);
    if (count[0])
        throw Failure(kWrongResult, format("%s %s: %u elements differ from cuBLAS's", name.c_str(),
                                           to_string(s).c_str(), count[0]));
}

// How good the model is, over all shapes.
struct Quality {
    int shapes = 0;
    double log_slowdown = 0;  // sum of the logarithms of chosen time / least time
    std::vector<float> errors;  // |predicted / measured - 1| of the chosen configurations
};

// Times all configurations that take the shape, alternating with cuBLAS and the algorithms of
// cuBLASLt, and adds a row for each.
void measure(Shape s, GpuTimer& timer, Cublas& cublas, const BenchmarkOptions& o, Report& report,
             Quality& quality) {
    progress(to_string(s) + ": timing");
    DeviceArray<half> A(size_t(s.M) * s.K), B(size_t(s.K) * s.N);
    DeviceArray<float> C(size_t(s.M) * s.N), expected(C.size());
    A.upload(random_reals<half>(A.size(), 1));
    B.upload(random_reals<half>(B.size(), 2));
    const auto library = [&] {
        cublas.multiply(s.M, s.N, s.K, A.data(), B.data(), expected.data(), CUDA_R_16F, CUDA_R_32F,
                        CUBLAS_COMPUTE_32F);
    };
    library();
    std::vector<Launch> launches = {library};
    CublasLt lt(s.M, s.N, s.K, A.data(), B.data(), C.data(), CUDA_R_16F, CUDA_R_32F,
                CUBLAS_COMPUTE_32F);
    for (size_t i = 0; i < lt.algorithms(); ++i) launches.push_back([&lt, i] { lt.multiply(i); });
    const size_t first = launches.size();
    std::vector<const Config*> configs;
    for (const Config& config : kConfigs) {
        if (std::isinf(time_of(config, s.M, s.N, s.K))) continue;
        const auto launch = [&] {
            launch_config(config, s.M, s.N, s.K, A.data(), B.data(), C.data());
        };
        C.upload(std::vector<float>(C.size(), NAN));
        launch();
        finish_launch(config.name());
        compare(config.name(), s, C.data(), expected.data());
        configs.push_back(&config);
        launches.push_back(launch);
    }
    progress("");
    if (o.verify_only) return;
    const std::vector<Rested> times = timer.time(launches, o.repeat);
    double lt_ms = 0;
    for (size_t i = 1; i < first; ++i)
        if (lt_ms == 0 || times[i].median < lt_ms) lt_ms = times[i].median;
    const Config* const chosen = &best_config(s.M, s.N, s.K);
    double least_ms = times[first].median, chosen_ms = 0;
    for (size_t i = 0; i < configs.size(); ++i) {
        const double ms = times[first + i].median;
        const double predicted = predicted_times(*configs[i], s.M, s.N, s.K)[0];
        least_ms = std::min(least_ms, ms);
        if (configs[i] == chosen) {
            chosen_ms = ms;
            quality.errors.push_back(std::abs(predicted / ms * 1e-3 - 1));
        }
        Row row = {{"m", std::to_string(s.M)},
                   {"n", std::to_string(s.N)},
                   {"k", std::to_string(s.K)},
                   {"config", configs[i]->name()},
                   {"chosen", configs[i] == chosen ? "yes" : "-"},
                   {"predicted_us", format("%.1f", predicted)},
                   {"median_us", format("%.1f", ms * 1e3)},
                   {"cublas_us", format("%.1f", times[0].median * 1e3)},
                   {"lt_us", figure(lt_ms * 1e3, "%.1f")},
                   {"repeats", std::to_string(o.repeat)}};
        add_cells(row, timer.where());
        report.add(row);
    }
    ++quality.shapes;
    quality.log_slowdown += std::log(chosen_ms / least_ms);
}

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.repeat = 3;
    o.columns = {{"m", "M", 6},
                 {"n", "N", 6},
                 {"k", "K", 6},
                 {"config", "configuration", -29},
                 {"chosen", "chosen", 6},
                 {"predicted_us", "predicted|us", 9},
                 {"median_us", "measured|us", 9},
                 {"cublas_us", "cuBLAS|us", 8},
                 {"lt_us", "best Lt|us", 8}};
    std::vector<Shape> sizes = {square(1024), square(2504), {640, 1280, 20480}, {64, 280, 4592}};
    const std::vector<Option> more = {{"--sizes", "LIST",
                                       "shapes S,FIRST:LAST:STEP,MxNxK,... (default: four)",
                                       shape_list(sizes)}};
    return run_benchmark("configs",
                         "times each configuration of 13_stream_k beside its predicted time",
                         "Example:\n  configs --sizes $(python3 13_stream_k/shapes.py random 101) "
                         "--csv configs.csv",
                         o, more, argc, argv, [&](Report& report) {
                             GpuTimer timer(o.device);
                             Cublas cublas;
                             Quality quality;
                             for (const Shape& s : sizes)
                                 measure(s, timer, cublas, o, report, quality);
                             if (o.verify_only) return;
                             const Times errors = summarize(quality.errors);
                             std::printf(
                                 "Chosen configurations take %.1f%% longer than the "
                                 "fastest (geometric mean of %d shapes); the median "
                                 "error of their predicted times is %.1f%%.\n",
                                 100 * (std::exp(quality.log_slowdown / quality.shapes) - 1),
                                 quality.shapes, 100 * errors.median);
                             report.save();
                         });
}
