// foo() loads a fragment, in the register layout of the architecture that this file is compiled
// for, and passes it to a function of another file.
#include "06_wmma/link/frag.h"

__global__ void foo(const half* A, const half* identity, float* C) {
    COMPILED_FOR(fragA);
    Fragment mat_a;
    nvcuda::wmma::load_matrix_sync(mat_a, A, 16);
    bar(&mat_a, identity, C);
}
