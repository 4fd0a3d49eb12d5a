// foo() loads a fragment, laid out as this file's architecture has it, and passes it on.
#include "06_wmma/link/frag.h"

__global__ void foo(const half* A, const half* identity, float* C) {
    COMPILED_FOR(fragA);
    Fragment mat_a;
    nvcuda::wmma::load_matrix_sync(mat_a, A, 16);
    bar(&mat_a, identity, C);
}
