// Every stage includes this. A stage provides a launcher and facts, and run_stage() does the rest.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>

#include "common/stage.h"

// The number of tiles of `size` that cover `length`. length and size >= 1.
__host__ __device__ constexpr int ceil_div(int length, int size) { return (length - 1) / size + 1; }

// How many multiprocessors the GPU in use has.
inline int multiprocessors() {
    int device, count = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
}

// Runs a stage as the command line says: verifies, then times or counts. Returns the program's exit
// code (see errors.h). `source` names the stage: 05_double_buffer/matmul.cu is 05_double_buffer.
// A and B are of float or half, C is of float or, with halves, of half.
template <class In, class Out>
int run_stage(Launcher<In, Out> launch, const Facts& facts, int argc, char** argv,
              const char* source = __builtin_FILE());
