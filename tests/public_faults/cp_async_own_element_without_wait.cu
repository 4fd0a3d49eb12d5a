// Each thread only reads what it has copied itself, so no barrier is needed; yet the sums are garbage.
// Seen: cp_async
// Cause: a barrier is not needed, but a wait is: the copy is asynchronous for the thread that has issued it, too.
// Source: own
// Says: has not written yet
// Says: no wait follows the copy
#include <cuda_pipeline.h>

#include <cstdio>
__global__ void twice(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);  // <- here
    __pipeline_commit();
#ifdef FIXED
    __pipeline_wait_prior(0);
#endif
    out[threadIdx.x] = 2 * s[threadIdx.x];  // <- here
}
int main() {
    float h[64], *a, *b;
    for (int i = 0; i < 64; ++i) h[i] = i;
    cudaMalloc(&a, 256), cudaMalloc(&b, 256);
    cudaMemcpy(a, h, 256, cudaMemcpyHostToDevice);
    twice<<<1, 64>>>(a, b);
    cudaMemcpy(h, b, 256, cudaMemcpyDeviceToHost);
    std::printf("%g\n", h[5]);
    cudaFree(a), cudaFree(b);
}
