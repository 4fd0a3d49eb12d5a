// The value that the function returns is stale now and then.
// Seen: stale
// Cause: cudaMemcpyAsync() into pinned memory returns at once, and the host reads without waiting for the stream.
// Source: https://github.com/NVIDIA/cudf/issues/2755
// Says: the host reads h, which the copy
// Says: may still be writing
// Says: cudaStreamSynchronize(s) is missing
#include <cstdio>
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
int main() {
    float *h, *d;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&h, 128), cudaMalloc(&d, 128);
    for (int i = 0; i < 32; ++i) h[i] = i;
    cudaMemcpyAsync(d, h, 128, cudaMemcpyHostToDevice, s);
    twice<<<1, 32, 0, s>>>(d);
    cudaMemcpyAsync(h, d, 128, cudaMemcpyDeviceToHost, s);  // <- here
#ifdef FIXED
    cudaStreamSynchronize(s);
#endif
    std::printf("%g\n", h[3]);  // <- here
    cudaStreamDestroy(s);
    cudaFree(d), cudaFreeHost(h);
}
