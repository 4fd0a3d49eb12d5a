// 00_machine_limits/latency: how many cycles a load and an instruction take before the next one can
// use the result, and how many bytes per clock L1 delivers. For a latency one thread follows
// pointers, or computes in a chain, between two readings of its SM's clock; for L1's bandwidth 1024
// threads load.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/latency.cu common/*.cu common/*.cpp -o 00_machine_limits/latency -lcublas -lcublasLt
// Articles: the Mynavi report on Volta: L1 of 28 cycles and 108 bytes per clock; instructions of 4
//           cycles, of 6 on Pascal, whose IMAD takes some 86 (it has to be emulated). The columns
//           volta and pascal are these, quoted.
#include <cuda_runtime.h>

#include <cstring>
#include <map>
#include <tuple>

#include "00_machine_limits/chase.cuh"
#include "00_machine_limits/instructions.cuh"
#include "common/benchmark.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/gpu_timer.h"
#include "common/table.h"
#include "common/timing.h"

using Chains = std::tuple<Ffma, Fadd, Iadd, Imad, MulLo64, Dfma, Hfma2, Mufu>;
constexpr int kBandwidthBytes = 2 * kChunk;
constexpr size_t kMaxBytes = kEmulated ? 1 << 20 : 1 << 30;

// Throws Failure(kWrongResult) unless `good`.
template <class... Values>
void demand(bool good, const char* pattern, Values... values) {
    if (!good) throw Failure(kWrongResult, format(pattern, values...));
}

// Sets the shared-memory carveout to 0, so that L1 gets the most of the unified memory.
template <class Kernel>
void prefer_l1(Kernel* kernel) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 0),
               "cudaFuncSetAttribute");
}

// Pointer chases through a set of `bytes` at the start of `lines`. Each walk begins where the last ended.
class Chase {
public:
    Chase(size_t bytes, Line* lines)
        : name_(format("chase in %zu KiB", bytes >> 10)), lines_(lines) {
        const std::vector<uint32_t> next = random_cycle(bytes / sizeof(Line));
        visited_ = visits(next);
        DeviceArray<uint32_t> next_device(next.size());
        next_device.upload(next);
        check_cuda(cudaMemset(lines, 0xff, bytes), "cudaMemset");
        link_lines<<<int(next.size() + 255) / 256, 256>>>(next_device.data(), int(next.size()),
                                                          lines);
        finish_launch("link_lines");
        prefer_l1(chase);
    }
    int count() const { return int(visited_.size()); }

    // Returns the cycles per load of `steps` loads, after `warm_up` others.
    float walk(int warm_up, int steps) {
        const Line* from = lines_ + visited_[at_];
        at_ = (at_ + warm_up + steps) % visited_.size();
        const auto result =
            run<const Line*>(name_, sizeof(Line*) * (double(warm_up) + steps), 0, 1,
                             [&](auto* to) { chase<<<1, 1>>>(from, warm_up, steps, to); })[0];
        demand(result.value == lines_ + visited_[at_],
               "%s: after %d loads it is at element %td, expected %u", name_.c_str(),
               warm_up + steps, result.value - lines_, visited_[at_]);
        return float(result.cycles) / steps;
    }

private:
    std::string name_;
    Line* lines_;
    std::vector<uint32_t> visited_;
    size_t at_ = 0;
};

// Returns the cycles per load of a pointer chase through shared memory.
float walk_shared(int steps) {
    const char* what = "chase in shared memory";
    std::vector<uint32_t> next = random_cycle(kSharedWords);
    const uint32_t expected = visits(next)[steps % kSharedWords] * sizeof(uint32_t);
    for (uint32_t& each : next) each *= sizeof(uint32_t);
    DeviceArray<uint32_t> next_device(kSharedWords);
    next_device.upload(next);
    const auto result =
        run<uint32_t>(what, kSharedWords * sizeof(uint32_t), steps * sizeof(uint32_t), 1,
                      [&](auto* to) { chase_shared<<<1, 1>>>(next_device.data(), steps, to); })[0];
    demand(result.value == expected, "%s: after %d loads it is at byte %u, expected %u", what,
           steps, result.value, expected);
    return float(result.cycles) / steps;
}

template <class T>
T value_of(double number) {
    if constexpr (!std::is_same_v<T, half2>) return T(number);
    else return __halves2half2(__double2half(number), __double2half(-number * 0.75));
}
template <class T>
double number_of(T x) {
    if constexpr (!std::is_same_v<T, half2>) return double(x);
    else return __low2float(x);
}

