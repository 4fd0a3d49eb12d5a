// cublasSgemm returns CUBLAS_STATUS_INVALID_VALUE, or C stays as it was; square matrices give B * A.
// Seen: fails
// Cause: cuBLAS expects column-major matrices, and gets row-major ones with their row lengths as leading dimensions.
// Source: https://forums.developer.nvidia.com/t/cublas-sgemm-wrong-results/28832
// Says: CUBLAS_STATUS_INVALID_VALUE
// Says: ldb is 3, but B has 4 rows: cuBLAS matrices are column-major
// Says: swap A and B, and m and n
#include <cublas_v2.h>
#include <cstdio>
int main() {
    const int m = 2, n = 3, k = 4;
    float A[m * k], B[k * n], C[m * n], *a, *b, *c, one = 1, zero = 0;
    for (int i = 0; i < m * k; ++i) A[i] = i;
    for (int i = 0; i < k * n; ++i) B[i] = i;
    cudaMalloc(&a, sizeof A), cudaMalloc(&b, sizeof B), cudaMalloc(&c, sizeof C);
    cudaMemcpy(a, A, sizeof A, cudaMemcpyHostToDevice),
        cudaMemcpy(b, B, sizeof B, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, sizeof C);
    cublasHandle_t h;
    cublasCreate(&h);
#ifdef FIXED
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
#else
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, k, b, n, &zero, c, n);  // <- here
#endif
    cudaMemcpy(C, c, sizeof C, cudaMemcpyDeviceToHost);
    for (float x : C) printf("%g ", x);  // 42 48 54 114 136 158
    cublasDestroy(h);
    cudaFree(a), cudaFree(b), cudaFree(c);
}
