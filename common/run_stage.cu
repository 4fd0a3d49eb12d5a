// The program of a stage, from its main() down to its kernel.
//
// A stage hands over a launcher, C = A * B for row-major matrices on the device, and its facts.
// run_stage() reads the command line. run_shapes() then takes each shape in turn:
//
//   operands   A and B are filled, C with NaN, and C lies between guards            operands.h
//   verify     on integers C must be equal, on reals within a proven bound          verify.h
//   measure    a GPU times the launches, beside cuBLAS; the emulator counts         machine.h
//   predict    the roofline says how fast it could be                               lab/limits.h
//   report     a row in the table and in the CSV                                    report.h
#include <cctype>
#include <filesystem>

#include "common/device.h"
#include "common/harness.h"
#include "common/machine.h"

// The name of a stage: 05_double_buffer for 05_double_buffer/matmul.cu, 04_unroll/1_name for a step
// of a chapter, half2 for any other program such as 06_wmma/half2.cu.
static std::string stage_name(const char* source) {
    const std::filesystem::path path = std::filesystem::absolute(source);
    const std::string folder = path.parent_path().filename(), file = path.stem();
    if (file == "matmul") return folder;
    return std::isdigit(file[0]) ? folder + "/" + file : file;
}

// The options of a product, and those that only CUDA stages have.
static OptionTable stage_options(Options& o, bool has_bf16) {
    const std::string default_size = std::to_string(Machine::kDefaultSize),
                      cpu = only(kVerifiesOnCpu);
    o.shapes = {square(Machine::kDefaultSize)};
    const std::string traced = !cpu.empty()        ? cpu
                               : Machine::traces() ? ""
                                                   : "the traced CPU builds (their names end in "
                                                     "_cpu_trace) have it";
    const OptionTable more = {
        device_option(o.device),
        {"bf16", "", "A and B of bfloat16 instead of FP16", flag(o.bf16),
         has_bf16 ? "" : "a stage with a launcher for bfloat16 takes it"},
        {"order", "ORDER",
         "CPU build: run threads forward, reverse, random or all three (default all; traced: "
         "forward)",
         choice(o.order, {"forward", "reverse", "random", "all"}), cpu},
        {"large-indices", "",
         "CPU build: instead check that indices hold at more than 2^32 elements",
         flag(o.large_indices), cpu},
        {"lines", "", "CPU build with tracing: the traffic of every source line", flag(o.lines),
         traced},
        {"record", "FILE",
         "CPU build with tracing: write what the first and the last block access, in order",
         file_name(o.record), traced}};
    OptionTable options = product_options(o, default_size);
    options.insert(options.end(), more.begin(), more.end());
    return options;
}

// Bytes and flop per byte that the stage states.
Traffic traffic_of(const Product& p) {
    const auto [M, N, K] = p.shape;
    const double of_c = double(M) * N;
    const double more = p.facts.stored_elements ? p.facts.stored_elements(M, N, K) - of_c : 0;
    return {bytes_of(p.in) * p.facts.loaded_elements(M, N, K),
            bytes_of(p.out) * of_c + sizeof(float) * more,
            p.facts.shared_loaded_bytes ? p.facts.shared_loaded_bytes(M, N, K) : 0};
}

static Intensity intensity_of(const Product& p) {
    const double flop = 2.0 * p.shape.M * p.shape.N * p.shape.K;
    const Traffic all = traffic_of(p);
    return {flop / (all.loaded + all.stored), all.shared > 0 ? flop / all.shared : 0};
}

template <class T>
constexpr Type kTypeOf = sizeof(T) == 4                     ? Type::kFloat
                         : std::is_same_v<T, __nv_bfloat16> ? Type::kBfloat16
                                                            : Type::kHalf;

// What was typed. code: how the program ends already, after --help or for bad input.
struct Command {
    Command(const char* source, int argc, char** argv, bool has_bf16) : name(stage_name(source)) {
        const std::string examples = "Examples:  " + name +
                                     " --sizes 1024:8192:1024 --csv ladder.csv\n           " +
                                     name + " -m 37 -n 129 -k 65 --verify-only";
        try {
            if (!parse_command_line(
                    name,
                    "C = A * B for row-major A (M x K), B (K x N), C (M x N); verifies, then times.",
                    stage_options(options, has_bf16), examples, argc, argv))
                code = kVerified;
        } catch (...) {
            code = report_failure(name);
        }
    }
    std::string name;
    Options options;
    std::optional<int> code;
};

template <class In, class Out>
static int run_shapes(Launcher<In, Out> launch, const Facts& facts, const Command& command) try {
    const Options& options = command.options;
    Report report(options.csv, Machine::columns(options), options.wide);
    Machine machine(options, facts.arithmetic);
    Product product = {command.name + (options.bf16 ? " bf16" : ""), facts, kTypeOf<In>,
                       kTypeOf<Out>};
    if (options.large_indices) {
        machine.verify_large_indices(product, [&](Shape s, void* A, void* B, void* C) {
            launch(s.M, s.N, s.K, static_cast<In*>(A), static_cast<In*>(B), static_cast<Out*>(C));
        });
        flush_output();
        return kVerified;
    }
    std::vector<Shape> shapes = machine.shapes_before();
    const size_t unreported = shapes.size();
    for (const Shape& shape : shapes_of(options)) shapes.push_back(shape);
    for (size_t i = 0; i < shapes.size(); ++i) try {
            const Shape s = product.shape = shapes[i];
            Operands<In, Out> x(s);
            In *const A = x.A_device.data(), *const B = x.B_device.data();
            Out* const C = x.C_device();
            product.A = A, product.B = B, product.C = C;
            product.launch = [=] { launch(s.M, s.N, s.K, A, B, C); };
            const auto multiply = [=] {
                launch(s.M, s.N, s.K, A, B, C);
                finish_launch();
            };
            machine.begin(product);
            const double error = verify_product(x, facts.arithmetic, options.seed, multiply,
                                                [&] { return machine.another_order(); });
            if (i < unreported) continue;
            Row row = row_of(product.stage, s, error);
            if (machine.times()) x.set_timed(options.seed);
            const double gflops = machine.measure(product, row);
            add_prediction(row, intensity_of(product), facts.arithmetic, machine.gpu(), gflops);
            report.add(row += machine.where());
        } catch (const Failure& failure) {
            throw Failure(failure.code, to_string(shapes[i]) + ": " + machine.explain(failure));
        }
    report.save();
    return kVerified;
} catch (...) {
    return report_failure(command.name);
}

int run_stage(Launcher<float, float> launch, const Facts& facts, int argc, char** argv,
              const char* source) {
    const Command command(source, argc, argv, false);
    return command.code ? *command.code : run_shapes(launch, facts, command);
}

int run_stage(Launcher<half, float> launch, const Facts& facts, int argc, char** argv,
              const char* source) {
    const Command command(source, argc, argv, false);
    return command.code ? *command.code : run_shapes(launch, facts, command);
}

int run_stage(Launcher<half, float> launch, Launcher<__nv_bfloat16, float> launch_bf16,
              const Facts& facts, int argc, char** argv, const char* source) {
    const Command command(source, argc, argv, true);
    if (command.code) return *command.code;
    return command.options.bf16 ? run_shapes(launch_bf16, facts, command)
                                : run_shapes(launch, facts, command);
}

int run_stage(Launcher<half, half> launch, const Facts& facts, int argc, char** argv,
              const char* source) {
    const Command command(source, argc, argv, false);
    return command.code ? *command.code : run_shapes(launch, facts, command);
}
