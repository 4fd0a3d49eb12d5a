// The definitions that need no CUDA, compiled once for all programs that CMake builds.
#undef HARNESS_COMPILED_APART  // they are compiled here
#include "common/command_line.h"
