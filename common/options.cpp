#include "common/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/errors.h"

static Failure bad_value(const std::string& accepted) {
    return Failure(kBadCommandLine, "takes " + accepted);
}

long long parse_number(const std::string& text, long long low, long long high) {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0' && errno == 0 && value >= low && value <= high) return value;
    throw bad_value(format("a whole number from %lld to %lld", low, high));
}

std::string parse_choice(const std::string& text, const std::vector<std::string>& accepted) {
    if (std::count(accepted.begin(), accepted.end(), text)) return text;
    throw bad_value("one of " + joined(accepted));
}

Setter shape_list(std::vector<Shape>& into) {
    return [&into](const std::string& value) {
        std::vector<Shape> shapes;
        std::istringstream list(value + ",");
        for (std::string each; std::getline(list, each, ',');) {
            long long a = 0, b = 0, c = 1;
            char x = ':', y = ':', more;
            const int found =
                std::sscanf(each.c_str(), "%10lld%c%10lld%c%10lld%c", &a, &x, &b, &y, &c, &more);
            if (found == 1) b = a;  // S is S:S:1
            const bool good = (found == 1 || found == 5) && x == y && std::min({a, b, c}) > 0;
            if (good && x == 'x' && std::max(a, b) <= kMaxEdge && c <= kMaxK)
                shapes.push_back({int(a), int(b), int(c)});
            else if (good && x == ':' && a <= b && b <= kMaxK)
                for (; a <= b; a += c) shapes.push_back(square(a));
            else
                throw bad_value(
                    format("S, FIRST:LAST:STEP or MxNxK, or a list of these, with numbers "
                           "from 1 to %lld (M and N: to %lld)",
                           kMaxK, kMaxEdge));
        }
        into = shapes;
    };
}

// Checks before the work begins that the file can be written, and that it is not some other file of
// the user's.
Setter file_name(std::string& into) {
    return [&into](const std::string& value) {
        const std::filesystem::path path = value, folder = path.parent_path() / ".";
        std::error_code error;  // without it these functions throw
        const auto type = std::filesystem::status(path, error).type();
        const bool exists = type == std::filesystem::file_type::regular;
        const bool accepted = exists || type == std::filesystem::file_type::not_found;
        if (value.empty() || !accepted || access(folder.c_str(), W_OK) != 0)
            throw bad_value("the name of a file that can be written");
        std::string first;  // in a CSV or a record: names separated by commas
        std::getline(std::ifstream(path), first);
        const bool names = first.find(',') != std::string::npos &&
                           std::all_of(first.begin(), first.end(), [](unsigned char c) {
                               return std::isalnum(c) || c == '_' || c == ',';
                           });
        const bool empty = !exists || std::filesystem::file_size(path, error) == 0;
        if (!empty && !names && first.rfind("<svg", 0) != 0)
            throw Failure(kBadCommandLine, "exists already, and is not a file of results");
        into = value;
    };
}

static void print_help(const Program& program) {
    std::printf("%s: %s\n\n", program.name.c_str(), program.about.c_str());
    for (const Option& each : program.options)
        std::printf("  %-18s  %s\n", (each.name + " " + each.takes).c_str(), each.help.c_str());
    std::printf(
        "  -h, --help          this text\n"
        "  --describe          what this program is and takes, as JSON\n\n%s\n\n"
        "Exit codes: 0 verified, 1 wrong result, 2 bad command line or unwritable output,\n"
        "3 device or memory failed, 77 no usable GPU\n",
        program.examples.c_str());
}

// A string in JSON.
static std::string json_string(const std::string& text) {
    std::string all = "\"";
    for (const unsigned char c : text)
        if (c == '"' || c == '\\') all += std::string("\\") + char(c);
        else if (c < ' ') all += format("\\u%04x", c);
        else all += char(c);
    return all + '"';
}

// A list in JSON, of values in JSON.
static std::string json_list(const std::vector<std::string>& values) {
    return "[" + joined(values) + "]";
}

static std::string json_strings(std::vector<std::string> words) {
    for (std::string& each : words) each = json_string(each);
    return json_list(words);
}

