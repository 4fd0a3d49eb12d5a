// The time of my kernel is always 0, or some number that makes no sense.
// Seen: fails
// Cause: the second event is never recorded, and the error of cudaEventElapsedTime() is not checked.
// Source: own
// Says: the second event was never recorded
#include <cstdio>

__global__ void fill(float* p) { p[threadIdx.x] = 1; }

int main() {
    float *d, ms = 0;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaMalloc(&d, 128);
    cudaEventRecord(begin);
    fill<<<1, 32>>>(d);
#ifdef FIXED
    cudaEventRecord(end);
#endif
    cudaDeviceSynchronize();
    cudaEventElapsedTime(&ms, begin, end);  // <- here
    std::printf("%s\n", ms >= 0 ? "timed" : "not timed");
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaFree(d);
}
