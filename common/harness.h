// What every stage shares: run_stage() reads the command line, verifies the stage, then times it beside cuBLAS (on a GPU)
// or counts what it moves (on the emulator), and reports. A stage brings its launcher and the facts to predict from.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "common/stage.h"
#ifdef CUDA_EMULATOR
#include "common/machine_emulator.h"
#else
#include "common/machine_gpu.h"
#endif

// The number of tiles of `size` that cover `length`. length and size >= 1.
__host__ __device__ constexpr int ceil_div(int length, int size) { return (length - 1) / size + 1; }

// Runs `stage` as the command line says. Returns the program's exit code (see options.h).
inline int run_stage(const Stage& stage, int argc, char** argv) {
    try {
        const Options options = parse_options(argc, argv, Machine::kDefaultSize, Machine::kEmulated);
        if (options.help) {
            print_help(stage.name, Machine::kDefaultSize);
            return kVerified;
        }
        Report report(options.csv);
        Machine machine(options);
        for (const Shape& shape : options.shapes) {
            Row row = {{"stage", "stage", stage.name}, {"M", "m", std::to_string(shape.M)}, {"N", "n", std::to_string(shape.N)},
                       {"K", "k", std::to_string(shape.K)}};
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
        return kVerified;
    } catch (const Failure& failure) {
        progress("");
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", stage.name, failure.what());
        return failure.code;
    } catch (const std::bad_alloc&) {
        progress("");
        std::fprintf(stderr, "%s: out of host memory; try a smaller size\n", stage.name);
        return kDeviceFailed;
    }
}
