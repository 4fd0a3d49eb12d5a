// A kernel that counts nonzeros per row overwrites what follows its array, for some block sizes.
// Seen: wrong_result
// Cause: the array has 16 elements, one for each row of the tile, but each of the block's 64 threads sets one.
// Source: https://github.com/bitsandbytes-foundation/bitsandbytes/pull/905
// Says: index 16 of 'int [16]' in nonzeros[threadIdx.x]
#include <cstdio>
constexpr int kThreads = 64, kRows = 16, kColumns = 64;
__global__ void count_nonzeros(const float* a, int* out) {
    __shared__ int nonzeros[kRows];
#ifdef FIXED
    if (threadIdx.x < kRows)
#endif
        nonzeros[threadIdx.x] = 0;  // <- here
    __syncthreads();
    for (int row = 0; row < kRows; ++row)
        if (a[row * kColumns + threadIdx.x] != 0) atomicAdd(&nonzeros[row], 1);
    __syncthreads();
    if (threadIdx.x < kRows) out[threadIdx.x] = nonzeros[threadIdx.x];
}
int main() {
    float* a;
    int *out, counts[kRows];
    cudaMalloc(&a, kRows * kColumns * sizeof(float)), cudaMalloc(&out, sizeof counts);
    cudaMemset(a, 0, kRows * kColumns * sizeof(float));
    count_nonzeros<<<1, kThreads>>>(a, out);
    cudaMemcpy(counts, out, sizeof counts, cudaMemcpyDeviceToHost);
    printf("%d\n", counts[kRows - 1]);
    cudaFree(a), cudaFree(out);
}
