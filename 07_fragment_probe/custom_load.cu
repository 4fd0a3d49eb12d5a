// 07_fragment_probe/custom_load: load_matrix_sync against loads written by hand from the known
// layout. They are timed first as in the article, where nothing uses what was loaded, so that the
// compiler loads nothing, and then with every element used, at changing addresses.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 07_fragment_probe/custom_load.cu common/*.cu common/*.cpp -o 07_fragment_probe/custom_load -lcublas -lcublasLt
// Articles: "Tensorコアを使ってみた", the section on load_matrix_sync (91 us against 77670 us for 2^30 loads)
#include <cuda_fp16.h>

#include <cmath>
#include <map>

#include "07_fragment_probe/loads.cuh"
#include "common/benchmark.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/table.h"

constexpr int kInShared = 64;  // matrices in shared memory, 32 KiB
// 8 MiB: more than any L1 cache, less than the L2 cache of a data-centre GPU.
constexpr int kInGlobal = 16 * 1024;

// Where the matrices are read: `from` itself, or a copy of the first kInShared of them.
template <bool kShared>
__device__ const half* source(const half* from, half* shared) {
    if constexpr (kShared) {
        for (int i = threadIdx.x; i < kInShared * kMatrix; i += 32) shared[i] = from[i];
        __syncthreads();
        return shared;
    }
    return from;
}

// One warp fills a fragment from matrix `which` and writes it out.
template <class Load, bool kShared>
__global__ void fill(const half* matrices, int which, half* x) {
    __shared__ alignas(32) half shared[kShared ? kInShared * kMatrix : 16];
    Fragment f;
    Load::load(f, source<kShared>(matrices, shared) + which * kMatrix);
    for (int i = 0; i < f.num_elements; ++i) x[threadIdx.x * f.num_elements + i] = f.x[i];
}

template <class Load, bool kShared>
std::string name() {
    return Load::name + std::string(kShared ? " from shared memory" : " from global memory");
}

// Throws Failure(kWrongResult) unless the load fills every lane's x[] as load_matrix_sync does, and
// with numbers.
template <class Load, bool kShared>
void check(const half* matrices) {
    DeviceArray<half> x_device(32 * Fragment::num_elements);
    for (const int which : {0, 5, kInShared - 1}) {
        std::vector<half> expected, x;
        for (std::vector<half>* to : {&expected, &x}) {
            x_device.upload(std::vector<half>(32 * Fragment::num_elements, half(NAN)));
            half* const x_there = x_device.data();
            run_checked(name<Load, kShared>(), {}, [&] {
                if (to == &x) fill<Load, kShared><<<1, 32>>>(matrices, which, x_there);
                else fill<LoadMatrixSync, false><<<1, 32>>>(matrices, which, x_there);
            });
            x_device.download(*to);
        }
        for (size_t at = 0; at < x.size(); ++at)
            if (!(float(x[at]) == float(expected[at])))  // NaN equals nothing
                throw Failure(kWrongResult,
                              name<Load, kShared>() +
                                  format(": lane %zu has %g in x[%zu], load_matrix_sync %g",
                                         at / Fragment::num_elements, float(x[at]),
                                         at % Fragment::num_elements, float(expected[at])));
    }
}

#ifndef CUDA_EMULATOR
constexpr int kUsedLoads = 1 << 18;  // of each kind; the article's 2^30 would take minutes
constexpr int kMatrixBytes = kMatrix * sizeof(half);

// One warp loads `count` times and uses nothing: what the article timed.
template <class Load>
__global__ void load_unused(const half* matrices, int count) {
    Fragment f;
    for (int n = 0; n < count; ++n) Load::load(f, matrices);
}

// One warp loads `count` times and adds up all that it loads. It walks through all `mask` + 1
// matrices in an order that the compiler can't foresee, because `factor` and `mask` come with the
// launch. With kAtOnce = 1 each load is used before the next one begins. Otherwise the compiler
// issues kAtOnce loads before the first use.
template <class Load, bool kShared, int kAtOnce>
__global__ void load_used(const half* matrices, int count, unsigned factor, unsigned mask,
                          unsigned* sums) {
    __shared__ alignas(32) half shared[kShared ? kInShared * kMatrix : 16];
    const half* from = source<kShared>(matrices, shared);
    unsigned at = 0, sum = 0;
#pragma unroll kAtOnce
    for (int n = 0; n < count; ++n) {
        Fragment f;
        Load::load(f, from + at * kMatrix);
        for (int i = 0; i < 8; i += 2)
            sum =
                sum * 5 + (__half_as_ushort(f.x[i]) | unsigned(__half_as_ushort(f.x[i + 1])) << 16);
        at = (at * factor + 12345) & mask;
    }
    sums[threadIdx.x] = sum;
}

// Times the loads, and reports a row for each.
class Timing {
public:
    Timing(const half* matrices, GpuTimer& timer, int repeat, Report& report)
        : matrices_(matrices), timer_(timer), repeat_(repeat), report_(report) {}

    template <class Load>
    void time_unused() {
        // If the compiler kept the loads, 2^30 of them would take minutes. So try a few first.
        const auto time = [&](int count) {
            return median_ms(Load::name, [&] { load_unused<Load><<<1, 32>>>(matrices_, count); });
        };
        const int few = 1 << 16, all = 1 << 30;
        const int count = time(few) * (all / few) > 10000 ? few : all;
        add(Load::name, "global", "unused", count, time(count));
    }

