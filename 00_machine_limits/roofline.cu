// 00_machine_limits/roofline: measures what bounds the stages: device memory, L2 and shared memory;
// FP32, FP16 and tensor arithmetic. Then a kernel of adjustable arithmetic intensity verifies the
// roofline model on both sides of the ridge point and at it. The kernels are in roofline.cuh.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/roofline.cu common/*.cu common/*.cpp -o 00_machine_limits/roofline -lcublas -lcublasLt
// Articles: the slides, 24 (such a sweep, on four CPUs) and 38 (bandwidth of the Fury X: 512 GB/s
//           nominal, 392 measured, read:write 2:1). The model: Williams, Waterman, Patterson,
//           "Roofline", Communications of the ACM 52 (4), 2009
#include <cuda_runtime.h>

#include <utility>

#include "00_machine_limits/roofline.cuh"
#include "00_machine_limits/roofline_timing.h"
#include "00_machine_limits/wgmma.cuh"
#include "common/benchmark.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/clock.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/gpu_timer.h"
#include "common/options.h"
#include "common/roofline.h"
#include "common/table.h"

// Blocks per SM.
constexpr int kFmaBlocks = 4, kMmaBlocks = kEmulated ? 1 : 2, kSharedBlocks = 4;
constexpr int kL2Blocks = kEmulated ? 1 : 4;
// Loop iterations of a timed launch: it lasts milliseconds, so its overhead is negligible.
constexpr int kIterations = 5000;

template <class T>
T* as(DeviceArray<float>& array) {
    return reinterpret_cast<T*>(array.data());
}

constexpr std::make_index_sequence<std::size(kSteps)> kAllSteps;

// Describes the launches of all kernels on the arrays, for a GPU with `sm_count` SMs.
struct Workloads {
    Arrays& x;
    int sm_count;
    int l2_tiles;  // read by each block of read_l2

    size_t chains() const { return size_t(kFmaBlocks) * sm_count * kThreads * kChains; }
    size_t sums() const { return size_t(kSharedBlocks) * sm_count * kThreads; }
    size_t mma_warps() const { return size_t(kMmaBlocks) * sm_count * kMmaThreads / 32; }
    size_t mma_results() const {
        return mma_warps() * kWarpFragments * kWarpFragments * kFragmentElements;
    }

    // Chains in registers, each of which starts from an element. `flop` is that of one lane of an
    // instruction.
    Workload in_chains(const char* name, Limit limit, size_t element, double flop, int iterations,
                       const std::function<void()>& launch) const {
        const int blocks = kFmaBlocks * sm_count;
        const double bytes = double(chains()) * element, steps = double(kUnroll) * iterations;
        const Traffic moved = {bytes, bytes + blocks * sizeof(Elapsed), 0};
        const double issued = double(kFmaBlocks) * kThreads / 32 / 4 * kChains * steps;
        return {name, limit, moved, flop * chains() * steps, launch, blocks, issued};
    }

