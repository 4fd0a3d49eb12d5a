#include "common/errors.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <limits>
#include <new>
#include <sstream>

Failure refused(const std::string& option, const std::string& value, const std::string& why) {
    return Failure(kBadCommandLine, option + " '" + value + "': " + why);
}

int report_failure(const std::string& name) {
    const auto say = [&](const std::string& message, int code) {
        progress("");
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", name.c_str(), printable(message).c_str());
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

// Linux's own estimate: free memory, and caches that it would drop.
static double available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    double kib;
    while (file >> name >> kib && file.ignore(99, '\n'))
        if (name == "MemAvailable:") return 1024 * kib;
    return std::numeric_limits<double>::infinity();
}

void need_memory(double bytes) {
    const double available = available_memory(), gib = 1 << 30;
    if (!(bytes > available)) return;
    throw Failure(kDeviceFailed, format("needs %.2f GiB of memory, %.2f GiB are available; try a "
                                        "smaller size",
                                        bytes / gib, available / gib));
}
