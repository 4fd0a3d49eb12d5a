// The moving average is wrong near the ends of each block.
// Seen: wrong_result
// Cause: the tile has a halo of one radius, but its elements are stored without adding the radius.
// Source: https://forums.developer.nvidia.com/t/adjusting-the-1d-stencil-can-you-explain-a-few-details/65397
// Says: index -3 of 'float [70]' in tile[own - kRadius]
#include <cstdio>
constexpr int kBlock = 64, kRadius = 3;
__global__ void average(const float* in, float* out, int n) {
    __shared__ float tile[kBlock + 2 * kRadius];
    const int i = blockIdx.x * kBlock + threadIdx.x;
#ifdef FIXED
    const int own = threadIdx.x + kRadius;
#else
    const int own = threadIdx.x;
#endif
    tile[own] = i < n ? in[i] : 0;
    if (threadIdx.x < kRadius) {
        tile[own - kRadius] = i >= kRadius ? in[i - kRadius] : 0;  // <- here
        tile[own + kBlock] = i + kBlock < n ? in[i + kBlock] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int offset = -kRadius; offset <= kRadius; ++offset) sum += tile[own + offset];
    if (i < n) out[i] = sum / (2 * kRadius + 1);
}
int main() {
    const int n = 200;
    float *in, *out, averages[n];
    cudaMalloc(&in, sizeof averages), cudaMalloc(&out, sizeof averages);
    cudaMemset(in, 0, sizeof averages);
    average<<<(n + kBlock - 1) / kBlock, kBlock>>>(in, out, n);
    cudaMemcpy(averages, out, sizeof averages, cudaMemcpyDeviceToHost);
    printf("%g\n", averages[n - 1]);
    cudaFree(in), cudaFree(out);
}
