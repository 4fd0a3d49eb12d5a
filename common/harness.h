// Every stage includes this. A stage provides a launcher and two formulas of its traffic, and
// run_stage() does the rest.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "common/stage.h"

// The number of tiles of `size` that cover `length`. length and size >= 1.
__host__ __device__ constexpr int ceil_div(int length, int size) { return (length - 1) / size + 1; }

// How many multiprocessors the GPU in use has.
inline int multiprocessors() {
    int device, count = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
}

using Stage = StageOf<float, float>;

// Runs `stage` as the command line says. Returns the program's exit code (see failure.h).
// `source` names the stage: 05_double_buffer/matmul.cu is 05_double_buffer.
template <class In, class Out>
int run_stage(StageOf<In, Out> stage, int argc, char** argv, const char* source = __builtin_FILE());

#ifndef HARNESS_COMPILED_APART

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cctype>
#include <filesystem>
#include <type_traits>

#ifdef CUDA_EMULATOR
#include "common/emulated.h"
#else
#include "common/measured.h"
#endif

// The name of a stage: 05_double_buffer for 05_double_buffer/matmul.cu, 04_unroll/1_name for a step
// of a chapter, half2 for any other program such as 06_wmma/half2.cu.
inline std::string stage_name(const char* source) {
    const std::filesystem::path path = std::filesystem::absolute(source);
    const std::string folder = path.parent_path().filename(), file = path.stem();
    if (file == "matmul") return folder;
    return std::isdigit(file[0]) ? folder + "/" + file : file;
}

// The options of a program that multiplies matrices, and those that only CUDA stages have.
inline std::vector<Option> stage_options(Options& o, bool has_bf16, bool has_half_c) {
    o.shapes = {square(Machine::kDefaultSize)};
    const std::string cpu = only(kVerifiesOnCpu);
    const std::string traced = !cpu.empty()        ? cpu
                               : Machine::traces() ? ""
                                                   : "the traced CPU builds (their names end in "
                                                     "_cpu_trace) have it";
    const std::vector<Option> more = {
        device_option(o.device),
        {"bf16", "", "10_async_mma, 11_wgmma: A and B of bfloat16 instead of FP16", flag(o.bf16),
         has_bf16 ? "" : "these stages take it: 10_async_mma, 11_wgmma"},
        {"half-c", "", "exercise 3 of 11_wgmma: C of FP16 instead of float", flag(o.half_c),
         has_half_c ? "" : "a stage with half_c takes it, as that of 11_wgmma's exercise 3"},
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
    std::vector<Option> options = product_options(o, std::to_string(Machine::kDefaultSize));
    options.insert(options.end(), more.begin(), more.end());
    return options;
}

// Stages that have a shape's operands in common: verified one by one, then measured in turns or
// counted, and predicted: a row each.
template <class In, class Out>
void run_all(const std::vector<StageOf<In, Out>>& stages, const Options& options) {
    Report report(options.csv, Machine::table(options), options.wide);
    Machine machine(options, stages[0].arithmetic);
    if (!machine.begin(stages[0])) return;
    const std::string type = options.bf16 ? " bf16" : options.half_c ? " half C" : "";
    const auto run_shape = [&](const Shape& shape) {
        Operands<In, Out> x(shape);
        std::vector<Row> rows;
        for (const auto& stage : stages)
            doing(stages.size() > 1 ? stage.name : "", [&] {
                rows.push_back(row_of(stage.name + type, shape, machine.verify(stage, x)));
            });
        const std::vector<double> gflops = machine.measure(stages, x, rows);
        for (size_t i = 0; i < stages.size(); ++i) {
            add_prediction(rows[i], intensity_of(stages[i], shape), stages[i].arithmetic,
                           machine.gpu, gflops[i]);
            report.add(rows[i] += machine.where());
        }
    };
    for (const Shape& shape : shapes_of(options)) {
        doing(to_string(shape), [&] { run_shape(shape); });
        machine.explain();
    }
    report.save();
}

// The same stage, of bfloat16, or with C of half.
inline StageOf<__nv_bfloat16, float> in_bf16(const StageOf<half, float>& s) {
    return {s.launch_bf16,
            s.loaded_elements,
            s.shared_loaded_bytes,
            s.arithmetic,
            s.shared_bytes,
            s.smaller_step,
            s.stored_elements,
            nullptr,
            nullptr,
            s.name};
}
inline StageOf<half, half> with_half_c(const StageOf<half, float>& s) {
    StageOf<half, half> other = *s.half_c;
    other.name = s.name;
    return other;
}

template <class In, class Out>
int run_stages(const std::string& name, const std::vector<StageOf<In, Out>>& stages, int argc,
               char** argv) {
    Options options;
    const char* about =
        "C = A * B for row-major A (M x K), B (K x N), C (M x N); verifies, then times.";
    const std::string examples = "Examples:  " + name +
                                 " --sizes 1024:8192:1024 --csv ladder.csv\n           " + name +
                                 " -m 37 -n 129 -k 65 --verify-only";
    const std::vector<Option> taken =
        stage_options(options, stages[0].launch_bf16, stages[0].half_c);
    return run_program(name, about, taken, examples, argc, argv, [&] {
        if constexpr (std::is_same_v<StageOf<In, Out>, StageOf<half, float>>) {
            const auto run_others = [&](auto of) {
                std::vector<decltype(of(stages[0]))> others;
                for (const auto& stage : stages) others.push_back(of(stage));
                run_all(others, options);
            };
            if (options.bf16 && options.half_c)
                throw Failure(kBadCommandLine, "--half-c: not together with --bf16");
            if (options.bf16) return run_others(in_bf16);
            if (options.half_c) return run_others(with_half_c);
        }
        run_all(stages, options);
    });
}

template <class In, class Out>
int run_stage(StageOf<In, Out> stage, int argc, char** argv, const char* source) {
    const std::string name = stage_name(source);
    stage.name = name.c_str();
    return run_stages(name, std::vector{stage}, argc, argv);
}

#endif  // HARNESS_COMPILED_APART
