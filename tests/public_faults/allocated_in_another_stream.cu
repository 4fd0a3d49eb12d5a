// compute-sanitizer --track-stream-ordered-races says that memory of cudaMallocAsync() is used before it is allocated.
// Seen: stale
// Cause: the memory is there only from the allocation on, in stream order; another stream has to wait for it.
// Source: https://github.com/rapidsai/rmm/issues/2156
// Says: race between streams
// Says: allocates (the launch
// Says: cudaStreamWaitEvent() or a synchronisation is missing
#include <cstdio>
__global__ void fill(float* a, float value) {
    a[threadIdx.x] = value;  // <- here
}
int main() {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    float *a, h[64];
    cudaMallocAsync(&a, sizeof h, cudaStreamLegacy);  // <- here
#ifdef FIXED
    cudaStreamSynchronize(cudaStreamLegacy);
#endif
    fill<<<1, 64, 0, stream>>>(a, 2);  // <- here
    cudaMemcpyAsync(h, a, sizeof h, cudaMemcpyDeviceToHost, stream);
    cudaFreeAsync(a, stream);
    cudaStreamSynchronize(stream);
    printf("%g\n", h[63]);
    cudaStreamDestroy(stream);
}
