// The command line of every program: a table of options, and one clear line for bad input. Then the
// options of the programs that multiply matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/lab/limits.h"
#include "common/report.h"
#include "common/verify.h"

using Setter = std::function<void(const std::string& option, const std::string& value)>;

struct Option {
    std::string name;  // "size" is --size, "m" is -m
    std::string takes;  // what --help calls its value; "": a switch
    std::string help;
    Setter set;  // throws Failure(kBadCommandLine) if the value is bad

    std::string dashed() const { return (name.size() == 1 ? "-" : "--") + name; }
};
using OptionTable = std::vector<Option>;
inline OptionTable& operator+=(OptionTable& table, const OptionTable& more) {
    table.insert(table.end(), more.begin(), more.end());
    return table;
}

// Parses an integer in [low, high]. Otherwise throws a Failure that names `option`.
long long parse_number(const std::string& option, const std::string& text, long long low,
                       long long high);

// Returns `text` if it is one of `accepted`.
std::string parse_choice(const std::string& option, const std::string& text,
                         const std::vector<std::string>& accepted);

// Sets a number, a word, a switch, shapes (S, FIRST:LAST:STEP, MxNxK, or several with commas
// between), or the name of a file that can be written.
template <class Number>
Setter number(Number& into, long long low, long long high) {
    return [&into, low, high](const std::string& option, const std::string& value) {
        into = Number(parse_number(option, value, low, high));
    };
}
Setter choice(std::string& into, const std::vector<std::string>& accepted);
Setter flag(bool& into);
Setter shape_list(std::vector<Shape>& into, bool squares = false);
Setter file_name(std::string& into);

// What this program is built for. Neither: it times the CPU.
#ifdef CUDA_EMULATOR
constexpr bool kEmulated = true, kOnGpu = false;
#elif defined(__CUDACC__)
constexpr bool kEmulated = false, kOnGpu = true;
#else
constexpr bool kEmulated = false, kOnGpu = false;
#endif

// Sets what the command line says, then runs `body`; or prints the help. Returns the exit code.
int run_program(const std::string& name, const std::string& about, const OptionTable& options,
                const std::string& examples, int argc, char** argv,
                const std::function<void()>& body);

// What a person can ask of any program that verifies and measures.
struct RunOptions {
    bool verify_only = false;
    int repeat = 20;  // timed runs of each
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
    bool large_indices = false;  // emulator: only check that indices do not overflow
    bool lines = false;  // emulator: print the traffic of every source line
    bool all_forms = false;  // emulator: every form of the kernel must be launched
    std::string record;  // emulator: the file for what two blocks access; empty: none

    Shape multiples = {1, 1, 1};  // of which the lengths of all shapes must be
    std::vector<Shape> shapes;  // m, n and k replace its lengths if they are not 0
    long long m = 0, n = 0, k = 0;
};

// An index may run one tile past the edge, and must not overflow an int there.
constexpr long long kMaxEdge = 1000000000;
// At K = 2^24 a float's rounding unit times K reaches 1 and no error bound is left (see verify.h).
constexpr long long kMaxK = 8388608;

inline Shape square(long long size) { return {int(size), int(size), int(size)}; }

OptionTable product_options(Options& options, const std::string& default_size);
// The shapes that the command line asks for. Throws Failure(kBadCommandLine) if --multiples does not
// take one.
std::vector<Shape> shapes_of(const Options& options);
Shape rounded_up(Shape shape, const Options& options);  // to what --multiples takes

// The first cells of a verified stage's row. error: what verify() returned.
Row row_of(const std::string& stage, Shape s, double error);
// The columns of a table of products: the stage, its size if there are several, then `columns`.
Columns table_of(const Options& options, const Columns& columns);
// Prints the line above that table, with the shape if all rows have the same.
void print_shape(const Options& options);
