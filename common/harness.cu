// All that the headers here define, compiled once for all of CMake's programs; and run_stage() for
// all kinds of operands.
#undef HARNESS_COMPILED_APART  // it is here
#include <cuda_fp16.h>

#include "common/bench.h"
#include "common/harness.h"

template int run_stage(StageOf<float, float>, int, char**, const char*);
template int run_stage(StageOf<half, float>, int, char**, const char*);
template int run_stage(StageOf<half, half>, int, char**, const char*);
