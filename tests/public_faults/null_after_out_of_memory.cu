// An illegal memory access was encountered, but only for the large problem.
// Seen: crashes
// Cause: cudaMalloc() has no memory left and fails, its error is not checked, and the kernel gets a null pointer.
// Source: own
// Says: a null pointer (cudaMalloc at
// Says: fails, out of memory)
#include <cstdio>

__global__ void fill(float* p) { p[threadIdx.x] = 1; }  // <- here

int main() {
    float* d;
    const size_t bytes = size_t(1) << 44;
#ifdef FIXED
    if (cudaMalloc(&d, bytes) != cudaSuccess) return std::puts("no room for the array") < 0;
#else
    cudaMalloc(&d, bytes);  // <- here
#endif
    fill<<<1, 32>>>(d);
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(d);
}
