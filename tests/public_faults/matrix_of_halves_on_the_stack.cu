// The example runs with its own sizes; with n = k = 2048 it stops with a segmentation fault, though the GPU has room.
// Seen: crashes
// Cause: the matrices on the host are local arrays, for which the stack is too small from some size on.
// Source: https://github.com/NVIDIA/CUDALibrarySamples/issues/124
// Says: overflows the host's stack
// Says: and the stack has
#include <cuda_fp16.h>

#include <cstdio>
template <int M, int N, int K>
#ifdef FIXED
int example() {
    static __half A[M * K], B[K * N];
#else
int example() {
    __half A[M * K], B[K * N];  // <- here
#endif
    for (int i = 0; i < M * K; ++i) A[i] = __float2half(1);
    for (int i = 0; i < K * N; ++i) B[i] = __float2half(i % 2);
    __half *dA, *dB;
    cudaMalloc(&dA, sizeof A), cudaMalloc(&dB, sizeof B);
    cudaMemcpy(dA, A, sizeof A, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, sizeof B, cudaMemcpyHostToDevice);
    cudaFree(dA), cudaFree(dB);
    printf("%d x %d x %d\n", M, N, K);
    return 0;
}
int main() { return example<32, 64, 64>() + example<32, 2048, 2048>(); }
