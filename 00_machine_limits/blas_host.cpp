// 00_machine_limits/blas_host: what OpenBLAS reaches on the CPU, in FP64 and FP32, against the size of
// square matrices. library_curves does the same with cuBLAS on a GPU.
//
// Build:    g++ -std=c++17 -O2 -I. 00_machine_limits/blas_host.cpp common/*.cpp -o 00_machine_limits/blas_host -ldl
// Articles: "CUDA Python 3: matrix product" (Zenn), section 4.3 (NumPy's product)
#include "00_machine_limits/blas.h"
#include "common/benchmark.h"
#include "common/errors.h"
#include "common/operands.h"
#include "common/options.h"
#include "common/table.h"
#include "common/timing.h"
#include "common/verify.h"

// Times both precisions at n x n, and adds a row for each.
void measure(int n, const OpenBlas& blas, uint32_t seed, int repeat, Report& report) {
    progress(format("timing %d x %d x %d", n, n, n));
    const std::vector<float> A = random_reals(size_t(n) * n, seed);
    const std::vector<float> B = random_reals(size_t(n) * n, seed + 1);
    const Times fp64 = time_blas<double>(blas, n, A, B, repeat);
    const Times fp32 = time_blas<float>(blas, n, A, B, repeat);
    progress("");
    for (const auto& [precision, times] : {std::pair("FP64", fp64), {"FP32", fp32}}) {
        Row row = {{"precision", precision}, {"n", std::to_string(n)}};
        add_times(row, times, 2.0 * n * n * n, 0);
        row.insert(row.end() - 1, {"peak_gflops", "-"});
        add_cells(row, {{"repeats", std::to_string(repeat)},
                        {"sm_mhz", "-"},
                        {"memory_mhz", "-"},
                        {"cpu", cpu_model()},
                        {"threads", std::to_string(blas.threads())},
                        {"library", blas.config()},
                        {"date", today()}});
        report.add(row);
    }
}

int main(int argc, char** argv) {
    std::vector<Shape> sizes = {square(256), square(512), square(768), square(1024)};
    BenchmarkOptions o;
    o.device = -1;
    o.columns = {{"precision", "precision", -10},
                 {"n", "N", 7},
                 {"median_ms", "time", 10, as_time},
                 {"gflops", "GFLOP/s", 9},
                 {"threads", "threads", 9}};
    o.repeat = 20;
    uint32_t seed = 1;
    const std::vector<Option> more = {
        square_sizes(sizes, "256:1024:256"),
        {"--seed", "S", "another set of random inputs (default 1)", number(seed, 0, UINT32_MAX)}};
    return run_benchmark(
        "blas_host", "times OpenBLAS's product of square matrices on this CPU, against their size",
        "Example:\n  blas_host --csv blas_host.csv", o, more, argc, argv, [&](Report& report) {
            const OpenBlas blas;
            if (!blas) throw Failure(kNoGpu, OpenBlas::kMissing);
            std::printf("%s\n", blas.describe().c_str());
            const std::vector<Shape> shapes = verified_shapes(sizes);
            verify_blas<double>(blas, shapes, seed);
            verify_blas<float>(blas, shapes, seed);
            progress("");
            std::printf(
                "OpenBLAS is exact on integers, and within the error bound on reals, at%s\n",
                listed(shapes).c_str());
            if (o.verify_only) return;
            for (const Shape& s : sizes) measure(s.M, blas, seed, o.repeat, report);
            report.save();
        });
}
