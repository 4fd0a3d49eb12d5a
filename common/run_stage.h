// run_stage(): reads the command line, verifies the stage, then times it beside cuBLAS (on a GPU) or counts what it moves (on the
// emulator), and reports.
#pragma once

#include <string>

#ifdef CUDA_EMULATOR
#include "common/machine_emulator.h"
#else
#include "common/machine_gpu.h"
#endif

template <class In, class Out>
int run_stage(const StageOf<In, Out>& stage, int argc, char** argv) {
    Options options;
    const std::vector<Option> table =
        stage_options(options, Machine::kDefaultSize, Machine::kEmulated);
    const std::string name = stage.name;
    const std::string examples = "Examples:  " + name +
                                 " --sizes 1024:8192:1024 --csv ladder.csv\n           " + name +
                                 " -m 37 -n 129 -k 65 --verify-only";
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
    return run_program(
        name, "C = A * B for row-major A (M x K), B (K x N), C (M x N); verifies, then times.",
        table, examples, argc, argv, verify_and_time);
}
