// With several streams the result is garbage now and then; it never is with cudaDeviceSynchronize() before each free.
// Seen: stale
// Cause: the buffer is freed in one stream while a kernel in another one may still use it: no event orders the two.
// Source: https://github.com/roastduck/FreeTensor/pull/566
// Says: race between streams
// Says: cudaStreamWaitEvent() or a synchronisation is missing
#include <cstdio>
__global__ void fill(float* a, float value) { a[threadIdx.x] = value; }
__global__ void add(float* a, const float* b) { a[threadIdx.x] += b[threadIdx.x]; }  // <- here
int main() {
    cudaStream_t compute, memory;
    cudaEvent_t ready, done;
    cudaStreamCreate(&compute), cudaStreamCreate(&memory);
    cudaEventCreate(&ready), cudaEventCreate(&done);
    float *sum, *part, h[64];
    cudaMalloc(&sum, sizeof h), cudaMemset(sum, 0, sizeof h);
    cudaDeviceSynchronize();
    for (int i = 1; i <= 3; ++i) {
        cudaMallocAsync(reinterpret_cast<void**>(&part), sizeof h, memory);
        fill<<<1, 64, 0, memory>>>(part, float(i));
        cudaEventRecord(ready, memory);
        cudaStreamWaitEvent(compute, ready, 0);
        add<<<1, 64, 0, compute>>>(sum, part);
#ifdef FIXED
        cudaEventRecord(done, compute);
        cudaStreamWaitEvent(memory, done, 0);
#endif
        cudaFreeAsync(part, memory);  // <- here
    }
    cudaStreamSynchronize(compute);
    cudaMemcpy(h, sum, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g\n", h[63]);
    cudaFree(sum);
    cudaEventDestroy(ready), cudaEventDestroy(done);
    cudaStreamDestroy(compute), cudaStreamDestroy(memory);
}
