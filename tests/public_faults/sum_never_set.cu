// The sum is a huge negative number, or correct in one build and wrong in the next.
// Seen: unset
// Cause: the variable in which a thread accumulates is never set to 0.
// Source: https://github.com/llvm/torch-mlir/pull/65
// Says: uninitialised variable
#include <cstdio>
__global__ void sum(const float* a, float* out, int n) {
#ifdef FIXED
    float s = 0;
#else
    float s;
#endif
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += a[i];
    out[threadIdx.x] = s;  // <- here
}
int main() {
    float a[64], sums[32], *d_a, *d_sums;
    for (int i = 0; i < 64; ++i) a[i] = float(i);
    cudaMalloc(&d_a, sizeof a), cudaMalloc(&d_sums, sizeof sums);
    cudaMemcpy(d_a, a, sizeof a, cudaMemcpyHostToDevice);
    sum<<<1, 32>>>(d_a, d_sums, 64);
    cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDeviceToHost);
    printf("%g\n", sums[0]);
    cudaFree(d_a), cudaFree(d_sums);
}
