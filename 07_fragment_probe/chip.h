// The chip whose fragments are looked at: a GPU, or the emulator set to an architecture. --device,
// and on the CPU --arch.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/lab/bench.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#endif

struct Chip {
    int device = 0;
    int sm = 80;  // 75: compute capability 7.5

    std::string architecture() const { return "sm_" + std::to_string(sm); }
};

// The two options, which write to `chip`.
inline std::vector<Option> chip_options(Chip& chip) {
    return {device_option(chip.device), arch_option(chip.sm)};
}

// Selects the chip and prints its name. Throws Failure if there is none.
inline void select_chip(Chip& chip) {
    const Bench bench(chip.device, chip.sm);
    chip.sm = bench.sm;
    std::printf("%s, %s\n", bench.gpu.full_name.c_str(), chip.architecture().c_str());
}

// Waits for the kernel that was just launched; `what` is named in the message if it failed. On the
// CPU nothing may have raced.
inline void finish(const std::string& what) {
    finish_launch(what);
#ifdef CUDA_EMULATOR
    const auto& problems = emulator::counts().problems;
    if (!problems.empty()) throw Failure(kWrongResult, what + ": " + problems[0]);
#endif
}
