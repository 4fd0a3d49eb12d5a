#include "common/errors.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

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
        std::fprintf(stderr, red ? "\033[31m%s\033[0m\n" : "%s\n",
                     printable(name + ": " + message, "\n").c_str());
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

std::string printable(std::string text, const std::string& keep) {
    for (char& c : text)
        if (((unsigned char)c < 0x20 || c == 0x7f) && keep.find(c) == keep.npos) c = '?';
    return text;
}

void progress(const std::string& text) {
    // Without wrapping: the next could not overwrite two lines.
    if (is_terminal()) std::fprintf(stderr, "\r\033[K\033[?7l%s\033[?7h", text.c_str());
}
