// The program of a stage, from its main() down to its kernel.
//
// A stage hands over a launcher, C = A * B for row-major matrices on the device, and its facts.
// run_stage(), at the end, reads the command line. run_cases() then takes each shape in turn:
//
//   operands   A and B are filled, C with NaN, and C lies between guards            operands.h
//   verify     on integers C must be equal, while the emulator counts; on reals
//              within a proven bound                                                verify.h
//   cause      what explains a wrong product: its elements,                         causes.h
//              or other shapes                                                      other_shapes.h
//   accuracy   with --accuracy, the error against FP64, beside plain FP32's        accuracy.h
//   measure    a GPU times the launches, beside cuBLAS; the emulator hands over
//              what it has counted                                                  machine.h
//   predict    the roofline says how fast it could be                               roofline.h
//   report     a row in the table and in the CSV                                    table.h
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "common/accuracy.h"
#include "common/build.h"
#include "common/checked_launch.h"
#include "common/device.h"
#include "common/device_operands.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/machine.h"
#include "common/options.h"
#include "common/other_shapes.h"
#include "common/stage.h"
#include "common/table.h"
#include "common/verify.h"

// The name of a stage: 05_double_buffer for 05_double_buffer/matmul.cu, 04_unroll/1_name for a step
// of a chapter, half2 for any other program such as 06_wmma/half2.cu.
static std::string stage_name(const char* source) {
    const std::filesystem::path path = std::filesystem::absolute(source);
    const std::string folder = path.parent_path().filename(), file = path.stem();
    if (file == "matmul") return folder;
    return std::isdigit(file[0]) ? folder + "/" + file : file;
}

// The stage that is being verified. If its launcher calls exit(), the program must not pass as
// verified.
static const char* running_stage = nullptr;
static void refuse_exit() {
    if (!running_stage) return;
    std::fflush(stdout);
    std::fprintf(stderr, "%s: exit() was called before the result was verified\n", running_stage);
    std::_Exit(kWrongResult);
}

// A shape to verify with one configuration of the kernel, or, if its name is empty, with the one
// that the launcher chooses.
struct Case {
    Shape shape;
    std::string config;
    bool reported;  // in a row
};

// The smallest shape that the launcher takes and that is at least as large as `s`.
static Shape rounded_up(Shape s, const Facts& facts) {
    const auto& [m, n, k] = facts.multiples;
    return {ceil_div(s.M, m) * m, ceil_div(s.N, n) * n, ceil_div(s.K, k) * k};
}

// Throws Failure(kBadCommandLine) unless the launcher takes that shape.
static void check_multiples(Shape s, const Facts& facts) {
    const auto& [m, n, k] = facts.multiples;
    if (s.M % m || s.N % n || s.K % k)
        throw Failure(kBadCommandLine, format("%s: takes only multiples of %d x %d x %d",
                                              to_string(s).c_str(), m, n, k));
}

// Whether the launcher takes that shape with this configuration.
static bool takes(const Facts& facts, const ConfigFacts& config, Shape s) {
    only_config = config.name;
    try {
        if (facts.loaded_elements) facts.loaded_elements(s.M, s.N, s.K);
    } catch (const NotTaken&) {
        return false;
    }
    return true;
}

// Whether the command line gives no size.
static bool of_default_size(const Options& options) {
    return options.sizes.empty() && !options.m && !options.n && !options.k;
}

