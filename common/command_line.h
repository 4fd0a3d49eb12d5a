// The command line of every program here: a table of options, one clear line when something else is given, and exit codes.
#pragma once

#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
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

// One line of progress on a terminal's stderr, overwritten by the next; nothing when stderr is a file.
inline void progress(const std::string& text) {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

// `text` with a ? for each control character: what a file or a file's name holds must not steer the terminal. U+0080 to U+009f, two
// bytes in UTF-8, do so, too.
inline std::string printable(std::string text) {
    for (size_t i = 0; i < text.size(); ++i) {
        const unsigned char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
        if (c == 0xc2 && next >= 0x80 && next < 0xa0) text.erase(i, 1);
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0)) text[i] = '?';
    }
    return text;
}

// Writes out what was printed. Throws Failure(kBadCommandLine) where it can't be written, as a CSV's does.
inline void flush_output() {
    const int why = std::fflush(stdout) == 0 ? 0 : errno;
    if (why == 0 && !std::ferror(stdout)) return;
    throw Failure(kBadCommandLine, std::string("standard output can't be written: ") +
                                       std::strerror(why ? why : EIO));
}

// The name of a file that is half written, or "".
inline char half_written[4096] = "";

// On Ctrl-C the line of progress and the half-written file go; then the signal ends the program, as it would have. Reads no
// variable: where kernels are traced, a read is counted.
inline void end_by_signal(int signal) {
    if (isatty(STDERR_FILENO))
        (void)!write(STDERR_FILENO, "\r\033[K", 4);  // nobody is left to tell
    unlink(half_written);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

struct Option {
    std::string name;  // "size" is --size, "m" is -m
    std::string takes;  // what --help calls its value; "": a switch
    std::string help;
    std::function<void(const std::string& value)>
        set;  // throws Failure(kBadCommandLine) when the value won't do

    std::string dashed() const { return (name.size() == 1 ? "-" : "--") + name; }
};

// Reads `text` as a whole number from `low` to `high`; `option` is named in the message when it is not one.
inline long long parse_number(const std::string& option, const std::string& text, long long low,
                              long long high) {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || errno != 0 || value < low || value > high)
        throw Failure(kBadCommandLine, option + " '" + text + "': takes a whole number from " +
                                           std::to_string(low) + " to " + std::to_string(high));
    return value;
}

// "a, b, c"
inline std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& each : words) all += (all.empty() ? "" : ", ") + each;
    return all;
}

// Returns `text` if it is one of `accepted`; `option` is named in the message when it is not.
inline std::string parse_choice(const std::string& option, const std::string& text,
                                const std::vector<std::string>& accepted) {
    if (std::find(accepted.begin(), accepted.end(), text) != accepted.end()) return text;
    throw Failure(kBadCommandLine, option + " '" + text + "': takes one of " + joined(accepted));
}

// --csv's value.
inline std::string parse_csv(const std::string& value) {
    if (value.empty()) throw Failure(kBadCommandLine, "--csv '': takes the name of a file");
    return value;
}

// Calls `set` for every option given. False if --help was among them. Throws Failure(kBadCommandLine).
inline bool parse_command_line(int argc, char** argv, const std::vector<Option>& options) {
    std::string letters = ":h";
    std::vector<option> names;
    for (size_t i = 0; i < options.size(); ++i) {
        const Option& each = options[i];
        if (each.name.size() == 1) letters += each.name + (each.takes.empty() ? "" : ":");
        else names.push_back({each.name.c_str(), !each.takes.empty(), nullptr, 256 + int(i)});
    }
    const int help = 256 + int(options.size());
    names.push_back({"help", 0, nullptr, help});
    names.push_back({nullptr, 0, nullptr, 0});
    opterr = 0;  // the messages are ours
    optind = 1;
    for (int found;
         (found = getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1;) {
        if (found == help || found == 'h') return false;
        const std::string word = argv[optind - 1];
        if (found == ':') throw Failure(kBadCommandLine, word + ": needs a value; see --help");
        if (found == '?' && optopt > 255)
            throw Failure(kBadCommandLine, word + ": takes no value; see --help");
        if (found == '?')  // optopt: the letter, of letters that share a word; 0 for a long option
            throw Failure(kBadCommandLine, "unknown option '" +
                                               (optopt ? std::string("-") + char(optopt) : word) +
                                               "'; see --help");
        for (size_t i = 0; i < options.size(); ++i)
            if (found == (options[i].name.size() == 1 ? options[i].name[0] : 256 + int(i)))
                options[i].set(optarg ? optarg : "");
    }
    if (optind < argc)
        throw Failure(kBadCommandLine,
                      "unexpected argument '" + std::string(argv[optind]) + "'; see --help");
    return true;
}

// Parses the command line and runs `body`. Prints `about`, the options and `examples` for --help. What body throws becomes one
// line on stderr. Returns the exit code.
inline int run_program(const std::string& name, const std::string& about,
                       const std::vector<Option>& options, const std::string& examples, int argc,
                       char** argv, const std::function<void()>& body) {
    const auto fail = [&](ExitCode code, const std::string& message) {
        progress("");
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", name.c_str(), printable(message).c_str());
        return code;
    };
    // A file opened later must not get the number, and then the text, of a standard stream that is closed.
    const bool output_closed = fcntl(STDOUT_FILENO, F_GETFD) == -1;
    int opened;
    while ((opened = open("/dev/null", O_RDWR)) >= 0 && opened <= STDERR_FILENO) {
    }
    close(opened);
    if (output_closed) return fail(kBadCommandLine, "standard output is closed");
    for (const int signal : {SIGINT, SIGTERM})
        if (std::signal(signal, end_by_signal) == SIG_IGN)
            std::signal(signal, SIG_IGN);  // as nohup and & have it
    try {
        if (parse_command_line(argc, argv, options)) {
            body();
            flush_output();
            return kVerified;
        }
        std::printf("%s: %s\n\n", name.c_str(), about.c_str());
        for (const Option& each : options)
            std::printf("  %-18s  %s\n", (each.dashed() + " " + each.takes).c_str(),
                        each.help.c_str());
        std::printf(
            "  %-18s  this text\n\n%s\n\n"
            "Exit codes: 0 verified, 1 wrong result, 2 bad command line or unwritable output, 3 device or memory failed, 77 no usable "
            "GPU\n",
            "-h, --help", examples.c_str());
        flush_output();
        return kVerified;
    } catch (const Failure& failure) {
        return fail(failure.code, failure.what());
    } catch (const std::bad_alloc&) {
        return fail(kDeviceFailed, "out of host memory; try a smaller size");
    }
}
