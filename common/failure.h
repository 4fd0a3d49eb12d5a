// What every program needs when something fails or takes long: exit codes, messages of one line,
// progress, and the amount of free memory.
//
// Each header of this folder declares first and defines below. A program that is compiled alone
// compiles both. CMake sets HARNESS_COMPILED_APART and compiles the definitions once for all
// programs: in harness.cpp and, what takes CUDA, in harness.cu and run_stage.cu.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

// Exit codes of every program here. ctest shows 77 as skipped, never as passed.
enum ExitCode {
    kVerified = 0,
    kWrongResult = 1,
    kBadCommandLine = 2,
    kDeviceFailed = 3,
    kNoGpu = 77
};

// A failure that ends the program with one line on stderr and an exit code.
struct Failure : std::runtime_error {
    Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code(code) {}
    ExitCode code;
};

// The failure for a bad value of an option.
inline Failure refused(const std::string& option, const std::string& value,
                       const std::string& why) {
    return Failure(kBadCommandLine, option + " '" + value + "': " + why);
}

// Does `work`; the message of a Failure then begins with `where`, if that is not "".
template <class Work>
auto doing(const std::string& where, Work work) {
    try {
        return work();
    } catch (const Failure& failure) {
        throw Failure(failure.code, where + (where.empty() ? "" : ": ") + failure.what());
    }
}

// printf into a string.
__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...);

// "a, b, c"
inline std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& each : words) all += (all.empty() ? "" : ", ") + each;
    return all;
}

// Replaces control characters by ?, because text from a file must not steer the terminal. U+0080 to
// U+009f, two bytes in UTF-8, are control characters, too.
std::string printable(std::string text);

// How many columns a line may have: 100, or fewer on a narrower terminal.
int line_width();

// Breaks `text` at blanks into lines of at most that width. All but the first are indented.
std::string wrapped(const std::string& text);

// One line of progress on a terminal, overwritten by the next; nothing when stderr is a file.
void progress(const std::string& text);

// Flushes stdout. Throws Failure(kBadCommandLine) if that fails.
void flush_output();

// Handles Ctrl-C: erases the progress line, then lets the signal end the program.
void end_by_signal(int signal);

// Bytes of host memory that are still free: the machine's, or what a control group of this process
// leaves of it. root: a folder that stands for / in tests.
double available_memory(const std::string& root = "");

// Throws Failure(kDeviceFailed) unless there are so many: else the kernel would kill the program.
void need_memory(double bytes);

#ifndef HARNESS_COMPILED_APART

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

std::string format(const char* pattern, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

std::string printable(std::string text) {
    for (size_t i = 0; i < text.size(); ++i) {
        const unsigned char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
        const bool two_bytes = c == 0xc2 && next >= 0x80 && next < 0xa0;
        if (two_bytes) text.erase(i, 1);
        if (c < 0x20 || c == 0x7f || two_bytes) text[i] = '?';
    }
    return text;
}

int line_width() {
    winsize size = {};  // stderr's, because ./run pipes stdout
    const bool terminal = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return terminal ? std::min<int>(size.ws_col, 100) : 100;
}

std::string wrapped(const std::string& text) {
    std::string lines, word;
    size_t length = 0;
    std::istringstream words(text);
    while (words >> word) {
        const bool breaks = length > 0 && length + 1 + word.size() > size_t(line_width());
        lines += (breaks ? "\n  " : length > 0 ? " " : "") + word;
        length = (breaks ? 2 : length > 0 ? length + 1 : 0) + word.size();
    }
    return lines;
}

void progress(const std::string& text) {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%.*s", line_width() - 1, text.c_str());
}

void flush_output() {
    errno = EIO;  // of a failure before this one
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
    throw Failure(kBadCommandLine,
                  std::string("standard output can't be written: ") + std::strerror(errno));
}

void end_by_signal(int signal) {
    if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, "\r\033[K", 4);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// The number after `key` in the file at `path`, or `otherwise` if there is none ("max").
static double number_in(const std::string& path, const std::string& key, double otherwise) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        double number;
        if ((key.empty() || (words >> word && word == key)) && words >> number) return number;
    }
    return otherwise;
}

double available_memory(const std::string& root) {
    const double none = std::numeric_limits<double>::infinity();
    double least = 1024 * number_in(root + "/proc/meminfo", "MemAvailable:", none);
    std::ifstream groups(root + "/proc/self/cgroup");
    // "0::/a/b" in version 2, "4:memory:/a/b" in version 1.
    for (std::string line; std::getline(groups, line);) {
        const size_t one = line.find(':'), two = line.find(':', one + 1);
        if (two == std::string::npos) continue;
        const std::string controllers = "," + line.substr(one + 1, two - one - 1) + ",";
        const bool v2 = controllers == ",,";
        if (!v2 && controllers.find(",memory,") == std::string::npos) continue;
        // A group's limit holds for all groups in it. A container may show only the outermost.
        for (std::string group = line.substr(two + 1);; group.resize(group.rfind('/'))) {
            const std::string file =
                root + "/sys/fs/cgroup" + (v2 ? "" : "/memory") + group + "/memory.";
            double left = number_in(file + (v2 ? "max" : "limit_in_bytes"), "", none) -
                          number_in(file + (v2 ? "current" : "usage_in_bytes"), "", 0);
            for (const char* cached : {"inactive_file", "active_file"})  // Linux frees it on demand
                left += number_in(file + "stat", (v2 ? "" : "total_") + std::string(cached), 0);
            least = std::min(least, left);
            if (group.find('/') == std::string::npos) break;
        }
    }
    return std::max(0.0, least);
}

void need_memory(double bytes) {
    const double available = available_memory(), gib = 1 << 30;
    if (!(bytes > available)) return;
    throw Failure(kDeviceFailed, format("needs %.2f GiB of memory, %.2f GiB are available; try a "
                                        "smaller size",
                                        bytes / gib, available / gib));
}

#endif  // HARNESS_COMPILED_APART
