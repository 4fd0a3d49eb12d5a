// All that the headers here define without CUDA, compiled once for all of CMake's programs.
#undef HARNESS_COMPILED_APART  // it is here
#include "common/bench.h"
