// bar() takes the fragment for one of this file's architecture: C = A * 1 should be A.
#include "06_wmma/link/frag.h"

__device__ void bar(Fragment* mat_a, const half* identity, float* C) {
    COMPILED_FOR(fragB);
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> one;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(one, identity, 16);
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, *mat_a, one, c);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}
