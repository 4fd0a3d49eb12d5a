// Softmax of rows of halves by an online maximum and sum, each thread two elements at a time, an odd one at the end.
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>
#include <vector>
struct Running {
    float largest, sum;
};
__device__ __forceinline__ Running join(Running a, Running b) {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}
__global__ void __launch_bounds__(128) softmax(const __half* in, __half* out, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const __half* const from = in + size_t(row) * (columns + columns % 2);
    __half* const to = out + size_t(row) * (columns + columns % 2);
    Running r{-INFINITY, 0};
    for (int i = lane; i < columns / 2; i += 32) {
        const float2 v = __half22float2(reinterpret_cast<const __half2*>(from)[i]);
        const float largest = fmaxf(r.largest, fmaxf(v.x, v.y));
        r.sum = r.sum * __expf(r.largest - largest) + __expf(v.x - largest) + __expf(v.y - largest);
        r.largest = largest;
    }
    if (columns % 2 && lane == 0) r = join(r, {__half2float(from[columns - 1]), 1});
    for (int lanes = 16; lanes; lanes >>= 1) {
        const Running other{__shfl_xor_sync(0xffffffff, r.largest, lanes),
                            __shfl_xor_sync(0xffffffff, r.sum, lanes)};
        if (other.largest > -INFINITY) r = r.largest > -INFINITY ? join(r, other) : other;
    }
    for (int i = lane; i < columns; i += 32)
        to[i] = __float2half_rn(__expf(__half2float(from[i]) - r.largest) / r.sum);
}
int main() {
    const int rows = 8, columns = 77, pitch = 78;
    std::vector<__half> h(rows * pitch, __float2half(0));
    for (int i = 0; i < rows * pitch; ++i) h[i] = __float2half(float(i % 13) / 4);
    __half *in, *out;
    cudaMalloc(&in, h.size() * sizeof(__half)), cudaMalloc(&out, h.size() * sizeof(__half));
    cudaMemcpy(in, h.data(), h.size() * sizeof(__half), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, h.size() * sizeof(__half));
    softmax<<<rows / 4, 128>>>(in, out, columns);
    cudaMemcpy(h.data(), out, h.size() * sizeof(__half), cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    int wrong = 0;
    for (int row = 0; row < rows; ++row) {
        float sum = 0;
        for (int i = 0; i < columns; ++i) sum += __half2float(h[row * pitch + i]);
        wrong += !(std::fabs(sum - 1) < 0.01f);
    }
    std::printf("%d wrong\n", wrong);
    return wrong != 0;
}
