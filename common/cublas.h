// cuBLAS's product of the same data in the same precision: FP32 without TF32, FP16 or bfloat16 with
// FP32 accumulation, FP16 with FP16 accumulation (by tensor cores, too), or FP64. Row-major
// C = A * B is column-major C^T = B^T * A^T.
#pragma once

#include <cublas_v2.h>

#include <cuda_fp16.h>
#include <string>

#include "common/errors.h"

// Throws Failure(kDeviceFailed), with the call, unless status is CUBLAS_STATUS_SUCCESS.
inline void check_cublas(cublasStatus_t status, const std::string& call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Failure(kDeviceFailed, call + " failed: " + cublasGetStatusString(status));
}

class Cublas {
public:
    Cublas() {
        // This mode does not round to TF32.
        check_cublas(cublasSetMathMode(cublas_.handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    }

    // in: the type of A and B. out: the type of C. compute: the type in which products are
    // accumulated. C = alpha * A * B + beta * C.
    void multiply(int M, int N, int K, const void* A, const void* B, void* C, cudaDataType_t in,
                  cudaDataType_t out, cublasComputeType_t compute, float alpha = 1,
                  float beta = 0) {
        const auto multiply = [&](auto a, auto b) {
            check_cublas(cublasGemmEx(cublas_.handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &a, B, in,
                                      N, A, in, K, &b, C, out, N, compute, CUBLAS_GEMM_DEFAULT),
                         "cublasGemmEx");
        };
        if (compute == CUBLAS_COMPUTE_16F) multiply(half(alpha), half(beta));
        else if (compute == CUBLAS_COMPUTE_64F) multiply(double(alpha), double(beta));
        else multiply(alpha, beta);
    }

private:
    struct Handle {
        cublasHandle_t handle = nullptr;
        Handle() { check_cublas(cublasCreate(&handle), "cublasCreate"); }
        ~Handle() { cublasDestroy(handle); }
        Handle& operator=(Handle&&) = delete;  // neither moved nor copied
    };

    Handle cublas_;
};
