// The double-buffered kernel is correct but for the last tile of K, which adds garbage.
// Seen: cp_async
// Cause: __pipeline_wait_prior(1) is correct while a next tile is in flight; for the last tile nothing follows it.
// Source: https://github.com/xlite-dev/LeetCUDA/pull/75
// Says: has not written yet
// Says: leaves the last group in flight, and the copy is in it
#include <cuda_pipeline.h>

#include <cstdio>
#include <vector>
constexpr int T = 16, K = 64;
__global__ void multiply(const float* A, const float* B, float* C) {
    __shared__ float a[2][T][T], b[2][T][T];
    const int y = threadIdx.y, x = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&a[0][y][x], &A[y * K + x], 4);
    __pipeline_memcpy_async(&b[0][y][x], &B[y * T + x], 4);
    __pipeline_commit();
    for (int k = 0, i = 0; k < K; k += T, i ^= 1) {
        if (k + T < K) {
            __pipeline_memcpy_async(&a[i ^ 1][y][x], &A[y * K + k + T + x], 4);  // <- here
            __pipeline_memcpy_async(&b[i ^ 1][y][x], &B[(k + T + y) * T + x], 4);  // <- here
#ifndef FIXED
            __pipeline_commit();
#endif
        }
#ifdef FIXED
        __pipeline_commit();  // an empty group for the last tile
#endif
        __pipeline_wait_prior(1);  // <- here
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += a[i][y][j] * b[i][j][x];  // <- here
        __syncthreads();
    }
    C[y * T + x] = sum;
}
int main() {
    std::vector<float> h(T * K, 1);
    float *a, *b, *c;
    cudaMalloc(&a, T * K * 4), cudaMalloc(&b, T * K * 4), cudaMalloc(&c, T * T * 4);
    cudaMemcpy(a, h.data(), T * K * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(b, h.data(), T * K * 4, cudaMemcpyHostToDevice);
    multiply<<<1, dim3(T, T)>>>(a, b, c);
    cudaMemcpy(h.data(), c, T * T * 4, cudaMemcpyDeviceToHost);
    std::printf("%g, should be %d\n", h[0], K);
    cudaFree(a), cudaFree(b), cudaFree(c);
}
