// The chip whose fragments are looked at: a GPU, or the emulator set to an architecture. --device,
// and on the CPU --arch.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/command_line.h"
#include "common/gpu.h"
#ifdef CUDA_EMULATOR
#include "emulator/emulator.h"
#endif

struct Chip {
    int device = 0;
    int sm = 80;  // 75: compute capability 7.5
    std::string name = "CPU emulator";

    std::string architecture() const { return "sm_" + std::to_string(sm); }
};

// The two options, which write to `chip`.
inline std::vector<Option> chip_options(Chip& chip) {
    return {
        {"device", "D", "use CUDA device D (default 0)",
         [&chip](const std::string& value) {
             chip.device = int(parse_number("--device", value, 0, 1023));
         }},
        {"arch", "ARCH", "CPU build: the fragments of sm_70, sm_75 or sm_80 (default sm_80)",
         [&chip](const std::string& value) {
#ifndef CUDA_EMULATOR
             throw Failure(kBadCommandLine,
                           "--arch: only the CPU builds (their names end in _cpu) take it");
#endif
             chip.sm =
                 std::stoi(parse_choice("--arch", value, {"sm_70", "sm_75", "sm_80"}).substr(3));
         }},
    };
}

// Takes the chip into use and prints which one it is. Throws Failure where there is none.
inline void select_chip(Chip& chip) {
    select_device(chip.device);
#ifdef CUDA_EMULATOR
    emulator::set_architecture(chip.sm);
#else
    int major = 0, minor = 0;
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, chip.device),
               "cudaDeviceGetAttribute");
    check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, chip.device),
               "cudaDeviceGetAttribute");
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, chip.device), "cudaGetDeviceProperties");
    chip.sm = 10 * major + minor;
    chip.name = properties.name;
#endif
    std::printf("%s, %s\n", chip.name.c_str(), chip.architecture().c_str());
}

// Waits for the kernel that was just launched; `what` is named in the message if it failed. On the
// CPU nothing may have raced.
inline void finish(const std::string& what) {
    check_cuda(cudaGetLastError(), what);
    check_cuda(cudaDeviceSynchronize(), what);
#ifdef CUDA_EMULATOR
    const auto& problems = emulator::counts().problems;
    if (!problems.empty()) throw Failure(kWrongResult, what + ": " + problems[0]);
#endif
}