    Workload copied() const {
        return {"copy", &Limits::bandwidth_gbs, {x.bytes(), x.bytes(), 0}, 0, [*this] {
                    copy<<<x.floats / 4 / kThreads, kThreads>>>(as<float4>(x.a), as<float4>(x.c));
                }};
    }
    Workload added() const {
        const Traffic moved = {2 * x.bytes(), x.bytes(), 0};
        return {"read_2_write_1", &Limits::bandwidth_gbs, moved, 0, [*this] {
                    add<<<x.floats / 4 / kThreads, kThreads>>>(as<float4>(x.a), as<float4>(x.b),
                                                               as<float4>(x.c));
                }};
    }
    Workload l2(int iterations) const {
        const int blocks = kL2Blocks * sm_count, tiles = l2_tiles;
        const double once = double(blocks) * tiles * kL2Loads * kThreads * sizeof(uint4);
        const Traffic moved = {iterations * once, double(blocks) * kThreads * sizeof(unsigned), 0};
        return {"l2", &Limits::l2_gbs, moved, 0, [=, *this] {
                    read_l2<<<blocks, kThreads>>>(iterations, tiles, as<uint4>(x.a),
                                                  as<unsigned>(x.c));
                }};
    }
    Workload shared(int iterations) const {
        const int blocks = kSharedBlocks * sm_count;
        const Traffic moved = {double(blocks) * kSharedVectors * sizeof(uint4),
                               double(sums()) * sizeof(unsigned),
                               double(sums()) * kLoads * iterations * sizeof(uint4)};
        return {"shared_memory", &Limits::shared_gbs, moved, 0, [=, *this] {
                    read_shared<<<blocks, kThreads>>>(iterations, as<uint4>(x.a),
                                                      as<unsigned>(x.c));
                }};
    }
    Workload fma(int iterations) const {
        return in_chains("fp32_fma", &Limits::fp32_gflops, sizeof(float), 2, iterations,
                         [=, *this] {
                             fma_chains<<<kFmaBlocks * sm_count, kThreads>>>(
                                 iterations, kAddend, x.a.data(), x.c.data(), x.elapsed.data());
                         });
    }
    Workload half2s(int iterations, half2 even, half2 odd) const {
        return in_chains("half2_fma", &Limits::half2_gflops, sizeof(half2), 4, iterations,
                         [=, *this] {
                             half2_chains<<<kFmaBlocks * sm_count, kThreads>>>(
                                 iterations, __floats2half2_rn(-1, -1), even, odd, as<half2>(x.a),
                                 as<half2>(x.c), x.elapsed.data());
                         });
    }
    Workload mma(int iterations) const {
        const int blocks = kMmaBlocks * sm_count;
        const Traffic moved = {
            2.0 * mma_warps() * kWarpFragments * kFragmentElements * sizeof(half),
            double(mma_results()) * sizeof(float) + blocks * sizeof(Elapsed), 0};
        const auto launch = [=, *this] {
            mma_chains<<<blocks, kMmaThreads>>>(iterations, as<half>(x.a), as<half>(x.b),
                                                x.c.data(), x.elapsed.data());
        };
        const double flop = 2.0 * mma_results() * kFragment * kMmaUnroll * iterations;
        // From sm_80 on each mma_sync of 16 x 16 x 16 compiles to two m16n8k16 (HMMA.16816).
        const double each = 2.0 * kWarpFragments * kWarpFragments * kMmaUnroll * iterations *
                            kMmaBlocks * kMmaThreads / 32 / 4;
        return {"tensor_mma_sync", &Limits::tensor_gflops, moved, flop, launch, blocks, each};
    }
    Workload warpgroup_mma(int iterations) const {
        const int blocks = sm_count;
        const auto launch = [=, *this] {
            launch_wgmma_chains(blocks, iterations, as<half>(x.a), as<half>(x.b), x.c.data(),
                                x.elapsed.data());
        };
        const double all = double(kWgGroups) * kWgUnroll * kWgK / 16 * iterations;  // m64n256k16
        const double flop = 2.0 * 64 * 256 * 16 * all * blocks;
        return {"tensor_wgmma", &Limits::wgmma_gflops, {}, flop, launch, blocks, all};
    }
    template <int kCount>
    Workload swept() const {
        const Traffic moved = {x.bytes(), x.bytes(), 0};
        const double flop = 2.0 * kCount * x.floats;
        return {format("sweep, %d steps", kCount), &Limits::fp32_gflops, moved, flop, [*this] {
                    sweep<kCount><<<x.floats / kSweepFloats, kThreads>>>(kAddend, as<float4>(x.a),
                                                                         as<float4>(x.c));
                }};
    }
    template <size_t... i>
    std::vector<Workload> all_swept(std::index_sequence<i...>) const {
        return {swept<kSteps[i]>()...};
    }
};

// Throws Failure(kWrongResult) where a kernel's result is not what the host computes.
void verify(Arrays& x, const Workloads& workloads) {
    x.put_floats();
    x.verify(workloads.copied(), x.floats, x.floats_a);
    std::vector<float> y = x.floats_a;
    for (size_t i = 0; i < y.size(); ++i) y[i] += x.floats_b[i];
    x.verify(workloads.added(), x.floats, y);
    y = x.floats_a;
    int taken = 0;
    for (const Workload& workload : workloads.all_swept(kAllSteps)) {
        const int steps = int(workload.flop / 2 / x.floats);
        advance<true>(y, steps - taken);
        taken = steps;
        x.verify(workload, x.floats, y);
    }
    for (const int iterations : {1, 2, 5}) {
        y = x.floats_a;
        advance<true>(y, iterations * kUnroll);
        x.verify(workloads.fma(iterations), workloads.chains(), y);
        x.verify(workloads.shared(iterations), workloads.sums(), x.shared_sums(iterations));
        const int blocks = kL2Blocks * workloads.sm_count;
        const std::vector<unsigned> sums = x.l2_sums(blocks, workloads.l2_tiles, iterations);
        x.verify(workloads.l2(iterations), sums.size(), sums);
    }
    x.put_halves();
    for (const int iterations : {1, 2, 5}) {
        // z becomes even - z, and after the next step odd - (even - z): 2 more in the lower half of
        // each pair, 3 less in the upper.
        std::vector<half> z = x.halves_a;
        for (size_t i = 0; i < z.size(); ++i)
            z[i] = half(float(z[i]) + float(i % 2 ? -3 : 2) * kUnroll / 2 * iterations);
        const half2 even = __floats2half2_rn(0, 1), odd = __floats2half2_rn(2, -2);
        x.verify(workloads.half2s(iterations, even, odd), 2 * workloads.chains(), z);
        x.verify(workloads.mma(iterations), workloads.mma_results(),
                 x.mma_sums(workloads.mma_results(), iterations));
        if (!has_wgmma()) continue;
        const std::vector<float> sums = x.warpgroup_sums(workloads.sm_count, iterations);
        x.verify(workloads.warpgroup_mma(iterations), sums.size(), sums);
    }
}

