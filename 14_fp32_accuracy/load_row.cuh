// Loads four floats of a row, for matrices whose row alignment is known only at run time.
#pragma once

#include "common/vector_access.cuh"

// Loads elements col to col + 3 of a row, with zeros past its end. col is a multiple of 4. The rows of
// the matrix are contiguous, `columns` floats each, and the first begins at a multiple of 16 bytes.
inline __device__ float4 load4(const float* row, int col, int columns) {
    return columns % 4 == 0 ? load4<true>(row + col, columns - col)
                            : load4<false>(row + col, columns - col);
}
