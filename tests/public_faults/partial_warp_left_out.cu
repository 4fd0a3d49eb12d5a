// The norm is too large by the same factor in every row, but only if a row has 180 elements.
// Seen: wrong_result
// Cause: blockDim.x / 32 leaves out the last warp, which has fewer than 32 threads, so that nothing reads its sum.
// Source: https://github.com/flashinfer-ai/flashinfer/pull/3879
// Hint: for the last warp, which has 20 threads: blockDim.x / 32 is the number of whole warps
#include <cstdio>
#include <vector>
__global__ void sums_of_squares(const float* a, float* sums) {
    __shared__ float of_warp[32];
    const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    const float x = a[blockIdx.x * blockDim.x + t];
    float sum = x * x;
    const unsigned lanes = min(32u, blockDim.x - warp * 32), mask = ~0u >> (32 - lanes);
    for (unsigned by = 16; by > 0; by /= 2) {
        const float other = __shfl_sync(mask, sum, lane + by < lanes ? lane + by : lane);
        if (lane + by < lanes) sum += other;
    }
    if (lane == 0) of_warp[warp] = sum;  // <- here
    __syncthreads();
#ifdef FIXED
    const unsigned warps = (blockDim.x + 31) / 32;
#else
    const unsigned warps = blockDim.x / 32;
#endif
    if (t > 0) return;
    float all = 0;
    for (unsigned w = 0; w < warps; ++w) all += of_warp[w];  // <- here
    sums[blockIdx.x] = all;
}
int main() {
    const int rows = 3, n = 180;
    float *a, *sums, result[rows];
    cudaMalloc(&a, rows * n * sizeof(float)), cudaMalloc(&sums, sizeof result);
    cudaMemcpy(a, std::vector<float>(rows * n, 1).data(), rows * n * sizeof(float),
               cudaMemcpyHostToDevice);
    sums_of_squares<<<rows, n>>>(a, sums);
    cudaMemcpy(result, sums, sizeof result, cudaMemcpyDeviceToHost);
    std::printf("%g, expected %d\n", result[0], n);
    cudaFree(a), cudaFree(sums);
}
