// Rows that start on multiples of 16 bytes, as TMA and copies of 16 bytes need them. The lesson of
// 10_async_mma explains them, at 2_swizzle.cu.
#pragma once

#include <cstdint>

#include "common/stage.h"

// The leading dimension in elements: `columns` where rows already start on multiples of 16 bytes,
// otherwise that of a padded copy. Rows of the copy are whole lines of L2, because the 128 bytes of
// a row of a tile would otherwise straddle two lines.
inline int aligned(int columns) { return columns % 8 == 0 ? columns : ceil_div(columns, 64) * 64; }

// Each block copies a row of `columns` elements and pads it with zeros up to `stride`. A thread has
// eight loads in flight, then stores 16 bytes at a time.
template <class T>
__global__ void copy_rows(int columns, int stride, const T* from, T* to) {
    for (int col = threadIdx.x * 8; col < stride; col += blockDim.x * 8) {
        alignas(16) T eight[8];
        for (int i = col; i < col + 8; ++i)
            eight[i - col] = i < columns ? from[size_t(blockIdx.x) * columns + i] : T(0.0f);
        for (int i = 0; i < 8; i += 16 / sizeof(T))
            *(float4*)&to[size_t(blockIdx.x) * stride + col + i] = *(const float4*)&eight[i];
    }
}

// Makes the device's memory pool keep freed memory for the next launch. By default the pool returns
// the memory to the system at every synchronization, which takes 0.3 ms. Setting it once is enough,
// because a program uses one device.
inline void keep_freed_memory() {
    static bool kept = false;
    if (kept) return;
    kept = true;
    int device = 0;
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    cudaGetDevice(&device);
    if (cudaDeviceGetDefaultMemPool(&pool, device)) return;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
}

// A matrix whose rows start on multiples of 16 bytes: the given one where its rows have a multiple
// of eight elements, else a padded copy in device memory. T has 2 or 4 bytes.
template <class T>
struct AlignedRows {
    AlignedRows(const T* matrix, int rows, int columns) : data(matrix), stride(aligned(columns)) {
        if (stride == columns) return;
        keep_freed_memory();
        // finish_launch() reports the error.
        if (cudaMallocAsync(&copy, size_t(rows) * stride * sizeof(T), 0)) return;
        copy_rows<T><<<rows, 256>>>(columns, stride, matrix, copy);
        data = copy;
    }
    ~AlignedRows() {
        if (copy) cudaFreeAsync(copy, 0);
    }

    const T* data;
    int stride;
    T* copy = nullptr;
};

// The traffic of a launch that copies A (M x K) and B (K x N) where their rows are not aligned.

// How many elements the copies load.
inline double loaded_by_copies(double M, double N, double K) {
    return (aligned(int(K)) > K ? M * K : 0) + (aligned(int(N)) > N ? K * N : 0);
}

// What a launch stores, counted as Facts::stored_elements does: the elements of C, and the copies,
// of which two elements count as a float.
inline double stored_with_copies(double M, double N, double K) {
    const double lda = aligned(int(K)), ldb = aligned(int(N));
    return M * N + (lda > K ? M * lda / 2 : 0) + (ldb > N ? K * ldb / 2 : 0);
}
