// Vector accesses: four floats of a row in one access of 16 bytes, where the rows are aligned.
// 04_unroll/2_wide_loads.cu explains them, and the stages from 05 on include them from here.
#pragma once

#include <cuda_runtime.h>

// Loads four adjacent elements of a row, with zeros past the first `valid`. kWide: either all are
// valid or none is.
template <bool kWide>
__device__ float4 load4(const float* from, int valid) {
    if (kWide) return valid > 0 ? *(const float4*)from : float4{};
    return {valid > 0 ? from[0] : 0, valid > 1 ? from[1] : 0, valid > 2 ? from[2] : 0,
            valid > 3 ? from[3] : 0};
}

// Stores the first `valid` of four values, likewise.
template <bool kWide>
__device__ void store4(float* to, const float* values, int valid) {
    if (kWide && valid > 0) *(float4*)to = {values[0], values[1], values[2], values[3]};
    for (int e = 0; !kWide && e < 4; ++e)
        if (e < valid) to[e] = values[e];
}
