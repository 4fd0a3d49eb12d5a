// Ends the program, with a message and exit code 3, if a kernel crashes or hangs, or if host code
// accesses device memory or overflows its stack. An integer division by zero ends only the launch.

#include "emulator/engine/watchdog.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "emulator/engine/accesses.h"
#include "emulator/engine/names.h"
#include "emulator/engine/stacks.h"
#include "emulator/engine/threads.h"
#include "emulator/trace/lines.h"
#include "emulator/trace/report.h"
#include "emulator/trace/symbols.h"

namespace emulator {
namespace {

constexpr int kExitCode = 3;
constexpr double kSeconds = 10;
constexpr unsigned kTicks = 10;  // in that time

uintptr_t program_counter(const void* context) {
    const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return uintptr_t(machine->gregs[REG_RIP]);
#elif defined(__aarch64__)
    return uintptr_t(machine->pc);
#else
    (void)machine;
    return 0;
#endif
}

// Where a signal has interrupted the kernel. code() is the return address that find_lines() takes:
// just after pc if this lies in the kernel's own code. If it lies in the emulator or a library, the
// access that was traced last stands for it.
struct Place {
    uintptr_t pc, traced;
    uintptr_t code() const {
        const Symbol* const function = find_symbol(pc);
        const std::string name = function ? name_of(*function) : "";
        const bool own = function && name.find("emulator::") != 0 && name.find("__tsan") != 0;
        return own ? pc + 1 : traced;
    }
};

// ", at mine.cu:31 to 34,": the lines of these places, if there is debug info.
std::string lines_of(const Place* places, unsigned count) {
    std::vector<uintptr_t> codes;
    for (unsigned i = 0; i < count; ++i) codes.push_back(places[i].code());
    std::string file;
    int first = 0, last = 0;
    for (const std::string& line : find_lines(codes)) {
        const size_t colon = line.rfind(':');
        if (colon == line.npos || (!file.empty() && line.substr(0, colon) != file)) continue;
        const int number = std::atoi(line.c_str() + colon + 1);
        first = file.empty() ? number : std::min(first, number);
        last = std::max(last, number);
        file = line.substr(0, colon);
    }
    if (file.empty()) return "";
    return ", at " + file + ":" + std::to_string(first) +
           (last > first ? " to " + std::to_string(last) : "") + ",";
}

// A launch hangs if it has made no progress for `seconds`, and for longer than the time from its
// start to its last progress: a launch that loaded new data for a minute may well compute with them
// for half a minute. Without tracing, an infinite loop that passes barriers seems to make progress.
// There a block that does not end hangs after six times as long.
struct Watch {
    double seconds = kSeconds;  // of user-mode CPU time; 0: no limit
    uint64_t progress = 0, blocks = 0;  // progress_made, and totals.blocks, at the last tick
    unsigned ticks = 0;  // since the launch began
    unsigned with_progress = 0, with_block = 0;  // number of the last tick that saw any, a new one
    Place places[kTicks] = {};  // of the last ticks
    bool installed = false;
} watch;

[[noreturn]] void end_program(const std::string& problem) {
    std::fflush(stdout);
    std::fprintf(stderr, "emulator: %s\n", problem.c_str());
    _exit(kExitCode);
}

std::string who() {
    return thread_name(current_thread) + " of " + block_name() + " of " + kernel_name();
}

// ", at mine.cu:31," or " in main": the innermost frame in the program's own code.
std::string host_place(uintptr_t pc) {
    void* callers[64];
    const int count = backtrace(callers, 64);
    std::string name;
    for (int i = 0; i < count; ++i) {
        const auto at = reinterpret_cast<uintptr_t>(callers[i]);
        const Place place{at == pc ? at : at - 1, 0};  // a caller's frame has a return address
        if (!place.code()) continue;
        if (const std::string line = lines_of(&place, 1); !line.empty()) return line;
        if (name.empty()) name = " in " + short_name(*find_symbol(place.pc));
    }
    return name;
}

// An integer division by zero traps (SIGFPE) on x86 only. The handler lets the thread go on in
// division_failed(), which ends the launch, on the thread's own stack.
uintptr_t divided_at;
[[noreturn]] void division_failed() {
    const Place place{divided_at, last_traced};
    std::string line = find_lines({place.code()})[0];
    if (line.empty()) line = "in " + kernel_name();
    fail("integer division by zero: " + line + " (" + block_name() + ", " +
         thread_name(current_thread) + "): a GPU goes on with an undefined result");
    std::abort();  // not reached
}
void divided([[maybe_unused]] void* context) {
#if defined(__x86_64__)
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    divided_at = uintptr_t(registers[REG_RIP]);
    registers[REG_RIP] = reinterpret_cast<greg_t>(&division_failed);
    registers[REG_RSP] = (registers[REG_RSP] - 256) / 16 * 16 - 8;  // as after a call
#endif
}

// A stack overflow faults in a function's prologue, or at its first access to a large frame.
void explain_host_crash(uintptr_t address, const void* context) {
    const uintptr_t pc = program_counter(context);
    pthread_attr_t attributes;
    void* begin = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &begin, &bytes);
        pthread_attr_destroy(&attributes);
    }
    const uintptr_t lowest = reinterpret_cast<uintptr_t>(begin), end = lowest + bytes;
    constexpr uintptr_t kMax = uintptr_t(1) << 32;  // from the stack's high end to the address
    if (lowest && address < lowest + 65536 && end - address < kMax) {
        char sizes[64];
        std::snprintf(sizes, sizeof sizes, "%.1f MiB, and the stack has %.1f MiB",
                      double(end - address) * 0x1p-20, double(bytes) * 0x1p-20);
        end_program("host code" + host_place(pc) +
                    " overflows the host's stack: its local variables, "
                    "or an infinite recursion, take at least " +
                    sizes + ". Make large arrays a std::vector, or allocate them with new");
    }
    char text[32];
    std::snprintf(text, sizeof text, "%#zx", size_t(address));
    report_and_print("crash: host code" + host_place(pc) + " accesses " + text + ": " +
                     (address < 4096 ? "a null pointer" : "which the host has not mapped"));
}

