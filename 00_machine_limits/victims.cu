// 00_machine_limits/victims: which lines does L1 evict when more are loaded than it holds? One
// thread loads lines in order, then probes the cache for one of them by timing a second load of it:
// tens of cycles if L1 still has the line, hundreds if it comes from L2. Each launch probes one
// line only, because a line that comes back evicts another. L1 is invalidated before the next
// launch.
//
// Build:    nvcc -O3 -std=c++17 -arch=native -I. 00_machine_limits/victims.cu common/*.cu common/*.cpp -o victims -lcublas -lcublasLt
// Articles: the Mynavi report on Volta: its L1 is not LRU, and evicts, within a set, the line that
//           was loaded last.
#include <cuda_runtime.h>

#include <numeric>

#include "00_machine_limits/latency.cuh"
#include "00_machine_limits/lines.cuh"
#include "common/benchmark.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/errors.h"
#include "common/gpu_timer.h"
#include "common/table.h"

// `loaded` lines are loaded in order, then the first `again` of them once more, then `more` new
// ones.
struct Visit {
    int loaded, again, more;

    int lines() const { return loaded + more; }
};

constexpr int kLinesPerKib = 1024 / sizeof(Line);
constexpr int kMostLines = (kEmulated ? 8 : 512) * kLinesPerKib;

// A pointer chase by one thread: each load's address is the result of the load before. *result gets
// where the last load led, and its cycles.
__global__ void visit(const Line* lines, Visit v, int probed, Timed<const Line*>* result) {
    const Line* at = lines;
    for (int i = 0; i < v.loaded; ++i) at = load_global(&at->next);
    at -= v.loaded;  // the first line again, by an address that waits for the last load
    for (int i = 0; i < v.again; ++i) at = load_global(&at->next);
    at += v.loaded - v.again;
    for (int i = 0; i < v.more; ++i) at = load_global(&at->next);
    at += probed - v.loaded - v.more;
    if (!at) return;  // never true; makes the clock wait until the load is back, here and below
    const long long begin = clock64();
    at = load_global(&at->next);
    if (!at) return;
    const long long end = clock64();
    *result = {at, end - begin};
}

// Returns the cycles that a load of line `probed` takes after the visit.
long long probe(const Line* lines, Visit v, int probed) {
    const std::string what =
        format("line %d, after %d, %d again and %d more", probed, v.loaded, v.again, v.more);
    const double loads = v.loaded + v.again + v.more + 1;
    const auto result = run<const Line*>(what, sizeof(Line*) * loads, 0, 1, [&](auto* to) {
        visit<<<1, 1>>>(lines, v, probed, to);
    })[0];
    if (result.value != lines + probed + 1)
        throw Failure(kWrongResult, what + format(": leads to line %td", result.value - lines));
    return result.cycles;
}

// Probes every line, one per launch, and reports how many were evicted: a row for each quarter of
// those that were loaded first, in the order of loading, and one for those that came later.
void find_victims(const Line* lines, Visit v, long long threshold, const GpuTimer& timer,
                  Report& report) {
    std::vector<int> evicted(v.lines());
    for (int i = 0; i < v.lines(); ++i) {
        progress(format("line %d of %d ...", i, v.lines()));
        evicted[i] = probe(lines, v, i) > threshold;
    }
    progress("");
    const auto add = [&](const std::string& which, int first, int end) {
        const int count = std::accumulate(evicted.begin() + first, evicted.begin() + end, 0);
        Row row = {{"kib", std::to_string(v.lines() / kLinesPerKib)},
                   {"again_kib", std::to_string(v.again / kLinesPerKib)},
                   {"which", which},
                   {"lines", std::to_string(end - first)},
                   {"evicted", std::to_string(count)},
                   {"evicted_percent", format("%.1f", 100.0 * count / (end - first))},
                   {"threshold", std::to_string(threshold)}};
        add_cells(row, timer.where());
        report.add(row);
    };
    const char* const quarters[] = {"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"};
    for (int i = 0; i < 4; ++i) add(quarters[i], i * v.loaded / 4, (i + 1) * v.loaded / 4);
    if (v.more) add("later ones", v.loaded, v.lines());
}

void measure(const BenchmarkOptions& o, Report& report) {
    const GpuTimer timer(o.device);
    DeviceArray<Line> lines_device(kMostLines);
    DeviceArray<uint32_t> next_device(kMostLines);
    std::vector<uint32_t> next(kMostLines);
    for (int i = 0; i < kMostLines; ++i) next[i] = (i + 1) % kMostLines;
    next_device.upload(next);
    link_lines<<<(kMostLines + 255) / 256, 256>>>(next_device.data(), kMostLines,
                                                  lines_device.data());
    finish_launch("link_lines");
    const Line* lines = lines_device.data();
    in_each_order([&] {
        for (const Visit v : {Visit{1, 0, 0}, Visit{32, 0, 0}, Visit{32, 16, 8}})
            for (const int probed : {0, v.lines() / 2, v.lines() - 1}) probe(lines, v, probed);
    });
    std::printf("Every visit ends where it should.\n");
    if (o.verify_only) return;

    check_cuda(cudaFuncSetAttribute(visit, cudaFuncAttributePreferredSharedMemoryCarveout, 0),
               "cudaFuncSetAttribute");
    // A line that is certainly there, and one that was not loaded: L2 has had all lines once.
    probe(lines, {kMostLines - 1, 0, 0}, 0);
    const long long hit = probe(lines, {1, 0, 0}, 0), miss = probe(lines, {1, 0, 0}, 64);
    if (miss < 2 * hit)
        throw Failure(kDeviceFailed, format("a line takes %lld cycles from L1 and %lld from L2: "
                                            "too alike to tell them apart",
                                            hit, miss));
    std::printf("A line takes %lld cycles from L1, %lld from L2: above %lld it was evicted.\n", hit,
                miss, (hit + miss) / 2);
    for (const int kib : {128, 192, 208, 224, 240, 256, 320, 448})
        find_victims(lines, {kib * kLinesPerKib, 0, 0}, (hit + miss) / 2, timer, report);
    // Half of the 192 KiB is loaded again, so that the lines loaded first are now the most recently
    // used.
    find_victims(lines, {192 * kLinesPerKib, 96 * kLinesPerKib, 96 * kLinesPerKib},
                 (hit + miss) / 2, timer, report);
    report.save();
}

int main(int argc, char** argv) {
    BenchmarkOptions o;
    o.columns = {{"kib", "KiB|loaded", 7},      {"again_kib", "of them|again", 8},
                 {"which", "lines", -12},       {"lines", "of so|many", 7},
                 {"evicted", "are|evicted", 8}, {"evicted_percent", "%", 7}};
    return run_benchmark("victims", "which lines L1 evicts when more are loaded than it holds",
                         "Example:\n  victims --csv victims.csv", o, {}, argc, argv,
                         [&](Report& report) { measure(o, report); });
}
