// The noise repeats itself every 64 elements.
// Seen: wrong_result
// Cause: curand_init() gets the thread's number in its block as the sequence, so that all blocks draw the same numbers.
// Source: https://forums.developer.nvidia.com/t/trying-to-understand-curand-curand-init-sequence-input-parameter/22052
// Hint: draws the same random numbers in several threads
#include <curand_kernel.h>

#include <cstdio>
__global__ void noise(float* x, unsigned long long seed) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
#ifdef FIXED
    curand_init(seed, i, 0, &state);
#else
    curand_init(seed, threadIdx.x, 0, &state);
#endif
    x[i] = curand_normal(&state);  // <- here
}
int main() {
    float x[256], *d_x;
    cudaMalloc(&d_x, sizeof x);
    noise<<<4, 64>>>(d_x, 7);
    cudaMemcpy(x, d_x, sizeof x, cudaMemcpyDeviceToHost);
    std::printf("%g %g\n", x[0], x[64]);
    cudaFree(d_x);
}
