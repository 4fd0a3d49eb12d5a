// The command line of every program: a table of options, and one clear line for bad input. Then the
// options of the programs that measure, and of those that multiply matrices. A CUDA program includes
// cuda_runtime.h first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/roofline.h"
#include "common/verify.h"

using Setter = std::function<void(const std::string& option, const std::string& value)>;

struct Option {
    std::string name;  // "size" is --size, "m" is -m
    std::string takes;  // what --help calls its value; "": a switch
    std::string help;
    Setter set;  // throws Failure(kBadCommandLine) if the value is bad
    std::string refused = "";  // else who takes it: "only ..." is the message

    std::string dashed() const { return (name.size() == 1 ? "-" : "--") + name; }
};

// Parses an integer in [low, high]. Otherwise throws a Failure that names `option`.
long long parse_number(const std::string& option, const std::string& text, long long low,
                       long long high);

// Returns `text` if it is one of `accepted`.
std::string parse_choice(const std::string& option, const std::string& text,
                         const std::vector<std::string>& accepted);

// Sets a number, a word, the name of a file, a switch, or the sizes of FIRST:LAST:STEP.
template <class Number>
Setter number(Number& into, long long low, long long high) {
    return [&into, low, high](const std::string& option, const std::string& value) {
        into = Number(parse_number(option, value, low, high));
    };
}
inline Setter choice(std::string& into, const std::vector<std::string>& accepted) {
    return [&into, accepted](const std::string& option, const std::string& value) {
        into = parse_choice(option, value, accepted);
    };
}
inline Setter flag(bool& into) {
    return [&into](const std::string&, const std::string&) { into = true; };
}
Setter file_name(std::string& into);
Setter size_list(std::vector<long long>& into);

// What this program is built for.
enum Build { kTimesCpu, kTimesGpu, kVerifiesOnCpu };
#ifdef CUDA_EMULATOR
constexpr Build kBuild = kVerifiesOnCpu;
#elif defined(__CUDACC__)
constexpr Build kBuild = kTimesGpu;
#else
constexpr Build kBuild = kTimesCpu;
#endif

// "" in that kind of build. Elsewhere why an option that it alone takes is refused.
constexpr const char* only(Build taker) {
    return kBuild == taker      ? ""
           : taker == kTimesGpu ? "the GPU build takes it; the CPU build times nothing"
                                : "the CPU builds (their names end in _cpu) take it";
}

// What a person can ask of any program that verifies and measures.
struct RunOptions {
    bool verify_only = false;
    int repeat = 20;  // timed runs of each
    std::string csv;  // empty: no CSV
    bool wide = false;
    int device = 0;
};
std::vector<Option> run_options(RunOptions& options, int most_repeats);
inline Option device_option(int& device) {
    return {"device", "D", "use CUDA device D (default 0)", number(device, 0, 1023)};
}

// Parses the command line and runs `body`, or prints the help. A Failure that body throws becomes
// one line on stderr. Returns the exit code.
int run_program(const std::string& name, const std::string& about,
                const std::vector<Option>& options, const std::string& examples, int argc,
                char** argv, const std::function<void()>& body);

struct BenchOptions : RunOptions {  // verify_only: always so in a CPU build
    BenchOptions() { repeat = 10; }
    int arch = 80;  // the emulator's fragment layout: sm_80
    bool rows_without_times = false;  // also write rows that were only verified to the CSV
    Columns columns;  // of the table
};

inline Option arch_option(int& sm) {  // --arch sm_75
    const std::string help =
        format("CPU build: fragments of sm_70, sm_75 or sm_80 (default sm_%d)", sm);
    const auto set = [&sm](const std::string& option, const std::string& value) {
        sm = std::stoi(parse_choice(option, value, {"sm_70", "sm_75", "sm_80"}).substr(3));
    };
    return {"arch", "ARCH", help, set, only(kVerifiesOnCpu)};
}