// Returns the cycles per step of a chain. The chain must end as it does on the host: bit for bit,
// or for MUFU within its error.
template <class Op, class T = typename Op::T>
float run_chain(int rounds) {
    const std::vector<T> operands = {value_of<T>(Op::kX), value_of<T>(Op::kY), value_of<T>(Op::kZ)};
    const int steps = rounds * kUnrolled;
    T x = operands[0], y = operands[1], before = x;
    for (int step = 0; step < 2 * steps; ++step) {
        before = x;
        Op::step(x, y, operands[2], step);
    }
    demand(std::memcmp(&x, &before, sizeof x) != 0,
           "%s: its last step changes nothing; a missing step would go undetected", Op::kName);
    DeviceArray<T> operands_device(3);
    operands_device.upload(operands);
    const Timed<T> result = run<T>(Op::kName, Op::kOperands * sizeof(T), 0, 1, [&](auto* to) {
        chain<Op><<<1, 1>>>(operands_device.data(), rounds, to);
    })[0];
    bool good = std::memcmp(&result.value, &x, sizeof x) == 0;
    if constexpr (std::is_same_v<Op, Mufu>)
        good = std::fabs(number_of(result.value) - number_of(x)) <= 2 * steps * Op::kError;
    demand(good, "%s: a chain of %d ends at %.17g, expected %.17g", Op::kName, 2 * steps,
           number_of(result.value), number_of(x));
    demand(kEmulated || result.cycles > steps,
           "%s: %d steps in %lld cycles: the compiler has left some out", Op::kName, steps,
           result.cycles);
    return float(result.cycles) / steps;
}

// Returns the cycles that L1 takes for one load by one warp while all warps of a block load.
template <class Load>
float run_l1(const std::vector<uint32_t>& words, int passes) {
    const std::string what = format("%zu-byte loads from L1", sizeof(Load));
    DeviceArray<uint32_t> words_device(words.size());
    words_device.upload(words);
    prefer_l1(read_l1<Load>);
    constexpr int kElements = kChunk / sizeof(Load);
    const auto results =
        run<uint32_t>(what, double(passes + 2) * kChunk, 0, kThreads, [&](auto* to) {
            const Load* from = reinterpret_cast<const Load*>(words_device.data());
            read_l1<Load><<<1, kThreads>>>(from, kElements, 2 * kElements - 1, passes, to);
        });
    constexpr size_t kWords = sizeof(Load) / sizeof(uint32_t);
    for (int thread = 0; thread < kThreads; ++thread) {
        uint32_t expected = 0;
        for (int pass = 0; pass < passes + 2; ++pass)
            for (size_t at = thread * kWords; at < kChunk / sizeof(uint32_t);
                 at += kThreads * kWords)
                for (size_t word = 0; word < kWords; ++word)
                    expected += words[pass % 2 * kChunk / sizeof(uint32_t) + at + word];
        demand(results[thread].value == expected, "%s: thread %d adds up to %u, expected %u",
               what.c_str(), thread, results[thread].value, expected);
    }
    long long max_cycles = 0;
    for (const auto& each : results) max_cycles = std::max(max_cycles, each.cycles);
    return float(max_cycles) / (uint64_t(passes) * kChunk / sizeof(Load) / 32);
}

void verify(Line* lines, const std::vector<uint32_t>& words) {
    for (const size_t bytes : {4 << 10, 32 << 10, 1 << 20}) {
        Chase chase(bytes, lines);
        for (const int first : {0, 1, chase.count() / 2})
            chase.walk(first, chase.count() - 1 - first);  // loads all elements but the last
    }
    walk_shared(kSharedWords - 1);
    std::apply([](auto... op) { (run_chain<decltype(op)>(1), ...); }, Chains());
    run_l1<uint4>(words, 3);
    run_l1<uint32_t>(words, 3);
}

#ifndef CUDA_EMULATOR
constexpr size_t kL1HitBytes = 32 << 10;  // within the L1 of every GPU that CUDA 13 supports
// Loads of a timed chase. The clock may be read before the last load is back, an error of 1 in
// kSteps.
constexpr int kSteps = 8192;
constexpr int kRounds = 32;  // a timed chain: 32 x 256 steps
constexpr int kPasses = 256;  // of the timed reading of L1

// Times the loads and the instructions, and writes a row for each.
struct Timing {
    GpuTimer& timer;
    int repeat;
    Report& report;
    DeviceArray<float> operands{3};
    DeviceArray<Timed<float>> result{1};

    void all(Line* lines, const std::vector<uint32_t>& words) {
        std::printf(
            "Cycles per dependent load or instruction: median, min and max of %d.\n"
            "In the rows of L1's bandwidth they are cycles per load by a warp.\n",
            repeat);
        operands.upload({1, 1, 1});
        time_loads(lines);
        time_l1<uint4>(words, "108");
        time_l1<uint32_t>(words, "-");
        std::apply([&](auto... op) { (time_chain<decltype(op)>(), ...); }, Chains());
        report.save();
    }

