// The sum of the first launch is right, and every later launch returns the first one's.
// Seen: wrong_result
// Cause: the counter of the blocks that have ended is never set back to 0, so that no block is the last one again.
// Source: https://github.com/brucefan1983/GPUMD/pull/665
// Hint: where the launch before has left it, so that no block gets 7 as the last one did then
#include <cstdio>
#include <vector>
__device__ unsigned ended;
__global__ void add_up(const float* a, float* of_block, float* sum) {
    __shared__ float part[128];
    __shared__ bool is_last;
    const unsigned t = threadIdx.x;
    part[t] = a[blockIdx.x * 128 + t];
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) {
        of_block[blockIdx.x] = part[0];
        __threadfence();
        is_last = atomicAdd(&ended, 1) == gridDim.x - 1;  // <- here
    }
    __syncthreads();
    if (!is_last || t > 0) return;
    __threadfence();
    float all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += of_block[b];
    *sum = all;  // <- here
#ifdef FIXED
    ended = 0;
#endif
}
int main() {
    const int blocks = 8, n = blocks * 128;
    float *a, *of_block, *sum;
    cudaMalloc(&a, n * sizeof(float)), cudaMalloc(&of_block, blocks * sizeof(float));
    cudaMalloc(&sum, sizeof(float));
    for (int step = 1; step <= 3; ++step) {
        float result;
        cudaMemcpy(a, std::vector<float>(n, step).data(), n * sizeof(float), cudaMemcpyDefault);
        add_up<<<blocks, 128>>>(a, of_block, sum);
        cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
        std::printf("%g, expected %d\n", result, n * step);
    }
    cudaFree(a), cudaFree(of_block), cudaFree(sum);
}
