// The example that times a kernel with two events fails now and then: cudaErrorNotReady.
// Seen: fails
// Cause: the host calls cudaEventElapsedTime() before the second event has completed.
// Source: https://github.com/cupy/cupy/issues/5678
// Says: the host has not waited for the second event
// Says: cudaEventSynchronize() is missing
#include <cstdio>
__global__ void fill(float* a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
int main() {
    float *a, ms = 0;
    cudaEvent_t begin, end;
    cudaMalloc(&a, 1024 * sizeof(float));
    cudaEventCreate(&begin), cudaEventCreate(&end);
    cudaEventRecord(begin);
    fill<<<8, 128>>>(a);
    cudaEventRecord(end);
#ifdef FIXED
    cudaEventSynchronize(end);
#endif
    cudaEventElapsedTime(&ms, begin, end);  // <- here
    printf("%s\n", ms >= 0 ? "timed" : "not timed");
    cudaEventDestroy(begin), cudaEventDestroy(end), cudaFree(a);
}
