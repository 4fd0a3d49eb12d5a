// Exit codes, failures as one clear line, and progress on stderr.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// Exit codes of every program here. ctest shows 77 as skipped, never as passed.
enum ExitCode {
    kVerified = 0,
    kWrongResult = 1,
    kBadCommandLine = 2,
    kDeviceFailed = 3,
    kNoGpu = 77  // or whatever else prevents the attempt
};

// What went wrong: the text that print_exception() (options.h) writes to stderr, and the program's
// exit code. The first line of a verdict says what is wrong, and further lines give the reasons.
struct Failure : std::runtime_error {
    Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code(code) {}
    // The same failure, whose message begins with `where`.
    Failure in(const std::string& where) const { return {code, where + ": " + what()}; }
    ExitCode code;
};

// Calls `work`. The message of a Failure thrown in it then begins with `where`.
template <class Work>
auto with_context(const std::string& where, Work work) {
    try {
        return work();
    } catch (const Failure& failure) {
        throw failure.in(where);
    }
}

// Calls `work`. If it throws a Failure, what cause(failure) returns is said below it, in lines of
// their own.
template <class Work, class Cause>
auto with_cause(Work work, Cause cause) {
    try {
        return work();
    } catch (const Failure& failure) {
        const std::string why = cause(failure);
        throw Failure(failure.code, failure.what() + (why.empty() ? "" : "\n  " + why));
    }
}

// The Failure that `work` throws, if it throws one.
template <class Work>
std::optional<Failure> failure_of(Work work) {
    try {
        work();
        return {};
    } catch (const Failure& failure) {
        return failure;
    }
}

// printf into a string.
__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...);

std::string joined(const std::vector<std::string>& words, const std::string& between = ", ");

// Whether stderr is a terminal that can move its cursor.
bool on_terminal();

// One line of progress on a terminal, overwritten by the next; nothing when stderr is a file.
void progress(const std::string& text);
