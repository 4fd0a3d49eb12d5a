// A summary of a program's launches, kernel by kernel, and of what was found. It is printed when
// the program ends, if the environment variable EMULATOR_SUMMARY is set (./run any.cu). The file
// that EMULATOR_LINES_CSV names then gets what every source line moves. If EMULATOR_MORE_PROBLEMS has
// a command, each line that it prints is a further problem: what ./run knows of the launches.

#include "emulator/summary.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "emulator/api/memory.h"
#include "emulator/engine/device_memory.h"
#include "emulator/engine/names.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/requests.h"

namespace emulator::summary {
namespace {

using Clock = std::chrono::steady_clock;
// Tracing takes ten times as long as running. After kSeconds of it, a kernel that was traced three
// times is no longer traced. After kSecondsOfLaunch in one launch, only a fraction of the launch's
// time goes into tracing.
constexpr double kSeconds = 10, kSecondsOfLaunch = 2, kFraction = 0.1;
constexpr double kReserve = 2e9;  // bytes of the machine's memory that stay free
constexpr uint64_t kAccesses = 1 << 18;  // between two looks at the clock
// Seconds before a line says how far the program is, and between two such lines.
constexpr double kFirstNotice = 10, kNextNotice = 30;

struct Kernel {
    std::string name;
    uint64_t launches = 0, traced = 0, repeated = 0;
    bool in_part = false;  // one of its launches had no block that was traced as a whole
    Counts counts;  // of the launches that were traced
};
struct All {
    std::vector<Kernel> kernels;
    double begin = 0, block = 0;  // of the launch and of the block: seconds of the processor
    double looked = 0;  // when it was last noted how long the block has been traced
    double traced = 0;  // of the launch: seconds of the processor
    bool out_of_memory = false;  // for more records of accesses
    uint64_t blocks = 0, looked_at = 0;  // of the launch: all, and those traced as a whole
    Clock::time_point start = Clock::now();
    double next_notice = kFirstNotice;
    // The last launch: a hash of what it was, whether it repeated the one before, device memory
    // after it, and how many times in a row it has changed nothing.
    uint64_t what = 0, memory = 0;
    bool again = false;
    int unchanged = 0;
    double seconds = 0;  // of tracing
    bool in_part = false;  // of some launch
};
All& all() {  // never destroyed: it is printed at exit
    static All& all = *new All;
    return all;
}

Kernel& this_kernel() {
    auto& kernels = all().kernels;
    const std::string name = kernel_name();
    const auto found = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const Kernel& k) { return k.name == name; });
    if (found != kernels.end()) return *found;
    kernels.push_back({name, 0, 0, 0, false, {}});
    return kernels.back();
}

constexpr uint64_t Counts::*kSums[] = {&Counts::global_load_bytes,
                                       &Counts::global_load_requests,
                                       &Counts::global_load_sectors,
                                       &Counts::global_store_bytes,
                                       &Counts::global_store_requests,
                                       &Counts::global_store_sectors,
                                       &Counts::shared_load_requests,
                                       &Counts::shared_load_wavefronts,
                                       &Counts::shared_load_ideal,
                                       &Counts::shared_store_requests,
                                       &Counts::shared_store_wavefronts,
                                       &Counts::shared_store_ideal,
                                       &Counts::blocks,
                                       &Counts::threads,
                                       &Counts::barriers};

// How much is traced should not depend on what else the machine does.
// clock() is no use here: in a kernel it counts nanoseconds (api/device.cpp).
double processor_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

void print_progress() {
    const double seconds = std::chrono::duration<double>(Clock::now() - all().start).count();
    if (seconds < all().next_notice) return;
    all().next_notice = seconds + kNextNotice;
    uint64_t launches = 1;
    for (const Kernel& k : all().kernels) launches += k.launches;
    const uint64_t blocks = count(run.grid);
    std::fprintf(
        stderr,
        "emulator: %.0f seconds: launch %llu, %s, block %llu of %llu. A smaller size takes less, and "
        "./run --fast traces nothing.\n",
        seconds, (unsigned long long)launches, kernel_name().c_str(),
        (unsigned long long)std::min(all().blocks + 1, blocks), (unsigned long long)blocks);
}

bool enough() {
    const double seconds = processor_seconds() - all().begin;
    return all().out_of_memory || all().traced > kSecondsOfLaunch + kFraction * seconds;
}

std::string ratio(uint64_t a, uint64_t b) {
    char text[32] = "-";
    if (b) std::snprintf(text, sizeof text, "%.2f", double(a) / double(b));
    return text;
}
std::string mib(uint64_t bytes, uint64_t launches) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f",
                  double(bytes) / double(std::max<uint64_t>(launches, 1)) * 0x1p-20);
    return text;
}

