// Static shared arrays give the correct result, dynamic ones a wrong one, as if both were the same.
// Seen: wrong_result
// Cause: the kernel and the function that it calls each declare an extern __shared__ array: both begin at address 0.
// Source: https://github.com/JuliaGPU/CUDA.jl/issues/555
// Says: has stored over the value of
// Says: are the same memory, as all extern __shared__ arrays of a block are
#include <cstdio>
template <int kThreads>
#ifdef FIXED
__device__ float block_sum(float value, float* scratch) {
#else
__device__ float block_sum(float value) {
    extern __shared__ float scratch[];  // <- here
#endif
    scratch[threadIdx.x] = value;  // <- here
    __syncthreads();
    for (int n = kThreads / 2; n > 0; n /= 2) {
        if (threadIdx.x < n) scratch[threadIdx.x] += scratch[threadIdx.x + n];
        __syncthreads();
    }
    return scratch[0];
}
__global__ void centre(const float* in, float* out) {
    extern __shared__ float row[];  // <- here
    const int i = threadIdx.x;
    row[i] = in[blockIdx.x * 64 + i];  // <- here
    __syncthreads();
#ifdef FIXED
    const float mean = block_sum<64>(row[i], row + 64) / 64;
#else
    const float mean = block_sum<64>(row[i]) / 64;
#endif
    out[blockIdx.x * 64 + i] = row[63 - i] - mean;  // <- here
}
int main() {
    float h[128], *in, *out;
    for (int i = 0; i < 128; ++i) h[i] = float(i % 64);
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof h);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    centre<<<2, 64, 2 * 64 * sizeof(float)>>>(in, out);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g %g\n", h[0], h[63]);
    cudaFree(in), cudaFree(out);
}
