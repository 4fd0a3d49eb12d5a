// A kernel asserts what it assumes and prints a line per block; the host asserts that it succeeded.
#include <cassert>
#include <cstdio>
__global__ void collatz(const unsigned* start, unsigned* steps, int n) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    assert(blockDim.x % 32 == 0 && "whole warps");
    if (i < n) {
        unsigned long long x = start[i];
        unsigned count = 0;
        while (x != 1) {
            x = x % 2 ? 3 * x + 1 : x / 2;
            ++count;
            assert(count < 1000);
        }
        steps[i] = count;
    }
    const int numbers = __syncthreads_count(i < n);
    if (threadIdx.x == 0) printf("block %u of %u has %d numbers\n", blockIdx.x, gridDim.x, numbers);
}
int main() {
    const int n = 100;
    unsigned h[n], *start, *steps;
    for (int i = 0; i < n; ++i) h[i] = i + 1;
    cudaMalloc((void**)&start, sizeof h);
    cudaMalloc((void**)&steps, sizeof h);
    cudaMemcpy(start, h, sizeof h, cudaMemcpyHostToDevice);
    collatz<<<4, 32>>>(start, steps, n);
    const cudaError_t launched = cudaGetLastError(), finished = cudaDeviceSynchronize();
    assert(launched == cudaSuccess && finished == cudaSuccess);
    cudaMemcpy(h, steps, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(start);
    cudaFree(steps);
    std::printf("27 takes %u steps\n", h[26]);
    return h[26] != 111 || h[0] != 0;
}
