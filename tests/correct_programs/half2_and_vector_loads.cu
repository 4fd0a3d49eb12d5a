// Loads of float4 with single elements for the remainder, and arithmetic on pairs of halves.
#include <cuda_fp16.h>

#include <cstdio>
__global__ void to_half(const float* in, half* out, int n) {
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        const float4 x = *reinterpret_cast<const float4*>(in + i);
        half2* const to = reinterpret_cast<half2*>(out + i);
        to[0] = __floats2half2_rn(x.x, x.y);
        to[1] = __floats2half2_rn(x.z, x.w);
    } else {
        for (int j = i; j < n; ++j) out[j] = __float2half(in[j]);
    }
}
__global__ void axpy(half a, const half* x, half* y, int n) {
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 1 < n) {
        half2* const pair = reinterpret_cast<half2*>(y + i);
        *pair = __hfma2(__half2half2(a), *reinterpret_cast<const half2*>(x + i), *pair);
    } else if (i < n) {
        y[i] = __hadd(__hmul(a, x[i]), y[i]);
    }
}
int main() {
    const int n = 203;
    float h[n], *in;
    half result[n], *x, *y;
    for (int i = 0; i < n; ++i) h[i] = float(i % 50);
    cudaMalloc(&in, sizeof h), cudaMalloc(&x, sizeof result), cudaMalloc(&y, sizeof result);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    to_half<<<1, 64>>>(in, x, n);
    to_half<<<1, 64>>>(in, y, n);
    axpy<<<2, 64>>>(__float2half(2), x, y, n);
    cudaMemcpy(result, y, sizeof result, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += __half2float(result[i]) != 3 * h[i];
    cudaFree(in), cudaFree(x), cudaFree(y);
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
