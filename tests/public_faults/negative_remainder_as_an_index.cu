// The noise is correct to the right of the origin; to its left the kernel reads what is not in the table.
// Seen: wrong_result
// Cause: % of a negative number is negative, so that the index is below 0.
// Source: https://github.com/ORNL/HeCBench/issues/268
// Says: index -5 of 'float [8]'
#include <cstdio>
__device__ float slope(int cell) {
    const float slopes[8] = {0.5f, -1, 0.25f, 1, -0.75f, 0.125f, -0.5f, 2};
#ifdef FIXED
    return slopes[cell & 7];
#else
    return slopes[cell % 8];  // <- here
#endif
}
__global__ void noise(float from, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = from + 0.25f * i, base = floorf(x), t = x - base;
    const int cell = int(base);
    out[i] = (1 - t) * slope(cell) * t + t * slope(cell + 1) * (t - 1);
}
int main() {
    float *out, h[80];
    cudaMalloc(&out, sizeof h);
    noise<<<2, 64>>>(-5, out, 80);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g %g\n", h[1], h[79]);
    cudaFree(out);
}
