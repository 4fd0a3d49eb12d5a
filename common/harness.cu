// run_stage() for all kinds of operands, so that CMake's builds compile it once and not with every stage.
#include <cuda_fp16.h>

#include "common/harness.h"

template int run_stage(StageOf<float, float>, int, char**, const char*);
template int run_stage(StageOf<half, float>, int, char**, const char*);
template int run_stage(StageOf<half, half>, int, char**, const char*);
