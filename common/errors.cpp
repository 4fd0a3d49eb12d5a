#include "common/errors.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

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

std::string joined(const std::vector<std::string>& words, const std::string& between) {
    std::string all;
    for (const std::string& each : words) all += (all.empty() ? "" : between) + each;
    return all;
}

bool on_terminal() {
    const char* const term = std::getenv("TERM");
    return isatty(STDERR_FILENO) && std::string(term ? term : "") != "dumb";
}

void progress(const std::string& text) {
    // Line wrap is switched off, because the next text could not overwrite two lines.
    if (on_terminal()) std::fprintf(stderr, "\r\033[K\033[?7l%s\033[?7h", text.c_str());
}
