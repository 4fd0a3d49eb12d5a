// The options of a stage.
#pragma once

#include <cstdint>
#include <optional>

#include "common/command_line.h"
#include "common/limits.h"
#include "common/roofline.h"

struct Shape {
    int M, N, K;
};

struct Options {
    bool verify_only = false;
    uint32_t seed = 1;
    int repeat = 20;
    int device = 0;
    std::string csv;  // empty: no CSV
    std::optional<Gpu> gpu;  // predict for this GPU rather than for the one at hand
    std::string order = "all";  // emulator: forward, reverse, random or all three
    bool large_indices = false;  // emulator: verify only how wide the indices are
    bool lines = false;  // emulator: print the traffic of every source line

    std::vector<long long> sizes;  // of square matrices; m, n and k, where not 0, go before
    long long m = 0, n = 0, k = 0;
};

// An index may step a tile past the edge of a matrix and must still fit an int.
constexpr long long kMaxEdge = 1000000000;
// At K = 2^24 a float's rounding unit times K reaches 1 and no error bound is left (see verify.h).
constexpr long long kMaxK = 8388608;

// Reads FIRST:LAST:STEP into the sizes FIRST, FIRST + STEP, ... up to LAST.
inline std::vector<long long> parse_sizes(const std::string& text) {
    const size_t one = text.find(':');
    const size_t two = one == std::string::npos ? one : text.find(':', one + 1);
    if (two == std::string::npos)
        throw Failure(kBadCommandLine,
                      "--sizes '" + text + "': takes FIRST:LAST:STEP, such as 1024:8192:1024");
    const long long first = parse_number("--sizes", text.substr(0, one), 1, kMaxK);
    const long long last =
        parse_number("--sizes", text.substr(one + 1, two - one - 1), first, kMaxK);
    const long long step = parse_number("--sizes", text.substr(two + 1), 1, kMaxK);
    std::vector<long long> sizes;
    for (long long size = first; size <= last; size += step) sizes.push_back(size);
    return sizes;
}

// What an option calls that takes a whole number from `low` to `high`.
template <class Number>
std::function<void(const std::string&)> number(Number& to, const char* option, long long low,
                                               long long high) {
    return [&to, option, low, high](const std::string& value) {
        to = parse_number(option, value, low, high);
    };
}

// The table of the options that every product has; they write to `o`. `default_size`: as --help says it.
inline std::vector<Option> product_options(Options& o, const std::string& default_size) {
    using Text = const std::string&;
    return {
        {"size", "S", "square matrices S x S (default " + default_size + ")",
         [&o](Text value) { o.sizes = {parse_number("--size", value, 1, kMaxK)}; }},
        {"sizes", "F:L:STEP", "one row for each square size from F to L",
         [&o](Text value) { o.sizes = parse_sizes(value); }},
        {"m", "M", "rows of A and C; what is not given of M, N, K comes from --size",
         number(o.m, "-m", 1, kMaxEdge)},
        {"n", "N", "columns of B and C", number(o.n, "-n", 1, kMaxEdge)},
        {"k", "K", "columns of A, rows of B", number(o.k, "-k", 1, kMaxK)},
        {"verify-only", "", "check the result and stop", [&o](Text) { o.verify_only = true; }},
        {"seed", "S", "another set of random inputs (default 1)",
         number(o.seed, "--seed", 0, UINT32_MAX)},
        {"repeat", "R", "timed launches per size (default 20)",
         number(o.repeat, "--repeat", 1, 10000)},
        {"csv", "FILE", "also write the rows to FILE",
         [&o](Text value) { o.csv = parse_csv(value); }},
        {"gpu", "NAME", "predict for another GPU: " + joined(gpu_names()),
         [&o](Text value) { o.gpu = gpu_named(parse_choice("--gpu", value, gpu_names())); }},
        {"limits", "FILE", "predict from what roofline measured and wrote to FILE (its --csv)",
         [&o](Text value) { o.gpu = read_limits(value); }},
    };
}

// The same for a CUDA stage. `emulated`: in a CPU build.
inline std::vector<Option> stage_options(Options& o, int default_size, bool emulated) {
    using Text = const std::string&;
    o.sizes = {default_size};
    const auto cpu_only = [emulated](const char* option) {
        if (!emulated)
            throw Failure(
                kBadCommandLine,
                std::string(option) + ": only the CPU builds (their names end in _cpu) take it");
    };
    std::vector<Option> options = product_options(o, std::to_string(default_size));
    const std::vector<Option> more = {
        {"device", "D", "use CUDA device D (default 0)", number(o.device, "--device", 0, 1023)},
        {"order", "ORDER",
         "CPU build: run threads forward, reverse, random or all three (default all)",
         [&o, cpu_only](Text value) {
             cpu_only("--order");
             o.order = parse_choice("--order", value, {"forward", "reverse", "random", "all"});
         }},
        {"large-indices", "",
         "CPU build: instead check that indices hold at more than 2^32 elements",
         [&o, cpu_only](Text) {
             cpu_only("--large-indices");
             o.large_indices = true;
         }},
        {"lines", "", "CPU build with tracing: the traffic of every source line",
         [&o, cpu_only](Text) {
             cpu_only("--lines");
             o.lines = true;
         }},
    };
    options.insert(options.end(), more.begin(), more.end());
    return options;
}

// Once the command line is read: the shapes that it asks for.
inline std::vector<Shape> shapes_of(const Options& o) {
    std::vector<Shape> shapes;
    for (const long long size : o.sizes)
        shapes.push_back({int(o.m ? o.m : size), int(o.n ? o.n : size), int(o.k ? o.k : size)});
    return shapes;
}
