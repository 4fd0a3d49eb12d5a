// The launch fails, too many resources requested for launch, though each block has only 1024 threads and no shared memory.
// Seen: fails
// Cause: a thread takes more than 64 registers, so that 1024 of them need more than the 65536 of a block.
// Source: https://github.com/HazyResearch/ThunderKittens/issues/37
// Needs: nvcc
// Says: too many resources requested for launch
// Says: launches blocks of 1024 threads, but nvcc gives each thread of outer_product()
// Says: __launch_bounds__(1024) makes nvcc use no more than 64
#include <cstdio>

// C += a column of A times a row of B, for each k. A thread has 8 x 16 elements of C in registers.
__global__ void
#ifdef FIXED
__launch_bounds__(1024)
#endif
    outer_product(int K, const float* A, const float* B, float* C) {
    const int row = threadIdx.x / 32 * 8, col = threadIdx.x % 32 * 16;
    float sums[8][16] = {};
    for (int k = 0; k < K; ++k)
        for (int i = 0; i < 8; ++i)
            for (int j = 0; j < 16; ++j) sums[i][j] += A[k * 256 + row + i] * B[k * 512 + col + j];
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 16; ++j) C[(row + i) * 512 + col + j] = sums[i][j];
}

int main() {
    const int K = 4;
    float *A, *B, *C;
    cudaMalloc(&A, K * 256 * sizeof(float)), cudaMemset(A, 0, K * 256 * sizeof(float));
    cudaMalloc(&B, K * 512 * sizeof(float)), cudaMemset(B, 0, K * 512 * sizeof(float));
    cudaMalloc(&C, 256 * 512 * sizeof(float));
    outer_product<<<1, 1024>>>(K, A, B, C);  // <- here
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(A), cudaFree(B), cudaFree(C);
}
