// When the host reads the clock: a launch returns before its kernel has run, so that the time between
// two readings does not contain it unless the host has waited. That the two readings belong together
// is known from the source, which subtracts one from the other.

#include "emulator/api/host_clock.h"

#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulator/api/streams.h"
#include "emulator/engine/run.h"
#include "emulator/trace/address.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/tracing.h"

namespace emulator {
namespace {

struct Reading {
    uintptr_t caller;
    uint64_t launches;  // before it
};
constexpr size_t kMax = 16;  // places of readings that are kept
struct Readings {
    std::mutex mutex;
    std::vector<Reading> last;
    std::set<std::pair<uintptr_t, uintptr_t>> judged;
};

// The variable that a statement sets to the time: that before "=", or behind "&" in a call.
std::string variable(const std::string& statement) {
    static const std::regex assigned(R"((\w+)\s*=[^=])"), passed(R"(&\s*(\w+))");
    std::smatch m;
    if (std::regex_search(statement, m, assigned)) return m[1];
    return std::regex_search(statement, m, passed) ? m[1] : std::string();
}

bool finds(const std::string& text, const std::string& pattern) {
    return std::regex_search(text, std::regex(pattern));
}

// Whether the source subtracts the first reading from the second.
bool subtracts(const std::string& first, const std::string& second) {
    const std::string begin = variable(source_line(first)), line = source_line(second);
    if (begin.empty()) return false;
    if (finds(line, R"(\)\s*-\s*)" + begin + R"(\b)")) return true;  // now() - begin
    const std::string end = variable(line);
    if (end.empty()) return false;
    return finds(source_text(second), "\\b" + end + R"(\b[^;{}]*-\s*\(?\s*)" + begin + "\\b");
}

}  // namespace

void note_clock(const void* caller) {
    if (run.running || !compiled_for_tracing) return;
    static Readings& all = *new Readings;  // a constructor of the program's may read the clock
    auto& [mutex, readings, judged] = all;
    const std::lock_guard lock(mutex);
    const uintptr_t now = address_value(caller);
    for (const Reading& before : readings) {
        const std::string launch = streams::launch_under_way(before.launches);
        if (launch.empty() || !judged.insert({before.caller, now}).second) continue;
        const std::vector<std::string> lines = find_lines({before.caller, now});
        if (lines[0].empty() || lines[1].empty() || !subtracts(lines[0], lines[1])) continue;
        report_note(lines[1], "the clock is read while the kernel of " + launch +
                                  " may still run: since " + lines[0] +
                                  " only the launch was timed, which returns at once. "
                                  "cudaDeviceSynchronize() is missing before the clock is read");
    }
    const auto same = std::find_if(readings.begin(), readings.end(),
                                   [&](const Reading& r) { return r.caller == now; });
    if (same != readings.end()) readings.erase(same);
    else if (readings.size() == kMax) readings.erase(readings.begin());
    readings.push_back({now, streams::launches()});
}

}  // namespace emulator

// These replace the functions of the C++ library and of the C library in the whole program.
template <class Clock>
static typename Clock::time_point read_clock(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return typename Clock::time_point(std::chrono::duration_cast<typename Clock::duration>(
        std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)));
}
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
    emulator::note_clock(__builtin_return_address(0));
    return read_clock<std::chrono::steady_clock>(CLOCK_MONOTONIC);
}
std::chrono::system_clock::time_point std::chrono::system_clock::now() noexcept {
    emulator::note_clock(__builtin_return_address(0));
    return read_clock<std::chrono::system_clock>(CLOCK_REALTIME);
}
extern "C" int gettimeofday(timeval* time, void*) noexcept {
    emulator::note_clock(__builtin_return_address(0));
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
