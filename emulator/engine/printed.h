// What a launch's threads print, and what a GPU has room for.
#pragma once

#include <cstddef>

namespace emulator::printed {
extern size_t limit;  // cudaDeviceSetLimit(cudaLimitPrintfFifoSize) sets it
constexpr size_t kUsualLimit = 1 << 20;
void begin_launch();
void end_launch();
}  // namespace emulator::printed
