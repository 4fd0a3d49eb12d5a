// What a program's launches came to, when it ends.
#pragma once

#include "emulator/include/cuda_runtime.h"

namespace emulator::summary {

// Whether a launch need not run: it is the last one again, which changed nothing in the device's memory twice.
bool repeated(const Launch& launch);
void begin_launch();
void print_now();  // if the program ends in another way than by exit()
bool looks_at_block();  // whether it is worth tracing: of a long launch only some are
void end_block();
void look_at_clock();  // within a block: it may have been traced for long enough
void end_launch();

}  // namespace emulator::summary
