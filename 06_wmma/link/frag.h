// What fragA.cu passes to fragB.cu, which are compiled apart: the API article, section 5.
#pragma once

#include <mma.h>

// Begins each of the two functions: on the emulator it says for which architecture the file is
// compiled. nvcc takes it from -arch.
#ifndef COMPILED_FOR
#define COMPILED_FOR(file)
#endif

using Fragment =
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major>;

__device__ void bar(Fragment* mat_a, const half* identity, float* C);