uint64_t hash_of_memory() {
    uint64_t all = 0;
    for (const Allocation& a : allocations)
        all = hash(all, reinterpret_cast<const void*>(a.begin), a.end - a.begin);
    return all;
}

// The line in each kind of memory that costs most, where that is a good part of the memory's
// traffic, and several times what its bytes need.
std::vector<std::string> costly_lines() {
    constexpr double kShare = 0.25, kTimes = 4;
    std::vector<std::string> notes;
    const std::vector<Line> all = lines();
    for (const bool global : {true, false}) {
        const Line* worst = nullptr;
        uint64_t of_all = 0;
        const auto saving = [](const Line& line) {
            return line.sectors_or_wavefronts - line.ideal;
        };
        for (const Line& line : all) {
            if (line.global != global) continue;
            of_all += line.sectors_or_wavefronts;
            if (!worst || saving(line) > saving(*worst)) worst = &line;
        }
        if (!worst || double(saving(*worst)) < kShare * double(of_all) ||
            double(worst->sectors_or_wavefronts) <= kTimes * double(worst->ideal))
            continue;
        notes.push_back(worst->cost() + " " + worst->remedy());
    }
    return notes;
}

void print_indented(const std::string& problem) {
    std::string text = "  " + with_lines(problem);
    for (size_t at = 0; (at = text.find('\n', at)) != text.npos; ++at) text.insert(at + 1, "  ");
    std::printf("%s\n", text.c_str());
}

void add_more_problems(std::vector<std::string>& problems) {
    const char* const command = std::getenv("EMULATOR_MORE_PROBLEMS");
    FILE* const said = command ? popen(command, "r") : nullptr;
    if (!said) return;
    char* line = nullptr;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, said)) > 0;) {
        const std::string problem(line, size_t(length - (line[length - 1] == '\n')));
        if (!problem.empty()) problems.push_back(problem);
    }
    std::free(line);
    pclose(said);
}

// on_exit() passes the exit code of the program.
void print(int code, void*) {
    std::fflush(nullptr);
    std::vector<std::string> problems = counts().problems;
    add_more_problems(problems);
    size_t leaked = 0, arrays = 0;
    for (const Allocation& a : allocations)
        if (a.kind == Memory::device && !is_freed_with_graph(a)) {
            leaked += a.end - a.begin;
            ++arrays;
        }
    if (!all().kernels.empty())
        std::printf(
            "\nThe emulator counted, for a launch on average\n%-28s %8s %8s %8s %9s %9s %9s %8s %9s\n%-28s %8s %8s %8s %9s %9s %9s %8s %9s\n",
            "", "", "", "", "loaded", "sectors/", "stored", "conflict", "barriers/", "kernel",
            "launches", "blocks", "threads", "MiB", "request", "MiB", "factor", "block");
    bool untraced = all().in_part;
    for (const Kernel& k : all().kernels) {
        const Counts& c = k.counts;
        untraced |= k.traced + k.repeated < k.launches;
        const auto per_launch = [&](uint64_t bytes) {
            return k.in_part || !k.traced ? "-" : mib(bytes, k.traced);
        };
        std::printf("%-28s %8llu %8llu %8llu %9s %9s %9s %8s %9s\n", k.name.c_str(),
                    (unsigned long long)k.launches,
                    (unsigned long long)(c.blocks / std::max<uint64_t>(k.launches - k.repeated, 1)),
                    (unsigned long long)(c.threads / std::max<uint64_t>(c.blocks, 1)),
                    per_launch(c.global_load_bytes).c_str(),
                    ratio(c.global_load_sectors, c.global_load_requests).c_str(),
                    per_launch(c.global_store_bytes).c_str(),
                    ratio(c.shared_load_wavefronts + c.shared_store_wavefronts,
                          c.shared_load_ideal + c.shared_store_ideal)
                        .c_str(),
                    ratio(c.barriers, c.blocks).c_str());
    }
    if (untraced && compiled_for_tracing)
        std::printf("Some launches took so long that only a part of them was traced.\n");
    for (const Kernel& k : all().kernels)
        if (k.repeated)
            std::printf(
                "%s: %llu launches were left out, as the same one had changed nothing twice.\n",
                k.name.c_str(), (unsigned long long)k.repeated);
    std::vector<std::string> notes = counts().notes;
    for (const std::string& line : costly_lines()) notes.push_back(line);
    if (!compiled_for_tracing && problems.empty())
        std::printf("\nIt ran untraced: no access was counted, and no race was looked for.\n");
    else if (!problems.empty()) std::printf("\nThe emulator found:\n");
    else std::printf("\nThe emulator found %s\n", notes.empty() ? "nothing wrong." : "no error.");
    for (const std::string& problem : problems) print_indented(problem);
    if (!notes.empty()) std::printf("Notes:\n");
    for (const std::string& note : notes) print_indented(note);
    if (arrays)
        std::printf("Never freed: %zu bytes of device memory, in %zu array%s.\n", leaked, arrays,
                    arrays == 1 ? "" : "s");
    std::fflush(nullptr);
    if (const char* path = std::getenv("EMULATOR_LINES_CSV"))
        if (!(std::ofstream(path) << lines_csv()).flush())
            std::fprintf(stderr, "emulator: %s can't be written\n", path);
    if (!problems.empty() && code == 0) std::_Exit(1);
}
}  // namespace

