// The program's __device__, __managed__ and __constant__ variables, each kind in a section of its own
// (cuda_runtime.h), whose ends the linker names. A program without such variables has no such section.
#pragma once

#include <cstdint>

extern "C" __attribute__((weak)) char __start_cuda_device, __stop_cuda_device;
extern "C" __attribute__((weak)) char __start_cuda_managed, __stop_cuda_managed;
extern "C" __attribute__((weak)) char __start_cuda_constant, __stop_cuda_constant;

namespace emulator {

struct Section {
    uintptr_t begin, end;
    Section(const char& first, const char& last)
        : begin(reinterpret_cast<uintptr_t>(&first)), end(reinterpret_cast<uintptr_t>(&last)) {}
    bool holds(uintptr_t address) const { return address - begin < end - begin; }
};
inline const Section kDeviceVariables{__start_cuda_device, __stop_cuda_device};
inline const Section kManagedVariables{__start_cuda_managed, __stop_cuda_managed};
inline const Section kConstants{__start_cuda_constant, __stop_cuda_constant};

}  // namespace emulator
