// The second kernel sorts half-written data, once in a thousand runs.
// Seen: stale
// Cause: it is launched in a different stream from the kernel that writes its input, and nothing orders the two.
// Source: https://github.com/sony/nnabla-ext-cuda/pull/188
// Says: race between streams
// Says: cudaStreamWaitEvent() or a synchronisation is missing
#include <cstdio>
__global__ void fill(float* a) {
    a[blockIdx.x * 64 + threadIdx.x] = 1;  // <- here
}
__global__ void twice(const float* a, float* b) {
    int i = blockIdx.x * 64 + threadIdx.x;
    b[i] = 2 * a[i];  // <- here
}
int main() {
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking),
        cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    float *a, *b, r;
    cudaMalloc(&a, 4096), cudaMalloc(&b, 4096);
    fill<<<16, 64, 0, s>>>(a);  // <- here
#ifdef FIXED
    cudaEvent_t filled;
    cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
    cudaEventRecord(filled, s);
    cudaStreamWaitEvent(t, filled, 0);
#endif
    twice<<<16, 64, 0, t>>>(a, b);  // <- here
    cudaDeviceSynchronize();
    cudaMemcpy(&r, b, 4, cudaMemcpyDeviceToHost);
    std::printf("%g\n", r);
    cudaFree(a), cudaFree(b), cudaStreamDestroy(s), cudaStreamDestroy(t);
}
