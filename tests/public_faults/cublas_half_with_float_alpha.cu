// The product of half matrices is 0 with compute type CUDA_R_16F, and correct with CUDA_R_32F.
// Seen: fails
// Cause: alpha and beta are floats, but a product that is computed in half takes halves.
// Source: https://github.com/NVIDIA/DeepLearningExamples/issues/143
// Says: alpha points to a float, but with this type to compute in cuBLAS reads it as a half
#include <cublas_v2.h>
#include <cstdio>
int main() {
    const int n = 16;
    half A[n * n], C[n * n], *a, *c;
    for (int i = 0; i < n * n; ++i) A[i] = i % (n + 1) == 0 ? 2 : 0;
    cudaMalloc(&a, sizeof A), cudaMalloc(&c, sizeof C);
    cudaMemcpy(a, A, sizeof A, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, sizeof C);
    cublasHandle_t h;
    cublasCreate(&h);
#ifdef FIXED
    half alpha = 1.0f, beta = 0.0f;
#else
    float alpha = 1, beta = 0;
#endif
    const cudaDataType type = CUDA_R_16F;
    cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, a, type, n, a, type, n,  // <- here
                 &beta, c, type, n, type, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
    cudaMemcpy(C, c, sizeof C, cudaMemcpyDeviceToHost);
    printf("%g\n", float(C[0]));  // 4
    cublasDestroy(h);
    cudaFree(a), cudaFree(c);
}