// The shapes that the command line gives. The default size is preceded by shapes for the partial
// tiles that it leaves out, and with --all-configs any size by shapes for the configurations that
// the launcher would not choose; with --config, too, by those of that configuration.
static std::vector<Case> cases_of(const Options& options, const std::vector<Shape>& asked,
                                  const Facts& facts) {
    std::vector<Case> cases;
    const std::string config_asked = only_config;
    if (config_asked.empty() && of_default_size(options))
        for (const Shape& s : Machine::kBeforeDefault)
            cases.push_back({rounded_up(s, facts), "", false});
    if (options.all_configs)
        for (const ConfigFacts& config : facts.configs) {
            if (!config_asked.empty() && config.name != config_asked) continue;
            const std::vector<Shape> shapes = Machine::shapes_for(config);
            const size_t before = cases.size();
            for (const Shape& s : shapes)
                if (takes(facts, config, s)) cases.push_back({s, config.name, false});
            if (cases.size() == before && !shapes.empty())
                throw Failure(kWrongResult, "the configuration " + config.name + " takes no shape");
        }
    for (const Shape& s : asked) cases.push_back({s, config_asked, true});
    return cases;
}

// The errors of `multiply`, and what they are of plain FP32's, for each kind of data.
template <class Multiply>
static Row accuracy_of(Operands<float, float>& x, const Product& product, Machine& machine,
                       uint32_t seed, Multiply multiply) {
    Row row;
    for (const DataKind& kind : kDataKinds) {
        progress(product.name() + ": accuracy, " + kind.title);
        x.set(seed, kind.values);
        const Fp64Sample exact(x.shape, x.A, x.B);
        const auto error_of = [&](auto multiply) {
            x.clear();
            multiply();
            x.fetch();
            return exact.error_of(x.C());
        };
        const double error = error_of(multiply);
        const double of_fp32 = error_of([&] { machine.multiply_in_fp32(product); });
        add_error(row, kind, error, Machine::kFp32Name, of_fp32);
    }
    return row;
}

// Verifies a case, and measures it if it is reported. Throws Failure.
template <class In, class Out>
static void run_case(const Case& each, Launcher<In, Out> launch, const Facts& facts,
                     const Options& options, const std::string& name, Machine& machine,
                     Report& report) {
    only_config = each.config;
    try {
        // Operands, and the product of them
        const Shape s = each.shape;
        Operands<In, Out> x(s, machine.guard());
        const Product product = {name,
                                 facts,
                                 s,
                                 sizeof(In),
                                 sizeof(Out),
                                 options.bf16,
                                 x.A_device.data(),
                                 x.B_device.data(),
                                 x.C_device()};
        const auto queue_launch = [&] {
            launch(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C_device());
        };
        const auto multiply = [&] {
            queue_launch();
            finish_launch();
        };
        const auto lines_of = [&](char matrix) { return machine.lines_of(product, matrix); };

        // Verify, on integers in each order of the threads
        progress(product.name() + ": verifying " + each.config);
        machine.begin_counting(product);
        // One order shows all races, but not which block needs what another one has left. So where
        // one order is traced, that of the configurations' shapes is the last, at random.
        const bool of_config = !each.reported && !each.config.empty();
        for (int order = 0; order < thread_orders(options.all_orders); ++order) {
            begin_order(of_config ? 2 - order : order, options.seed);
            verify_exact(x, facts.arithmetic, options.seed, multiply, lines_of);
            end_order(product.traffic());
        }
        machine.end_counting();
        // Integers show what a configuration gets wrong. Reals show how the accumulators round, which
        // all configurations do alike.
        if (of_config) return;

        // Verify, on reals
        const double error = verify_reals(x, facts.arithmetic, options.seed, multiply);
        if (!each.reported) return;

        // Measure, predict and report
        Row row = row_of(name, s, error);
        if constexpr (std::is_same_v<In, float>)
            if (options.accuracy)
                add_cells(row, accuracy_of(x, product, machine, options.seed, multiply));
        if (!options.verify_only) x.set_timed(options.seed);
        machine.measure(product, queue_launch, row);
        add_cells(row, {{"config", facts.chosen ? facts.chosen(s.M, s.N, s.K) : "-"}});
        report.add(row);
        machine.after_row();
    } catch (const Failure& failure) {
        throw explained(failure).in(each.config + (each.config.empty() ? "" : " ") +
                                    to_string(each.shape));
    }
}

