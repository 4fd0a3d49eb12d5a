// Tensor maps describe a matrix in global memory to TMA, for cp_async_bulk_tensor() of ptx.cuh. The
// host encodes a map, and the kernel takes it by value: const __grid_constant__ CUtensorMap map.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <type_traits>

// The function of the driver that encodes a map, looked up at run time so that no program links
// libcuda.
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                               12000, cudaEnableDefault, &found);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess || !function)
        throw std::runtime_error("the driver has no cuTensorMapEncodeTiled; it is part of CUDA 12");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

// The map of a row-major matrix of half, __nv_bfloat16 or float, from which a copy moves boxes of
// box_rows x box_columns elements. swizzle: 0, 32, 64 or 128 bytes, the most that a row of the box
// may then have. leading_dimension: elements from row to row, a multiple of 16 bytes; 0: `columns`.
// Throws std::runtime_error, in one line.
template <class T>
CUtensorMap tensor_map(const T* matrix, int rows, int columns, int box_rows, int box_columns,
                       int swizzle = 0, int leading_dimension = 0) {
    static const auto encode = tensor_map_encoder();
    constexpr auto type = std::is_same_v<T, half>            ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                          : std::is_same_v<T, __nv_bfloat16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                             : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    static_assert(type != CU_TENSOR_MAP_DATA_TYPE_FLOAT32 || std::is_same_v<T, float>,
                  "half, __nv_bfloat16 or float");
    if (leading_dimension == 0) leading_dimension = columns;
    const cuuint64_t dims[] = {cuuint64_t(columns), cuuint64_t(rows)};
    const cuuint64_t strides[] = {cuuint64_t(leading_dimension) * sizeof(T)};
    const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, ones[] = {1, 1};
    const auto size = [](int rows, int columns) {
        return std::to_string(rows) + " x " + std::to_string(columns);
    };
    const auto refuse = [&](const std::string& why) {
        throw std::runtime_error("tensor map of " + size(rows, columns) + " elements, boxes of " +
                                 size(box_rows, box_columns) + ": " + why);
    };
    if (strides[0] % 16 || leading_dimension < columns)
        refuse("rows lie " + std::to_string(strides[0]) +
               " bytes apart, not a multiple of 16 that holds a row");
    const auto kind = swizzle == 0    ? CU_TENSOR_MAP_SWIZZLE_NONE
                      : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                      : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                      : CU_TENSOR_MAP_SWIZZLE_128B;
    if (kind == CU_TENSOR_MAP_SWIZZLE_128B && swizzle != 128)
        refuse("a swizzle of " + std::to_string(swizzle) + " bytes, not 0, 32, 64 or 128");
    struct {
        CUtensorMap map;
    } local;  // because GCC may not align the returned object to 64 bytes
    if (encode(&local.map, type, 2, const_cast<T*>(matrix), dims, strides, box, ones,
               CU_TENSOR_MAP_INTERLEAVE_NONE, kind, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        refuse(
            "the driver takes a matrix at a multiple of 16 bytes, boxes of 1 to 256 rows and "
            "columns, box rows of a multiple of 16 bytes and no more than the swizzle's");
    return local.map;
}