// Runs a measuring program: reads the common options and `more`, calls `measure`. Returns the exit
// code (see failure.h).
inline int run_bench(const std::string& name, const std::string& about, const std::string& examples,
                     BenchOptions& o, const std::vector<Option>& more, int argc, char** argv,
                     const std::function<void(Report&)>& measure) {
    std::vector<Option> options = run_options(o, 1000);
    for (Option& each : options)
        if (kBuild != kTimesCpu &&
            (each.name == "repeat" || (each.name == "csv" && !o.rows_without_times))) {
            each.help = "GPU build: " + each.help;
            each.refused = only(kTimesGpu);
        }
    if (kBuild != kTimesCpu) options.push_back(device_option(o.device));
    options.insert(options.end(), more.begin(), more.end());
    return run_program(name, about, options, examples, argc, argv, [&] {
        if (o.verify_only && !o.csv.empty() && !o.rows_without_times)
            throw Failure(kBadCommandLine, "--csv: there are no times with --verify-only");
        Report report(o.csv, o.columns, o.wide);
        o.verify_only |= kBuild == kVerifiesOnCpu;
        measure(report);
        if (kBuild == kVerifiesOnCpu) std::printf("Nothing was timed: the GPU build times.\n");
    });
}

// The options of a program that multiplies matrices.
struct Options : RunOptions {
    uint32_t seed = 1;
    std::optional<Gpu> gpu;  // predict for this GPU rather than for the one at hand
    std::string order;  // emulator: forward, reverse, random or all three
    bool bf16 = false;  // operands of bfloat16 in place of FP16
    bool half_c = false;  // C of FP16 in place of float
    bool large_indices = false;  // emulator: only check that indices do not overflow
    bool lines = false;  // emulator: print the traffic of every source line
    std::string record;  // emulator: the file for what two blocks access; empty: none

    std::vector<Shape> shapes;  // m, n and k replace its lengths if they are not 0
    long long m = 0, n = 0, k = 0;
};

// An index may run one tile past the edge, and must not overflow an int there.
constexpr long long kMaxEdge = 1000000000;
// At K = 2^24 a float's rounding unit times K reaches 1 and no error bound is left (see verify.h).
constexpr long long kMaxK = 8388608;

inline Shape square(long long size) { return {int(size), int(size), int(size)}; }

std::vector<Option> product_options(Options& options, const std::string& default_size);

// The shapes that the command line asks for.
inline std::vector<Shape> shapes_of(const Options& o) {
    std::vector<Shape> shapes;
    for (const Shape& s : o.shapes)
        shapes.push_back({int(o.m ? o.m : s.M), int(o.n ? o.n : s.N), int(o.k ? o.k : s.K)});
    return shapes;
}

// Shows how much of all shapes is done, and estimates the time left from the rate so far.
class LongWork {
public:
    LongWork(const Options& options, double (*cost)(Shape));  // cost: in any unit
    void begin(Shape shape) { done_ += std::exchange(part_, cost_(shape)); }  // ends the one before
    // Shows "what: 12%, about 3 min left". If it will take minutes, also says so once on a line of
    // its own. share: the fraction of the current shape that is done.
    void show(const std::string& what, double share = 0);

private:
    double (*cost_)(Shape);
    double all_ = 0, done_ = 0, part_ = 0, began_, shown_ = 0;  // the last two: in seconds
    std::string what_;
    bool said_ = false;
};

// The columns of a table of products: the stage, its size if there are several, then `columns`.
Columns table_of(const Options& options, const Columns& columns);
// Prints the line above that table, with the shape if all rows have the same.
void print_shape(const Options& options);

#ifndef HARNESS_COMPILED_APART

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>

long long parse_number(const std::string& option, const std::string& text, long long low,
                       long long high) {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0' && errno == 0 && value >= low && value <= high) return value;
    throw refused(option, text, format("takes a whole number from %lld to %lld", low, high));
}

std::string parse_choice(const std::string& option, const std::string& text,
                         const std::vector<std::string>& accepted) {
    if (std::count(accepted.begin(), accepted.end(), text)) return text;
    throw refused(option, text, "takes one of " + joined(accepted));
}

Setter file_name(std::string& into) {
    return [&into](const std::string& option, const std::string& value) {
        if (value.empty()) throw refused(option, value, "takes the name of a file");
        into = value;
    };
}

