// Whether the accesses of kernels are traced.

#include "emulator/trace/tracing.h"

#include <utility>

#include "emulator/emulator.h"

namespace emulator {

bool compiled_for_tracing, traced, in_kernel;

EmulatorsWork::EmulatorsWork() : before(std::exchange(in_kernel, false)) {}
EmulatorsWork::~EmulatorsWork() { in_kernel = before; }

bool tracing() { return traced; }
void set_tracing(bool on) { traced = on && compiled_for_tracing; }

}  // namespace emulator