bool repeated(const Launch& launch) {
    if (!printed_at_exit()) return false;
    link_summary();
    print_at_exit();
    const dim3 sizes[] = {launch.grid, launch.block};
    const uint64_t what =
        hash(hash(launch.arguments, sizes, sizeof sizes), &launch.name, sizeof launch.name);
    all().again = all().what == what;
    all().what = what;
    if (!all().again) {
        all().unchanged = 0;
        return false;
    }
    const DeviceMemoryOpen open;
    const uint64_t memory = hash_of_memory();
    if (std::exchange(all().memory, memory) != memory) all().unchanged = 0;
    if (all().unchanged < 2) return false;
    Kernel& kernel = this_kernel();
    ++kernel.launches;
    ++kernel.repeated;
    return true;
}

void begin_launch() {
    if (!printed_at_exit()) return;
    const Kernel& kernel = this_kernel();
    set_tracing(all().seconds < kSeconds || kernel.traced < 3);
    all().begin = processor_seconds();
    all().traced = 0;
    all().blocks = all().looked_at = 0;
    run.until_time_check = kAccesses;
}

bool looks_at_block() {
    if (!printed_at_exit()) return true;
    all().block = all().looked = processor_seconds();
    return !enough();
}

namespace {
void note_traced() {
    const double now = processor_seconds();
    all().traced += now - all().looked;
    all().looked = now;
}
}  // namespace

void end_block() {
    if (!printed_at_exit()) return;
    ++all().blocks;
    if (traced) {
        note_traced();
        ++all().looked_at;
    }
    print_progress();
}

void check_time() {
    run.until_time_check = kAccesses;
    note_traced();
    print_progress();
    all().out_of_memory |= available_memory() < kReserve;
    // What a part of a block has counted distorts the counts. Therefore a block is traced to its end
    // unless it takes several times as long as those before.
    constexpr double kTimes = 4;
    const double of_block = all().looked - all().block, of_others = all().traced - of_block;
    const bool soon_ends =
        all().looked_at && of_block * double(all().looked_at) < kTimes * of_others;
    if (!enough() || (soon_ends && !all().out_of_memory)) return;
    count_pending();
    traced = false;
}

void end_launch() {
    if (!printed_at_exit() || run.restart) return;
    if (all().again) {
        const uint64_t memory = hash_of_memory();
        all().unchanged = memory == all().memory && !run.error ? all().unchanged + 1 : 0;
        all().memory = memory;
    }
    static Counts before;
    Kernel& kernel = this_kernel();
    ++kernel.launches;
    const Counts& now = counts();
    // The traced blocks stand for all.
    const double share =
        all().looked_at && all().blocks ? double(all().looked_at) / double(all().blocks) : 1;
    for (const auto sum : kSums) {
        const uint64_t more = now.*sum - before.*sum;
        const bool of_all =
            sum == &Counts::blocks || sum == &Counts::threads || sum == &Counts::barriers;
        kernel.counts.*sum += of_all ? more : uint64_t(double(more) / share + 0.5);
    }
    before = now;
    if (!tracing()) return;
    ++kernel.traced;
    all().seconds += all().traced;
    all().in_part |= all().looked_at < all().blocks;
    kernel.in_part |= all().looked_at == 0;
}

}  // namespace emulator::summary

bool emulator::link_summary() {
    print_summary = summary::print;
    return true;
}

uint64_t emulator::hash(uint64_t before, const void* bytes, size_t count) {
    const auto* p = static_cast<const unsigned char*>(bytes);
    for (; count >= 8; p += 8, count -= 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        before = (before ^ word) * 0x9e3779b97f4a7c15u;
        before ^= before >> 32;
    }
    for (; count > 0; ++p, --count) before = (before ^ *p) * 0x100000001b3u;
    return before;
}

// assert() calls this function instead of the C library's.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned line,
                              const char* function) noexcept {
    using namespace emulator;
    const std::string text =
        short_place(file, line) + " says assert(" + assertion + "), but that is false";
    if (run.running)
        fail("assert: " + text + " (" + block_name() + ", " + thread_name(current_thread) + ")",
             cudaErrorAssert);
    std::fprintf(stderr, "%s in %s\n", text.c_str(), function);
    std::abort();
}