Setter size_list(std::vector<long long>& into) {
    return [&into](const std::string& option, const std::string& value) {
        std::istringstream three(value);
        std::string parts[3];
        for (std::string& part : parts)
            if (!std::getline(three, part, &part == &parts[2] ? '\n' : ':'))
                throw refused(option, value, "takes FIRST:LAST:STEP, such as 1024:8192:1024");
        const long long first = parse_number(option, parts[0], 1, kMaxK),
                        last = parse_number(option, parts[1], first, kMaxK),
                        step = parse_number(option, parts[2], 1, kMaxK);
        into.clear();
        for (long long size = first; size <= last; size += step) into.push_back(size);
    };
}

// Reads FIRST:LAST:STEP, or MxNxK,MxNxK,...
static std::vector<Shape> parse_shapes(const std::string& option, const std::string& text) {
    std::vector<Shape> shapes;
    if (text.find('x') == std::string::npos) {
        std::vector<long long> squares;
        size_list(squares)(option, text);
        for (const long long size : squares) shapes.push_back(square(size));
        return shapes;
    }
    std::istringstream list(text + ",");
    for (std::string each; std::getline(list, each, ',');) {
        long long m = 0, n = 0, k = 0;
        char more;
        if (std::sscanf(each.c_str(), "%10lldx%10lldx%10lld%c", &m, &n, &k, &more) != 3 ||
            std::min({m, n, k}) < 1 || std::max(m, n) > kMaxEdge || k > kMaxK)
            throw refused(option, each,
                          format("takes MxNxK or several, 37x129x65,16x16x16: M and N from 1 to "
                                 "%lld, K from 1 to %lld",
                                 kMaxEdge, kMaxK));
        shapes.push_back({int(m), int(n), int(k)});
    }
    return shapes;
}

std::vector<Option> run_options(RunOptions& o, int most_repeats) {
    return {{"verify-only", "", "check the results and stop", flag(o.verify_only)},
            {"repeat", "R", format("timed runs of each (default %d)", o.repeat),
             number(o.repeat, 1, most_repeats)},
            {"csv", "FILE", "also write the rows to FILE", file_name(o.csv)},
            {"wide", "", "show all columns, as --csv writes them", flag(o.wide)}};
}

// Calls `set` for every option given. False if --help was among them. Throws
// Failure(kBadCommandLine).
static bool parse_command_line(int argc, char** argv, const std::vector<Option>& options) {
    const auto check = [](bool good, const std::string& why) {
        if (!good) throw Failure(kBadCommandLine, why + "; see --help");
    };
    for (int i = 1; i < argc; ++i) {  // --name value, --name=value, -n value or -nvalue
        const std::string word = argv[i];
        check(word.size() > 1 && word[0] == '-', "unexpected argument '" + word + "'");
        const bool is_long = word[1] == '-';
        const std::string name = word.substr(0, is_long ? word.find('=') : 2);
        if (name == "-h" || name == "--help") return false;
        const auto option = std::find_if(options.begin(), options.end(),
                                         [&](const Option& each) { return each.dashed() == name; });
        check(option != options.end(), "unknown option '" + name + "'");
        const bool takes = !option->takes.empty(), joined_to_it = name != word;
        check(takes || !joined_to_it, word + ": takes no value");
        check(!takes || joined_to_it || i + 1 < argc, word + ": needs a value");
        if (!option->refused.empty())
            throw Failure(kBadCommandLine, name + ": only " + option->refused);
        option->set(name, !takes         ? ""
                          : joined_to_it ? word.substr(name.size() + is_long)
                                         : argv[++i]);
    }
    return true;
}

int run_program(const std::string& name, const std::string& about,
                const std::vector<Option>& options, const std::string& examples, int argc,
                char** argv, const std::function<void()>& body) {
    const auto fail = [&](ExitCode code, const std::string& message) {
        progress("");
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", name.c_str(), printable(message).c_str());
        return code;
    };
    // If a standard stream is closed, the next file opened would get its descriptor, and its text.
    // So occupy the three descriptors with /dev/null.
    const bool output_closed = fcntl(STDOUT_FILENO, F_GETFD) == -1;
    int opened;
    while ((opened = open("/dev/null", O_RDWR)) >= 0 && opened <= STDERR_FILENO) {
    }
    close(opened);
    if (output_closed) return fail(kBadCommandLine, "standard output is closed");
    for (const int signal : {SIGINT, SIGTERM})
        if (std::signal(signal, end_by_signal) == SIG_IGN)
            std::signal(signal, SIG_IGN);  // keep it ignored, as nohup and & want
    try {
        if (parse_command_line(argc, argv, options)) {
            body();
        } else {
            std::printf("%s: %s\n\n", name.c_str(), about.c_str());
            for (const Option& each : options)
                std::printf("  %-18s  %s\n", (each.dashed() + " " + each.takes).c_str(),
                            each.help.c_str());
            std::printf(
                "  %-18s  this text\n\n%s\n\n"
                "Exit codes: 0 verified, 1 wrong result, 2 bad command line or unwritable output,\n"
                "3 device or memory failed, 77 no usable GPU\n",
                "-h, --help", examples.c_str());
        }
        flush_output();
        return kVerified;
    } catch (const Failure& failure) {
        return fail(failure.code, failure.what());
    } catch (const std::bad_alloc&) {
        return fail(kDeviceFailed, "out of host memory; try a smaller size");
    }
}

