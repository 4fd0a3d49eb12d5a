// NaN that a kernel has computed.
#pragma once

#include <cstddef>

#include "emulator/engine/device_memory.h"

namespace emulator::nans {

// The host has passed these bytes to the device. NaN among them may be why results are NaN.
void note_given(const void* bytes, size_t count);
// The host gets these bytes of an array. If a kernel has stored NaN there, and the host has passed
// none, that is a note, once for all arrays.
void find(const Allocation& array, uintptr_t begin, size_t bytes);

}  // namespace emulator::nans
