// 00_machine_limits/roofline_host: roofline.cu's sweep of arithmetic intensity on all threads of
// the CPU, compared with the roofline of its measured bandwidth and FP32 peak. Slide 24 plots such
// sweeps for an i7-3770, an i7-4790, an i7-6500U and a Ryzen 7 3700X, but prints no figures to
// compare with.
//
// Build:    g++ -std=c++17 -O3 -march=native -fopenmp -I. 00_machine_limits/roofline_host.cpp common/*.cpp -o 00_machine_limits/roofline_host
// Articles: the slides, 24
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "00_machine_limits/cpu.h"
#include "00_machine_limits/sweep.h"
#include "common/benchmark.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/table.h"
#include "common/timing.h"
#ifdef _OPENMP
#include <omp.h>
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
inline int omp_get_max_threads() { return 1; }
#endif

// The widest vector registers that the target has.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
// On a target with FMA the compiler contracts `x * kFactor + kAddend` to one FMA, which rounds once.
// The reference has to round in the same way.
#if defined(__FP_FAST_FMAF) || defined(__FMA__)
constexpr bool kFused = true;
#else
constexpr bool kFused = false;
#endif

typedef float Vector __attribute__((vector_size(kVectorBytes), may_alias));
constexpr int kLanes = kVectorBytes / sizeof(float);
// Independent dependency chains: two FMAs per cycle with a latency of 4 cycles (5 on Haswell and Zen
// 2) need 8 (10). The chains and the two constants fit in the 16 registers of AVX.
constexpr int kVectors = 10;
constexpr int kBlock = kVectors * kLanes;  // elements held in registers at a time
constexpr int kChunk = 64 * kBlock;  // elements of one iteration of the parallel loop
constexpr int kPeakSteps = 256;  // FMAs per chain in one iteration of the timed loop
constexpr int kPeakIterations = 20000;

inline void load(Vector (&x)[kVectors], const float* from) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) x[v] = reinterpret_cast<const Vector*>(from)[v];
}
inline void store(float* to, const Vector (&x)[kVectors]) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) reinterpret_cast<Vector*>(to)[v] = x[v];
}

// n steps for each element of a block. Up to 16 steps are unrolled completely, more by a factor of
// 16, which keeps the loop overhead small.
template <int n>
inline void steps(Vector (&x)[kVectors]) {
#pragma GCC unroll 16
    for (int s = 0; s < n; ++s)
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) x[v] = x[v] * kFactor + kAddend;
}

// c = a after n steps; n = 0 copies. The bandwidth counts the bytes that the loop reads and writes,
// without write-allocate traffic (a cache reads a line of c before it is written). count: a multiple
// of kChunk.
template <int n>
void sweep(const float* a, float* c, size_t count) {
    PARALLEL_FOR
    for (size_t first = 0; first < count; first += kChunk)
        for (size_t at = first; at < first + kChunk; at += kBlock) {
            Vector x[kVectors];
            load(x, a + at);
            steps<n>(x);
            store(c + at, x);
            // Keeps the compiler from turning n = 0 into a memcpy, whose stores may avoid the
            // write-allocate traffic that the other points have.
            asm volatile("" ::: "memory");
        }
}

// Each thread computes one block of c: kPeakSteps * iterations steps from the same block of a.
void fma_chains(const float* a, float* c, int threads, int iterations) {
    PARALLEL_FOR
    for (int thread = 0; thread < threads; ++thread) {
        Vector x[kVectors];
        load(x, a + thread * kBlock);
        for (int iteration = 0; iteration < iterations; ++iteration) steps<kPeakSteps>(x);
        store(c + thread * kBlock, x);
    }
}

struct Point {
    int steps;
    void (*run)(const float* a, float* c, size_t count);
};
template <size_t... i>
std::vector<Point> points(std::index_sequence<i...>) {
    return {{kSteps[i], sweep<kSteps[i]>}...};
}

// The arrays of the sweep, random input and results, and the number of threads that process them.
class Arrays {
public:
    // `mib` is the size of both arrays together.
    explicit Arrays(size_t mib)
        : count_((mib << 20) / 2 / sizeof(float) / kChunk * kChunk), period_(random_period(1)),
          a_(allocate()), c_(allocate()),
          points_(points(std::make_index_sequence<std::size(kSteps)>())) {
        float* a = a_.get();
        // First touch: the OS places a page in the NUMA node of the thread that first writes it, so
        // the threads that will process a chunk also initialize it.
        PARALLEL_FOR
        for (size_t first = 0; first < count_; first += kChunk)
            for (size_t i = first; i < first + kChunk; ++i) a[i] = period_[i % kPeriod];
        clear();
    }
    const std::vector<Point>& all() const { return points_; }
    // The bytes that a sweep or a copy reads and writes.
    double bytes() const { return 2.0 * count_ * sizeof(float); }
    double flop(const Point& point) const { return 2.0 * point.steps * count_; }
    double fma_flop() const { return 2.0 * kPeakSteps * kPeakIterations * kBlock * threads_; }
    int threads() const { return threads_; }

    void copy() { sweep<0>(a_.get(), c_.get(), count_); }
    void run(const Point& point) { point.run(a_.get(), c_.get(), count_); }
    void fma(int iterations) { fma_chains(a_.get(), c_.get(), threads_, iterations); }

