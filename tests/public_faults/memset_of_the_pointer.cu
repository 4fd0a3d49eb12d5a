// The sum is different in every run, although the array is set to zero before.
// Seen: unset
// Cause: cudaMemset() gets the address of the pointer in place of the pointer, and fails.
// Source: https://github.com/BBuf/how-to-optim-algorithm-in-cuda/pull/6
// Says: fails, invalid argument: 4 bytes in memory that is not device memory
// Says: adds to what nothing has written
#include <cstdio>

__global__ void dot(const float* a, const float* b, float* sum) {
    atomicAdd(sum, a[threadIdx.x] * b[threadIdx.x]);
}

int main() {
    float h[64], *a, *sum, result;
    for (float& x : h) x = 1;
    cudaMalloc(&a, sizeof h);
    cudaMalloc(&sum, sizeof(float));
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
#ifdef FIXED
    cudaMemset(sum, 0, sizeof(float));
#else
    cudaMemset(&sum, 0, sizeof(float));  // <- here
#endif
    dot<<<1, 64>>>(a, a, sum);
    cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%g\n", result);
    cudaFree(a);
    cudaFree(sum);
}
