// The part of cuBLAS that programs take as a reference beside their own kernels: products of
// matrices and some functions of vectors, computed on the host (libraries/cublas.cpp). As in cuBLAS,
// matrices are column-major.
#pragma once

#include "cuComplex.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "library_types.h"

#define CUBLAS_API_H_  // other headers test this for NVIDIA's
#define CUBLAS_VERSION 130000
#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0

using cublasHandle_t = struct cublasContext*;
using cublasDataType_t = cudaDataType;
enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
};
enum cublasOperation_t {
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_OP_C = 2,
    CUBLAS_OP_HERMITAN = 2,
    CUBLAS_OP_CONJG = 3
};
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
// Which algorithm makes no difference here. The others have the numbers 1 to 23 and 101 to 115.
enum cublasGemmAlgo_t {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_ALGO0 = 0,
    CUBLAS_GEMM_ALGO1,
    CUBLAS_GEMM_ALGO2,
    CUBLAS_GEMM_ALGO3,
    CUBLAS_GEMM_ALGO4,
    CUBLAS_GEMM_ALGO5,
    CUBLAS_GEMM_ALGO6,
    CUBLAS_GEMM_ALGO7,
    CUBLAS_GEMM_ALGO23 = 23,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
    CUBLAS_GEMM_ALGO15_TENSOR_OP = 115
};

const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
    return CUBLAS_STATUS_SUCCESS;
}
inline size_t cublasGetCudartVersion() { return CUDART_VERSION; }
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

namespace emulator::blas {

// A matrix of a product, or of several products.
struct Matrix {
    const char* name;  // in cuBLAS's documentation
    const void* data;  // of the first product's; with `pointers` an array of pointers to each
    cudaDataType type;
    long long ld;
    cublasOperation_t op = CUBLAS_OP_N;
    long long stride = 0;  // elements from one product's to the next one's
    bool pointers = false;
    bool row_major = false;
};
constexpr cudaDataType kUnknown = CUDA_C_16F;
// D = alpha op(A) op(B) + beta C, where op(A) has m x k elements, and op(B) k x n. D may be C.
struct Product {
    const char* call;  // the function that computes it
    long long m, n, k;
    const void *alpha, *beta;
    cudaDataType scale;  // the type of alpha and beta
    Matrix A, B, C, D;
    cublasComputeType_t compute;
    int count = 1;
    cudaDataType alpha_is = kUnknown;  // the type of *alpha in the program, where that is known
    // cuBLASLt's epilogue.
    const void* bias = nullptr;  // one for each row of D
    cudaDataType bias_type = CUDA_R_32F;
    bool relu = false, gelu = false;
};
// Computes it in the handle's stream and pointer mode.
cublasStatus_t multiply(cublasHandle_t handle, const Product& product, const char* file, int line);

template <class T>
constexpr cudaDataType type_of() {
    if (std::is_same_v<T, float>) return CUDA_R_32F;
    if (std::is_same_v<T, double>) return CUDA_R_64F;
    if (std::is_same_v<T, __half>) return CUDA_R_16F;
    return std::is_same_v<T, int> ? CUDA_R_32I : kUnknown;
}
inline cudaDataType scale_of(cublasComputeType_t compute) {
    switch (compute) {
        case CUBLAS_COMPUTE_16F:
        case CUBLAS_COMPUTE_16F_PEDANTIC:
            return CUDA_R_16F;
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC:
            return CUDA_R_64F;
        case CUBLAS_COMPUTE_32I:
        case CUBLAS_COMPUTE_32I_PEDANTIC:
            return CUDA_R_32I;
        default:
            return CUDA_R_32F;
    }
}
inline cublasComputeType_t compute_of(cublasComputeType_t compute) { return compute; }
// Older programs name a type instead.
inline cublasComputeType_t compute_of(cudaDataType type) {
    return type == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
           : type == CUDA_R_64F ? CUBLAS_COMPUTE_64F
           : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                : CUBLAS_COMPUTE_32F;
}
// Of functions whose name has a letter for the type.
template <class T>
Product product(const char* call, int m, int n, int k, const T* alpha, Matrix A, Matrix B,
                const T* beta, Matrix C, int count = 1) {
    constexpr cudaDataType type = type_of<T>();
    A.type = B.type = C.type = type;
    return {call, m, n, k, alpha, beta, type, A, B, C, C, compute_of(type), count, type};
}
template <class Alpha, class Compute>
Product product(const char* call, int m, int n, int k, const Alpha* alpha, const Matrix& A,
                const Matrix& B, const void* beta, const Matrix& C, Compute compute,
                int count = 1) {
    const cublasComputeType_t type = compute_of(compute);
    return {call, m, n, k, alpha, beta, scale_of(type), A, B, C, C, type, count, type_of<Alpha>()};
}

}  // namespace emulator::blas