    // Measures a curve over working sets. Three of its points get rows of their own: L1 at 32 KiB;
    // L2 at the largest power of two that is no more than a quarter of it (L1 may still hold a few
    // lines of that set, and where L2 has two partitions, the figure is the mean of the near and the
    // far one); device memory at 1 GiB, where address translation (TLB misses) adds to the latency.
    void time_loads(Line* lines) {
        size_t l2_hit_bytes = kL1HitBytes;
        while (2 * l2_hit_bytes <= timer.l2_bytes / 4) l2_hit_bytes *= 2;
        std::map<size_t, std::vector<float>> curve;  // cycles by bytes
        for (const int kib : {160, 192, 224, 320, 384}) curve[kib << 10];  // about an H200's L1
        for (const int mib : {24, 40, 48, 56, 96}) curve[mib << 20];  // and L2
        for (size_t bytes = 4 << 10; bytes <= kMaxBytes; bytes *= 2) curve[bytes];
        for (auto& [bytes, cycles] : curve) {
            progress(format("%zu KiB ...", bytes >> 10));
            Chase chase(bytes, lines);
            // The warm-up goes through the set once, so that L2 holds it. Of a set larger than L2
            // it visits so many lines that L2 then holds those visited last, which the chase
            // reaches last.
            chase.walk(0, int(std::min<size_t>(bytes, timer.l2_bytes * 3 / 2) / sizeof(Line)));
            cycles = repeated([&] { return chase.walk(std::min(chase.count(), kSteps), kSteps); });
            progress("");
            add("load", "curve", bytes, cycles);
        }
        add("load", "L1 hit", kL1HitBytes, curve[kL1HitBytes], 0, "28");
        add("load", "L2 hit", l2_hit_bytes, curve[l2_hit_bytes]);
        add("load", "device memory", kMaxBytes, curve[kMaxBytes]);
        add("load", "shared memory", kSharedWords * sizeof(uint32_t),
            repeated([] { return walk_shared(kSteps); }));
    }

    // The kernel takes the time by clock64(), because events would time the launch, too.
    template <class Load>
    void time_l1(const std::vector<uint32_t>& words, const char* volta) {
        const auto cycles = repeated([&] { return run_l1<Load>(words, kPasses); });
        add("l1_bandwidth", format("%zu-byte loads", sizeof(Load)), kBandwidthBytes, cycles,
            32 * sizeof(Load), volta);
    }

    template <class Op>
    void time_chain() {
        add("instruction", Op::kName, 0, repeated([] { return run_chain<Op>(kRounds); }), 0,
            Op::kVolta, Op::kPascal);
    }

    std::vector<float> repeated(const std::function<float()>& cycles) const {
        std::vector<float> all(repeat);
        for (float& each : all) each = cycles();
        return all;
    }

    // `cycles` are those of a load, of a warp's load or of an instruction. `bytes` is the size of
    // the set, or 0. `bytes_each` is what a warp's load moves, or 0 where a latency was timed.
    void add(const char* what, const std::string& kind, size_t bytes,
             const std::vector<float>& cycles, int bytes_each = 0, const char* volta = "-",
             const char* pascal = "-") {
        const Times t = summarize(cycles);  // cycles, not milliseconds
        // One busy SM does not lower the clock, so this chain stands for whatever was timed.
        const auto chained = [&] {
            chain<Ffma><<<1, 1>>>(operands.data(), kRounds, result.data());
        };
        const Clocks clocks = timer.clocks_during(chained, 0.03);
        Row row = {{"what", what},
                   {"kind", kind},
                   {"bytes", bytes ? std::to_string(bytes) : "-"},
                   {"cycles", format("%.2f", t.median)},
                   {"min_cycles", format("%.2f", t.min)},
                   {"max_cycles", format("%.2f", t.max)},
                   {"ns", clocks.sm > 0 ? format("%.2f", t.median * 1e3 / clocks.sm) : "-"},
                   {"bytes_per_clock", bytes_each ? format("%.1f", bytes_each / t.median) : "-"},
                   {"volta", volta},
                   {"pascal", pascal},
                   {"repeats", std::to_string(repeat)},
                   {"sm_mhz", figure(clocks.sm)},
                   {"clock_by", clocks.by}};
        add_cells(row, timer.where());
        report.add(row);
    }
};
#endif

void measure(const BenchmarkOptions& o, [[maybe_unused]] Report& report) {
    GpuTimer timer(o.device);
    DeviceArray<Line> lines(kMaxBytes / sizeof(Line));
    std::vector<uint32_t> words(kBandwidthBytes / sizeof(uint32_t));
    std::mt19937 random(1);
    for (uint32_t& word : words) word = random();
    in_each_order([&] { verify(lines.data(), words); });
    std::printf(
        "Every chase visits every element, and loads all but the last; the chains and the sums "
        "match the host's.\n");
#ifndef CUDA_EMULATOR
    if (!o.verify_only) Timing{timer, o.repeat, report}.all(lines.data(), words);
#endif
}

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.columns = {{"what", "what", -14},    {"kind", "kind", -16},
                 {"bytes", "bytes", 11},   {"cycles", "cycles", 9},
                 {"min_cycles", "min", 8}, {"max_cycles", "max", 8},
                 {"ns", "ns", 8},          {"bytes_per_clock", "bytes|a clock", 8},
                 {"volta", "Volta", 7},    {"pascal", "Pascal", 7}};
    return run_benchmark(
        "latency",
        "cycles of loads from each memory and of dependent instructions, bytes per clock "
        "from L1",
        "Example:\n  latency --csv latency.csv", o, {}, argc, argv,
        [&](Report& report) { measure(o, report); });
}
