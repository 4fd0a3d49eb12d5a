// Elements of matrices, whose type is known at run time.
#pragma once

#include <cstring>

#include "emulator/include/cublas_v2.h"

namespace emulator::blas {

inline size_t bytes_of(cudaDataType type) {
    switch (type) {
        case CUDA_R_8I:
            return 1;
        case CUDA_R_16F:
        case CUDA_R_16BF:
            return 2;
        case CUDA_R_64F:
            return 8;
        default:
            return 4;
    }
}

template <class T, class Element>
T element(const void* data, size_t i) {
    Element value;
    std::memcpy(static_cast<void*>(&value), static_cast<const Element*>(data) + i, sizeof value);
    return T(value);
}
// Element i of an array, as a T.
template <class T>
T load(const void* data, cudaDataType type, size_t i) {
    switch (type) {
        case CUDA_R_64F:
            return element<T, double>(data, i);
        case CUDA_R_16F:
            return element<T, __half>(data, i);
        case CUDA_R_16BF:
            return element<T, __nv_bfloat16>(data, i);
        case CUDA_R_8I:
            return element<T, int8_t>(data, i);
        case CUDA_R_32I:
            return element<T, int>(data, i);
        default:
            return element<T, float>(data, i);
    }
}

}  // namespace emulator::blas
