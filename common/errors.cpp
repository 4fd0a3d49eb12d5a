#include "common/errors.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <sstream>

Failure refused(const std::string& option, const std::string& value, const std::string& why) {
    return Failure(kBadCommandLine, option + " '" + printable(value) + "': " + why);
}

// Whether stderr is a terminal that moves its cursor.
static bool is_terminal() {
    const char* const term = std::getenv("TERM");
    return isatty(STDERR_FILENO) && std::string(term ? term : "") != "dumb";
}

int report_failure(const std::string& name) {
    const auto say = [&](const std::string& message, int code) {
        progress("");
        std::fflush(stdout);
        const bool red = code == kWrongResult && is_terminal() && !std::getenv("NO_COLOR");
        std::istringstream lines(name + ": " + message);
        bool first = true;
        for (std::string line; std::getline(lines, line); first = false)
            std::fprintf(stderr, red && first ? "\033[31m%s\033[0m\n" : "%s\n",
                         printable(line).c_str());
        return code;
    };
    try {
        throw;
    } catch (const Failure& failure) {
        return say(failure.what(), failure.code);
    } catch (const std::bad_alloc&) {
        return say("out of host memory; try a smaller size", kDeviceFailed);
    } catch (const std::exception& error) {
        return say(error.what(), kDeviceFailed);
    }
}

std::string format(const char* pattern, ...) {
    va_list arguments, again;
    va_start(arguments, pattern);
    va_copy(again, arguments);
    std::string text(size_t(std::vsnprintf(nullptr, 0, pattern, arguments)), '\0');
    std::vsnprintf(&text[0], text.size() + 1, pattern, again);
    va_end(again);
    va_end(arguments);
    return text;
}

std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& each : words) all += (all.empty() ? "" : ", ") + each;
    return all;
}

std::string printable(std::string text) {
    const auto controls = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    std::replace_if(text.begin(), text.end(), controls, '?');
    return text;
}

int line_width() {
    winsize size = {};  // stderr's, because ./run pipes stdout
    const bool terminal = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return terminal ? std::min<int>(size.ws_col, 100) : 100;
}

void progress(const std::string& text) {
    if (is_terminal()) std::fprintf(stderr, "\r\033[K%.*s", line_width() - 1, text.c_str());
}

void need_memory(double bytes) {
    // Linux's own estimate: free memory, and caches that it would drop.
    std::ifstream file("/proc/meminfo");
    std::string word;
    double kib = std::numeric_limits<double>::infinity();
    while (word != "MemAvailable:" && file >> word) continue;
    file >> kib;
    if (!(bytes > 1024 * kib)) return;
    throw Failure(kDeviceFailed, format("needs %.2f GiB of memory, %.2f GiB are available; try a "
                                        "smaller size",
                                        bytes / (1 << 30), kib / (1 << 20)));
}
