// The program of a stage, from its main() down to its kernel.
//
// A stage hands over a launcher, C = A * B for row-major matrices on the device, and its facts.
// run_stage(), at the end, reads the command line. run_shapes() then takes each shape in turn:
//
//   operands   A and B are filled, C with NaN, and C lies between guards            operands.h
//   verify     on integers C must be equal, on reals within a proven bound          verify.h
//   measure    a GPU times the launches, beside cuBLAS; the emulator counts         machine.h
//   predict    the roofline says how fast it could be                               roofline.h
//   report     a row in the table and in the CSV                                    report.h
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "common/machine.h"
#include "common/stage.h"

// The name of a stage: 05_double_buffer for 05_double_buffer/matmul.cu, 04_unroll/1_name for a step
// of a chapter, half2 for any other program such as 06_wmma/half2.cu.
static std::string stage_name(const char* source) {
    const std::filesystem::path path = std::filesystem::absolute(source);
    const std::string folder = path.parent_path().filename(), file = path.stem();
    if (file == "matmul") return folder;
    return std::isdigit(file[0]) ? folder + "/" + file : file;
}

Traffic Product::traffic() const {
    if (!facts.loaded_elements) return {};
    const auto [M, N, K] = shape;
    const double of_c = double(M) * N;
    const double more = facts.stored_elements ? facts.stored_elements(M, N, K) - of_c : 0;
    return {in_bytes * facts.loaded_elements(M, N, K), out_bytes * of_c + sizeof(float) * more,
            facts.shared_loaded_bytes ? facts.shared_loaded_bytes(M, N, K) : 0};
}

// A launcher may call exit(), which must not pass for a verdict.
static const char* without_verdict = nullptr;  // the stage's name until there is one
static void refuse_exit() {
    if (!without_verdict) return;
    std::fflush(stdout);
    std::fprintf(stderr, "%s: exit() was called before the result was verified\n", without_verdict);
    std::_Exit(kWrongResult);
}

// A shape to verify, with that form of the kernel, or with the one that the launcher chooses.
struct Case {
    Shape shape;
    std::string form;
    bool reported;  // in a row
};

static bool is_multiple(Shape s, const Facts& facts) {
    const auto& [m, n, k] = facts.multiples;
    return s.M % m == 0 && s.N % n == 0 && s.K % k == 0;
}

// The least shape that the launcher takes and that is no smaller.
static Shape rounded_up(Shape s, const Facts& facts) {
    const auto& [m, n, k] = facts.multiples;
    return {ceil_div(s.M, m) * m, ceil_div(s.N, n) * n, ceil_div(s.K, k) * k};
}

// Whether the form takes that shape, as the launcher says.
static bool takes(Product product, const FormFacts& form, Shape shape) {
    only_form = form.name, product.shape = shape;
    try {
        product.traffic();
    } catch (const NotTaken&) {
        return false;
    }
    return true;
}

// The shapes that are asked for. Before the default, or with --all-forms, what they may leave out:
// guards that act, and forms that the launcher does not choose there.
static std::vector<Case> cases_of(const Options& options, const std::vector<Shape>& asked,
                                  const Product& product) {
    std::vector<Case> cases;
    const std::string form_asked = only_form;
    const bool by_default = options.sizes.empty() && !options.m && !options.n && !options.k;
    if (form_asked.empty() && by_default)
        for (const Shape& s : Machine::kBeforeDefault)
            cases.push_back({rounded_up(s, product.facts), "", false});
    if (form_asked.empty() && (by_default || options.all_forms))
        for (const FormFacts& form : product.facts.forms) {
            const std::vector<Shape> shapes = Machine::shapes_for(form, options.all_forms);
            const size_t before = cases.size();
            for (const Shape& s : shapes)
                if (takes(product, form, s)) cases.push_back({s, form.name, false});
            if (cases.size() == before && !shapes.empty())
                throw Failure(kWrongResult, "the form " + form.name + " takes no shape");
        }
    for (const Shape& s : asked) cases.push_back({s, form_asked, true});
    return cases;
}

