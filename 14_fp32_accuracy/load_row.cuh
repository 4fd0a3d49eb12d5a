// Four floats of a row, where whether rows are aligned is not known before the launch.
#pragma once

#include "common/vector_access.cuh"

// Loads the four elements from column `col` on, with zeros past the last of `columns`.
inline __device__ float4 load4(const float* row, int col, int columns) {
    return columns % 4 == 0 ? load4<true>(row + col, columns - col)
                            : load4<false>(row + col, columns - col);
}