static void print_description(const Program& program) {
    std::vector<std::string> options, multiples;
    for (const Option& each : program.options)
        options.push_back("{\"name\": " + json_string(each.name) + ", \"takes\": " +
                          json_string(each.takes) + ", \"help\": " + json_string(each.help) + "}");
    for (const int each : program.multiples) multiples.push_back(std::to_string(each));
    const std::pair<const char*, std::string> members[] = {
        {"name", json_string(program.name)},
        {"about", json_string(program.about)},
        {"kind", json_string(program.kind)},
        {"build", json_string(program.build)},
        {"options", json_list(options)},
        {"types", json_strings(program.types)},
        {"stages", json_strings(program.stages)},
        {"configs", json_strings(program.configs)},
        {"multiples", multiples.empty() ? "null" : json_list(multiples)},
        {"arithmetic", json_string(program.arithmetic)}};
    std::vector<std::string> all;
    for (const auto& [name, value] : members) all.push_back(json_string(name) + ": " + value);
    std::printf("{%s}\n", joined(all).c_str());
}

static bool begins_with(const std::string& name, const std::string& typed) {
    return name.compare(0, typed.size(), typed) == 0;
}

// Whether the two differ in at most two adjacent letters, after the dashes and the first letter.
static bool nearly_equal(const std::string& name, const std::string& typed) {
    const auto [first, its_first] =
        std::mismatch(name.begin(), name.end(), typed.begin(), typed.end());
    const auto [last, its_last] =
        std::mismatch(name.rbegin(), std::make_reverse_iterator(first), typed.rbegin(),
                      std::make_reverse_iterator(its_first));
    return first - name.begin() >= 3 && last.base() - first <= 2 &&
           its_last.base() - its_first <= 2;
}

// The option that was probably meant by `word`, or "".
static std::string nearest_option(const std::string& word, const OptionTable& options) {
    const std::string typed = word.substr(0, word.find('='));
    for (const auto alike : {begins_with, nearly_equal})
        for (const Option& each : options)
            if (typed.size() >= 4 && alike(each.name, typed)) return each.name;
    return "";
}

static bool is_control(char c) { return std::iscntrl((unsigned char)c); }

// What was typed, in one line and without control characters.
static std::string quoted(std::string typed) {
    std::replace_if(typed.begin(), typed.end(), is_control, '?');
    return "'" + typed + "'";
}

bool parse_command_line(const Program& program, int argc, char** argv) {
    const OptionTable& options = program.options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "-h" || word == "--help") {
            print_help(program);
            return false;
        }
        if (word == "--describe") {
            print_description(program);
            return false;
        }
        const auto option = std::find_if(options.begin(), options.end(),
                                         [&](const Option& each) { return each.name == word; });
        if (option == options.end()) {
            const std::string near = nearest_option(word, options);
            throw Failure(kBadCommandLine,
                          "no option " + quoted(word) + " in this build; " +
                              (near.empty() ? "see" : "did you mean " + near + "? See") +
                              " --help");
        }
        const bool has_value = !option->takes.empty();
        if (has_value && i + 1 == argc) throw Failure(kBadCommandLine, word + ": needs a value");
        const std::string value = has_value ? argv[++i] : "";
        with_context(word + " " + quoted(value), [&] { option->set(value); });
    }
    return true;
}

// Breaks lines that are wider than the terminal at spaces, and indents what follows. A shape
// ("256 x 256 x 256") is not broken.
static std::string wrapped(const std::string& text) {
    winsize size = {};
    if (!isatty(STDERR_FILENO)) return text;
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const size_t columns = std::max(known ? int(size.ws_col) : 80, 40);
    std::string all, line;
    for (std::istringstream lines(text); std::getline(lines, line);) {
        const std::string indent(line.find_first_not_of(' ') + 4, ' ');
        while (line.size() > columns) {
            size_t space = line.rfind(' ', columns);
            while (space != line.npos && space >= indent.size() &&
                   (line.compare(space, 3, " x ") == 0 || line.compare(space - 2, 3, " x ") == 0))
                space = line.rfind(' ', space - 1);
            if (space == line.npos || space < indent.size()) break;
            all += line.substr(0, space) + "\n";
            line = indent + line.substr(space + 1);
        }
        all += line + "\n";
    }
    all.pop_back();
    return all;
}

// Prints on stderr. Under ./run, which sets ERRORS_IN_OUTPUT, the lines go to stdout, each after the
// byte 0x15 (tools/stages.py), because ./run could not restore the order of lines from two pipes.
static void print_error(const std::string& lines) {
    if (!std::getenv("ERRORS_IN_OUTPUT")) {
        std::fprintf(stderr, "%s\n", lines.c_str());
        return;
    }
    std::istringstream each(lines);
    for (std::string line; std::getline(each, line);) std::printf("\x15%s\n", line.c_str());
    std::fflush(stdout);
}