// clang-format off
#define EMULATOR_GEMM(gemm, T)                                                                                               \
    inline cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,   \
                               const T* alpha, const T* A, int lda, const T* B, int ldb, const T* beta, T* C, int ldc,       \
                               EMULATOR_SITE) {                                                                              \
        return emulator::blas::multiply(handle, emulator::blas::product<T>(#gemm, m, n, k, alpha, {"A", A, {}, lda, op_A},   \
            {"B", B, {}, ldb, op_B}, beta, {"C", C, {}, ldc}), file, line);                                                  \
    }                                                                                                                        \
    inline cublasStatus_t gemm##StridedBatched(                                                                              \
        cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, const T* alpha,          \
        const T* A, int lda, long long stride_A, const T* B, int ldb, long long stride_B, const T* beta, T* C, int ldc,      \
        long long stride_C, int count, EMULATOR_SITE) {                                                                      \
        return emulator::blas::multiply(handle, emulator::blas::product<T>(#gemm "StridedBatched", m, n, k, alpha,           \
            {"A", A, {}, lda, op_A, stride_A}, {"B", B, {}, ldb, op_B, stride_B}, beta,                                      \
            {"C", C, {}, ldc, CUBLAS_OP_N, stride_C}, count), file, line);                                                   \
    }                                                                                                                        \
    inline cublasStatus_t gemm##Batched(                                                                                     \
        cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, const T* alpha,          \
        const T* const A[], int lda, const T* const B[], int ldb, const T* beta, T* const C[], int ldc, int count,           \
        EMULATOR_SITE) {                                                                                                     \
        return emulator::blas::multiply(handle, emulator::blas::product<T>(#gemm "Batched", m, n, k, alpha,                  \
            {"A", A, {}, lda, op_A, 0, true}, {"B", B, {}, ldb, op_B, 0, true}, beta,                                        \
            {"C", C, {}, ldc, CUBLAS_OP_N, 0, true}, count), file, line);                                                    \
    }
EMULATOR_GEMM(cublasSgemm, float)
EMULATOR_GEMM(cublasDgemm, double)
EMULATOR_GEMM(cublasHgemm, __half)
#undef EMULATOR_GEMM

template <class Alpha, class Compute>
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
                            const Alpha* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
                            cudaDataType type_B, int ldb, const void* beta, void* C, cudaDataType type_C, int ldc,
                            Compute compute, cublasGemmAlgo_t, EMULATOR_SITE) {
    return emulator::blas::multiply(handle, emulator::blas::product("cublasGemmEx", m, n, k, alpha,
        {"A", A, type_A, lda, op_A}, {"B", B, type_B, ldb, op_B}, beta, {"C", C, type_C, ldc}, compute), file, line);
}
inline cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n,
                                    int k, const float* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
                                    cudaDataType type_B, int ldb, const float* beta, void* C, cudaDataType type_C, int ldc,
                                    EMULATOR_SITE) {
    return cublasGemmEx(handle, op_A, op_B, m, n, k, alpha, A, type_A, lda, B, type_B, ldb, beta, C, type_C, ldc,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT, file, line);
}
template <class Alpha, class Compute>
cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, const Alpha* alpha,
    const void* A, cudaDataType type_A, int lda, long long stride_A, const void* B, cudaDataType type_B, int ldb,
    long long stride_B, const void* beta, void* C, cudaDataType type_C, int ldc, long long stride_C, int count,
    Compute compute, cublasGemmAlgo_t, EMULATOR_SITE) {
    return emulator::blas::multiply(handle, emulator::blas::product("cublasGemmStridedBatchedEx", m, n, k, alpha,
        {"A", A, type_A, lda, op_A, stride_A}, {"B", B, type_B, ldb, op_B, stride_B}, beta,
        {"C", C, type_C, ldc, CUBLAS_OP_N, stride_C}, compute, count), file, line);
}
template <class Alpha, class Compute>
cublasStatus_t cublasGemmBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, const Alpha* alpha,
    const void* const A[], cudaDataType type_A, int lda, const void* const B[], cudaDataType type_B, int ldb,
    const void* beta, void* const C[], cudaDataType type_C, int ldc, int count, Compute compute, cublasGemmAlgo_t,
    EMULATOR_SITE) {
    return emulator::blas::multiply(handle, emulator::blas::product("cublasGemmBatchedEx", m, n, k, alpha,
        {"A", A, type_A, lda, op_A, 0, true}, {"B", B, type_B, ldb, op_B, 0, true}, beta,
        {"C", C, type_C, ldc, CUBLAS_OP_N, 0, true}, compute, count), file, line);
}

// y = alpha op(A) x + beta y, as a product of rows: y^T = alpha x^T op(A)^T + beta y^T.
#define EMULATOR_GEMV(gemv, T)                                                                                               \
    inline cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t op_A, int m, int n, const T* alpha, const T* A,      \
                               int lda, const T* x, int incx, const T* beta, T* y, int incy, EMULATOR_SITE) {                \
        const bool normal = op_A == CUBLAS_OP_N;                                                                             \
        return emulator::blas::multiply(handle, emulator::blas::product<T>(#gemv, 1, normal ? m : n, normal ? n : m, alpha,  \
            {"x", x, {}, incx}, {"A", A, {}, lda, normal ? CUBLAS_OP_T : CUBLAS_OP_N}, beta, {"y", y, {}, incy}), file,      \
            line);                                                                                                           \
    }
EMULATOR_GEMV(cublasSgemv, float)
EMULATOR_GEMV(cublasDgemv, double)
#undef EMULATOR_GEMV

inline cublasStatus_t cublasSetMatrix(int rows, int columns, int element, const void* A, int lda, void* B, int ldb) {
    return cudaMemcpy2D(B, size_t(ldb) * element, A, size_t(lda) * element, size_t(rows) * element, columns,
                        cudaMemcpyHostToDevice) ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetMatrix(int rows, int columns, int element, const void* A, int lda, void* B, int ldb) {
    return cudaMemcpy2D(B, size_t(ldb) * element, A, size_t(lda) * element, size_t(rows) * element, columns,
                        cudaMemcpyDeviceToHost) ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetVector(int n, int element, const void* x, int incx, void* y, int incy) {
    if (incx == 1 && incy == 1) return cublasSetMatrix(n, 1, element, x, n, y, n);
    return cublasSetMatrix(1, n, element, x, incx, y, incy);
}
inline cublasStatus_t cublasGetVector(int n, int element, const void* x, int incx, void* y, int incy) {
    if (incx == 1 && incy == 1) return cublasGetMatrix(n, 1, element, x, n, y, n);
    return cublasGetMatrix(1, n, element, x, incx, y, incy);
}
// clang-format on
