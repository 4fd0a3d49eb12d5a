// Average pooling over a large window gives 0.25 where it should be 0.5, in FP16 only.
// Seen: precision
// Cause: the window's elements are added in half: as soon as the sum is large, what is added is lost in rounding.
// Source: https://github.com/ROCm/MIOpen/issues/2109
// Hint: additions changed nothing, because half has 11 significant bits: keep the sum in float
#include <cuda_fp16.h>

#include <cstdio>
template <class Sum>
__device__ Sum add(Sum sum, half value);
template <>
__device__ half add(half sum, half value) {
    return __hadd(sum, value);  // <- here
}
template <>
__device__ float add(float sum, half value) {
    return sum + __half2float(value);
}
template <class Sum>
__global__ void average(const half* in, int height, int width, half* out) {
    const half* plane = in + blockIdx.x * height * width;
    Sum sum = Sum(0.0f);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) sum = add<Sum>(sum, plane[y * width + x]);
    out[blockIdx.x] = half(float(sum) / (height * width));
}
int main() {
    const int height = 64, width = 64, n = height * width;
    static half h[n];
    half *in, *out, mean;
    for (half& x : h) x = half(0.5f);
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof(half));
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
#ifdef FIXED
    average<float><<<1, 1>>>(in, height, width, out);
#else
    average<half><<<1, 1>>>(in, height, width, out);
#endif
    cudaMemcpy(&mean, out, sizeof mean, cudaMemcpyDeviceToHost);
    printf("%g\n", __half2float(mean));
    cudaFree(in), cudaFree(out);
}
