// Floats that are split into two halves, with a scale for the elements of a row of A. The lesson
// explains them at 4_scales.cu.
#pragma once

#include "14_fp32_accuracy/load_row.cuh"
#include "common/aligned_rows.h"
#include "common/stage.h"

constexpr int kLargest = 14;  // exponent of the largest of the elements that are scaled together

inline __device__ unsigned magnitude(float x) { return __float_as_uint(fabsf(x)); }

// The exponent of the scale of elements of which the largest has this magnitude; as bits, which are
// ordered like the floats. The scale of zeros is 1, and so is that of elements among which is an
// infinity or NaN. 2^127 is the largest float that is a power of two. A largest element below 2^-113
// would need more, and stays smaller than 2^14. Its halves have all its bits even so, because the last
// bit of any float, 2^-149, becomes 2^-22. But below 2^-141 hi is a subnormal half, of whose products a
// tensor core keeps fewer bits.
inline __device__ int exponent_of(unsigned largest) {
    if (largest == 0 || largest >= 0x7f800000) return 0;
    return min(kLargest - ilogbf(__uint_as_float(largest)), 127);
}

// Splits four elements times powers of two. The differences are exact, and so are the products,
// unless an element is so small beside the largest that it becomes subnormal.
inline __device__ void split4(float4 four, const float (&scales)[4], half* hi, half* lo) {
    const float x[4] = {four.x * scales[0], four.y * scales[1], four.z * scales[2],
                        four.w * scales[3]};
    alignas(8) half h[4], l[4];
    for (int i = 0; i < 4; ++i) {
        h[i] = x[i];
        l[i] = isfinite(x[i]) ? x[i] - float(h[i]) : 0.0f;
    }
    *(uint2*)hi = *(const uint2*)h;
    *(uint2*)lo = *(const uint2*)l;
}

// The threads of a block that splits a row, four of its elements at a time. With 1024 only two blocks
// share an SM, so that a long row is still in L1 or L2 when it is read again.
inline int row_threads(int stride) { return std::min(1024, ceil_div(stride, 4 * 32) * 32); }
// Each block scales and splits a row, which it reads twice, and pads it with zeros up to `stride`.
__global__ void split_rows(int columns, int stride, const float* from, half* hi, half* lo,
                           int* exponents) {
    extern __shared__ unsigned largest[];  // one for the block
    if (threadIdx.x == 0) *largest = 0;
    __syncthreads();
    from += size_t(blockIdx.x) * columns;
    unsigned mine = 0;
    for (int col = threadIdx.x * 4; col < columns; col += blockDim.x * 4) {
        const float4 x = load4(from, col, columns);
        mine = max(mine,
                   max(max(magnitude(x.x), magnitude(x.y)), max(magnitude(x.z), magnitude(x.w))));
    }
    mine = __reduce_max_sync(~0u, mine);
    if (threadIdx.x % 32 == 0) atomicMax(largest, mine);
    __syncthreads();
    const int exponent = exponent_of(*largest);
    if (threadIdx.x == 0) exponents[blockIdx.x] = exponent;
    const float scale = ldexpf(1, exponent);
    const size_t to = size_t(blockIdx.x) * stride;
    for (int col = threadIdx.x * 4; col < stride; col += blockDim.x * 4)
        split4(load4(from, col, columns), {scale, scale, scale, scale}, &hi[to + col],
               &lo[to + col]);
}

// A matrix as two of halves in device memory, and the exponents of its scales. Rows start on
// multiples of 16 bytes, as TMA needs them.
struct Halves {
    // scales: so many have space.
    Halves(int rows, int stride, int scales) : stride(stride) {
        keep_freed_memory();
        const size_t size = size_t(rows) * stride;
        // finish_launch() reports the error.
        if (cudaMallocAsync(&hi, 2 * size * sizeof(half), 0) ||
            cudaMallocAsync(&exponents, scales * sizeof(int), 0))
            return;
        lo = hi + size;
    }
    ~Halves() {
        if (exponents) cudaFreeAsync(exponents, 0);
        if (hi) cudaFreeAsync(hi, 0);
    }

    int stride;
    half *hi = nullptr, *lo = nullptr;
    int* exponents = nullptr;
};

// A, with a scale for each row.
struct HalvesOfRows : Halves {
    HalvesOfRows(const float* matrix, int rows, int columns)
        : Halves(rows, aligned(columns), rows) {
        if (exponents)
            split_rows<<<rows, row_threads(stride), sizeof(unsigned)>>>(columns, stride, matrix, hi,
                                                                        lo, exponents);
    }
};
