// cudaFree() returns cudaErrorInvalidValue for a pointer that cudaMalloc() returned.
// Seen: fails
// Cause: an earlier cudaFree() of this pointer was meant for another array; the kernel between the two writes to freed memory.
// Source: own
// Says: freed (cudaFree at
// Says: fails, invalid argument: memory that was freed
#include <cstdio>

__global__ void fill(float* p) { p[threadIdx.x] = 1; }  // <- here

int main() {
    float *scratch, *d;
    cudaMalloc(&scratch, 128);
    cudaMalloc(&d, 128);
#ifdef FIXED
    cudaFree(scratch);
#else
    cudaFree(d);  // <- here
#endif
    fill<<<1, 32>>>(d);
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(d);  // <- here
#ifndef FIXED
    cudaFree(scratch);
#endif
}
