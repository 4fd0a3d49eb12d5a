// The same product as cublas.h's, by any of the algorithms that cuBLASLt names for it. cuBLAS
// launches the one of its own choice; cuBLASLt, the library below it, lists several, so that a
// program can time them and keep the fastest. Source: cuBLAS's documentation,
// cublasLtMatmulAlgoGetHeuristic().
#pragma once

#include <cublasLt.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/cublas.h"
#include "common/device.h"

class CublasLt {
public:
    // C = A * B on device memory, as Cublas::multiply() takes it; A, B and C are 256-byte aligned.
    // Multiplies once by each algorithm, because one that is named may still be refused. Allocates
    // 128 MiB of device memory, in which an algorithm may keep partial sums. Throws
    // Failure(kDeviceFailed).
    CublasLt(int M, int N, int K, const void* A, const void* B, void* C, cudaDataType_t in,
             cudaDataType_t out, cublasComputeType_t compute)
        : A_(A), B_(B), C_(C), halves_(compute == CUBLAS_COMPUTE_16F) {
        check_cublas(cublasLtCreate(&handle_), "cublasLtCreate");
        check_cublas(cublasLtMatmulDescInit(&product_, compute, halves_ ? CUDA_R_16F : CUDA_R_32F),
                     "cublasLtMatmulDescInit");
        // Row-major C = A * B is column-major C^T = B^T * A^T.
        const auto describe = [](cublasLtMatrixLayoutOpaque_t& matrix, cudaDataType_t type,
                                 int64_t rows, int64_t columns) {
            check_cublas(cublasLtMatrixLayoutInit(&matrix, type, rows, columns, rows),
                         "cublasLtMatrixLayoutInit");
        };
        describe(of_A_, in, K, M);
        describe(of_B_, in, N, K);
        describe(of_C_, out, N, M);
        for (const auto& named : named_by_heuristics())
            if (named.state == CUBLAS_STATUS_SUCCESS && queue(named.algo) == CUBLAS_STATUS_SUCCESS)
                algorithms_.push_back(named.algo);
        cudaGetLastError();  // of one that was refused
        finish_launch("an algorithm of cuBLASLt");
    }
    ~CublasLt() { cublasLtDestroy(handle_); }
    CublasLt& operator=(CublasLt&&) = delete;  // neither moved nor copied

    // How many algorithms there are. 0: none takes matrices of these shapes and types.
    size_t algorithms() const { return algorithms_.size(); }
    // Queues the product by one of them, in the order of the time that cuBLASLt expects.
    void multiply(size_t algorithm) {
        check_cublas(queue(algorithms_[algorithm]), "cublasLtMatmul");
    }

private:
    static constexpr int kMostAlgorithms = 32;

    std::vector<cublasLtMatmulHeuristicResult_t> named_by_heuristics() {
        cublasLtMatmulPreferenceOpaque_t preference;
        check_cublas(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
        const size_t bytes = workspace_.size();
        check_cublas(
            cublasLtMatmulPreferenceSetAttribute(
                &preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
            "cublasLtMatmulPreferenceSetAttribute");
        std::vector<cublasLtMatmulHeuristicResult_t> named(kMostAlgorithms);
        int count = 0;
        const cublasStatus_t status =
            cublasLtMatmulAlgoGetHeuristic(handle_, &product_, &of_B_, &of_A_, &of_C_, &of_C_,
                                           &preference, kMostAlgorithms, named.data(), &count);
        // Either of these may mean that no algorithm takes such matrices.
        if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE)
            check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
        named.resize(status == CUBLAS_STATUS_SUCCESS ? count : 0);
        return named;
    }

    cublasStatus_t queue(const cublasLtMatmulAlgo_t& algorithm) {
        const float one = 1, zero = 0;
        const half half_one = 1.0f, half_zero = 0.0f;
        const void *alpha = &one, *beta = &zero;
        if (halves_) alpha = &half_one, beta = &half_zero;
        return cublasLtMatmul(handle_, &product_, alpha, B_, &of_B_, A_, &of_A_, beta, C_, &of_C_,
                              C_, &of_C_, &algorithm, workspace_.data(), workspace_.size(),
                              nullptr);
    }

    const void *A_, *B_;
    void* C_;
    const bool halves_;  // alpha and beta have the type in which products are added up
    cublasLtHandle_t handle_ = nullptr;
    cublasLtMatmulDescOpaque_t product_;
    cublasLtMatrixLayoutOpaque_t of_A_, of_B_, of_C_;
    DeviceArray<char> workspace_{size_t(128) << 20};
    std::vector<cublasLtMatmulAlgo_t> algorithms_;
};
