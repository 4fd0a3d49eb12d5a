// The command line of a stage: what it accepts, and one clear line when it is given something else.
#pragma once

#include <getopt.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/roofline.h"

// Exit codes of every program here. ctest shows 77 as skipped, never as passed.
enum ExitCode { kVerified = 0, kWrongResult = 1, kBadCommandLine = 2, kDeviceFailed = 3, kNoGpu = 77 };

// A failure that ends the program with one line on stderr and an exit code.
struct Failure : std::runtime_error {
    Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code(code) {}
    ExitCode code;
};

struct Shape {
    int M, N, K;
};

struct Options {
    std::vector<Shape> shapes;
    bool verify_only = false;
    uint32_t seed = 1;
    int repeat = 20;
    int device = 0;
    std::string csv;            // empty: no CSV
    const Gpu* gpu = nullptr;   // predict for this GPU rather than for the one at hand
    std::string order = "all";  // emulator: forward, reverse, random or all three
    bool lines = false;         // emulator: print the traffic of every source line
    bool help = false;
};

// An index may step a tile past the edge of a matrix and must still fit an int.
constexpr long long kMaxEdge = 1000000000;
// At K = 2^24 a float's rounding unit times K reaches 1 and no error bound is left (see verify.h).
constexpr long long kMaxK = 8388608;

// Reads `text` as a whole number from `low` to `high`; `option` is named in the message when it is not one.
inline long long parse_number(const std::string& option, const std::string& text, long long low, long long high) {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || errno != 0 || value < low || value > high)
        throw Failure(kBadCommandLine, option + " '" + text + "': takes a whole number from " + std::to_string(low) +
                                           " to " + std::to_string(high));
    return value;
}

// Reads FIRST:LAST:STEP into the sizes FIRST, FIRST + STEP, ... up to LAST.
inline std::vector<long long> parse_sizes(const std::string& text) {
    const size_t one = text.find(':');
    const size_t two = one == std::string::npos ? one : text.find(':', one + 1);
    if (two == std::string::npos)
        throw Failure(kBadCommandLine, "--sizes '" + text + "': takes FIRST:LAST:STEP, such as 1024:8192:1024");
    const long long first = parse_number("--sizes", text.substr(0, one), 1, kMaxK);
    const long long last = parse_number("--sizes", text.substr(one + 1, two - one - 1), first, kMaxK);
    const long long step = parse_number("--sizes", text.substr(two + 1), 1, kMaxK);
    std::vector<long long> sizes;
    for (long long size = first; size <= last; size += step) sizes.push_back(size);
    return sizes;
}

inline void print_help(const std::string& program, int default_size) {
    std::printf(
        "%s: C = A * B for row-major A (M x K), B (K x N), C (M x N); verifies, then times.\n\n"
        "  --size S            square matrices S x S (default %d)\n"
        "  --sizes F:L:STEP    one row for each square size from F to L\n"
        "  -m M  -n N  -k K    any shape; what is not given comes from --size\n"
        "  --verify-only       check the result and stop\n"
        "  --seed S            another set of random inputs (default 1)\n"
        "  --repeat R          timed launches per size (default 20)\n"
        "  --csv FILE          also write the rows to FILE\n"
        "  --device D          use CUDA device D (default 0)\n"
        "  --gpu NAME          predict for another GPU: %s\n"
        "  --order ORDER       CPU build: run threads forward, reverse, random or all three (default all)\n"
        "  --lines             CPU build with tracing: the traffic of every source line\n"
        "  --help              this text\n\n"
        "Examples:  %s --sizes 1024:8192:1024 --csv ladder.csv\n"
        "           %s -m 37 -n 129 -k 65 --verify-only\n\n"
        "Exit codes: 0 verified, 1 wrong result, 2 bad command line, 3 device or memory failed, 77 no usable GPU\n",
        program.c_str(), default_size, gpu_names().c_str(), program.c_str(), program.c_str());
}

// Throws Failure(kBadCommandLine) naming the option and what it takes.
inline Options parse_options(int argc, char** argv, int default_size, bool emulated) {
    enum { kSize = 256, kSizes, kVerifyOnly, kSeed, kRepeat, kCsv, kDevice, kGpu, kOrder, kLines, kHelp };
    static const option table[] = {{"size", 1, nullptr, kSize},     {"sizes", 1, nullptr, kSizes},
                                   {"verify-only", 0, nullptr, kVerifyOnly}, {"seed", 1, nullptr, kSeed},
                                   {"repeat", 1, nullptr, kRepeat}, {"csv", 1, nullptr, kCsv},
                                   {"device", 1, nullptr, kDevice}, {"gpu", 1, nullptr, kGpu},
                                   {"order", 1, nullptr, kOrder},   {"lines", 0, nullptr, kLines},
                                   {"help", 0, nullptr, kHelp},     {nullptr, 0, nullptr, 0}};
    Options options;
    std::vector<long long> sizes = {default_size};
    long long m = 0, n = 0, k = 0;
    opterr = 0;  // the messages are ours
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, ":m:n:k:", table, nullptr)) != -1;) {
        const std::string value = optarg ? optarg : "";
        switch (c) {
            case 'm': m = parse_number("-m", value, 1, kMaxEdge); break;
            case 'n': n = parse_number("-n", value, 1, kMaxEdge); break;
            case 'k': k = parse_number("-k", value, 1, kMaxK); break;
            case kSize: sizes = {parse_number("--size", value, 1, kMaxK)}; break;
            case kSizes: sizes = parse_sizes(value); break;
            case kVerifyOnly: options.verify_only = true; break;
            case kSeed: options.seed = uint32_t(parse_number("--seed", value, 0, UINT32_MAX)); break;
            case kRepeat: options.repeat = int(parse_number("--repeat", value, 1, 10000)); break;
            case kDevice: options.device = int(parse_number("--device", value, 0, 1023)); break;
            case kCsv: options.csv = value; break;
            case kGpu: options.gpu = find_gpu(value); break;
            case kOrder: options.order = value; break;
            case kLines: options.lines = true; break;
            case kHelp: options.help = true; return options;
            case ':': throw Failure(kBadCommandLine, std::string(argv[optind - 1]) + ": needs a value; see --help");
            default: throw Failure(kBadCommandLine, "unknown option '" + std::string(argv[optind - 1]) + "'; see --help");
        }
        if (c == kCsv && value.empty()) throw Failure(kBadCommandLine, "--csv '': takes the name of a file");
        if (c == kGpu && !options.gpu)
            throw Failure(kBadCommandLine, "--gpu '" + value + "': takes one of " + gpu_names());
        if ((c == kOrder || c == kLines) && !emulated)
            throw Failure(kBadCommandLine, std::string(c == kOrder ? "--order" : "--lines") +
                                               ": only the CPU builds (their names end in _cpu) take it");
        if (c == kOrder && value != "forward" && value != "reverse" && value != "random" && value != "all")
            throw Failure(kBadCommandLine, "--order '" + value + "': takes forward, reverse, random or all");
    }
    if (optind < argc)
        throw Failure(kBadCommandLine, "unexpected argument '" + std::string(argv[optind]) + "'; see --help");
    for (const long long size : sizes)
        options.shapes.push_back({int(m ? m : size), int(n ? n : size), int(k ? k : size)});
    return options;
}
