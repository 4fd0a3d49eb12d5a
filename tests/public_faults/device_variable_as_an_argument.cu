// A kernel gets the array that I declared as __device__, and stops with an illegal address.
// Seen: crashes
// Cause: on the host the array's name is not a device address; the host has only a shadow of the variable.
// Source: https://github.com/NVIDIA/cccl/pull/2611
// Says: passes to the kernel the host's name of the __device__ variable table, which is not its address
// Says: cudaGetSymbolAddress(&pointer, table) gives the address
#include <cstdio>
__device__ float table[16];
__global__ void fill(float* t) { t[threadIdx.x] = threadIdx.x; }
int main() {
#ifdef FIXED
    void* address;
    cudaGetSymbolAddress(&address, table);
    fill<<<1, 16>>>(static_cast<float*>(address));
#else
    fill<<<1, 16>>>(table);  // <- here
#endif
    float h[16];
    cudaMemcpyFromSymbol(h, table, sizeof h);
    printf("%s, %g\n", cudaGetErrorString(cudaDeviceSynchronize()), h[3]);
}
