// Each of the algorithms that cuBLASLt's heuristic returns, in each precision, computes the product
// that the harness verifies. If it computed another one, its time would mean nothing.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <string>

#include "common/cublas_lt.h"
#include "common/device.h"
#include "common/device_operands.h"
#include "common/errors.h"
#include "common/facts.h"
#include "common/options.h"
#include "common/verify.h"

// FP32's error bound also shows that no algorithm of it computes in TF32.
template <class In, class Out>
void test(const std::string& precision, const Arithmetic& arithmetic, cudaDataType_t in,
          cudaDataType_t out, cublasComputeType_t compute) {
    for (const Shape s : {Shape{512, 256, 128}, {64, 128, 4096}, {1, 264, 72}, {131, 77, 33}}) {
        Operands<In, Out> x(s);
        CublasLt lt(s.M, s.N, s.K, x.A_device.data(), x.B_device.data(), x.C_device(), in, out,
                    compute);
        const std::string what = precision + " " + to_string(s);
        std::printf("%s: %zu algorithms\n", what.c_str(), lt.algorithms());
        if (s.K % 128 == 0 && lt.algorithms() == 0) throw Failure(kWrongResult, what + ": none");
        for (size_t i = 0; i < lt.algorithms(); ++i)
            with_context(what + ", algorithm " + std::to_string(i), [&] {
                const auto multiply = [&] {
                    lt.multiply(i);
                    finish_launch();
                };
                verify_exact(x, arithmetic, 1, multiply);
                verify_reals(x, arithmetic, 1, multiply);
            });
    }
}

int main() {
    try {
        select_device(0);
        test<float, float>("FP32", kFp32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
        test<half, float>("FP16", kTensor, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
        test<__nv_bfloat16, float>("BF16", kTensor, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
        test<half, half>("FP16 pairs", kHalf2, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F);
    } catch (...) {
        return print_exception("cublas_lt_test");
    }
}
