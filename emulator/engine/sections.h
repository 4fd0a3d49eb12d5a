// The program's __device__, __managed__ and __constant__ variables, each kind in a section of its own
// (cuda_runtime.h). The linker defines __start_NAME and __stop_NAME for a section whose name is a C
// identifier. They are weak, because a program without such variables has no such section; their
// addresses are then null.
#pragma once

#include <cstdint>

extern "C" __attribute__((weak)) char __start_cuda_device, __stop_cuda_device;
extern "C" __attribute__((weak)) char __start_cuda_managed, __stop_cuda_managed;
extern "C" __attribute__((weak)) char __start_cuda_constant, __stop_cuda_constant;

namespace emulator {

struct Section {
    uintptr_t begin, end;
    Section(const char* begin, const char* end)
        : begin(reinterpret_cast<uintptr_t>(begin)), end(reinterpret_cast<uintptr_t>(end)) {}
    bool contains(uintptr_t address) const { return address - begin < end - begin; }
};
inline const Section kDeviceVariables{&__start_cuda_device, &__stop_cuda_device};
inline const Section kManagedVariables{&__start_cuda_managed, &__stop_cuda_managed};
inline const Section kConstants{&__start_cuda_constant, &__stop_cuda_constant};

}  // namespace emulator
