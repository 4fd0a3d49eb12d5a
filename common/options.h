// The command line of every program: a table of options, one clear line for bad input, and a
// description for tools. Below it are the options of programs that multiply matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/roofline.h"
#include "common/table.h"
#include "common/verify.h"

// Takes an option's value. Throws Failure(kBadCommandLine), "takes a whole number from 1 to 9", for
// a bad one: parse_command_line() puts the option's name before that.
using Setter = std::function<void(const std::string& value)>;

struct Option {
    std::string name;  // "--size", "-m"
    std::string takes;  // what --help calls its value; "": a switch
    std::string help;
    Setter set;
};
using OptionTable = std::vector<Option>;
inline void add_options(OptionTable& table, const OptionTable& more) {
    table.insert(table.end(), more.begin(), more.end());
}

// An integer in [low, high]; one of the texts that are accepted.
long long parse_number(const std::string& text, long long low, long long high);
std::string parse_choice(const std::string& text, const std::vector<std::string>& accepted);

// Setters of a number, a switch, shapes (S, FIRST:LAST:STEP, MxNxK, or several with commas
// between), and the name of a file, which must be writable, and either new or a file of results.
template <class Number>
Setter number(Number& into, long long low, long long high) {
    return [&into, low, high](auto& value) { into = Number(parse_number(value, low, high)); };
}
inline Setter flag(bool& into) {
    return [&into](auto&) { into = true; };
}
Setter shape_list(std::vector<Shape>& into);
Setter file_name(std::string& into);

// The description of a program: --help prints it for a person, --describe for a tool.
struct Program {
    std::string name, about;
    OptionTable options;
    std::string examples;
    // "stage"; "benchmark"; or "probe", a program that examines what a device does.
    std::string kind;
    std::string build;  // "gpu", "emulator", "host" or "opencl"
    // Of a stage only:
    std::vector<std::string> types = {};  // of A and B: "fp32", "fp16", "bf16"
    std::vector<std::string> stages = {};  // what --stage takes
    std::vector<std::string> configs = {};  // what --config takes
    std::vector<int> multiples = {};  // M, N and K must be multiples of these
    std::string arithmetic = "";  // what it computes with, such as "tensor cores" (see Arithmetic)
};

// Sets the options that the command line gives. Returns false after it has printed the help or the
// description, if one of them was requested. Throws Failure(kBadCommandLine).
bool parse_command_line(const Program& program, int argc, char** argv);

// Prints the exception that is being handled on stderr, "NAME: what was wrong". Returns the exit
// code.
int print_exception(const std::string& name);

// Parses the command line, runs `body`, and prints what goes wrong. Returns the exit code.
int run_program(const Program& program, int argc, char** argv, const std::function<void()>& body);

// The options of every program that verifies and measures.
struct RunOptions {
    bool verify_only = false;
    int repeat = 20;  // timed runs for each row
    std::string csv;  // empty: no CSV
    bool wide = false;
    int device = 0;
};
OptionTable run_options(RunOptions& options, int most_repeats);
Option device_option(int& device);

// The options of a program that multiplies matrices.
struct Options : RunOptions {
    uint32_t seed = 1;
    std::optional<Gpu> gpu;  // predict for this GPU rather than for the one at hand
    bool bf16 = false;  // operands of bfloat16 in place of FP16
    bool accuracy = false;  // FP32 stages: show the errors against FP64
    bool rested = false;  // GPU: time only launches after a pause
    bool best_lt = false;  // GPU: also time the fastest algorithm of cuBLASLt
    bool lines = false;  // emulator: print the traffic of every source line
    std::string lines_csv;  // emulator: the file for that traffic; empty: none
    bool all_configs = false;  // emulator: every configuration of the kernel must be launched
    bool all_orders = false;  // emulator: verify in each order of the threads while tracing, too
    std::string record;  // emulator: the file for what two blocks access; empty: none

    std::vector<Shape> sizes;  // empty: the default
    long long m = 0, n = 0, k = 0;  // replace the lengths of all sizes; 0: unchanged
};

// An index may run one tile past the edge, and must not overflow an int there.
constexpr long long kMaxEdge = 1000000000;
// Half of 1 / u, where u = 2^-24 is a float's unit roundoff. From K = 0.7 / u on the error bound of
// verify.h, (1 + u)^K - 1, would be more than 100%.
constexpr long long kMaxK = 8388608;

inline Shape square(long long size) { return {int(size), int(size), int(size)}; }

OptionTable product_options(Options& options, const std::string& default_size);
// The shapes that the command line gives, completed from `otherwise`.
std::vector<Shape> shapes_of(const Options& options, Shape otherwise);

// The first cells of a verified stage's row. error: what check_accuracy() returned.
Row row_of(const std::string& stage, Shape s, double error);
// The columns of a table of products that are only verified.
inline const Columns kVerifiedColumns = {{"verified", "verified", 9},
                                         {"flop_per_byte", "flop/|byte", 7},
                                         {"predicted_gflops", "predicted|TFLOP/s", 11, as_tera}};
// Prints the line above a table of products, with the shape if all rows have the same. Returns the
// table: the stage, its size if there are several, then `columns`.
Columns begin_table(const std::vector<Shape>& shapes, const Columns& columns);