// The length of each array: on a GPU far more than its L2 cache holds, on the emulator two blocks
// of the sweep, and as much as mma_chains writes.
size_t array_length(size_t l2_bytes) {
    constexpr int kResults =
        kMmaBlocks * kMmaThreads / 32 * kWarpFragments * kWarpFragments * kFragmentElements;
    if (kEmulated)
        return (std::max(kResults, 2 * kSweepFloats) + kSweepFloats - 1) / kSweepFloats *
               kSweepFloats;
    size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const size_t bytes = std::min(size_t(1) << 30, free / 4);
    if (bytes < 4 * l2_bytes)
        throw Failure(kDeviceFailed,
                      format("%zu MiB of device memory are free, too few for three arrays that are "
                             "each four times as large as the L2 cache, %zu MiB",
                             free >> 20, l2_bytes >> 20));
    return bytes / sizeof(float) / kSweepFloats * kSweepFloats;
}

void measure(const BenchmarkOptions& o, bool clock_only, Report& report) {
    GpuTimer timer(o.device);
    Arrays x(array_length(timer.l2_bytes), kFmaBlocks * timer.sm_count);
    // All blocks together read half of what L2 holds.
    const int l2_tiles = std::max(1, int(timer.l2_bytes / 2 / timer.sm_count / kL2Blocks /
                                         (kL2Loads * kThreads * sizeof(uint4))));
    const Workloads workloads = {x, timer.sm_count, kEmulated ? 1 : l2_tiles};
    if (clock_only) {  // the clock is lower under mma.sync, and lower still under wgmma
        std::vector<Workload> all = {workloads.fma(kIterations), workloads.mma(kIterations)};
        if (has_wgmma()) all.push_back(workloads.warpgroup_mma(kIterations));
        return compare_clocks(timer, x, all);
    }
    in_each_order([&] { verify(x, workloads); });
    progress("");
    std::printf("%s: all results verified. Arrays of %.1f MiB.\n", timer.gpu.full_name.c_str(),
                x.bytes() / (1 << 20));
    if (o.verify_only) return;

    std::printf(
        "limit: GB/s or GFLOP/s by the vendor's figures; of the sweep, min(fp32_fma, copy x "
        "flop/byte) from this run's figures\n");
    Timing timing = {timer, x, o.repeat, report};
    x.put_floats();
    const double copied = timing.limit(workloads.copied());
    timing.limit(workloads.added());
    timing.limit(workloads.l2(kIterations / 10));
    timing.limit(workloads.shared(kIterations));
    const double fma = timing.limit(workloads.fma(kIterations));
    x.put_halves();
    const half2 one = __floats2half2_rn(1, 1);  // the value alternates between z and 1 - z
    timing.limit(workloads.half2s(kIterations, one, one));
    x.put_real_halves();
    timing.limit(workloads.mma(kIterations));
    if (has_wgmma()) timing.limit(workloads.warpgroup_mma(kIterations));
    else std::printf("tensor_wgmma is left out: not compiled for sm_90a, or another GPU\n");
    x.put_floats();
    std::vector<double> fractions;
    for (const Workload& workload : workloads.all_swept(kAllSteps)) {
        const int steps = kSteps[fractions.size()];
        fractions.push_back(timing.point(workload, steps, attainable(fma, copied, steps)));
    }
    print_fractions(fractions, fma, copied);
    report.save();
}

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.columns = limit_columns();
    bool clock_only = false;
    const Option clock = {"--clock", "",
                          "compare the clock that kernels read with the probe's, and stop",
                          flag(clock_only)};
    return run_benchmark(
        "roofline",
        "measures the bandwidths and arithmetic peaks of a GPU, and a sweep of arithmetic "
        "intensity against the roofline that they define",
        "Example:\n  roofline --csv limits.csv", o, kEmulated ? OptionTable{} : OptionTable{clock},
        argc, argv, [&](Report& report) { measure(o, clock_only, report); });
}