    template <class Load, bool kShared, int kAtOnce>
    void time_used() {
        DeviceArray<unsigned> sums_device(32);
        const unsigned mask = (kShared ? kInShared : kInGlobal) - 1;
        const double ms = median_ms(name<Load, kShared>(), [&] {
            // A full-period generator (1664525 = 4 n + 1, 12345 odd), so the walk visits every
            // matrix.
            load_used<Load, kShared, kAtOnce>
                <<<1, 32>>>(matrices_, kUsedLoads, 1664525, mask, sums_device.data());
        });
        std::vector<unsigned> sums;
        sums_device.download(sums);
        std::vector<unsigned>& expected = kShared ? shared_sums_ : global_sums_;
        if (expected.empty()) expected = sums;
        if (sums != expected)
            throw Failure(kWrongResult,
                          name<Load, kShared>() + ": adds up to another sum than load_matrix_sync");
        add(Load::name, kShared ? "shared" : "global", format("used; %d at once", kAtOnce),
            kUsedLoads, ms);
    }
    template <bool kShared, int kAtOnce>
    void time_all_used() {
        time_used<LoadMatrixSync, kShared, kAtOnce>();
        time_used<Halves, kShared, kAtOnce>();
        time_used<Pairs, kShared, kAtOnce>();
        if constexpr (kShared) time_used<Ldmatrix, kShared, kAtOnce>();
    }

private:
    // The L2 cache, to which the warm-up launch has brought the data, is not flushed.
    double median_ms(const std::string& what, const std::function<void()>& launch) {
        progress(what + ": timing");
        const Rested rested = timer_.time({launch}, repeat_, false)[0];
        clocks_ = rested.clocks;
        return rested.median;
    }

    void add(const char* load, const char* from, const std::string& result, int count, double ms) {
        const double ns = ms * 1e6 / count, gbs = kMatrixBytes / ns,
                     device_gbs = timer_.gpu.limit(&Limits::bandwidth_gbs),
                     share = gbs / device_gbs;
        // load_matrix_sync comes first.
        const double first_ns = first_ns_.emplace(from + result, ns).first->second;
        const std::string of_device =
            share > 1 ? format("%.0f x: impossible", share) : format("%.2f%%", 100 * share);
        Row row = {{"load", load},
                   {"from", from},
                   {"result", result},
                   {"loads", std::to_string(count)},
                   {"ms", format("%.3f", ms)},
                   {"ns_per_load", format("%.4g", ns)},
                   {"gbs", format("%.4g", gbs)},
                   {"of_device_gbs", of_device},
                   {"of_load_matrix_sync", format("%.2f x", ns / first_ns)},
                   {"device_gbs", format("%.0f", device_gbs)},
                   {"repeats", std::to_string(repeat_)},
                   {"sm_mhz", figure(clocks_.sm)},
                   {"clock_by", clocks_.by}};
        add_cells(row, timer_.where());
        report_.add(row);
    }

    std::map<std::string, double> first_ns_;
    std::vector<unsigned> global_sums_, shared_sums_;
    const half* matrices_;
    GpuTimer& timer_;
    int repeat_;
    Report& report_;
    Clocks clocks_;  // of what was timed last
};

void time_all(const half* matrices, GpuTimer& timer, const BenchmarkOptions& o, Report& report) {
    std::printf(
        "One warp loads matrices of %d bytes. unused: the article's experiment. used: each "
        "element, from %d MiB\nin the L2 cache or %d KiB in shared memory, with fewer loads: "
        "2^30 would take minutes.\n",
        kMatrixBytes, kInGlobal * kMatrixBytes >> 20, kInShared * kMatrixBytes >> 10);
    Timing timing(matrices, timer, o.repeat, report);
    timing.time_unused<LoadMatrixSync>();
    timing.time_unused<Halves>();
    timing.time_unused<Pairs>();
    timing.time_all_used<false, 1>();
    timing.time_all_used<false, 8>();
    timing.time_all_used<true, 1>();
    timing.time_all_used<true, 8>();
    report.save();
}
#else
void time_all(const half*, GpuTimer&, const BenchmarkOptions&, Report&) {}
#endif

void check_all(const half* matrices) {
    check<LoadMatrixSync, true>(matrices);
    check<Halves, false>(matrices);
    check<Halves, true>(matrices);
    check<Pairs, false>(matrices);
    check<Pairs, true>(matrices);
    check<Ldmatrix, true>(matrices);
}

void measure(const BenchmarkOptions& o, Report& report) {
    GpuTimer timer(o.device, o.arch);
    std::printf("%s, sm_%d\n", timer.gpu.full_name.c_str(), timer.sm);
    if (timer.sm < 75)
        throw Failure(kDeviceFailed,
                      format("sm_%d lays fragments out in another way: these loads are "
                             "for sm_75 and later",
                             timer.sm));
    DeviceArray<half> array(kInGlobal * kMatrix);
    std::vector<half> numbers(kInGlobal * kMatrix);
    for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = half(float(i % 2048));  // none twice in a matrix
    array.upload(numbers);
    const half* matrices = array.data();
    in_each_order([&] { check_all(matrices); });
    std::printf(
        "6 loads fill all 512 places of the fragment as load_matrix_sync from global memory does.\n");
    if (!o.verify_only) time_all(matrices, timer, o, report);
}

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.columns = {{"load", "load", -17},
                 {"from", "from", -7},
                 {"result", "result", -17},
                 {"ms", "time", 10, as_time},
                 {"ns_per_load", "ns|a load", 8},
                 {"gbs", "GB/s", 10},
                 {"of_device_gbs", "of the device's|GB/s", 19},
                 {"of_load_matrix_sync", "of load_|matrix_sync", 12}};
    return run_benchmark(
        "custom_load",
        "times load_matrix_sync against loads written by hand, with the result unused and "
        "used",
        "Example:\n  custom_load --csv loads.csv", o, arch_option(o.arch), argc, argv,
        [&](Report& report) { measure(o, report); });
}
