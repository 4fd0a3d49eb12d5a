// Whether the accesses of kernels are traced.
#pragma once

namespace emulator {

extern bool compiled_for_tracing;  // set before main
extern bool traced;  // compiled for it, and not switched off
extern bool in_kernel;  // traced, and the kernel's own code runs
// While one of these exists, the emulator itself runs, and no access is taken for the kernel's.
struct EmulatorsWork {
    bool before;
    EmulatorsWork();
    ~EmulatorsWork();
};

}  // namespace emulator