std::vector<Option> product_options(Options& o, const std::string& default_size) {
    using Text = const std::string&;
    std::vector<Option> options = {
        {"size", "S", "square matrices S x S (default " + default_size + ")",
         [&o](Text option, Text value) {
             o.shapes = {square(parse_number(option, value, 1, kMaxK))};
         }},
        {"sizes", "LIST", "a row for each: FIRST:LAST:STEP of squares, or MxNxK,MxNxK,...",
         [&o](Text option, Text value) { o.shapes = parse_shapes(option, value); }},
        {"m", "M", "rows of A and C; what is not given of M, N, K comes from --size",
         number(o.m, 1, kMaxEdge)},
        {"n", "N", "columns of B and C", number(o.n, 1, kMaxEdge)},
        {"k", "K", "columns of A, rows of B", number(o.k, 1, kMaxK)},
        {"seed", "S", "another set of random inputs (default 1)", number(o.seed, 0, UINT32_MAX)},
        {"gpu", "NAME", "predict for another GPU: " + joined(gpu_names()),
         [&o](Text option, Text value) {
             o.gpu = gpu_named(parse_choice(option, value, gpu_names()));
         }},
        {"limits", "FILE", "predict from what roofline measured and wrote to FILE (its --csv)",
         [&o](Text option, Text value) { o.gpu = read_limits(value, option); }}};
    const std::vector<Option> common = run_options(o, 10000);
    options.insert(options.end(), common.begin(), common.end());
    return options;
}

static double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

LongWork::LongWork(const Options& options, double (*cost)(Shape))
    : cost_(cost), began_(seconds_now()) {
    for (const Shape& shape : shapes_of(options)) all_ += cost(shape);
}

void LongWork::show(const std::string& what, double share) {
    const double now = seconds_now(), done = done_ + share * part_;
    if (what == what_ && now < shown_ + 0.2) return;
    what_ = what;
    shown_ = now;
    if (now < began_ + 1 || done <= 0) return progress(what);
    const double left = (now - began_) * (all_ / done - 1);
    const std::string about = left < 90     ? format("%.0f s", left)
                              : left < 5400 ? format("%.0f min", left / 60)
                                            : format("%.1f h", left / 3600);
    if (left > 60 && !std::exchange(said_, true)) {
        progress("");
        std::fprintf(stderr, "%s: this takes about %s\n", what.c_str(), about.c_str());
    }
    progress(format("%s: %.0f%%, about %s left", what.c_str(), 100 * done / all_, about.c_str()));
}

static bool all_square(const Options& o) {
    bool square = true;
    for (const Shape& s : shapes_of(o)) square = square && s.M == s.N && s.N == s.K;
    return square;
}

Columns table_of(const Options& o, const Columns& columns) {
    Columns table = {"stage"};
    if (o.shapes.size() > 1) table.push_back("m");
    if (o.shapes.size() > 1 && !all_square(o)) table.insert(table.end(), {"n", "k"});
    table.insert(table.end(), columns.begin(), columns.end());
    return table;
}

void print_shape(const Options& o) {
    if (o.shapes.size() == 1) std::printf("M x N x K = %s; ", to_string(shapes_of(o)[0]).c_str());
    else if (all_square(o)) std::printf("M = N = K; ");
    std::printf("a stage is verified before its row appears\n");
}

#endif  // HARNESS_COMPILED_APART
