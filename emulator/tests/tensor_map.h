// Encodes a tensor map as a program does, for the tests of TMA.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdexcept>
#include <type_traits>

// The map of a row-major matrix of half, __nv_bfloat16 or float, for boxes of it. swizzle: 0, 32,
// 64 or 128 bytes. leading_dimension: elements from row to row; 0: `columns`. Throws
// std::runtime_error if the driver refuses it, which reports why.
template <class T>
CUtensorMap tensor_map(const T* matrix, int rows, int columns, int box_rows, int box_columns,
                       int swizzle = 0, int leading_dimension = 0) {
    constexpr auto type = std::is_same_v<T, half>            ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                          : std::is_same_v<T, __nv_bfloat16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                             : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    if (leading_dimension == 0) leading_dimension = columns;
    const cuuint64_t dims[] = {cuuint64_t(columns), cuuint64_t(rows)};
    const cuuint64_t strides[] = {leading_dimension * sizeof(T)};
    const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, ones[] = {1, 1};
    const auto kind = swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                      : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                      : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                      : CU_TENSOR_MAP_SWIZZLE_NONE;
    struct {
        CUtensorMap map;
    } local;  // because GCC may place the returned object at an address that is not a multiple of 64
    if (cuTensorMapEncodeTiled(&local.map, type, 2, const_cast<T*>(matrix), dims, strides, box,
                               ones, CU_TENSOR_MAP_INTERLEAVE_NONE, kind,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        throw std::runtime_error("no tensor map");
    return local.map;
}