int print_exception(const std::string& name) {
    std::string wrong = name + ": ";
    ExitCode code = kDeviceFailed;
    try {
        throw;
    } catch (const Failure& failure) {
        wrong += failure.what();
        code = failure.code;
    } catch (const std::bad_alloc&) {
        wrong += "out of host memory; try a smaller size";
    } catch (const std::exception& error) {
        wrong += error.what();
    }
    progress("");
    std::fflush(stdout);
    // Control characters, such as a file name's, must not reach the terminal.
    std::replace_if(
        wrong.begin(), wrong.end(), [](char c) { return c != '\n' && is_control(c); }, '?');
    wrong = wrapped(wrong);
    if (code == kWrongResult && on_terminal() && !std::getenv("NO_COLOR"))
        wrong = "\033[31m" + wrong + "\033[0m";
    print_error(wrong);
    return code;
}

int run_program(const Program& program, int argc, char** argv, const std::function<void()>& body) {
    try {
        if (parse_command_line(program, argc, argv)) body();
        return kVerified;
    } catch (...) {
        return print_exception(program.name);
    }
}

OptionTable run_options(RunOptions& o, int most_repeats) {
    return {{"--verify-only", "", "check the results and stop", flag(o.verify_only)},
            {"--repeat", "R", format("timed runs for each row (default %d)", o.repeat),
             number(o.repeat, 1, most_repeats)},
            {"--csv", "FILE", "also write the rows to FILE", file_name(o.csv)},
            {"--wide", "", "show all columns, as --csv writes them", flag(o.wide)}};
}

Option device_option(int& device) {
    return {"--device", "D", "use CUDA device D (default 0)", number(device, 0, 1023)};
}

OptionTable product_options(Options& o, const std::string& default_size) {
    OptionTable options = {
        {"--size", "S", "square matrices S x S (default " + default_size + ")",
         shape_list(o.sizes)},
        {"--sizes", "LIST", "a row for each of S,FIRST:LAST:STEP,MxNxK,...", shape_list(o.sizes)},
        {"-m", "M", "rows of A and C; what is not given of M, N, K comes from --size",
         number(o.m, 1, kMaxEdge)},
        {"-n", "N", "columns of B and C", number(o.n, 1, kMaxEdge)},
        {"-k", "K", "columns of A, rows of B", number(o.k, 1, kMaxK)},
        {"--seed", "S", "another set of random inputs (default 1)", number(o.seed, 0, UINT32_MAX)},
        {"--gpu", "NAME", "predict for another GPU: " + joined(gpu_names()),
         [&o](const std::string& name) { o.gpu = gpu_named(parse_choice(name, gpu_names())); }},
        {"--limits", "FILE", "predict from what roofline measured and wrote to FILE (its --csv)",
         [&o](const std::string& file) { o.gpu = read_limits(file); }}};
    add_options(options, run_options(o, 10000));
    return options;
}

std::vector<Shape> shapes_of(const Options& o, Shape otherwise) {
    std::vector<Shape> shapes = o.sizes;
    if (shapes.empty()) shapes = {otherwise};
    for (Shape& s : shapes) s = {int(o.m ? o.m : s.M), int(o.n ? o.n : s.N), int(o.k ? o.k : s.K)};
    return shapes;
}

Row row_of(const std::string& stage, Shape s, double error) {
    return {{"stage", stage},           {"m", std::to_string(s.M)},
            {"n", std::to_string(s.N)}, {"k", std::to_string(s.K)},
            {"verified", "exact"},      {"error_of_bound", format("%.6f", error)}};
}

// The name of a step as it is typed: 05/1_two_buffers for 05_double_buffer/1_two_buffers.
static std::string row_name(const std::string& stage) {
    const size_t slash = stage.find('/'), number = stage.find('_');
    return number < slash && slash != stage.npos ? stage.substr(0, number) + stage.substr(slash)
                                                 : stage;
}

Columns begin_table(const std::vector<Shape>& shapes, const Columns& columns) {
    const bool one = shapes.size() == 1;
    if (one) std::printf("M x N x K = %s; ", to_string(shapes[0]).c_str());
    std::printf("a stage is verified before its row appears\n");
    Columns table = {{"stage", "stage", -21, row_name}};
    if (!one) table.insert(table.end(), {{"m", "M", 8}, {"n", "N", 7}, {"k", "K", 7}});
    table.insert(table.end(), columns.begin(), columns.end());
    return table;
}
