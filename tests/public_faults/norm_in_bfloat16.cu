// The norm of a long vector is too small in bfloat16, the more so the longer the vector is.
// Seen: precision
// Cause: the squares are added with __hfma2() in bfloat16, whose 8 significant bits lose addends that are small beside the sum.
// Source: own
// Hint: additions changed nothing, because bfloat16 has 8 significant bits: keep the sum in float
#include <cuda_bf16.h>

#include <cstdio>
__global__ void fill(__nv_bfloat162* x) {
    x[blockIdx.x * 256 + threadIdx.x] = {0.5f, 0.75f + threadIdx.x % 2};
}
__global__ void norm(const __nv_bfloat162* x, float* result) {
#ifdef FIXED
    float sum = 0;
    for (int i = threadIdx.x; i < 32768; i += 32) {
        float2 value = __bfloat1622float2(x[i]);
        sum += value.x * value.x + value.y * value.y;
    }
#else
    __nv_bfloat162 sums = {0.0f, 0.0f};
    for (int i = threadIdx.x; i < 32768; i += 32) sums = __hfma2(x[i], x[i], sums);  // <- here
    float sum = __low2float(sums) + __high2float(sums);
#endif
    for (int lane = 16; lane; lane /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lane);
    if (threadIdx.x == 0) *result = sqrtf(sum);
}
int main() {
    __nv_bfloat162* x;
    float *result, value;
    cudaMalloc(&x, 32768 * sizeof *x), cudaMalloc(&result, sizeof *result);
    fill<<<128, 256>>>(x);
    norm<<<1, 32>>>(x, result);
    cudaMemcpy(&value, result, sizeof value, cudaMemcpyDeviceToHost);
    std::printf("%g\n", value);
    cudaFree(x), cudaFree(result);
}
