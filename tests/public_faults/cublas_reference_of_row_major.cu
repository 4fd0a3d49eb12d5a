// My kernel's product differs from cuBLAS's in nearly every element, and a loop on the host says that mine is correct.
// Seen: wrong_product
// Cause: cublasSgemm() is column-major, and gets row-major matrices in the order A, B. The leading dimensions fit.
// Source: https://github.com/Liu-xiandong/How_to_optimize_in_GPU/issues/13
// Hint: its result differs from the array that cudaMemcpy
// Hint: swap A and B, and m and n
#include <cublas_v2.h>
#include <cmath>
#include <cstdio>
#include <vector>

__global__ void matmul(int m, int n, int k, const float* A, const float* B, float* C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += A[row * k + l] * B[l * n + col];
    C[row * n + col] = sum;
}

int main() {
    const int m = 32, n = 64, k = 48;
    std::vector<float> A(m * k), B(k * n), own(m * n), reference(m * n);
    for (int i = 0; i < m * k; ++i) A[i] = i * 7 % 11 - 5;
    for (int i = 0; i < k * n; ++i) B[i] = i * 5 % 13 - 6;
    float *a, *b, *c, one = 1, zero = 0;
    cudaMalloc(&a, m * k * sizeof(float)), cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    cudaMemcpy(a, A.data(), m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, B.data(), k * n * sizeof(float), cudaMemcpyHostToDevice);
    matmul<<<dim3(n / 16, m / 16), dim3(16, 16)>>>(m, n, k, a, b, c);
    cudaMemcpy(own.data(), c, m * n * sizeof(float), cudaMemcpyDeviceToHost);
    cublasHandle_t handle;
    cublasCreate(&handle);
#ifdef FIXED
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
#else
    const auto N = CUBLAS_OP_N;
    cublasSgemm(handle, N, N, m, n, k, &one, a, m, b, k, &zero, c, m);  // <- here
#endif
    cudaMemcpy(reference.data(), c, m * n * sizeof(float), cudaMemcpyDeviceToHost);
    int differ = 0;
    for (int i = 0; i < m * n; ++i) differ += std::abs(own[i] - reference[i]) > 1e-3;
    std::printf("%d of %d elements differ\n", differ, m * n);
    cublasDestroy(handle);
    cudaFree(a), cudaFree(b), cudaFree(c);
}