    // Throws Failure(kWrongResult) unless every element matches the scalar reference bit for bit.
    void verify() {
        std::vector<float> x = period_;
        clear();
        copy();
        check_periodic("copy", c_.get(), 0, count_, x);
        int taken = 0;
        for (const Point& point : points_) {
            progress(format("sweep, %d steps: verifying", point.steps));
            advance<kFused>(x, point.steps - taken);
            taken = point.steps;
            clear();
            run(point);
            check_periodic(format("sweep, %d steps", point.steps), c_.get(), 0, count_, x);
        }
        for (const int iterations : {1, 2, 5}) {
            x = period_;
            advance<kFused>(x, iterations * kPeakSteps);
            clear();
            fma(iterations);
            check_periodic(format("fp32_fma, %d iterations", iterations), c_.get(), 0,
                           size_t(threads_) * kBlock, x);
        }
    }

private:
    struct Free {
        void operator()(float* memory) const { std::free(memory); }
    };
    using Array = std::unique_ptr<float, Free>;

    Array allocate() const {
        if (size_t(threads_) * kBlock > count_)
            throw Failure(
                kBadCommandLine,
                format("--size: too small for %d threads of %d elements each", threads_, kBlock));
        Array array(static_cast<float*>(std::aligned_alloc(kVectorBytes, count_ * sizeof(float))));
        if (!array) throw std::bad_alloc();
        return array;
    }
    // All bits set are NaN, so an element that is never written fails the check.
    void clear() {
        float* c = c_.get();
        PARALLEL_FOR
        for (size_t first = 0; first < count_; first += kChunk)
            std::memset(c + first, 0xff, kChunk * sizeof(float));
    }

    int threads_ = omp_get_max_threads();
    size_t count_;
    std::vector<float> period_;
    Array a_, c_;
    std::vector<Point> points_;
};

Times time(const std::string& what, int repeat, const std::function<void()>& work) {
    using std::chrono::steady_clock;
    progress(what + ": timing");
    // Warm-up: starts the thread pool, lets the clock rise and fills the TLBs.
    const auto warm = steady_clock::now() + std::chrono::milliseconds(100);
    do work();
    while (steady_clock::now() < warm);
    std::vector<float> ms(repeat);
    for (float& each : ms) {
        const auto begin = steady_clock::now();
        work();
        each = std::chrono::duration<float, std::milli>(steady_clock::now() - begin).count();
    }
    progress("");
    return summarize(ms);
}

long long cache_mib() { return std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE) >> 20); }

void measure(long long mib, int repeat, bool verify_only, Report& report) {
    Arrays arrays(mib);
    const std::string cpu = cpu_model(), threads = std::to_string(arrays.threads());
    arrays.verify();
    progress("");
    std::printf(
        "%s, %s threads. All results verified, bit for bit. Two arrays, %lld MiB in total.\n",
        cpu.c_str(), threads.c_str(), mib);
    if (verify_only) return;
    if (mib < 2 * cache_mib())
        std::printf(
            "The last-level cache has %lld MiB and may hold the arrays: copy may then measure the "
            "cache's bandwidth, not the memory's.\n",
            cache_mib());
    std::printf(
        "limit: attainable GFLOP/s, min(fp32_fma, copy x flop/byte), from this run's figures\n");

    // A row without one of `gbs`, `gflops` and `limit` passes 0.
    const auto add = [&](const std::string& what, const std::string& intensity, double gbs,
                         double gflops, double limit, const Times& times) {
        report.add({{"what", what},
                    {"flop_per_byte", intensity},
                    {"gbs", figure(gbs, "%.5g")},
                    {"gflops", figure(gflops, "%.5g")},
                    {"limit", figure(limit, "%.5g")},
                    {"percent_of_limit", percent(gflops, limit)},
                    {"median_ms", format("%.4f", times.median)},
                    {"min_ms", format("%.4f", times.min)},
                    {"max_ms", format("%.4f", times.max)},
                    {"repeats", std::to_string(repeat)},
                    {"mib", std::to_string(mib)},
                    {"cpu", cpu},
                    {"threads", threads},
                    {"date", today()}});
    };
    Times times = time("copy", repeat, [&] { arrays.copy(); });
    const double copied = arrays.bytes() / times.median * 1e-6;
    add("copy", "-", copied, 0, 0, times);
    times = time("fp32_fma", repeat, [&] { arrays.fma(kPeakIterations); });
    const double fma = arrays.fma_flop() / times.median * 1e-6;
    add("fp32_fma", "-", 0, fma, 0, times);
    std::vector<double> fractions;
    for (const Point& point : arrays.all()) {
        times = time(format("sweep, %d steps", point.steps), repeat, [&] { arrays.run(point); });
        const double gflops = arrays.flop(point) / times.median * 1e-6,
                     limit = attainable(fma, copied, point.steps);
        add("sweep", format("%g", flop_per_byte(point.steps)), arrays.bytes() / times.median * 1e-6,
            gflops, limit, times);
        fractions.push_back(gflops / limit);
    }
    print_fractions(fractions, fma, copied);
    report.save();
}

int main(int argc, char** argv) {
    long long mib = std::clamp(4 * cache_mib(), 256LL, 1024LL);
    BenchmarkOptions o;
    o.device = -1;
    o.columns = limit_columns();
    const Option size = {
        "--size", "MIB",
        "total size of both arrays (default: four times the last-level cache, 256 to 1024)",
        number(mib, 1, 1 << 20)};
    return run_benchmark(
        "roofline_host",
        "measures memory bandwidth and FP32 peak of this CPU, and a sweep of arithmetic intensity "
        "against the roofline that they define",
        "Example:\n  roofline_host --csv limits_host.csv", o, {size}, argc, argv,
        [&](Report& report) { measure(mib, o.repeat, o.verify_only, report); });
}
