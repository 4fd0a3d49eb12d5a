#include "common/options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

using Text = const std::string&;

long long parse_number(Text option, Text text, long long low, long long high) {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0' && errno == 0 && value >= low && value <= high) return value;
    throw refused(option, text, format("takes a whole number from %lld to %lld", low, high));
}

std::string parse_choice(Text option, Text text, const std::vector<std::string>& accepted) {
    if (std::count(accepted.begin(), accepted.end(), text)) return text;
    throw refused(option, text, "takes one of " + joined(accepted));
}

Setter choice(std::string& into, const std::vector<std::string>& accepted) {
    return [&into, accepted](Text option, Text value) {
        into = parse_choice(option, value, accepted);
    };
}

Setter flag(bool& into) {
    return [&into](Text, Text) { into = true; };
}

Setter shape_list(std::vector<Shape>& into, bool squares) {
    return [&into, squares](Text option, Text value) {
        std::vector<Shape> shapes;
        std::istringstream list(value + ",");
        for (std::string each; std::getline(list, each, ',');) {
            long long a = 0, b = 0, c = 0;
            char more;
            const auto three = [&](const char* pattern) {
                return std::sscanf(each.c_str(), pattern, &a, &b, &c, &more) == 3 &&
                       std::min({a, b, c}) > 0 && std::max(a, b) <= kMaxEdge && c <= kMaxK;
            };
            if (!squares && three("%10lldx%10lldx%10lld%c"))
                shapes.push_back({int(a), int(b), int(c)});
            else if (each.find_first_of("x:") == each.npos)
                shapes.push_back(square(parse_number(option, each, 1, kMaxK)));
            else if (three("%10lld:%10lld:%10lld%c") && a <= b && b <= kMaxK)
                for (; a <= b; a += c) shapes.push_back(square(a));
            else
                throw refused(option, each,
                              format("takes S or FIRST:LAST:STEP%s from 1 to %lld, or several "
                                     "with commas between",
                                     squares ? "" : " or MxNxK", kMaxK));
        }
        into = shapes;
    };
}

// Looks whether the file can be written before the work, not after it.
Setter file_name(std::string& into) {
    return [&into](Text option, Text value) {
        const std::filesystem::path path = value;
        const auto status = std::filesystem::status(path);
        const bool there = std::filesystem::exists(status);
        if (value.empty() || (there && !std::filesystem::is_regular_file(status)))
            throw refused(option, value, "takes the name of a file");
        if (access(there ? path.c_str() : (path.parent_path() / ".").c_str(), W_OK) != 0)
            throw refused(option, value, std::string("can't be written: ") + std::strerror(errno));
        into = value;
    };
}

static void print_help(Text name, Text about, const OptionTable& options, Text examples) {
    std::printf("%s: %s\n\n", name.c_str(), about.c_str());
    for (const Option& each : options)
        std::printf("  %-18s  %s\n", (each.dashed() + " " + each.takes).c_str(), each.help.c_str());
    std::printf(
        "  %-18s  this text\n\n%s\n\n"
        "Exit codes: 0 verified, 1 wrong result, 2 bad command line or unwritable output,\n"
        "3 device or memory failed, 77 no usable GPU\n",
        "-h, --help", examples.c_str());
    flush_output();
}

// Returns false if only the help was asked for.
static bool parse_command_line(Text name, Text about, const OptionTable& options, Text examples,
                               int argc, char** argv) {
    const auto check = [](bool good, Text why) {
        if (!good) throw Failure(kBadCommandLine, why + "; see --help");
    };
    for (int i = 1; i < argc; ++i) {  // --name value or --name=value
        const std::string word = argv[i], dashed = word.substr(0, word.find('='));
        check(word[0] == '-', "unexpected argument '" + word + "'");
        if (word == "-h" || word == "--help")
            return print_help(name, about, options, examples), false;
        const auto option = std::find_if(options.begin(), options.end(), [&](const Option& each) {
            return each.dashed() == dashed;
        });
        check(option != options.end(), "unknown option '" + dashed + "' in this build");
        const bool takes = !option->takes.empty(), joined_to_it = dashed != word;
        check(takes || !joined_to_it, word + ": takes no value");
        check(!takes || joined_to_it || i + 1 < argc, word + ": needs a value");
        option->set(dashed, joined_to_it ? word.substr(dashed.size() + 1) : takes ? argv[++i] : "");
    }
    return true;
}

