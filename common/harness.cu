// What gpu.h defines, compiled once for all of CMake's programs.
#include "common/command_line.h"  // defined in harness.cpp, as are the headers that it includes
#undef HARNESS_COMPILED_APART  // gpu.h is defined here
#include "common/gpu.h"
