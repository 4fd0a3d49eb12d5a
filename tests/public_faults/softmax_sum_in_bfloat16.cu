// A softmax of 512 equal values in bfloat16 gives 1/256 for each of them.
// Seen: precision
// Cause: the exponentials are added in bfloat16, which has 8 significant bits: 256 + 1 is 256.
// Source: https://github.com/pytorch/executorch/pull/20089
// Hint: additions changed nothing, because bfloat16 has 8 significant bits: keep the sum in float
#include <cuda_bf16.h>

#include <cstdio>
#ifdef FIXED
using Sum = float;
#else
using Sum = __nv_bfloat16;
#endif
__global__ void softmax(__nv_bfloat16* rows, int n) {
    __nv_bfloat16* const row = rows + (blockIdx.x * blockDim.x + threadIdx.x) * n;
    __nv_bfloat16 largest = row[0];
    for (int i = 1; i < n; ++i) largest = __hmax(largest, row[i]);
    Sum sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += Sum(expf(float(row[i]) - float(largest)));  // <- here
    for (int i = 0; i < n; ++i)
        row[i] = __float2bfloat16(expf(float(row[i]) - float(largest)) / float(sum));
}
int main() {
    const int rows = 32, n = 512;
    __nv_bfloat16 *values, first;
    cudaMalloc(&values, rows * n * sizeof first);
    cudaMemset(values, 0, rows * n * sizeof first);
    softmax<<<1, rows>>>(values, n);
    cudaMemcpy(&first, values, sizeof first, cudaMemcpyDeviceToHost);
    printf("1 / %g\n", 1 / float(first));
    cudaFree(values);
}
