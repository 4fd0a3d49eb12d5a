// All that the headers here define for programs without CUDA, compiled once for those of CMake.
#undef HARNESS_COMPILED_APART  // it is here
#include "common/bench.h"
