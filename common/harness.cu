// The definitions of gpu.h, compiled once for all programs that CMake builds.
#include <cuda_runtime.h>

#include "common/command_line.h"  // defined in harness.cpp, as are the headers that it includes
#undef HARNESS_COMPILED_APART  // gpu.h is defined here
#include "common/gpu.h"