int run_program(Text name, Text about, const OptionTable& options, Text examples, int argc,
                char** argv, const std::function<void()>& body) {
    try {
        if (parse_command_line(name, about, options, examples, argc, argv)) body();
        flush_output();
        return kVerified;
    } catch (...) {
        return report_failure(name);
    }
}

OptionTable run_options(RunOptions& o, int most_repeats) {
    return {{"verify-only", "", "check the results and stop", flag(o.verify_only)},
            {"repeat", "R", format("timed runs of each (default %d)", o.repeat),
             number(o.repeat, 1, most_repeats)},
            {"csv", "FILE", "also write the rows to FILE", file_name(o.csv)},
            {"wide", "", "show all columns, as --csv writes them", flag(o.wide)}};
}

Option device_option(int& device) {
    return {"device", "D", "use CUDA device D (default 0)", number(device, 0, 1023)};
}

OptionTable product_options(Options& o, Text default_size) {
    OptionTable options = {
        {"size", "S", "square matrices S x S (default " + default_size + ")", shape_list(o.shapes)},
        {"sizes", "LIST", "a row for each of S,FIRST:LAST:STEP,MxNxK,...", shape_list(o.shapes)},
        {"m", "M", "rows of A and C; what is not given of M, N, K comes from --size",
         number(o.m, 1, kMaxEdge)},
        {"n", "N", "columns of B and C", number(o.n, 1, kMaxEdge)},
        {"k", "K", "columns of A, rows of B", number(o.k, 1, kMaxK)},
        {"multiples", "X", "take only shapes that are multiples of X, or of MxNxK",
         [&o, usual = to_string(square(std::stoll(default_size)))](Text option, Text text) {
             std::vector<Shape> multiples;
             shape_list(multiples)(option, text);
             o.multiples = multiples[0];
             for (Shape& s : o.shapes)
                 if (to_string(s) == usual) s = rounded_up(s, o);
         }},
        {"seed", "S", "another set of random inputs (default 1)", number(o.seed, 0, UINT32_MAX)},
        {"gpu", "NAME", "predict for another GPU: " + joined(gpu_names()),
         [&o](Text option, Text value) {
             o.gpu = gpu_named(parse_choice(option, value, gpu_names()));
         }},
        {"limits", "FILE", "predict from what roofline measured and wrote to FILE (its --csv)",
         [&o](Text option, Text value) { o.gpu = read_limits(value, option); }}};
    return options += run_options(o, 10000);
}

std::vector<Shape> shapes_of(const Options& o) {
    std::vector<Shape> shapes;
    for (const Shape& s : o.shapes)
        shapes.push_back({int(o.m ? o.m : s.M), int(o.n ? o.n : s.N), int(o.k ? o.k : s.K)});
    for (const Shape& s : shapes)
        if (to_string(rounded_up(s, o)) != to_string(s))
            throw Failure(kBadCommandLine, to_string(s) + ": --multiples takes only multiples of " +
                                               to_string(o.multiples));
    return shapes;
}

Shape rounded_up(Shape s, const Options& o) {
    const auto up = [](int length, int of) { return (length + of - 1) / of * of; };
    return {up(s.M, o.multiples.M), up(s.N, o.multiples.N), up(s.K, o.multiples.K)};
}

static bool all_square(const Options& o) {
    const std::vector<Shape> shapes = shapes_of(o);
    return std::all_of(shapes.begin(), shapes.end(),
                       [](Shape s) { return s.M == s.N && s.N == s.K; });
}

Row row_of(Text stage, Shape s, double error) {
    return {{"stage", stage},           {"m", std::to_string(s.M)},
            {"n", std::to_string(s.N)}, {"k", std::to_string(s.K)},
            {"verified", "exact"},      {"error_of_bound", format("%.6f", error)}};
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
