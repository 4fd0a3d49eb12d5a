// 08_opencl_gcn: the ladder of the slides in OpenCL C, one .cl file per stage, on any OpenCL
// device. This is the host program: it picks a device, compiles the stages' kernels, pads the
// matrices to whole tiles, verifies, and times by profiling events.
//
// Build:    g++ -O3 -std=c++17 -I. 08_opencl_gcn/matmul.cpp common/*.cpp -o 08_opencl_gcn/matmul -lOpenCL -ldl
// Articles: Fixstars slides 26 to 59
#include "08_opencl_gcn/machine.h"
#include "08_opencl_gcn/slides.h"
#include "common/errors.h"
#include "common/options.h"
#include "common/table.h"
#include "common/verify.h"

// An element of C takes a row of A and a column of B, 8 x 8 elements take eight of each, and 128 x
// 128 elements take 128 of each.
double loaded_naive(double M, double N, double K) { return M * N * 2 * K; }
double loaded_by_items(double M, double N, double K) { return M / 8 * (N / 8) * 16 * K; }
double loaded_by_groups(double M, double N, double K) { return M / 128 * (N / 128) * 256 * K; }
// At every k each work-item reads its 8 + 8 operands from local memory.
double loaded_from_local(double M, double N, double K) {
    return M / 8 * (N / 8) * 16 * K * sizeof(float);
}

const std::vector<OpenClStage> kStages = {
    {"01_naive", 1, 1, loaded_naive, nullptr},
    {"02_register_blocking", 8, 1, loaded_by_items, nullptr},
    {"03_lds_blocking", 8, 1, loaded_by_groups, loaded_from_local},
    {"04_1_unroll", 8, 8, loaded_by_groups, loaded_from_local},
    {"04_2_wide_loads", 8, 8, loaded_by_groups, loaded_from_local},
    {"04_unroll", 8, 8, loaded_by_groups, loaded_from_local},
    {"05_double_buffer", 8, 8, loaded_by_groups, loaded_from_local},
};

struct OpenClOptions : Options {
    std::string stage, platform, kernels;
    bool list = false, slides = false;
};

std::vector<std::string> stage_names() {
    std::vector<std::string> names;
    for (const OpenClStage& stage : kStages) names.push_back(stage.name);
    return names;
}

// The name of the stage that `text` means: "04_unroll", "04" or "4"; "04_1" is the first step to it.
// Throws Failure(kBadCommandLine).
std::string parse_stage(const std::string& text) {
    std::string found;
    for (const std::string& name : stage_names()) {
        const std::string begin = name.substr(0, text.size() + 1);
        if (text == name || begin == text + "_" || "0" + text == name.substr(0, 2)) found = name;
    }
    return found.empty() ? parse_choice(text, stage_names()) : found;
}

OptionTable options_of(OpenClOptions& o) {
    OptionTable table = product_options(o, "4096, on a CPU 256");
    add_options(
        table,
        {
            {"--stage", "NN", "only this stage, such as 04 (default: all)",
             [&o](const std::string& value) { o.stage = parse_stage(value); }},
            {"--platform", "NAME", "only devices of platforms with NAME in their name",
             [&o](const std::string& value) { o.platform = value; }},
            {"--device", "D", "use device D of --list (default: the first GPU, else 0)",
             number(o.device, 0, 1023)},
            {"--slides", "", "run the slides' own listings, in slides/, instead of the stages",
             flag(o.slides)},
            {"--list", "", "list the devices and stop", flag(o.list)},
            {"--kernels", "FOLDER", "take the .cl files from FOLDER (default: this chapter's)",
             [&o](const std::string& value) { o.kernels = value; }},
        });
    return table;
}

void list(const std::vector<FoundDevice>& devices, size_t chosen) {
    for (size_t i = 0; i < devices.size(); ++i) {
        const FoundDevice& d = devices[i];
        std::printf("%c %zu  %s: %s, %s, %.0f GiB\n", i == chosen ? '*' : ' ', i,
                    d.platform.c_str(), d.name.c_str(), d.gpu ? "GPU" : "not a GPU",
                    double(d.device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()) / (1 << 30));
    }
}

// Verified before the default shape, which is square and has whole tiles. Here there are several
// tiles along M, N and K, the last of which are partial. M is larger than N, so that a kernel that
// swaps rows and columns writes wrong elements of C instead of writing outside C.
constexpr Shape kBeforeDefault = {257, 129, 9};

void run_stages(const OpenClOptions& options, const FoundDevice& device) {
    const std::vector<Shape> shapes = shapes_of(options, square(device.gpu ? 4096 : 256));
    if (options.slides) {
        Report report(options.csv, Slides::table(), options.wide);
        Slides(options, options.kernels, device).run(shapes, report);
        return report.save();
    }
    OpenClMachine machine(options, device);
    Report report(options.csv, begin_table(shapes, machine.columns()), options.wide);
    const cl::Kernel resize = build_kernel(options.kernels + "/resize.cl", "resize");
    for (const OpenClStage& stage : kStages) {
        if (!options.stage.empty() && options.stage != stage.name) continue;
        progress(std::string(stage.name) + ": compiling");
        const cl::Kernel matmul =
            build_kernel(options.kernels + "/" + stage.name + ".cl", "matmul");
        const auto run = [&](const Shape& shape, bool verify_only) {
            return with_context(std::string(stage.name) + " " + to_string(shape), [&] {
                try {
                    return machine.run(stage, matmul, resize, shape, verify_only);
                } catch (const cl::Error& error) {
                    throw opencl_failure(error);
                }
            });
        };
        if (options.sizes.empty() && !options.m && !options.n && !options.k)
            run(kBeforeDefault, true);
        for (const Shape& shape : shapes) report.add(run(shape, options.verify_only));
    }
    report.save();
}

int main(int argc, char** argv) {
    OpenClOptions options;
    options.device = -1;
    const std::string source = __FILE__;
    options.kernels = source.substr(0, source.rfind('/'));
    const std::string examples =
        "Examples:  08_opencl_gcn --list\n"
        "           08_opencl_gcn --stage 04 --size 1024\n"
        "           08_opencl_gcn --platform nvidia --sizes 1024:8192:1024 --csv opencl.csv";
    const Program program = {
        "08_opencl_gcn",
        "C = A * B for row-major A (M x K), B (K x N), C (M x N), in OpenCL; verifies, then times.",
        options_of(options),
        examples,
        "stage",
        "opencl",
        {"fp32"},
        stage_names()};
    return run_program(program, argc, argv, [&] {
        try {
            const std::vector<FoundDevice> devices = find_devices(options.platform);
            const size_t chosen = choose_device(devices, options.device);
            if (options.list) list(devices, chosen);
            else run_stages(options, devices[chosen]);
        } catch (const cl::Error& error) {
            throw opencl_failure(error);
        }
    });
}
