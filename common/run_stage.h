// run_stage(): reads the command line, verifies the stage, then times it beside cuBLAS (on a GPU) or counts what it moves (on the
// emulator), and reports.
#pragma once

#include <cctype>
#include <filesystem>
#include <string>

#ifdef CUDA_EMULATOR
#include "common/machine_emulator.h"
#else
#include "common/machine_gpu.h"
#endif

// What a stage is called: 05_double_buffer/matmul.cu by its folder, a chapter's step such as
// 04_unroll/1_name.cu by folder and file, others by their file: 06_wmma/half2.cu is half2.
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
    const std::vector<Option> table = stage_options(options, Machine::kDefaultSize, Machine::kEmulated);
    const std::string examples =
        "Examples:  " + name + " --sizes 1024:8192:1024 --csv ladder.csv\n           " + name + " -m 37 -n 129 -k 65 --verify-only";
    const auto verify_and_time = [&] {
        Report report(options.csv);
        Machine machine(options, stage.arithmetic);
        if (machine.verified_large_indices(stage)) return;
        for (const Shape& shape : shapes_of(options)) {
            Row row = row_of(stage.name, shape);
            try {
                for (Cell& cell : machine.run(stage, shape)) row.push_back(std::move(cell));
            } catch (const Failure& failure) {
                throw Failure(failure.code, to_string(shape) + ": " + failure.what());
            }
            progress("");
            report.add(row);
            machine.print_details();
        }
        report.save();
    };
    return run_program(name, "C = A * B for row-major A (M x K), B (K x N), C (M x N); verifies, then times.", table, examples,
                       argc, argv, verify_and_time);
}
