// The counter in device memory is always 0 on the host, whatever the kernel counts.
// Seen: fails
// Cause: cudaMemcpy() gets the variable's name, fails with invalid argument, and the error is not checked.
// Source: https://forums.developer.nvidia.com/t/understanding-cudamemcpytosymbol-and-cudamemcpyfromsymbol/25036
// Says: the source is the host's name of the __device__ variable counter, which is not its address
// Says: cudaMemcpyFromSymbol() takes the name
#include <cstdio>
__device__ int counter;
__global__ void count_odd(const int* a) {
    if (a[threadIdx.x] % 2) atomicAdd(&counter, 1);
}
int main() {
    int h[64], *a, odd = 0;
    for (int i = 0; i < 64; ++i) h[i] = i;
    cudaMalloc(&a, sizeof h);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    count_odd<<<1, 64>>>(a);
#ifdef FIXED
    cudaMemcpyFromSymbol(&odd, counter, sizeof odd);
#else
    cudaMemcpy(&odd, &counter, sizeof odd, cudaMemcpyDeviceToHost);  // <- here
#endif
    printf("%d\n", odd);
    cudaFree(a);
}
