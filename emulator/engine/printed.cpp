// What a launch's threads print, and what a GPU has room for. A GPU keeps the format's address and the
// arguments of each call in a circular buffer, which the host prints when the launch has ended. How
// many bytes a call takes is not documented, so that the least is counted: 8 bytes for the format and
// for each argument. Source: CUDA C++ Programming Guide, "Formatted Output".

#include "emulator/engine/printed.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>

#include "emulator/engine/names.h"
#include "emulator/engine/run.h"
#include "emulator/trace/address.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"

namespace emulator {
namespace {

size_t bytes;  // of this launch
uint64_t calls;
uintptr_t last_call;  // its return address

void note_print(const char* format, const void* caller) {
    if (!run.running) return;
    bytes += 8;
    for (const char* p = format; p && *p; ++p) {
        if (*p != '%') continue;
        if (p[1] == '%') ++p;
        else bytes += 8;
    }
    ++calls;
    last_call = address_value(caller);
}

}  // namespace

namespace printed {

size_t limit = kUsualLimit;

void begin_launch() { bytes = calls = 0; }

void end_launch() {
    if (run.restart || bytes <= limit) return;
    report_note(line_or_unknown(last_call),
                std::to_string(calls) + " calls of printf() in a launch of " + kernel_name() +
                    " take at least " + std::to_string(bytes) +
                    " bytes, and a GPU's buffer for them has " + std::to_string(limit) +
                    ": the first ones are overwritten and never printed. cudaDeviceSetLimit("
                    "cudaLimitPrintfFifoSize, bytes) before the first launch makes it larger");
}

}  // namespace printed
}  // namespace emulator

// Replace the C library's functions in the whole program. g++ makes puts() of a printf() without
// arguments.
extern "C" int printf(const char* format, ...) {
    emulator::note_print(format, __builtin_return_address(0));
    va_list arguments;
    va_start(arguments, format);
    const int printed = std::vprintf(format, arguments);
    va_end(arguments);
    return printed;
}
extern "C" int puts(const char* text) {
    emulator::note_print(nullptr, __builtin_return_address(0));
    return std::fputs(text, stdout) < 0 ? EOF : std::fputc('\n', stdout);
}