// Runs each case. Throws Failure, where the user has asked for no shape with what others tell of it.
template <class In, class Out>
static void run_cases(Launcher<In, Out> launch, const Facts& facts, const Options& options,
                      const std::string& name) {
    const std::string config_asked = only_config;
    const std::vector<Shape> asked =
        shapes_of(options, rounded_up(square(Machine::kDefaultSize), facts));
    for (const Shape& s : asked) check_multiples(s, facts);
    Machine machine(options, facts);
    const Columns columns = options.accuracy
                                ? accuracy_columns(Machine::kFp32Name, Machine::kFp32Title)
                                : machine.columns();
    Report report(options.csv, begin_table(asked, columns), options.wide);
    const std::vector<Case> cases = cases_of(options, asked, facts);
    for (const Case& each : cases) {
        const auto run = [&](const Case& c) {
            run_case(c, launch, facts, options, name, machine, report);
        };
        const auto failure = failure_of([&] { run(each); });
        if (!failure) continue;
        if (!of_default_size(options) || facts.multiples != Facts().multiples) throw *failure;
        std::vector<Shape> others;
        for (const Case& c : cases) others.push_back(c.shape);
        throw with_other_shapes(each.shape, *failure, others, [&](Shape s) {
            return failure_of([&] { run({s, each.config, false}); });
        });
    }
    if (config_asked.empty() && options.all_configs && !facts.configs.empty())
        std::printf("  each of its %zu configurations was verified\n", facts.configs.size());
    if (config_asked.empty()) machine.check_launched(facts);
    report.save();
}

// The description of a stage's program, whose command line sets `options`.
static Program program_of(const std::string& name, const char* type, const Facts& facts,
                          Options& options) {
    Program program;
    program.name = name;
    program.about =
        "C = A * B for row-major A (M x K), B (K x N), C (M x N); verifies, then times.";
    program.examples = "Examples:  " + name +
                       " --sizes 1024:8192:1024 --csv ladder.csv\n           " + name +
                       " -m 37 -n 129 -k 65 --verify-only";
    program.kind = "stage";
    program.build = kBuild;
    program.types = {type};
    program.multiples.assign(facts.multiples.begin(), facts.multiples.end());
    program.arithmetic = facts.arithmetic.name;
    for (const ConfigFacts& config : facts.configs) program.configs.push_back(config.name);

    OptionTable& table = program.options;
    table = product_options(options, std::to_string(Machine::kDefaultSize));
    table.push_back(device_option(options.device));
    if (program.types[0] == "fp32")
        table.push_back({"--accuracy", "",
                         "show the errors against FP64, and their quotients by plain FP32's",
                         flag(options.accuracy)});
    if (facts.bf16) {
        program.types.push_back("bf16");
        table.push_back({"--bf16", "", "A and B of bfloat16 instead of FP16", flag(options.bf16)});
    }
    if (!program.configs.empty())
        table.push_back({"--config", "NAME", "launch this configuration, whichever would be chosen",
                         [configs = program.configs](const std::string& value) {
                             only_config = parse_choice(value, configs);
                         }});
    add_options(table, Machine::options(options));
    return program;
}

template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv,
              const char* source) {
    const std::string name = stage_name(source);
    Options options;
    const Program program = program_of(name, sizeof(In) == 4 ? "fp32" : "fp16", facts, options);
    [[maybe_unused]] static const int once = std::atexit(refuse_exit);
    int code = kVerified;
    try {
        if (parse_command_line(program, argc, argv)) {
            running_stage = name.c_str();
            if (options.bf16) run_cases(facts.bf16, facts, options, name + " bf16");
            else run_cases(launch, facts, options, name);
        }
    } catch (...) {
        code = print_exception(name);
    }
    running_stage = nullptr;
    return code;
}

template int run_stage(Launcher<float, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, half>, const Facts&, int, char**, const char*);
