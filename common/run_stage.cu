// run_stage() for all types of operands, compiled once for all stages. It is not part of
// harness.cu, because only stages need cuBLAS.
#include "common/gpu.h"  // defined in harness.cu
#undef HARNESS_COMPILED_APART  // run_stage() is defined here
#include <cuda_fp16.h>

#include "common/harness.h"

template int run_stage(StageOf<float, float>, int, char**, const char*);
template int run_stage(StageOf<half, float>, int, char**, const char*);
template int run_stage(StageOf<half, half>, int, char**, const char*);
