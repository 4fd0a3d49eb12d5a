// What every stage includes. A stage brings its launcher and the facts to predict from; run_stage()
// does the rest.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "common/stage.h"

// The number of tiles of `size` that cover `length`. length and size >= 1.
__host__ __device__ constexpr int ceil_div(int length, int size) { return (length - 1) / size + 1; }

using Stage = StageOf<float, float>;

// Runs `stage` as the command line says. Returns the program's exit code (see failure.h).
// `source` names the stage: 05_double_buffer/matmul.cu is 05_double_buffer.
template <class In, class Out>
int run_stage(StageOf<In, Out> stage, int argc, char** argv, const char* source = __builtin_FILE());

#ifndef HARNESS_COMPILED_APART

#include <cctype>
#include <filesystem>

#ifdef CUDA_EMULATOR
#include "common/emulated.h"
using Machine = EmulatedMachine;
#else
#include "common/measured.h"
using Machine = GpuMachine;
#endif

// What a stage is called: its folder for 05_double_buffer/matmul.cu, folder and file for a step of
// a chapter, such as 04_unroll/1_name.cu, and else its file: half2 for 06_wmma/half2.cu.
inline std::string stage_name(const char* source) {
    const std::filesystem::path path = std::filesystem::absolute(source);
    const std::string folder = path.parent_path().filename(), file = path.stem();
    if (file == "matmul") return folder;
    return std::isdigit(file[0]) ? folder + "/" + file : file;
}

template <class In, class Out>
int run_stage(StageOf<In, Out> stage, int argc, char** argv, const char* source) {
    const std::string name = stage_name(source);
    stage.name = name.c_str();
    Options options;
    const auto table = stage_options(options, Machine::kDefaultSize, kEmulated);
    return run_program(name, kAboutProduct, table, product_examples(name), argc, argv, [&] {
        Report report(options.csv, Machine::table(options), options.wide);
        Machine machine(options, stage.arithmetic);
        if (options.large_indices) return machine.verify_large_indices(stage);
        const auto with_operands = [](const Shape& shape, auto work) {
            return doing(to_string(shape), [&] {
                Operands<In, Out> x(shape);
                return work(x);
            });
        };
        for (const Shape& shape : machine.ragged())
            with_operands(shape, [&](auto& x) { return machine.verify(stage, x); });
        for (const Shape& shape : shapes_of(options)) {
            report.add(with_operands(shape, [&](auto& x) {
                Row row = row_of(stage.name, shape, machine.verify(stage, x));
                const double gflops = machine.measure(stage, x, row);
                add_prediction(row, intensity_of(stage, shape), stage.arithmetic,
                               machine.predicted(), gflops);
                return row += machine.where();
            }));
            machine.explain();
        }
        report.save();
    });
}

#endif  // HARNESS_COMPILED_APART
