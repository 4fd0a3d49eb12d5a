// Managed memory still holds the old values when the host reads it; with a cudaMemcpy() in between it is correct.
// Seen: stale
// Cause: a launch returns at once; the host reads managed memory before the kernel has written it.
// Source: https://cuda-memory-management-516dfd.pages.code.europa.eu/episodes/CUDA-MM-1-ManagedMemory
// Says: may still be writing, in the launch
// Says: cudaDeviceSynchronize() is missing
#include <cstdio>
__global__ void add(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];  // <- here
}
int main() {
    const int n = 1000;
    float *x, *y, error = 0;
    cudaMallocManaged(&x, n * sizeof(float)), cudaMallocManaged(&y, n * sizeof(float));
    for (int i = 0; i < n; ++i) x[i] = 1, y[i] = 2;
    add<<<4, 256>>>(n, x, y);  // <- here
#ifdef FIXED
    cudaDeviceSynchronize();
#endif
    for (int i = 0; i < n; ++i) error = fmaxf(error, fabsf(y[i] - 3));  // <- here
    std::printf("largest error %g\n", error);
    cudaFree(x), cudaFree(y);
}
