// An illegal memory access was encountered, but only for the large problem.
// Cause: cudaMalloc() has failed, and the kernel gets a null pointer: there is no room for that many bytes.
// Source: own
// Says: a null pointer (cudaMalloc at
// Says: fails, out of memory
#include <cstdio>

__global__ void fill(float* p) { p[threadIdx.x] = 1; }  // <- here

int main() {
#ifdef FIXED
    const size_t n = 32;
#else
    const size_t n = size_t(1) << 42;
#endif
    float* d;
    cudaMalloc(&d, n * sizeof(float));  // <- here
    fill<<<1, 32>>>(d);
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(d);
}
