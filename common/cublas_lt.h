// The same product as cublas.h's, but not in FP64, by any of the algorithms that cuBLASLt's
// heuristic returns for it. cuBLAS launches the one of its own choice; cuBLASLt, the library below
// it, returns several, so that a program can time them and keep the fastest. Source: cuBLAS's
// documentation, cublasLtMatmulAlgoGetHeuristic().
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
    // Multiplies once by each algorithm, because cublasLtMatmul() may still refuse one that was
    // returned. Allocates a workspace of 128 MiB, for algorithms that take one, such as those of
    // split-K. Throws Failure(kDeviceFailed).
    CublasLt(int M, int N, int K, const void* A, const void* B, void* C, cudaDataType_t in,
             cudaDataType_t out, cublasComputeType_t compute)
        : A_(A), B_(B), C_(C), fp16_scale_(compute == CUBLAS_COMPUTE_16F) {
        const cudaDataType_t scale = fp16_scale_ ? CUDA_R_16F : CUDA_R_32F;
        check_cublas(cublasLtMatmulDescInit(&matmul_, compute, scale), "cublasLtMatmulDescInit");
        // Row-major C = A * B is column-major C^T = B^T * A^T.
        const auto describe = [](cublasLtMatrixLayoutOpaque_t& layout, cudaDataType_t type,
                                 int64_t rows, int64_t columns) {
            check_cublas(cublasLtMatrixLayoutInit(&layout, type, rows, columns, rows),
                         "cublasLtMatrixLayoutInit");
        };
        describe(layout_A_, in, K, M);
        describe(layout_B_, in, N, K);
        describe(layout_C_, out, N, M);
        for (const auto& result : heuristic_results())
            if (result.state == CUBLAS_STATUS_SUCCESS &&
                queue(result.algo) == CUBLAS_STATUS_SUCCESS)
                algorithms_.push_back(result.algo);
        cudaGetLastError();  // clears the error of an algorithm that was refused
        finish_launch("an algorithm of cuBLASLt");
    }

    // How many algorithms there are. 0: none takes matrices of these shapes and types.
    size_t algorithms() const { return algorithms_.size(); }
    // Queues the product by one of them, in the order of the time that cuBLASLt expects.
    void multiply(size_t algorithm) {
        check_cublas(queue(algorithms_[algorithm]), "cublasLtMatmul");
    }

private:
    static constexpr int kMostAlgorithms = 32;

    struct Handle {
        cublasLtHandle_t handle = nullptr;
        Handle() { check_cublas(cublasLtCreate(&handle), "cublasLtCreate"); }
        ~Handle() { cublasLtDestroy(handle); }
        Handle& operator=(Handle&&) = delete;  // neither moved nor copied
    };

    std::vector<cublasLtMatmulHeuristicResult_t> heuristic_results() {
        cublasLtMatmulPreferenceOpaque_t preference;
        check_cublas(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
        const size_t bytes = workspace_.size();
        check_cublas(
            cublasLtMatmulPreferenceSetAttribute(
                &preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
            "cublasLtMatmulPreferenceSetAttribute");
        std::vector<cublasLtMatmulHeuristicResult_t> results(kMostAlgorithms);
        int count = 0;
        const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
            cublas_lt_.handle, &matmul_, &layout_B_, &layout_A_, &layout_C_, &layout_C_,
            &preference, kMostAlgorithms, results.data(), &count);
        // Either of these may mean that no algorithm takes such matrices.
        if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE)
            check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
        results.resize(status == CUBLAS_STATUS_SUCCESS ? count : 0);
        return results;
    }

    cublasStatus_t queue(const cublasLtMatmulAlgo_t& algorithm) {
        const float one = 1, zero = 0;
        const half half_one = 1.0f, half_zero = 0.0f;
        const void *alpha = &one, *beta = &zero;
        if (fp16_scale_) alpha = &half_one, beta = &half_zero;
        return cublasLtMatmul(cublas_lt_.handle, &matmul_, alpha, B_, &layout_B_, A_, &layout_A_,
                              beta, C_, &layout_C_, C_, &layout_C_, &algorithm, workspace_.data(),
                              workspace_.size(), nullptr);
    }

    const void *A_, *B_;
    void* C_;
    const bool fp16_scale_;  // the scale type, that of alpha and beta, is FP16 and not FP32
    Handle cublas_lt_;
    cublasLtMatmulDescOpaque_t matmul_;
    cublasLtMatrixLayoutOpaque_t layout_A_, layout_B_, layout_C_;
    DeviceArray<char> workspace_{size_t(128) << 20};
    std::vector<cublasLtMatmulAlgo_t> algorithms_;
};
