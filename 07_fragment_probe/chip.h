// The chip whose fragments are examined: a GPU (--device), or the emulator set to an architecture
// (--arch).
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/benchmark.h"
#include "common/gpu_timer.h"
#include "common/options.h"

struct Chip {
    int device = 0;
    int sm = 90;  // 75: compute capability 7.5

    std::string architecture() const { return "sm_" + std::to_string(sm); }
};

// The two options, which write to `chip`.
inline OptionTable chip_options(Chip& chip) {
    OptionTable options = arch_option(chip.sm);
    options.push_back(device_option(chip.device));
    return options;
}

// Selects the chip and prints its name. Throws Failure if there is none.
inline void select_chip(Chip& chip) {
    const GpuTimer timer(chip.device, chip.sm);
    chip.sm = timer.sm;
    std::printf("%s, %s\n", timer.gpu.full_name.c_str(), chip.architecture().c_str());
}
