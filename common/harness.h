// What every stage includes. A stage brings its launcher and the facts to predict from; run_stage() does the rest.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "common/stage.h"

// The number of tiles of `size` that cover `length`. length and size >= 1.
__host__ __device__ constexpr int ceil_div(int length, int size) { return (length - 1) / size + 1; }

using Stage = StageOf<float, float>;

// Runs `stage` as the command line says. Returns the program's exit code (see command_line.h).
// `source` names the stage: 05_double_buffer/matmul.cu is 05_double_buffer (see stage_name()).
template <class In, class Out>
int run_stage(StageOf<In, Out> stage, int argc, char** argv,
              const char* source = __builtin_FILE());

// CMake compiles run_stage() once for all stages (common/harness.cu); a stage that is compiled alone brings it along.
#ifndef HARNESS_COMPILED_APART
#include "common/run_stage.h"
#endif
