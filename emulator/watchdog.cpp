// Ends the program, with a message and exit code 3, if a kernel crashes or never ends.

#include "emulator/watchdog.h"

#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "emulator/accesses.h"
#include "emulator/lines.h"
#include "emulator/names.h"
#include "emulator/stacks.h"
#include "emulator/symbols.h"

extern "C" __attribute__((weak)) void __asan_init();  // in a program that has AddressSanitizer

namespace emulator {
namespace {

constexpr int kExitCode = 3;
constexpr double kSeconds = 10;

struct Watch {
    double seconds = kSeconds;  // of the processor's time; 0: for ever
    uint64_t seen = 0;  // of progress_made
    unsigned ticks = 0;
    bool installed = false;
} watch;

uintptr_t program_counter(const void* context) {
    const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return uintptr_t(machine->gregs[REG_RIP]);
#elif defined(__aarch64__)
    return uintptr_t(machine->pc);
#else
    return (void)machine, 0;
#endif
}

// The line that was running, if there is debug info. Inside the emulator or a library it is the
// line of the last traced access instead.
std::string place(const void* context) {
    const uintptr_t pc = program_counter(context);
    const Symbol* const function = find_symbol(pc);
    const std::string name = function ? name_of(*function) : "";
    const bool of_user = function && name.find("emulator::") != 0 && name.find("__tsan") != 0;
    const std::string line = find_lines({of_user ? pc + 1 : last_traced})[0];
    return line.empty() ? "" : (of_user ? ", at " : ", after ") + line + ",";
}

[[noreturn]] void end_program(const std::string& problem) {
    std::fflush(stdout);
    std::fprintf(stderr, "emulator: %s\n", problem.c_str());
    _exit(kExitCode);
}

std::string who() {
    return thread_name(current_thread) + " of " + block_name() + " of " + kernel_name();
}

void crashed(int signal, siginfo_t* info, void* context) {
    in_kernel = false;
    if (!run.running) {  // the program's own crash: let it happen
        ::signal(signal, SIG_DFL);
        return;
    }
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    bool overflow = false;
    const unsigned owner = stack_owner(address, &overflow);
    char text[32];
    std::snprintf(text, sizeof text, "%#zx", size_t(address));
    // On x86 a misaligned vector access reports no address.
    const bool misaligned = signal == SIGBUS || info->si_code == SI_KERNEL;
    const std::string why =
        misaligned ? "misaligned, or outside all memory"
        : overflow && owner == current_thread
            ? "its stack of 128 KiB is full: large local arrays, or endless recursion"
        : address < 4096 ? "a null pointer"
                         : "outside the memory of the device";
    end_program("crash: " + who() + place(context) + " accesses " +
                (misaligned ? "an address" : text) + ": " + why +
                " (the traced and the AddressSanitizer builds say more)");
}

// The threads of a traced block take turns in a long loop, so all of them reach its end late.
unsigned patience() { return tracing() ? 1 + ready_threads() / 32 : 1; }

void tick(int, siginfo_t*, void* context) {
    if (watch.seen != progress_made) {
        watch.seen = progress_made;
        watch.ticks = 0;
    } else if (++watch.ticks >= 4 * patience()) {
        in_kernel = false;
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%g", watch.seconds * patience());
        end_program("hang: " + who() + place(context) + " has run for " + seconds +
                    " seconds without coming to a barrier or its end: an endless loop, or it waits "
                    "for what another thread never does (EMULATOR_SECONDS=N waits longer)");
    }
}

void install() {
    watch.installed = true;
    stack_t stack{};  // a handler can't run on a stack that is full
    stack.ss_size = 256 * 1024;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    action.sa_sigaction = tick;
    sigaction(SIGVTALRM, &action, nullptr);
    action.sa_sigaction = crashed;
    for (const int signal : {SIGSEGV, SIGBUS})
        if (!__asan_init) sigaction(signal, &action, nullptr);  // ASan reports them itself
}

void set_timer(double seconds) {
    const auto whole = time_t(seconds);
    const timeval interval{whole, suseconds_t((seconds - double(whole)) * 1e6)};
    const itimerval timer{interval, interval};
    setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

}  // namespace

namespace watchdog {

void begin_launch() {
    if (!watch.installed) install();
    watch.ticks = 0;
    const char* const seconds = std::getenv("EMULATOR_SECONDS");
    watch.seconds = seconds ? std::atof(seconds) : kSeconds;
    if (watch.seconds > 0) set_timer(watch.seconds / 4);
}

void end_launch() {
    if (watch.seconds > 0) set_timer(0);
}

}  // namespace watchdog
}  // namespace emulator
