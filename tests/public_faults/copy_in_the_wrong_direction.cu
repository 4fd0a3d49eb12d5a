// The result on the host is all zeros, although the kernel is correct.
// Seen: fails
// Cause: it is copied with cudaMemcpyHostToDevice, and the copy's error is not checked.
// Source: https://github.com/rusty1s/pyg_autoscale/issues/19
// Says: but the destination is the host's and the source the device's
#include <cstdio>

__global__ void twice(float* x) { x[threadIdx.x] *= 2; }

int main() {
    float h[32], result[32] = {}, *d;
    for (int i = 0; i < 32; ++i) h[i] = i;
    cudaMalloc(&d, sizeof h);
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(d);
#ifdef FIXED
    cudaMemcpy(result, d, sizeof h, cudaMemcpyDeviceToHost);
#else
    cudaMemcpy(result, d, sizeof h, cudaMemcpyHostToDevice);  // <- here
#endif
    std::printf("%g\n", result[3]);
    cudaFree(d);
}
