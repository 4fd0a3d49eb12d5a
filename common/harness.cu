// All that the headers here define, compiled once for all of CMake's programs.
#undef HARNESS_COMPILED_APART  // it is here
#include <cuda_runtime.h>

#include "common/bench.h"