// Verifies and measures each shape; throws Failure.
template <class In, class Out>
static void run_shapes(Launcher<In, Out> launch, const Facts& facts, const Options& options,
                       const std::string& name) {
    const auto multiply = [=](Shape s, Matrices x) {
        launch(s.M, s.N, s.K, static_cast<In*>(x.A), static_cast<In*>(x.B), static_cast<Out*>(x.C));
    };
    Product product = {name, facts, sizeof(In), sizeof(Out), options.bf16, multiply};
    Machine machine(options, facts);
    if (options.large_indices) return verify_large_indices(product);
    const std::vector<Shape> asked =
        shapes_of(options, rounded_up(square(Machine::kDefaultSize), facts));
    const auto& [m, n, k] = facts.multiples;
    for (const Shape& s : asked)
        if (!is_multiple(s, facts))
            throw Failure(kBadCommandLine, format("%s: takes only multiples of %d x %d x %d",
                                                  to_string(s).c_str(), m, n, k));
    Report report(options.csv, begin_table(asked, machine.columns()), options.wide);
    const std::vector<Case> cases = cases_of(options, asked, product);
    for (const Case& each : cases)
        doing(each.form + (each.form.empty() ? "" : " ") + to_string(each.shape), [&] {
            const Shape s = product.shape = each.shape;
            only_form = each.form;
            Operands<In, Out> x(s, machine.guard());
            product.at = {x.A_device.data(), x.B_device.data(), x.C_device()};
            progress(product.name() + ": verifying " + each.form);
            const auto launch_and_wait = [&] {
                multiply(s, product.at);
                finish_launch();
            };
            verify_integers(x, facts.arithmetic, options.seed, launch_and_wait,
                            [&](auto& verify) { machine.verify_in_each_order(product, verify); });
            const bool one_of_many = !each.form.empty() && !each.reported;  // all add alike
            if (one_of_many) return;
            const double error = verify_reals(x, facts.arithmetic, options.seed, launch_and_wait);
            if (!each.reported) return;
            Row row = row_of(name, s, error);
            if (!options.verify_only) x.set_timed(options.seed);
            machine.measure(product, row);
            row += {{"form", facts.chosen ? facts.chosen(s.M, s.N, s.K) : "-"}};
            report.add(row);
            machine.after_row();
        });
    if (cases.size() > asked.size() && !facts.forms.empty())
        std::printf("  each of its %zu forms was verified\n", facts.forms.size());
    machine.end(product);
    report.save();
}

template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv,
              const char* source) {
    const std::string name = stage_name(source);
    [[maybe_unused]] static const int once = std::atexit(refuse_exit);
    Options options;
    OptionTable table = product_options(options, std::to_string(Machine::kDefaultSize));
    table.push_back(device_option(options.device));
    if (facts.bf16)
        table.push_back({"--bf16", "", "A and B of bfloat16 instead of FP16", flag(options.bf16)});
    std::vector<std::string> forms;
    for (const FormFacts& form : facts.forms) forms.push_back(form.name);
    if (!forms.empty())
        table.push_back({"--form", "NAME", "launch this form, whichever would be chosen",
                         [=](auto& value) { only_form = parse_choice(value, forms); }});
    const auto& [m, n, k] = facts.multiples;
    Program program = {
        name,
        "C = A * B for row-major A (M x K), B (K x N), C (M x N); verifies, then times.",
        table += Machine::options(options),
        "Examples:  " + name + " --sizes 1024:8192:1024 --csv ladder.csv\n           " + name +
            " -m 37 -n 129 -k 65 --verify-only",
        "stage",
        kBuild};
    program.types = {sizeof(In) == 4 ? "fp32" : "fp16"};
    if (facts.bf16) program.types.push_back("bf16");
    program.forms = forms;
    program.multiples = {m, n, k};
    const int code = run_program(program, argc, argv, [&] {
        without_verdict = name.c_str();
        if (options.bf16) run_shapes(facts.bf16, facts, options, name + " bf16");
        else run_shapes(launch, facts, options, name);
    });
    without_verdict = nullptr;
    return code;
}

template int run_stage(Launcher<float, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, float>, const Facts&, int, char**, const char*);
template int run_stage(Launcher<half, half>, const Facts&, int, char**, const char*);
