// The last block to finish adds up the sums of all blocks: a fence, a counter that wraps by atomicInc(), volatile reads.
#include <cstdio>
__device__ unsigned finished = 0;
template <unsigned kThreads>
__device__ float block_sum(float value) {
    __shared__ float of_warp[kThreads / 32];
    for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < kThreads / 32 ? of_warp[threadIdx.x] : 0;
    if (threadIdx.x < 32)
        for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    __syncthreads();
    return value;
}
template <unsigned kThreads>
__global__ void sum(const float* in, int n, volatile float* partial, float* out) {
    __shared__ bool is_last;
    float value = 0;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kThreads * gridDim.x)
        value += in[i];
    value = block_sum<kThreads>(value);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = value;
        __threadfence();
        is_last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    value = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += kThreads) value += partial[i];
    value = block_sum<kThreads>(value);
    if (threadIdx.x == 0) *out = value;
}
int main() {
    const int n = 5000, blocks = 6;
    static float h[n];
    for (int i = 0; i < n; ++i) h[i] = float(i % 10);
    float *in, *partial, *out, result[2];
    cudaMalloc(&in, sizeof h), cudaMalloc(&partial, blocks * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    for (float& r : result) {
        sum<128><<<blocks, 128>>>(in, n, partial, out);
        cudaMemcpy(&r, out, sizeof r, cudaMemcpyDeviceToHost);
    }
    cudaFree(in), cudaFree(partial), cudaFree(out);
    std::printf("%g %g\n", result[0], result[1]);
    return result[0] != 22500 || result[1] != 22500;
}
