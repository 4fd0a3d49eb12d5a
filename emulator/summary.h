// A summary of a program's launches, printed when it ends.
#pragma once

#include "emulator/include/cuda_runtime.h"

namespace emulator::summary {

// Whether a launch can be left out, because it repeats the last one, which has changed nothing in
// device memory twice.
bool repeated(const Launch& launch);
void begin_launch();
bool looks_at_block();  // whether it is worth tracing: of a long launch only some are
void end_block();
void check_time();  // within a block: it may have been traced for long enough
void end_launch();

}  // namespace emulator::summary
