// A sum of 4096 ones is 2048.
// Seen: precision
// Cause: the sum is accumulated in half, which has 11 significant bits: 2048 + 1 is rounded to 2048.
// Source: https://github.com/NVIDIA/cutlass/issues/1188
// Hint: additions changed nothing, because half has 11 significant bits: keep the sum in float
#include <cuda_fp16.h>

#include <cstdio>
#ifdef FIXED
using Sum = float;
#else
using Sum = half;
#endif
__global__ void fill(half* a) { a[blockIdx.x * 256 + threadIdx.x] = 1.0f; }
__global__ void sums(const half* a, half* c) {
    Sum sum = 0.0f;
    for (int i = 0; i < 4096; ++i) sum += Sum(a[i]);  // <- here
    c[threadIdx.x] = sum;
}
int main() {
    half *a, *c, first;
    cudaMalloc(&a, 4096 * sizeof(half)), cudaMalloc(&c, 32 * sizeof(half));
    fill<<<16, 256>>>(a);
    sums<<<1, 32>>>(a, c);
    cudaMemcpy(&first, c, sizeof first, cudaMemcpyDeviceToHost);
    std::printf("%g\n", float(first));
    cudaFree(a), cudaFree(c);
}