void crashed(int signal, siginfo_t* info, void* context) {
    in_kernel = false;
    if (signal == SIGFPE && info->si_code == FPE_INTDIV && run.running) return divided(context);
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (!run.running && find_allocation(address))
        end_program("host code" + host_place(program_counter(context)) +
                    " accesses device memory, which only kernels can: "
                    "pass them the pointer, or call cudaMemcpy or cudaMemset");
    if (!run.running || signal == SIGFPE || signal == SIGABRT) {
        if (signal == SIGSEGV && !run.running) explain_host_crash(address, context);
        if (print_summary && printed_at_exit()) print_summary(1, nullptr);
        ::signal(signal, SIG_DFL);  // restore the default action: it ends the program
        return;
    }
    bool overflow = false;
    const unsigned owner = stack_owner(address, &overflow);
    const Place place{program_counter(context), last_traced};
    char text[32];
    std::snprintf(text, sizeof text, "%#zx", size_t(address));
    // On x86 a misaligned vector access reports no address.
    const bool misaligned = signal == SIGBUS || info->si_code == SI_KERNEL;
    const std::string why =
        misaligned ? "misaligned, or not mapped"
        : overflow && owner == current_thread
            ? "its stack of 128 KiB has overflowed: large local arrays, or infinite recursion"
        : address < 4096 || find_freed(address) ? describe_address(address, 1)
                                                : "outside the memory of the device";
    end_program("crash: " + who() + lines_of(&place, 1) + " accesses " +
                (misaligned ? "an address" : text) + ": " + why + " (the traced build says more)");
}

// May have interrupted malloc(), so a tick after which the launch goes on must be async-signal-safe
// and not allocate. The last tick allocates for its report, and then ends the program.
void tick(int, siginfo_t*, void* context) {
    watch.places[watch.ticks++ % kTicks] = {program_counter(context), last_traced};
    if (std::exchange(watch.progress, progress_made) != progress_made)
        watch.with_progress = watch.ticks;
    if (std::exchange(watch.blocks, totals.blocks) != totals.blocks) watch.with_block = watch.ticks;
    unsigned since = watch.with_progress, most = kTicks;
    const auto endless = [&] { return watch.ticks - since >= std::max(most, since); };
    if (!endless() && !tracing()) {
        since = watch.with_block;
        most = 6 * kTicks;
    }
    if (!endless()) return;
    in_kernel = false;
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3g", watch.seconds / kTicks * (watch.ticks - since));
    end_program("hang: " + who() + lines_of(watch.places, std::min(watch.ticks, kTicks)) +
                " has run for " + seconds +
                " seconds, and its block neither ends nor touches new memory: an infinite loop, or "
                "it waits for what another thread never does (EMULATOR_SECONDS=N waits longer)");
}

void set_timer(double seconds) {
    const auto whole = time_t(seconds);
    const timeval interval{whole, suseconds_t((seconds - double(whole)) * 1e6)};
    const itimerval timer{interval, interval};
    setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

}  // namespace

namespace watchdog {

void install() {
    if (std::exchange(watch.installed, true)) return;
    stack_t stack{};  // a handler can't run on a stack that has overflowed
    stack.ss_size = 256 * 1024;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    action.sa_sigaction = tick;
    sigaction(SIGVTALRM, &action, nullptr);
    action.sa_sigaction = crashed;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

// In ./run any.cu the program's crashes are explained from its start.
__attribute__((constructor)) void install_early() {
    if (printed_at_exit()) install();
}

void begin_launch() {
    install();
    watch.ticks = watch.with_progress = watch.with_block = 0;
    const char* const seconds = std::getenv("EMULATOR_SECONDS");
    watch.seconds = seconds ? std::atof(seconds) : kSeconds;
    if (watch.seconds > 0) set_timer(watch.seconds / kTicks);
}

void end_launch() {
    if (watch.seconds > 0) set_timer(0);
}

}  // namespace watchdog
}  // namespace emulator
